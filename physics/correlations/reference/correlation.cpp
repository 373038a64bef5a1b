// The reference backend of correlations, and the referee's verdicts on visibilities.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/not_finite.hpp"
#include "core/parallel.hpp"
#include "physics/correlations/backends.hpp"
#include "physics/correlations/checks.hpp"
#include "physics/correlations/referee.hpp"
#include "physics/correlations/reference/sums.hpp"

namespace smallbatch {

namespace {

constexpr double largest = std::numeric_limits<float>::max();

class EigenCorrelator final : public Correlator {
 public:
  explicit EigenCorrelator(unsigned threads) : threads_(threads) {}

  [[nodiscard]] std::string description() const override { return "reference eigen"; }

  void correlate(const SignalBatch& signal, const VisibilityBatch& sums) override {
    check_correlation_call(signal, sums);
    parallel_for(signal.channels, 1, threads_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t channel = first; channel < last; ++channel) {
        bool is_bad = false, is_beyond = false;
        for (std::int64_t integration = 0; integration < signal.integrations(); ++integration) {
          ReferenceSums answer(signal.type, signal.inputs, {});
          const std::int64_t begin = integration * signal.integrate;
          answer.add(signal, channel, begin, std::min(signal.integrate, signal.times - begin));
          const std::int64_t first_index = (integration * signal.channels + channel) * baselines_of(signal.inputs);
          is_beyond |= store(answer, sums, first_index);
          is_bad |= answer.any_is_bad();
        }
        sums.info[channel] = correlation_info(is_bad, is_beyond);
      }
    });
  }

 private:
  /// Stores sums and weights. Returns whether a visibility of finite samples leaves the range of its type.
  static bool store(const ReferenceSums& answer, const VisibilityBatch& sums, std::int64_t first_index) {
    bool is_beyond = false;
    answer.for_each([&](const ReferenceSums::Baseline& baseline, std::int64_t k) {
      const auto set = [&](auto* out) {
        out += 2 * (first_index + k);
        using Part = std::remove_reference_t<decltype(*out)>;
        out[0] = static_cast<Part>(answer.re(k));
        out[1] = static_cast<Part>(answer.im(k));
        if constexpr (std::is_same_v<Part, float>) {
          if (answer.is_bad(baseline.i) || answer.is_bad(baseline.j))
            out[0] = out[1] = std::numeric_limits<float>::quiet_NaN();
          else
            is_beyond |= !std::isfinite(out[0]) || !std::isfinite(out[1]);
        }
      };
      switch (sums.type) {
        case SumType::complex_float32:
          return set(static_cast<float*>(sums.visibility));
        case SumType::complex_int32:
          return set(static_cast<std::int32_t*>(sums.visibility));
        case SumType::complex_int64:
          return set(static_cast<std::int64_t*>(sums.visibility));
      }
    });
    if (sums.weight != nullptr)
      for (std::int64_t k = 0; k < answer.count(); ++k) sums.weight[first_index + k] = answer.weight(k);
    return is_beyond;
  }

  unsigned threads_;
};

template <class T>
std::pair<T, T> parts_of(const void* visibility, std::int64_t baseline) {
  T parts[2];
  std::memcpy(parts, static_cast<const std::byte*>(visibility) + baseline * static_cast<std::int64_t>(sizeof(parts)),
              sizeof(parts));
  return {parts[0], parts[1]};
}

double exact(bool is_right) { return is_right ? 0 : infinity; }

/// Error over bound of a stored real or imaginary part. `exact_sum` is the referee's sum over `samples` samples, and
/// `powers` is sqrt(P_i P_j).
double judge_float(float got, double exact_sum, double powers, std::int32_t samples, bool is_mean) {
  if (samples == 0) return exact(is_mean ? std::isnan(got) : got == 0);
  double expected = exact_sum;
  const auto most = static_cast<double>(std::min(samples, correlation_bound.samples));
  double bound =
      (most + correlation_bound.roundings) * correlation_bound.relative * powers + samples * correlation_bound.absolute;
  if (!std::isfinite(got)) return exact(powers + bound > largest);
  if (is_mean) {
    expected /= samples;
    bound = bound / samples + std::abs(expected) * 0x1p-24 + 0x1p-150;
  }
  return error_over_bound(static_cast<double>(got), expected, bound);
}

}  // namespace

