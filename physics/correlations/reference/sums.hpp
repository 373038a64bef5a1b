// The referee's sums of one channel in one integration, in double precision. Sums of integers are exact, because all of
// them are integers below 2^46.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/signals.hpp"
#include "physics/correlations/reference/products.hpp"

namespace smallbatch {

/// Sums and weights of some or all baselines, and the powers of the inputs.
class ReferenceSums {
 public:
  /// `baselines` lists the baselines, ascending. An empty list means all.
  ReferenceSums(SampleType type, std::int64_t inputs, std::vector<std::int64_t> baselines);

  void add(const SignalBatch& signal, std::int64_t channel, std::int64_t first_time, std::int64_t times);

  /// Adds the sums of `other`, which has the same baselines and other times.
  void merge(const ReferenceSums& other);

  struct Baseline {
    std::int64_t number, i, j;
  };
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(weight_.size()); }
  /// Calls visit(baseline, k). The baseline's numbers are re(k), im(k) and weight(k).
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::int64_t i = 0;
    for (std::int64_t k = 0; k < count(); ++k) {
      const std::int64_t number = baselines_.empty() ? k : baselines_[k];
      while (number >= baseline_of(i + 1, 0)) ++i;
      visit(Baseline{number, i, number - baseline_of(i, 0)}, k);
    }
  }

  [[nodiscard]] double re(std::int64_t k) const { return sum_[2 * k]; }
  [[nodiscard]] double im(std::int64_t k) const { return sum_[2 * k + 1]; }
  [[nodiscard]] std::int32_t weight(std::int64_t k) const { return weight_[k]; }
  /// sum_t |x(t)|^2 of an input, over the samples that are finite and not flagged.
  [[nodiscard]] double power(std::int64_t input) const { return power_[input]; }
  /// Whether the input has a sample that is not flagged and is a NaN or an infinity.
  [[nodiscard]] bool is_bad(std::int64_t input) const { return is_bad_[input] != 0; }
  [[nodiscard]] bool any_is_bad() const { return any_is_bad_; }
  [[nodiscard]] SampleType type() const { return type_; }

 private:
  template <SampleType type>
  void unpack(const SignalBatch& signal, std::int64_t first_sample, std::int64_t times);
  void add_all(std::int64_t times);
  void add_listed(std::int64_t times);
  void add_weights(std::int64_t times);

  SampleType type_;
  std::int64_t inputs_;
  std::vector<std::int64_t> baselines_;
  AlignedVector<double> sum_;         // (count, 2)
  std::vector<std::int32_t> weight_;  // (count)
  std::vector<double> power_;         // (inputs)
  std::vector<char> is_bad_;          // (inputs)
  bool any_is_bad_ = false;
  // Working memory for the times that are being added.
  AlignedVector<double> samples_;  // blocks of inputs, (times, 2, inputs of the block)
  std::vector<std::uint64_t>
      counts_;  // (inputs, words), a bit for each time, set if its sample is not flagged; used if any sample is flagged
  bool any_is_flagged_ = false;
  AlignedVector<double> product_;     // product of two blocks
  std::vector<std::int64_t> listed_;  // inputs of listed baselines
  AlignedVector<double> by_input_;    // samples of the listed inputs, (inputs, 2, times)
  ProductLoops loops_;
};

}  // namespace smallbatch
