// The sum of an array, by a tree in each block. The steps follow J. Cheng, M. Grossman, T. McKercher, "Professional
// CUDA C Programming" (2014), sections 3.4 and 3.5, and M. Harris, "Optimizing parallel reduction in CUDA" (2007).
// Block b of 512 threads sums a part of the values in place, in global memory, and stores
//     sums_b = sum of part b.
// Another launch adds these sums; all steps share it.
//
// In the cited code, the last warp has no barrier. It adds through a volatile pointer, and relies on its lanes to run
// in lock-step. Since Volta each lane has its own program counter. A lane may then read a value before another lane
// writes it: a race. In this file a __syncwarp() separates reading from writing.
#include <algorithm>

#include "bench/reduce_steps.hpp"
#include "core/device_cuda.hpp"

namespace smallbatch {

namespace {

constexpr int threads = 512, warp_lanes = 32;
constexpr unsigned whole_warp = 0xffffffffU;

/// Part of the values that a block sums. Value `t` belongs to thread t; only the first `count` exist.
struct Part {
  float* value;
  int count;

  /// Adds value t + distance to value t.
  __device__ void add(int t, int distance) const {
    if (t + distance < count) value[t] += value[t + distance];
  }
};

/// Returns the part of this block, if each thread has `Each` values.
template <int Each>
__device__ Part part_of(float* values, std::int64_t count) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (Each * threads);
  return {values + first, static_cast<int>(min(static_cast<std::int64_t>(threads), count - first))};
}

__global__ void neighboured_divergent(float* values, std::int64_t count, float* sums) {
  const Part part = part_of<1>(values, count);
  for (int distance = 1; distance < threads; distance *= 2) {
    if (threadIdx.x % (2 * distance) == 0) part.add(threadIdx.x, distance);
    __syncthreads();  // these sums are stored
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part.value[0];
}

__global__ void neighboured(float* values, std::int64_t count, float* sums) {
  const Part part = part_of<1>(values, count);
  for (int distance = 1; distance < threads; distance *= 2) {
    part.add(2 * distance * static_cast<int>(threadIdx.x), distance);
    __syncthreads();  // these sums are stored
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part.value[0];
}

/// Adds `Each` parts: thread t adds its values of all parts. The caller then sums the resulting part by a tree.
template <int Each>
__device__ Part add_parts(float* values, std::int64_t count) {
  const Part part = part_of<Each>(values, count);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (Each * threads) + threadIdx.x;
  if constexpr (Each > 1) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Each; ++i)
      if (first + i * threads < count) sum += values[first + i * threads];
    if (first < count) values[first] = sum;
    __syncthreads();  // the sums of all parts are stored
  }
  return part;
}

/// Adds the upper half of the values to the lower half. Repeats until `last` values are left.
__device__ void halve(const Part& part, int last) {
  for (int distance = threads / 2; distance >= last; distance /= 2) {
    if (threadIdx.x < distance) part.add(threadIdx.x, distance);
    __syncthreads();  // these sums are stored
  }
}

template <int Each>
__global__ void interleaved(float* values, std::int64_t count, float* sums) {
  const Part part = add_parts<Each>(values, count);
  halve(part, 1);
  if (threadIdx.x == 0) sums[blockIdx.x] = part.value[0];
}

/// Adds 64 values in the first warp. Every lane executes all additions, even if their results are not used.
__device__ void add_last_warp(const Part& part) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int distance = warp_lanes; distance > 0; distance /= 2) {
    const float below = lane + distance < part.count ? part.value[lane + distance] : 0;
    __syncwarp();  // every lane has read before one writes
    if (lane < part.count) part.value[lane] += below;
    __syncwarp();  // these sums are stored
  }
}

template <int Each>
__global__ void last_warp_unrolled(float* values, std::int64_t count, float* sums) {
  const Part part = add_parts<Each>(values, count);
  halve(part, 2 * warp_lanes);
  if (threadIdx.x < warp_lanes) add_last_warp(part);
  if (threadIdx.x == 0) sums[blockIdx.x] = part.value[0];
}

/// The whole tree without a loop, for blocks of up to 1024 threads. `size` is the number of threads in a block; it may
/// be a compile-time constant.
__device__ __forceinline__ void add_tree(const Part& part, int size) {
#pragma unroll
  for (int distance = 512; distance > warp_lanes; distance /= 2) {
    if (size >= 2 * distance && threadIdx.x < distance) part.add(threadIdx.x, distance);
    __syncthreads();  // these sums are stored
  }
  if (threadIdx.x < warp_lanes) add_last_warp(part);
}

