// One loop, unrolled 1, 2, 4, 8 and 16 times:
//     s = sum_i c_i,  c_i: x_i after eight times c -> c r_i + w_i, with r_i = 1/sqrt(x_i) and w_i = sin(x_i)
//
// Thread t walks over its own slice x_{N t} .. x_{N t + N - 1}. The lanes of a warp read different cache lines. The
// rest of a line is used in the next steps, as long as a cache holds the line. The c_i are independent of each other.
// If the loop is unrolled U times, U loads follow each other. Then U roots and U sines follow on the special-function
// unit. The thread waits for these latencies once, not U times (tests/bench/unroll_test.py checks the machine code).
#include "bench/unroll.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/compare.hpp"
#include "core/device_cuda.hpp"
#include "core/grid_stride.cuh"

namespace smallbatch {

namespace {

constexpr int blocks = 1024, threads = 256, chain = 8;
constexpr std::int64_t slices = std::int64_t{blocks} * threads;

template <int Unroll>
__global__ void __launch_bounds__(threads) unrolled(const float* __restrict__ x, float* __restrict__ sums, int values) {
  const std::int64_t slice = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  const float* const mine = x + slice * values;
  float sum = 0;
#pragma unroll Unroll
  for (int i = 0; i < values; ++i) {
    const float value = mine[i], root = rsqrtf(value), sine = __sinf(value);
    float c = value;
#pragma unroll
    for (int k = 0; k < chain; ++k) c = fmaf(c, root, sine);
    sum += c;
  }
  sums[slice] = sum;
}

/// Fills slices with values between 1.5 and 2.5. There the error of the sine is small, and the chain converges.
struct FillSlices {
  float* x;
  constexpr void operator()(std::int64_t i) const { x[i] = value(i); }
  static constexpr float value(std::int64_t i) {
    const std::uint32_t hash = static_cast<std::uint32_t>(i) * 2654435761U;
    return 1.5F + 0x1p-23F * static_cast<float>((hash ^ hash >> 15) >> 9);
  }
};

class Slices {
 public:
  explicit Slices(std::int64_t of_slice) : values(of_slice) {
    x = memory_x_.reserve<float>(static_cast<std::size_t>(slices * values));
    sums = memory_sums_.reserve<float>(static_cast<std::size_t>(slices));
    check(launch_for_each_index(slices * values, FillSlices{x}, cudaStreamLegacy));
    check(cudaDeviceSynchronize());  // streams of the steps do not wait for the default stream
  }
  void poison(cudaStream_t stream) const {
    check(cudaMemsetAsync(sums, 0xff, static_cast<std::size_t>(slices) * sizeof(float), stream));
  }
  /// Judges every 97th slice, and checks that every slice has an answer. A root has a relative error of 2^-22, a sine
  /// an error of 2^-21. The chain multiplies errors by less than 5.5, the largest 1/(1 - r) for a root r. Each addition
  /// to the sum adds a rounding.
  [[nodiscard]] Judgement judge() const {
    constexpr double of_term = 0x1p-16, of_addition = 0x1p-24;
    std::vector<float> found(static_cast<std::size_t>(slices));
    check(cudaMemcpy(found.data(), sums, found.size() * sizeof(float), cudaMemcpyDeviceToHost));
    Judgement judgement;
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      const double sum = found[static_cast<std::size_t>(slice)];
      double expected = sum;
      if (slice % 97 == 0) {
        expected = 0;
        for (std::int64_t i = slice * values; i < (slice + 1) * values; ++i) {
          const double value = FillSlices::value(i), root = 1 / std::sqrt(value), sine = std::sin(value);
          double c = value;
          for (int k = 0; k < chain; ++k) c = c * root + sine;
          expected += c;
        }
      }
      const double bound = static_cast<double>(values) * (of_term + of_addition * expected);
      judgement.error_over_bound = std::max(judgement.error_over_bound, error_over_bound(sum, expected, bound));
    }
    return judgement;
  }

  const std::int64_t values;
  float *x, *sums;

 private:
  DeviceMemory memory_x_, memory_sums_;
};

template <int Unroll>
Step unrolled_step(const std::shared_ptr<const Slices>& problem, const char* published) {
  Step step;
  step.name = "unrolled_" + std::to_string(Unroll);
  step.idea =
      Unroll == 1 ? "#pragma unroll 1" : "#pragma unroll " + std::to_string(Unroll) + "; published: " + published;
  step.launch = [problem](cudaStream_t stream) {
    unrolled<Unroll><<<blocks, threads, 0, stream>>>(problem->x, problem->sums, static_cast<int>(problem->values));
  };
  return step;
}

}  // namespace

Ladder unroll_ladder(std::int64_t values) {
  const auto problem = std::make_shared<const Slices>(values);
  const bool in_first_cache = values <= 64;
  Ladder ladder;
  ladder.title = "load, root, sine and eight multiply-adds, " + std::to_string(values) + " values for each of " +
                 std::to_string(slices) + " threads";
  ladder.note =
      "This ladder repeats a study on an H100 with CUDA 12.2. Published: the speed of the study's loop, relative to "
      "its loop that is not unrolled.";
  ladder.unit = "values";
  ladder.exponent = 9;
  ladder.work = static_cast<double>(slices * values);
  ladder.min_bytes = sizeof(float) * ladder.work;
  ladder.poison = [problem](cudaStream_t stream) { problem->poison(stream); };
  ladder.check = [problem] { return problem->judge(); };
  ladder.steps = {unrolled_step<1>(problem, ""), unrolled_step<2>(problem, in_first_cache ? "1.41" : "2.48"),
                  unrolled_step<4>(problem, in_first_cache ? "1.53" : "3.90"),
                  unrolled_step<8>(problem, in_first_cache ? "1.56" : "3.92"),
                  unrolled_step<16>(problem, in_first_cache ? "1.57" : "3.93")};
  return ladder;
}

}  // namespace smallbatch
