// Launches an element-wise functor as a kernel. Only .cu files include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "core/grid_stride.hpp"

namespace smallbatch {

/// The number of threads of a loop. Results do not depend on it.
struct Grid {
  unsigned blocks =
      0;  ///< 0: as many as fill the current device, a multiple of its multiprocessors; fewer for few indices
  unsigned threads = 256;
};

/// One thread, which takes the indices in order; for debugging.
inline constexpr Grid one_thread{1, 1};

template <class Body>
__global__ void for_each_index_kernel(std::int64_t count, Body body) {
  for_each_index(static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                 static_cast<std::int64_t>(gridDim.x) * blockDim.x, count, body);
}

/// Calls body(i) for all i below count on the device, asynchronously on `stream`. The body is copied. It is a functor
/// of a literal type with an operator() that is constexpr or for the device alone.
template <class Body>
cudaError_t launch_for_each_index(std::int64_t count, const Body& body, cudaStream_t stream, Grid grid = {}) {
  if (count <= 0) return cudaSuccess;
  if (grid.blocks == 0) {
    // All blocks are resident at once: none waits for the end of another.
    int device = 0, multiprocessors = 0, resident = 1;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
      status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    const std::int64_t enough = (count + grid.threads - 1) / grid.threads;
    if (status == cudaSuccess && enough > multiprocessors)
      status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, for_each_index_kernel<Body>,
                                                             static_cast<int>(grid.threads), 0);
    if (status != cudaSuccess) return status;
    grid.blocks = static_cast<unsigned>(std::min<std::int64_t>(enough, std::int64_t{multiprocessors} * resident));
  }
  for_each_index_kernel<<<grid.blocks, grid.threads, 0, stream>>>(count, body);
  return cudaGetLastError();
}

}  // namespace smallbatch
