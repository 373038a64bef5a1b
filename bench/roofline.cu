// What plain streams reach: the ceiling for anything that must move its data through device memory once.
#include <algorithm>
#include <vector>

#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"
#include "core/grid_stride.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t words = std::int64_t{1} << 28;  // of 16 bytes: 4 GiB, far beyond the caches

/// Grid-stride loop of 16-byte loads; the sum is stored only if it is a value that the data cannot give.
__global__ void read_stream(const uint4* data, std::int64_t count, unsigned* never) {
  unsigned sum = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {  // four loads in flight
    const uint4 a = data[i], b = data[i + step], c = data[i + 2 * step], d = data[i + 3 * step];
    sum |= a.x | a.y | a.z | a.w | b.x | b.y | b.z | b.w | c.x | c.y | c.z | c.w | d.x | d.y | d.z | d.w;
  }
  for_each_index(i, step, count, [&](std::int64_t k) { sum |= data[k].x | data[k].y | data[k].z | data[k].w; });
  if (sum == 0x80000000U) *never = sum;
}

__global__ void copy_stream(const uint4* from, uint4* to, std::int64_t count) {
  for_each_index(static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                 static_cast<std::int64_t>(gridDim.x) * blockDim.x, count, [&](std::int64_t i) { to[i] = from[i]; });
}

__global__ void fill_stream(uint4* to, std::int64_t count) {
  for_each_index(static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                 static_cast<std::int64_t>(gridDim.x) * blockDim.x, count, [&](std::int64_t i) {
                   const auto u = static_cast<unsigned>(i) * 2654435761U & 0x7fffffffU;
                   to[i] = {u, u ^ 0x1234567U, u ^ 0x89abcdU, u};
                 });
}

}  // namespace

Roofline measure_roofline() {
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const unsigned blocks = static_cast<unsigned>(multiprocessors) * 16;
  DeviceMemory memory_from, memory_to, memory_never;
  auto* from = memory_from.reserve<uint4>(static_cast<std::size_t>(words));
  auto* to = memory_to.reserve<uint4>(static_cast<std::size_t>(words));
  auto* never = memory_never.reserve<unsigned>(1);
  fill_stream<<<blocks, 256>>>(from, words);
  check(cudaDeviceSynchronize());

  Ladder streams;
  streams.poison = [](cudaStream_t) {};
  streams.check = [] { return 0.0; };
  auto rate = [&](double bytes, std::function<void(cudaStream_t)> launch) {
    const Step step{"stream", "", nullptr, std::move(launch)};
    return bytes / measure(streams, step, 9).median_seconds;
  };
  Roofline roofline;
  roofline.read = rate(16.0 * words, [&](cudaStream_t s) { read_stream<<<blocks, 256, 0, s>>>(from, words, never); });
  roofline.copy = rate(32.0 * words, [&](cudaStream_t s) { copy_stream<<<blocks, 256, 0, s>>>(from, to, words); });
  return roofline;
}

}  // namespace smallbatch
