// The referee computes visibilities, and judges stored visibilities. It uses Eigen in double precision. It shares only
// the numbers of physics/correlation.hpp with the code that it judges.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/compare.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Numbers of the bound in physics/correlation.hpp.
struct CorrelationBound {
  std::int32_t samples;
  double roundings, relative, absolute;
};
inline constexpr CorrelationBound correlation_bound{1024, 32, 0x1p-23, 0x1p-124};

/// Stored visibilities of one channel in one integration, with all its baselines.
struct StoredVisibilities {
  SumType type = SumType::complex_float32;  ///< of the sums; means are always complex float32
  const void* visibility = nullptr;         ///< (baselines)
  const std::int32_t* weight = nullptr;     ///< (baselines)
  bool are_means = false;
};

class ReferenceSums;

/// Referee of one channel in one integration. add() takes the samples in parts, and compare() then judges stored
/// visibilities.
class CorrelationReferee {
 public:
  /// `baselines` lists the baselines to be judged, ascending. An empty list means all.
  CorrelationReferee(SampleType type, std::int64_t inputs, std::vector<std::int64_t> baselines = {});
  ~CorrelationReferee();
  CorrelationReferee(CorrelationReferee&&) noexcept;
  CorrelationReferee& operator=(CorrelationReferee&&) noexcept;

  /// Adds the times [first_time, first_time + times) of `channel`, counted from the batch's first time. The batch's
  /// `integrate` is ignored.
  void add(const SignalBatch& signal, std::int64_t channel, std::int64_t first_time, std::int64_t times);

  /// Adds the sums of another referee, which has the same baselines and other times.
  void merge(const CorrelationReferee& other);

  /// Whether some sample that was added is not flagged and is a NaN or an infinity.
  [[nodiscard]] bool has_bad_sample() const;

  /// Returns the error over bound of each baseline to be judged. The number is infinite if the weight is wrong.
  ///
  /// Sums of integers and their means must be right bit for bit. Visibilities of inputs with a bad sample must be NaN.
  /// Sums of float32 keep the bound of physics/correlation.hpp. Their means keep this bound divided by the weight, plus
  /// one rounding. An infinity or a NaN is right if sqrt(P_i P_j) leaves the range of float32.
  [[nodiscard]] Comparison compare(const StoredVisibilities& stored) const;

 private:
  std::unique_ptr<ReferenceSums> sums_;
};

/// Whether any stored visibility with a weight above 0 is a NaN or an infinity.
[[nodiscard]] bool are_beyond_range(const StoredVisibilities& stored, std::int64_t inputs);

/// Returns the info of a channel. `bad_sample` says whether has_bad_sample() is true for any of its integrations.
/// `beyond_range` says the same of are_beyond_range().
[[nodiscard]] std::int32_t correlation_info(bool bad_sample, bool beyond_range);

/// Returns a sentence with numbers that says when visibilities are right.
std::string correlation_criterion(SampleType type, bool are_means);

}  // namespace smallbatch
