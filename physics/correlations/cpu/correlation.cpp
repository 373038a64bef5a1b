// The plan of correlations for CPUs. Each channel in each integration is cut into squares of baselines
// (rank_update.hpp), and threads take squares. A square depends only on its channel and integration. The bits therefore
// do not depend on the batch or on the number of threads.
//
// A sample that is not finite makes the auto of its input not finite. The samples of a channel and integration are
// therefore examined only if one of its visibilities is not finite, after all squares.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "core/usable_kernels.hpp"
#include "physics/correlations/backends.hpp"
#include "physics/correlations/checks.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t products_per_piece = 1 << 20;  // work that a thread takes at a time

class CpuCorrelator final : public Correlator {
 public:
  CpuCorrelator(unsigned threads, const RankUpdateKernels& kernels) : threads_(threads), kernels_(kernels) {}

  [[nodiscard]] std::string description() const override { return std::string("cpu correlation ") + kernels_.name; }

  void correlate(const SignalBatch& signal, const VisibilityBatch& sums) override {
    check_correlation_call(signal, sums);
    std::fill_n(sums.info, signal.channels, 0);
    const std::int64_t blocks = (signal.inputs - 1) / inputs_per_call + 1, squares = baselines_of(blocks);
    const std::int64_t products = std::min(signal.integrate, signal.times) *
                                  std::min(baselines_of(signal.inputs), inputs_per_call * inputs_per_call);
    std::vector<std::int64_t> not_finite;  // indices integration * channels + channel
    std::mutex mutex;
    parallel_for(signal.integrations() * signal.channels * squares,
                 products_per_piece / std::max<std::int64_t>(1, products), threads_,
                 [&](std::int64_t first, std::int64_t last) {
                   auto memory = borrow();
                   for (std::int64_t square = first; square < last; ++square) {
                     RankUpdate call = update_of(signal, sums, square / squares);
                     std::int64_t i = 0, j = square % squares;
                     for (; j > i; ++i) j -= i + 1;
                     call.first_i = i * inputs_per_call;
                     call.first_j = j * inputs_per_call;
                     if (kernels_.update(call, *memory)) continue;
                     const std::lock_guard lock(mutex);
                     not_finite.push_back(square / squares);
                   }
                   give_back(std::move(memory));
                 });
    std::sort(not_finite.begin(), not_finite.end());
    not_finite.erase(std::unique(not_finite.begin(), not_finite.end()), not_finite.end());
    std::vector<char> has_bad_samples(not_finite.size());
    parallel_for(static_cast<std::int64_t>(not_finite.size()), 1, threads_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k)
        has_bad_samples[k] = mark_bad_inputs(update_of(signal, sums, not_finite[k])) ? 1 : 0;
    });
    for (std::size_t k = 0; k < not_finite.size(); ++k) {
      std::int32_t& info = sums.info[not_finite[k] % signal.channels];
      if (has_bad_samples[k] != 0)
        info = info_signal_not_finite;
      else if (info == 0)
        info = info_visibility_out_of_range;
    }
  }

 private:
  /// Returns the update for index `of` = integration * channels + channel. The caller sets first_i and first_j.
  static RankUpdate update_of(const SignalBatch& signal, const VisibilityBatch& sums, std::int64_t of) {
    const std::int64_t channel = of % signal.channels, first_time = of / signal.channels * signal.integrate;
    const std::int64_t sample = (channel * signal.times + first_time) * signal.inputs;
    const std::int64_t baseline = of * baselines_of(signal.inputs);
    RankUpdate call;
    call.type = signal.type;
    call.inputs = signal.inputs;
    call.times = std::min(signal.integrate, signal.times - first_time);
    call.signal = static_cast<const std::byte*>(signal.signal) + sample * bytes_of(signal.type);
    call.flag = signal.flag == nullptr ? nullptr : signal.flag + sample;
    call.sum = sums.type;
    call.visibility = static_cast<std::byte*>(sums.visibility) + baseline * bytes_of(sums.type);
    call.weight = sums.weight == nullptr ? nullptr : sums.weight + baseline;
    return call;
  }

  /// For float32 signals: sets the visibilities of inputs with samples that are not finite to NaN. Returns whether
  /// there are such inputs.
  static bool mark_bad_inputs(const RankUpdate& call) {
    const auto* const parts = static_cast<const float*>(call.signal);
    std::vector<char> bad(static_cast<std::size_t>(call.inputs));
    for (std::int64_t t = 0; t < call.times; ++t)
      for (std::int64_t i = 0; i < call.inputs; ++i) {
        const std::int64_t sample = t * call.inputs + i;
        if (call.flag != nullptr && call.flag[sample] != 0) continue;
        if (!std::isfinite(parts[2 * sample]) || !std::isfinite(parts[2 * sample + 1])) bad[i] = 1;
      }
    if (std::find(bad.begin(), bad.end(), 1) == bad.end()) return false;
    auto* visibility = static_cast<float*>(call.visibility);
    for (std::int64_t i = 0; i < call.inputs; ++i)
      for (std::int64_t j = 0; j <= i; ++j, visibility += 2)
        if (bad[i] != 0 || bad[j] != 0) visibility[0] = visibility[1] = std::numeric_limits<float>::quiet_NaN();
    return true;
  }

  std::unique_ptr<RankUpdateMemory> borrow() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<RankUpdateMemory>();
    auto memory = std::move(idle_.back());
    idle_.pop_back();
    return memory;
  }
  void give_back(std::unique_ptr<RankUpdateMemory> memory) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(memory));
  }

  unsigned threads_;
  RankUpdateKernels kernels_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RankUpdateMemory>> idle_;  // memory for threads of later calls
};

}  // namespace

std::vector<RankUpdateKernels> usable_rank_update_kernels() {
  return usable_kernels<rank_update_baseline, rank_update_avx2, rank_update_avx512>();
}

std::unique_ptr<Correlator> make_cpu_correlator(unsigned threads, const RankUpdateKernels& kernels) {
  return std::make_unique<CpuCorrelator>(threads, kernels);
}

}  // namespace smallbatch
