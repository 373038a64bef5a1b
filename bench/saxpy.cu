#include "bench/saxpy.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/whole_numbers.hpp"
#include "core/compare.hpp"
#include "core/device_cuda.hpp"
#include "core/grid_stride.cuh"

namespace smallbatch {

namespace {

constexpr float factor = 3;
constexpr std::int64_t at_host = 64;  // the host computes 1/64 of the values

struct Doubled {
  const float* x;
  float* y;
  constexpr void operator()(std::int64_t i) const { y[i] = 2 * x[i]; }
};

/// Whole numbers x and y = 2 x, so that a x + y = 5 x is exact.
class Vectors {
 public:
  explicit Vectors(std::int64_t values) : count(values), numbers_(values) {
    x = memory_x_.reserve<float>(static_cast<std::size_t>(count));
    y = memory_y_.reserve<float>(static_cast<std::size_t>(count));
    check(launch_for_each_index(count, StoreNumbers{numbers_, x}, cudaStreamLegacy));
    check(cudaDeviceSynchronize());  // streams of the steps do not wait for the default stream
    host_x_.resize(static_cast<std::size_t>(host_count()));
    host_y_.resize(host_x_.size());
    for_each_index(host_count(), StoreNumbers{numbers_, host_x_.data()});
  }
  [[nodiscard]] std::int64_t host_count() const { return std::max<std::int64_t>(1, count / at_host); }
  [[nodiscard]] Saxpy on_device() const { return {factor, x, y}; }
  [[nodiscard]] Saxpy on_host() { return {factor, host_x_.data(), host_y_.data()}; }

  void poison(cudaStream_t stream) {
    check(cudaMemsetAsync(y, 0xff, static_cast<std::size_t>(count) * sizeof(float), stream));
    std::fill(host_y_.begin(), host_y_.end(), std::numeric_limits<float>::quiet_NaN());
  }
  void restore(cudaStream_t stream) { check(launch_for_each_index(count, Doubled{x, y}, stream)); }
  void restore_host() { for_each_index(host_count(), Doubled{host_x_.data(), host_y_.data()}); }

  [[nodiscard]] Judgement judge() const {
    std::vector<float> found(static_cast<std::size_t>(count));
    check(cudaMemcpy(found.data(), y, found.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return judge(found);
  }
  [[nodiscard]] Judgement judge_host() const { return judge(host_y_); }

  const std::int64_t count;
  float *x, *y;

 private:
  /// Judges all values, on all cores.
  [[nodiscard]] Judgement judge(const std::vector<float>& found) const {
    std::atomic<bool> right{true};
    for_each_index_on_threads(static_cast<std::int64_t>(found.size()), 1 << 16, 0, [&](std::int64_t i) {
      if (!within(error_over_bound(found[static_cast<std::size_t>(i)], 5 * numbers_(i), 0), 0)) right = false;
    });
    return {right ? 0 : std::numeric_limits<double>::infinity()};
  }

  DeviceMemory memory_x_, memory_y_;
  std::vector<float> host_x_, host_y_;
  WholeNumbers numbers_;
};

using Shared = std::shared_ptr<Vectors>;

Step device_step(const Shared& vectors, std::string name, std::string idea,
                 std::function<cudaError_t(cudaStream_t)> launch) {
  Step step;
  step.name = std::move(name);
  step.idea = std::move(idea);
  step.prepare = [vectors](cudaStream_t stream) { vectors->restore(stream); };
  step.launch = [launch = std::move(launch)](cudaStream_t stream) { check(launch(stream)); };
  return step;
}

Step host_step(const Shared& vectors, std::string name, std::string idea, std::function<void()> loop) {
  Step step;
  step.name = std::move(name);
  step.idea = std::move(idea);
  step.host = true;
  step.part = static_cast<double>(vectors->host_count()) / static_cast<double>(vectors->count);
  step.prepare = [vectors](cudaStream_t) { vectors->restore_host(); };
  step.launch = [loop = std::move(loop)](cudaStream_t) { loop(); };
  step.check = [vectors] { return vectors->judge_host(); };
  return step;
}

Step vendor_step(const Shared& vectors) {
  const std::shared_ptr<cublasContext> cublas(
      [] {
        cublasHandle_t handle = nullptr;
        if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS)
          throw std::runtime_error("cuBLAS cannot be used. Look at the GPU's memory");
        return handle;
      }(),
      [](cublasHandle_t handle) { (void)cublasDestroy(handle); });
  Step step = device_step(vectors, "cublas_saxpy", "the vendor's library", [=](cudaStream_t stream) {
    const bool done =
        cublasSetStream(cublas.get(), stream) == CUBLAS_STATUS_SUCCESS &&
        cublasSaxpy_64(cublas.get(), vectors->count, &factor, vectors->x, 1, vectors->y, 1) == CUBLAS_STATUS_SUCCESS;
    return done ? cudaSuccess : cudaErrorUnknown;
  });
  step.vendor = true;
  return step;
}

}  // namespace

Ladder saxpy_ladder(std::int64_t count) {
  const Shared vectors = std::make_shared<Vectors>(count);
  const Saxpy saxpy = vectors->on_device();
  Ladder ladder;
  ladder.title = "a x + y, " + std::to_string(count) + " values, float32";
  ladder.note = "Per value two numbers are read and one is written. The host's steps do one part in " +
                std::to_string(at_host) + ".";
  ladder.unit = "values";
  ladder.exponent = 9;
  ladder.work = static_cast<double>(count);
  ladder.min_bytes = 3 * sizeof(float) * ladder.work;
  ladder.bound = Bound::copy;
  ladder.poison = [vectors](cudaStream_t stream) { vectors->poison(stream); };
  ladder.check = [vectors] { return vectors->judge(); };
  ladder.steps = {vendor_step(vectors)};
  ladder.steps.push_back(host_step(vectors, "host_loop", "the functor in a plain loop, one thread",
                                   [vectors] { for_each_index(vectors->host_count(), vectors->on_host()); }));
  ladder.steps.push_back(host_step(vectors, "host_threads", "the same functor on all cores", [vectors] {
    for_each_index_on_threads(vectors->host_count(), 1 << 14, 0, vectors->on_host());
  }));
  ladder.steps.push_back(
      device_step(vectors, "thread_per_value", "the same functor, one thread for each index", [=](cudaStream_t stream) {
        constexpr unsigned threads = 256;
        return launch_for_each_index(count, saxpy, stream,
                                     {static_cast<unsigned>((count + threads - 1) / threads), threads});
      }));
  ladder.steps.push_back(device_step(vectors, "grid_stride",
                                     "the same functor, as many threads as fill the device, each with many indices",
                                     [=](cudaStream_t stream) { return launch_for_each_index(count, saxpy, stream); }));
  ladder.steps.push_back(device_step(vectors, "grid_stride_of_four",
                                     "a functor that takes four neighbours at a time: 16-byte loads and stores",
                                     [=](cudaStream_t stream) {
                                       return launch_for_each_index((count + 3) / 4, SaxpyOfFour{saxpy, count}, stream);
                                     }));
  return ladder;
}

}  // namespace smallbatch
