// Measures the rates of kernels that only read or only copy. They are the upper limits for code that moves its data
// through device memory once.
//
// Every thread moves 16-byte words. Devices differ in the best number of loads in flight and in the best number of
// blocks. Several numbers are therefore tried, and the best rate is used. The copy also tries the runtime's own copy.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"
#include "core/grid_stride.cuh"

namespace smallbatch {

namespace {

constexpr std::int64_t words = std::int64_t{1} << 28;  // of 16 bytes: 4 GiB, far beyond the caches
constexpr int threads = 256;

/// Reads the data. Blocks stride over tiles of `Loads` words per thread. The kernel combines the bits of all words, and
/// stores them only if they equal a value that the data cannot give. This keeps the compiler from removing the loads.
template <int Loads>
__global__ void read_stream(const uint4* data, unsigned* never) {
  constexpr int tile = threads * Loads;
  unsigned bits = 0;
  for_each_index(blockIdx.x, gridDim.x, words / tile, [&](std::int64_t t) {
    const uint4* from = data + t * tile + threadIdx.x;
    uint4 word[Loads];
#pragma unroll
    for (int i = 0; i < Loads; ++i) word[i] = __ldcs(from + i * threads);
#pragma unroll
    for (int i = 0; i < Loads; ++i) bits |= word[i].x | word[i].y | word[i].z | word[i].w;
  });
  if (bits == 0x80000000U) *never = bits;
}

template <int Loads>
__global__ void copy_stream(const uint4* from, uint4* to) {
  constexpr int tile = threads * Loads;
  for_each_index(blockIdx.x, gridDim.x, words / tile, [&](std::int64_t t) {
    const std::int64_t first = t * tile + threadIdx.x;
    uint4 word[Loads];
#pragma unroll
    for (int i = 0; i < Loads; ++i) word[i] = __ldcs(from + first + i * threads);
#pragma unroll
    for (int i = 0; i < Loads; ++i) __stcs(to + first + i * threads, word[i]);
  });
}

struct Fill {
  uint4* to;
  __device__ void operator()(std::int64_t i) const {
    const auto u = static_cast<unsigned>(i) * 2654435761U & 0x7fffffffU;
    to[i] = {u, u ^ 0x1234567U, u ^ 0x89abcdU, u};
  }
};

using Stream16 = std::function<void(cudaStream_t, unsigned blocks)>;

/// Measures both streams with `Loads` words of 16 bytes in flight per thread.
template <int Loads>
void try_loads(const uint4* from, uint4* to, unsigned* never, const std::vector<unsigned>& grids,
               const std::function<double(double, std::function<void(cudaStream_t)>)>& rate, Roofline& best) {
  constexpr unsigned tiles = words / (threads * Loads);
  auto offer = [&](double bytes, const Stream16& stream, double& fastest) {
    for (const unsigned blocks : grids) {
      const unsigned grid = std::min(blocks, tiles);
      fastest = std::max(fastest, rate(bytes, [&](cudaStream_t s) { stream(s, grid); }));
    }
  };
  offer(
      16.0 * words, [&](cudaStream_t s, unsigned grid) { read_stream<Loads><<<grid, threads, 0, s>>>(from, never); },
      best.read);
  offer(
      32.0 * words, [&](cudaStream_t s, unsigned grid) { copy_stream<Loads><<<grid, threads, 0, s>>>(from, to); },
      best.copy);
}

__global__ void do_nothing() {}

}  // namespace

Roofline measure_roofline() {
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const auto full = static_cast<unsigned>(multiprocessors) * (2048 / threads);  // all threads resident at once
  DeviceMemory memory_from, memory_to, memory_never;
  auto* from = memory_from.reserve<uint4>(static_cast<std::size_t>(words));
  auto* to = memory_to.reserve<uint4>(static_cast<std::size_t>(words));
  auto* never = memory_never.reserve<unsigned>(1);
  check(launch_for_each_index(words, Fill{from}, cudaStreamLegacy));
  check(cudaDeviceSynchronize());

  Ladder streams;
  streams.poison = [](cudaStream_t) {};
  streams.check = [] { return Judgement{}; };
  auto rate = [&](double bytes, std::function<void(cudaStream_t)> launch) {
    Step step;
    step.launch = std::move(launch);
    return bytes / measure(streams, step, 9).median_seconds;
  };
  const std::vector<unsigned> grids{full / 2, full, 2 * full, ~0U};
  Roofline best;
  Step empty;
  empty.launch = [](cudaStream_t stream) { do_nothing<<<1, 1, 0, stream>>>(); };
  best.empty_call = measure_calls(streams, empty).median_seconds;
  try_loads<1>(from, to, never, grids, rate, best);
  try_loads<2>(from, to, never, grids, rate, best);
  try_loads<4>(from, to, never, grids, rate, best);
  try_loads<8>(from, to, never, grids, rate, best);
  const double runtime = rate(32.0 * words, [&](cudaStream_t s) {
    check(cudaMemcpyAsync(to, from, 16 * static_cast<std::size_t>(words), cudaMemcpyDeviceToDevice, s));
  });
  best.copy = std::max(best.copy, runtime);
  measure_roots(best);
  return best;
}

}  // namespace smallbatch
