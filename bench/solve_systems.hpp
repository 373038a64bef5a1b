// The systems that the solvers' ladders share: on the device for every step, a few of them on the host for the referee.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device_cuda.hpp"
#include "core/systems.hpp"

namespace smallbatch {

/// What of an answer production is asked to store beside x, or the determinant, and info.
enum class Stored { nothing_more, backward_error, everything };

template <class T>
class Systems {
 public:
  Systems(const SpdShape& shape, std::int64_t count);
  /// Dense systems of sizes between `smallest` and n, one right-hand side, and NaN beyond.
  Systems(int n, int smallest, std::int64_t count);

  SpdShape shape;
  std::int64_t count;
  T* a = nullptr;        ///< (count, matrix_size), as `shape` stores it
  T* dense_a = nullptr;  ///< (count, n, n), both triangles: what other libraries read
  T* b = nullptr;
  const std::int32_t* sizes = nullptr;  ///< where they differ
  T* x = nullptr;
  std::int32_t* info = nullptr;
  SpdSolution<T> everything;       ///< x, info, and every number that the shape has
  std::byte* workspace = nullptr;  ///< as many bytes as any method of production needs

  [[nodiscard]] SpdBatch<T> batch() const { return {shape, count, a, b, tight, tight, sizes}; }
  /// Numbers of A that are looked at.
  [[nodiscard]] double numbers_of_a() const;
  [[nodiscard]] SpdSolution<T> solution(Stored stored) const;

  /// Fills every result with NaN; info with 0, which vendors leave alone.
  void poison(cudaStream_t stream) const;

  /// Worst error over bound of what was stored, as the referee judges 200 systems spread over the batch; infinity where
  /// any number of the batch's answers is not finite or any status not 0.
  [[nodiscard]] double worst_error(Stored stored = Stored::nothing_more) const;

 private:
  Systems(const SpdShape& shape, std::int64_t count, int smallest);
  /// Makes `stored` numbers per system in `memory`: the first systems from the host, all others copies of them.
  template <class V>
  V* upload(DeviceMemory& memory, const std::vector<V>& systems, std::int64_t stored) const;

  std::int64_t distinct_;
  std::vector<T> host_a_, host_b_;
  std::vector<std::int32_t> host_sizes_;  // n of all where they do not differ
  DeviceMemory memory_a_, memory_dense_, memory_b_, memory_x_, memory_sizes_, memory_info_, memory_workspace_,
      memory_bad_;
  std::array<DeviceMemory, spd_number_count<T>> memory_numbers_;
  unsigned long long* bad_ = nullptr;
};

}  // namespace smallbatch
