// The referee's visibilities, and whether what is stored of them is right. Written with Eigen in double precision; of
// what it judges it shares only the numbers of physics/correlation.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/compare.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// The numbers of the bound in physics/correlation.hpp.
struct CorrelationBound {
  std::int32_t samples;
  double roundings, relative, absolute;
};
inline constexpr CorrelationBound correlation_bound{1024, 32, 0x1p-23, 0x1p-124};

/// What is stored of one channel in one integration, all its baselines.
struct StoredVisibilities {
  SumType type = SumType::complex_float32;  ///< of the sums; means are complex float32, whatever that is
  const void* visibility = nullptr;         ///< (baselines)
  const std::int32_t* weight = nullptr;     ///< (baselines)
  bool are_means = false;
};

class ReferenceSums;

/// One channel in one integration: is told the samples, some times after the others, and then judges what is stored.
class CorrelationReferee {
 public:
  /// `baselines`, ascending: those to be judged; none: all.
  CorrelationReferee(SampleType type, std::int64_t inputs, std::vector<std::int64_t> baselines = {});
  ~CorrelationReferee();
  CorrelationReferee(CorrelationReferee&&) noexcept;
  CorrelationReferee& operator=(CorrelationReferee&&) noexcept;

  /// The times [first_time, first_time + times) of `channel`, counted from the batch's first; its `integrate` is not
  /// looked at.
  void add(const SignalBatch& signal, std::int64_t channel, std::int64_t first_time, std::int64_t times);

  /// Adds what another one, of the same baselines, was told of other times.
  void merge(const CorrelationReferee& other);

  /// Whether a sample so far, of any input, is not flagged and a NaN or an infinity.
  [[nodiscard]] bool has_bad_sample() const;

  /// Error over bound of each baseline to be judged, by its place: infinity where its weight is wrong. Sums of integers
  /// and all their means have to be right bit for bit, visibilities of inputs with a bad sample NaN; those of float32
  /// keep the bound of physics/correlation.hpp, which over the weight and with one rounding more is that of means. An
  /// infinity or a NaN instead is right where sqrt(P_i P_j) leaves the range of float32.
  [[nodiscard]] Comparison compare(const StoredVisibilities& stored) const;

 private:
  std::unique_ptr<ReferenceSums> sums_;
};

/// Whether a stored visibility that has samples is a NaN or an infinity.
[[nodiscard]] bool are_beyond_range(const StoredVisibilities& stored, std::int64_t inputs);

/// The info of a channel, from what was found in any of its integrations (has_bad_sample(), are_beyond_range()).
[[nodiscard]] std::int32_t correlation_info(bool bad_sample, bool beyond_range);

/// When visibilities are right: that rule as a sentence, with its numbers.
std::string correlation_criterion(SampleType type, bool are_means);

}  // namespace smallbatch
