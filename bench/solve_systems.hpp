// The systems that the solvers' ladders share: on the device for every step, a few of them on the host for the referee.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device_cuda.hpp"
#include "core/systems.hpp"

namespace smallbatch {

template <class T>
class Systems {
 public:
  Systems(const SpdShape& shape, std::int64_t count);

  SpdShape shape;
  std::int64_t count;
  T* a = nullptr;        ///< (count, matrix_size), as `shape` stores it
  T* dense_a = nullptr;  ///< (count, n, n), both triangles: what other libraries read
  T* b = nullptr;
  T* x = nullptr;
  T* backward_error = nullptr;
  double* log_determinant = nullptr;
  std::int32_t* info = nullptr;
  std::byte* workspace = nullptr;  ///< as many bytes as any method of production needs

  [[nodiscard]] SpdBatch<T> batch() const { return {shape, count, a, b}; }

  /// Fills every result with NaN; info with 0, which vendors leave alone.
  void poison(cudaStream_t stream) const;

  /// Worst ratio of the referee over its limit, of 500 systems spread over the batch; infinity where any number of the
  /// batch's answers is not finite or any status not 0.
  [[nodiscard]] double worst_error() const;

 private:
  /// Makes `stored` numbers per system in `memory`: the first systems from the host, all others copies of them.
  T* upload(DeviceMemory& memory, const std::vector<T>& systems, std::int64_t stored) const;

  std::int64_t distinct_;
  std::vector<T> host_a_, host_b_;
  DeviceMemory memory_a_, memory_dense_, memory_b_, memory_x_, memory_error_, memory_determinant_, memory_info_,
      memory_workspace_, memory_bad_;
  unsigned long long* bad_ = nullptr;
};

}  // namespace smallbatch
