// The systems of the solvers' ladders: all of them on the device for the steps, a few on the host for the referee.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device_cuda.hpp"
#include "core/systems.hpp"

namespace smallbatch {

/// Numbers that the production code stores in addition to info and x (or info and the determinant).
enum class Stored { nothing_more, backward_error, everything };

template <class T>
class Systems {
 public:
  Systems(const SpdShape& shape, std::int64_t count);
  /// Makes dense systems with sizes from `smallest` to n and one right-hand side. Numbers beyond the sizes are NaN.
  Systems(int n, int smallest, std::int64_t count);

  SpdShape shape;
  std::int64_t count;
  T* a = nullptr;        ///< (count, matrix_size), as `shape` stores it
  T* dense_a = nullptr;  ///< (count, n, n), both triangles, for other libraries
  T* b = nullptr;
  const std::int32_t* sizes = nullptr;  ///< null if all systems have n rows
  T* x = nullptr;
  std::int32_t* info = nullptr;
  SpdSolution<T> everything;       ///< x, info, and all numbers about A that the shape permits
  std::byte* workspace = nullptr;  ///< as many bytes as the most demanding production method needs

  [[nodiscard]] SpdBatch<T> batch() const { return {shape, count, a, b, tight, tight, sizes}; }
  /// Returns the number of elements of A in all systems, within their sizes.
  [[nodiscard]] double numbers_of_a() const;
  [[nodiscard]] SpdSolution<T> solution(Stored stored) const;

  /// Fills every result with NaN, and info with 0, because the vendor's routines write no info.
  void poison(cudaStream_t stream) const;

  /// Returns the worst error over its bound. The referee judges 200 systems spread over the batch. The result is
  /// infinity if any number of the batch's answers is not finite, or any status is not 0.
  [[nodiscard]] double worst_error(Stored stored = Stored::nothing_more) const;

 private:
  Systems(const SpdShape& shape, std::int64_t count, int smallest);
  /// Stores `stored` elements per system in `memory`. The first distinct_ systems come from `systems`; all others are
  /// copies of these.
  template <class V>
  V* upload(DeviceMemory& memory, const std::vector<V>& systems, std::int64_t stored) const;

  std::int64_t distinct_;
  std::vector<T> host_a_, host_b_;
  std::vector<std::int32_t> host_sizes_;  // n for all systems if sizes are equal
  DeviceMemory memory_a_, memory_dense_, memory_b_, memory_x_, memory_sizes_, memory_info_, memory_workspace_,
      memory_bad_;
  std::array<DeviceMemory, spd_number_count<T>> memory_numbers_;
  unsigned long long* bad_ = nullptr;
};

}  // namespace smallbatch
