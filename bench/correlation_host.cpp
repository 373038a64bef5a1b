#include "bench/correlation_host.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "physics/correlations/backends.hpp"
#include "physics/correlations/referee.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t times = 1024;

/// Random signals in host memory, with memory for their visibilities.
class HostSignals {
 public:
  HostSignals(SampleType type, std::int64_t inputs, std::int64_t channels) {
    block_.type = type;
    block_.channels = channels;
    block_.times = block_.integrate = times;
    block_.inputs = inputs;
    block_.sum = sum_type(type, times);
    block_.resize_signal(false);
    block_.resize_sums();
    std::mt19937 random(1);
    floats_.resize(static_cast<std::size_t>(channels * times * inputs));
    std::uniform_int_distribution<int> any(-128, 127);
    auto* const integers = reinterpret_cast<std::int8_t*>(block_.signal.data());
    for (std::size_t i = 0; i < floats_.size(); ++i) {
      const int re = any(random), im = any(random);
      floats_[i] = {static_cast<float>(re), static_cast<float>(im)};
      if (type == SampleType::complex_float32) continue;
      integers[2 * i] = static_cast<std::int8_t>(re);
      integers[2 * i + 1] = static_cast<std::int8_t>(im);
    }
    if (type == SampleType::complex_float32)
      std::memcpy(block_.signal.data(), floats_.data(), floats_.size() * sizeof(floats_[0]));
    matrix_.resize(static_cast<std::size_t>(inputs * inputs));
    by_eigen_.resize(static_cast<std::size_t>(channels * baselines_of(inputs)));
  }

  void poison() {
    std::memset(block_.visibility.data(), 0xff, block_.visibility.size());
    std::fill(by_eigen_.begin(), by_eigen_.end(), std::complex<float>(NAN, NAN));
  }
  void by_eigen() {
    const std::int64_t n = block_.inputs;
    std::complex<float>* to = by_eigen_.data();
    for (std::int64_t c = 0; c < block_.channels; ++c) {
      correlate_by_eigen(floats_.data() + c * times * n, n, times, matrix_.data());
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) *to++ = matrix_[static_cast<std::size_t>(j * n + i)];
    }
  }
  /// Calls the cpu backend.
  void by_backend(Correlator& backend) { backend.correlate(block_.batch(), block_.sums()); }

  [[nodiscard]] Judgement judge() const { return judge(block_.batch(), block_.sum, block_.visibility.data()); }
  [[nodiscard]] Judgement judge_eigen() const {
    SignalBatch floats = block_.batch();
    floats.type = SampleType::complex_float32;
    floats.signal = floats_.data();
    return judge(floats, SumType::complex_float32, by_eigen_.data());
  }
  [[nodiscard]] double multiply_adds() const {
    return static_cast<double>(block_.channels * baselines_of(block_.inputs)) * static_cast<double>(times);
  }

 private:
  static Judgement judge(const SignalBatch& signal, SumType sum, const void* visibility) {
    const std::int64_t baselines = baselines_of(signal.inputs);
    const std::vector<std::int32_t> weight(static_cast<std::size_t>(baselines), times);
    double worst = 0;
    for (std::int64_t c = 0; c < signal.channels; ++c) {
      CorrelationReferee referee(signal.type, signal.inputs);
      referee.add(signal, c, 0, times);
      const char* const of = static_cast<const char*>(visibility) + c * baselines * bytes_of(sum);
      worst = std::max(worst, referee.compare({sum, of, weight.data()}).worst);
    }
    return {worst};
  }

  SignalBlock block_;
  std::vector<std::complex<float>> floats_;  ///< the samples as floats, because Eigen has no product of integers
  std::vector<std::complex<float>> matrix_, by_eigen_;
};

Step host_step(const std::shared_ptr<HostSignals>& signals, std::string name, std::string idea,
               std::function<void()> work) {
  Step step;
  step.name = std::move(name);
  step.idea = std::move(idea);
  step.host = true;
  step.prepare = [signals](cudaStream_t) { signals->poison(); };
  step.launch = [work = std::move(work)](cudaStream_t) { work(); };
  step.check = [signals] { return signals->judge(); };
  return step;
}

}  // namespace

Ladder host_correlation_ladder(SampleType type, std::int64_t inputs, std::int64_t channels) {
  const auto signals = std::make_shared<HostSignals>(type, inputs, channels);
  const bool is_float = type == SampleType::complex_float32;
  Ladder ladder;
  ladder.title = "correlation on the host, " + std::to_string(inputs) + " inputs, " + std::to_string(channels) +
                 " channels of " + std::to_string(times) + " samples, " + (is_float ? "float32" : "int8");
  ladder.unit = "multiply-adds";
  ladder.exponent = 9;
  ladder.work = signals->multiply_adds();
  ladder.flops = 8 * ladder.work;
  ladder.flops_convention = "8 per complex multiply-add, i >= j";
  ladder.bound = Bound::none;
  ladder.poison = [signals](cudaStream_t) { signals->poison(); };
  ladder.check = [signals] { return signals->judge(); };
  Step eigen = host_step(signals, "eigen_rank_update",
                         std::string("Eigen's rank update of a Hermitian matrix, a channel at a time; one thread") +
                             (is_float ? "" : "; of the same numbers in float32"),
                         [signals] { signals->by_eigen(); });
  eigen.check = [signals] { return signals->judge_eigen(); };
  ladder.steps.push_back(std::move(eigen));
  std::vector<unsigned> thread_counts{1};
  if (hardware_threads() > 1) thread_counts.push_back(hardware_threads());
  for (const unsigned threads : thread_counts) {
    Backend cpu;
    cpu.threads = threads;
    const std::shared_ptr<Correlator> backend = make_correlator(cpu);
    ladder.steps.push_back(
        host_step(signals, threads == 1 ? "cpu" : "cpu_" + std::to_string(threads) + "_threads",
                  backend->description() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
                  [signals, backend] { signals->by_backend(*backend); }));
  }
  return ladder;
}

}  // namespace smallbatch