CorrelationReferee::CorrelationReferee(SampleType type, std::int64_t inputs, std::vector<std::int64_t> baselines)
    : sums_(std::make_unique<ReferenceSums>(type, inputs, std::move(baselines))) {}
CorrelationReferee::~CorrelationReferee() = default;
CorrelationReferee::CorrelationReferee(CorrelationReferee&&) noexcept = default;
CorrelationReferee& CorrelationReferee::operator=(CorrelationReferee&&) noexcept = default;

void CorrelationReferee::add(const SignalBatch& signal, std::int64_t channel, std::int64_t first_time,
                             std::int64_t times) {
  sums_->add(signal, channel, first_time, times);
}

void CorrelationReferee::merge(const CorrelationReferee& other) { sums_->merge(*other.sums_); }

bool CorrelationReferee::has_bad_sample() const { return sums_->any_is_bad(); }

Comparison CorrelationReferee::compare(const StoredVisibilities& stored) const {
  Comparison found;
  const ReferenceSums& sums = *sums_;
  const auto judge = [&](const ReferenceSums::Baseline& baseline, std::int64_t k) {
    const std::int32_t weight = sums.weight(k);
    if (stored.weight[baseline.number] != weight) return infinity;
    const double re = sums.re(k), im = sums.im(k);
    if (stored.type == SumType::complex_float32) {
      const auto [got_re, got_im] = parts_of<float>(stored.visibility, baseline.number);
      if (sums.is_bad(baseline.i) || sums.is_bad(baseline.j)) return exact(std::isnan(got_re) && std::isnan(got_im));
      const double powers = std::sqrt(sums.power(baseline.i) * sums.power(baseline.j));
      const double of_re = judge_float(got_re, re, powers, weight, stored.are_means);
      const bool is_real = baseline.i == baseline.j && weight > 0;
      return std::max(of_re, is_real ? exact(got_im == 0) : judge_float(got_im, im, powers, weight, stored.are_means));
    }
    if (stored.are_means) {
      const auto [got_re, got_im] = parts_of<float>(stored.visibility, baseline.number);
      if (weight == 0) return exact(std::isnan(got_re) && std::isnan(got_im));
      return exact(got_re == static_cast<float>(re / weight) && got_im == static_cast<float>(im / weight));
    }
    const auto compare_integers = [&](const auto& got) {
      return exact(got.first == static_cast<std::int64_t>(re) && got.second == static_cast<std::int64_t>(im));
    };
    return stored.type == SumType::complex_int32
               ? compare_integers(parts_of<std::int32_t>(stored.visibility, baseline.number))
               : compare_integers(parts_of<std::int64_t>(stored.visibility, baseline.number));
  };
  sums.for_each(
      [&](const ReferenceSums::Baseline& baseline, std::int64_t k) { found.add(judge(baseline, k), baseline.number); });
  return found;
}

bool are_beyond_range(const StoredVisibilities& stored, std::int64_t inputs) {
  if (stored.type != SumType::complex_float32) return false;
  for (std::int64_t k = 0; k < baselines_of(inputs); ++k) {
    if (stored.weight[k] == 0) continue;
    const auto [re, im] = parts_of<float>(stored.visibility, k);
    if (!std::isfinite(re) || !std::isfinite(im)) return true;
  }
  return false;
}

std::int32_t correlation_info(bool bad_sample, bool beyond_range) {
  return bad_sample ? info_signal_not_finite : beyond_range ? info_visibility_out_of_range : 0;
}

std::string correlation_criterion(SampleType type, bool are_means) {
  if (type != SampleType::complex_float32)
    return std::string(are_means ? "means and weights" : "sums and weights") +
           " equal, bit for bit, those of Eigen in double precision, where sums of integers are exact";
  std::string text = "|V - V*| <= (min(w, " + std::to_string(correlation_bound.samples) + ") + " +
                     bound_text(correlation_bound.roundings) + ") " + bound_text(correlation_bound.relative) +
                     " sqrt(P_i P_j) + w " + bound_text(correlation_bound.absolute);
  if (are_means) text += ", divided by w, plus one rounding,";
  return text + " against sums by Eigen in double precision; weights w equal, bit for bit";
}

std::unique_ptr<Correlator> make_reference_correlator(unsigned threads) {
  return std::make_unique<EigenCorrelator>(threads);
}

}  // namespace smallbatch
