// Distributions of the values of a file, for the charts of `report`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smallbatch {

/// Counts of values in bins of equal width between `low` and `high`. On a logarithmic axis, both are powers of ten.
struct Histogram {
  std::string title, unit;
  double low = 0, high = 1;
  bool is_logarithmic = false;
  std::vector<std::int64_t> counts;
  std::string caption;  ///< says which values are not in the bins
  std::string things;   ///< the counted things, in words
};

/// Distribution of numbers of any magnitude, with 8 bins for each power of ten. Memory does not grow with the values.
class Magnitudes {
 public:
  void add(double value);
  /// Returns at most 40 bins, or nothing if there is no value.
  [[nodiscard]] std::optional<Histogram> histogram(const std::string& title, const std::string& unit) const;

 private:
  static constexpr int bins_per_decade = 8, least_power = -324, greatest_power = 309;
  std::vector<std::int64_t> counts_ =
      std::vector<std::int64_t>(static_cast<std::size_t>((greatest_power - least_power) * bins_per_decade));
  std::int64_t zeros_ = 0, negative_ = 0, infinite_ = 0, not_numbers_ = 0;
};

/// Returns the distribution of values of one magnitude: 30 bins from the 1st to the 99th percentile. The caption counts
/// the values outside. Sorts `values` in part.
std::optional<Histogram> histogram_of(std::vector<double>& values, const std::string& title, const std::string& unit);

}  // namespace smallbatch