template <int Each>
__global__ void completely_unrolled(float* values, std::int64_t count, float* sums) {
  const Part part = add_parts<Each>(values, count);
  add_tree(part, static_cast<int>(blockDim.x));
  if (threadIdx.x == 0) sums[blockIdx.x] = part.value[0];
}

template <int Each, int BlockSize>
__global__ void block_size_compiled_in(float* values, std::int64_t count, float* sums) {
  const Part part = add_parts<Each>(values, count);
  add_tree(part, BlockSize);
  if (threadIdx.x == 0) sums[blockIdx.x] = part.value[0];
}

/// The grid has as many blocks as the device holds at once. Each thread reads words of 16 bytes at a stride, with eight
/// loads in flight. The sum of a warp is computed by shuffles.
constexpr int stride_threads = 256, words_in_flight = 8;
__global__ void __launch_bounds__(stride_threads)
    grid_stride_words(const float* values, std::int64_t count, float* sums) {
  __shared__ float of_warp[stride_threads / warp_lanes];
  constexpr std::int64_t tile = stride_threads * words_in_flight;
  const std::int64_t words = count / 4;
  const auto* const word = reinterpret_cast<const float4*>(values);
  float sum = 0;
  for (std::int64_t first = blockIdx.x * tile + threadIdx.x; first < words; first += gridDim.x * tile) {
    float4 of_tile[words_in_flight];  // registers
#pragma unroll
    for (int i = 0; i < words_in_flight; ++i)
      of_tile[i] = first + i * stride_threads < words ? word[first + i * stride_threads] : float4{0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < words_in_flight; ++i) sum += (of_tile[i].x + of_tile[i].y) + (of_tile[i].z + of_tile[i].w);
  }
  if (blockIdx.x == 0 && threadIdx.x < count % 4) sum += values[4 * words + threadIdx.x];
#pragma unroll
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(whole_warp, sum, distance);
  if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = sum;
  __syncthreads();  // the sums of all warps are stored
  if (threadIdx.x > 0) return;
  sum = 0;
#pragma unroll
  for (int warp = 0; warp < stride_threads / warp_lanes; ++warp) sum += of_warp[warp];
  sums[blockIdx.x] = sum;
}

using Kernel = void (*)(float* values, std::int64_t count, float* sums);

template <int Each, Kernel kernel>
std::int64_t launch_tree(float* values, std::int64_t count, float* sums, cudaStream_t stream) {
  const std::int64_t blocks = (count + Each * threads - 1) / (Each * threads);
  kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(values, count, sums);
  return blocks;
}

std::int64_t launch_grid_stride_words(float* values, std::int64_t count, float* sums, cudaStream_t stream) {
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const auto blocks = static_cast<unsigned>(multiprocessors) * (1024 / stride_threads);
  grid_stride_words<<<blocks, stride_threads, 0, stream>>>(values, count, sums);
  return blocks;
}

}  // namespace

std::vector<ReduceStep> reduce_steps_by_blocks() {
  return {
      {"neighboured_divergent",
       "a block per 512 values, in place; thread t adds to value t, every second, fourth, ... one", true,
       launch_tree<1, neighboured_divergent>},
      {"neighboured", "the same sums by neighbouring threads: whole warps end early", true,
       launch_tree<1, neighboured>},
      {"interleaved", "the upper half is added to the lower one: neighbouring threads read neighbouring values", true,
       launch_tree<1, interleaved<1>>},
      {"two_parts_unrolled", "each thread first adds up its values of 2 blocks' parts", true,
       launch_tree<2, interleaved<2>>},
      {"four_parts_unrolled", "of 4", true, launch_tree<4, interleaved<4>>},
      {"eight_parts_unrolled", "of 8", true, launch_tree<8, interleaved<8>>},
      {"last_warp_unrolled", "the last 64 values by one warp, without barriers of the block", true,
       launch_tree<8, last_warp_unrolled<8>>},
      {"completely_unrolled", "no loop, the block's size is asked at each step", true,
       launch_tree<8, completely_unrolled<8>>},
      {"block_size_compiled_in", "the block's size is a template's argument", true,
       launch_tree<8, block_size_compiled_in<8, threads>>},
      {"grid_stride_words",
       "blocks that stay, 16-byte loads, 8 in flight per thread, sums in registers and by shuffles", false,
       launch_grid_stride_words},
  };
}

}  // namespace smallbatch
