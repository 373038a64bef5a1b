// Measures reciprocal square roots per second, by a kernel that does nothing else, in registers.
#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"

namespace smallbatch {

namespace {

constexpr int threads = 256, chains = 8, rounds = 1 << 14;

/// Eight independent chains per thread hide the latency of the pipe. All chains tend to 1. The sum is stored only for a
/// value that the chains cannot give, so that the compiler keeps the roots.
__global__ void __launch_bounds__(threads) roots_alone(float start, float* never) {
  float x[chains];  // registers
#pragma unroll
  for (int i = 0; i < chains; ++i) x[i] = start + static_cast<float>(i * threads + threadIdx.x);
#pragma unroll 4
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < chains; ++i) asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
  float sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) sum += x[i];
  if (sum < 0) *never = sum;
}

}  // namespace

void measure_roots(Roofline& roofline) {
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const auto blocks = static_cast<unsigned>(multiprocessors) * (2048 / threads);  // all threads resident at once
  DeviceMemory memory;
  auto* never = memory.reserve<float>(1);
  Ladder alone;
  alone.poison = [](cudaStream_t) {};
  alone.check = [] { return Judgement{}; };
  Step step;
  step.launch = [=](cudaStream_t stream) { roots_alone<<<blocks, threads, 0, stream>>>(1.5F, never); };
  roofline.roots = static_cast<double>(blocks) * threads * chains * rounds / measure(alone, step, 9).median_seconds;
}

}  // namespace smallbatch
