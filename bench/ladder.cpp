#include "bench/ladder.hpp"

#include <algorithm>

#include "core/compare.hpp"
#include "core/device_cuda.hpp"

namespace smallbatch {

namespace {

/// Two events on a stream, and the seconds between them.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&start_));
    check(cudaEventCreate(&stop_));
  }
  ~Stopwatch() {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  template <class Work>
  double time(cudaStream_t stream, Work&& work) {
    check(cudaEventRecord(start_, stream));
    work();
    check(cudaEventRecord(stop_, stream));
    check(cudaEventSynchronize(stop_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds / 1e3;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace

Measurement measure(const Ladder& ladder, const Step& step, int repeats) {
  const Stream stream;
  auto prepare = [&] {
    if (step.prepare) step.prepare(stream.get());
  };
  ladder.poison(stream.get());
  prepare();
  step.launch(stream.get());
  check(cudaGetLastError());
  stream.synchronize();

  Measurement result;
  result.error_over_bound = ladder.check();
  if (!within(result.error_over_bound, 1)) return result;

  Stopwatch stopwatch;
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    prepare();
    seconds.push_back(stopwatch.time(stream.get(), [&] { step.launch(stream.get()); }));
  }
  check(cudaGetLastError());
  std::sort(seconds.begin(), seconds.end());
  result.lowest_seconds = seconds.front();
  result.median_seconds = seconds[seconds.size() / 2];
  result.highest_seconds = seconds.back();
  return result;
}

}  // namespace smallbatch
