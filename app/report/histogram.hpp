// How often values of a file are how large: what the charts of `report` show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smallbatch {

/// Counts of values, in bins of equal width between `low` and `high`; logarithms of ten on a logarithmic axis.
struct Histogram {
  std::string title, unit;
  double low = 0, high = 1;
  bool is_logarithmic = false;
  std::vector<std::int64_t> counts;
  std::string caption;  ///< what is not in the bins
  std::string things;   ///< that are counted
};

/// Bins of a number that may have any magnitude: 8 for each power of ten, however many values there are.
class Magnitudes {
 public:
  void add(double value);
  /// At most 40 bins; nothing without a value.
  [[nodiscard]] std::optional<Histogram> histogram(const std::string& title, const std::string& unit) const;

 private:
  static constexpr int bins_per_decade = 8, least_power = -324, greatest_power = 309;
  std::vector<std::int64_t> counts_ =
      std::vector<std::int64_t>(static_cast<std::size_t>((greatest_power - least_power) * bins_per_decade));
  std::int64_t zeros_ = 0, negative_ = 0, infinite_ = 0, not_numbers_ = 0;
};

/// Of values that have one magnitude: 30 bins over all but their outermost hundredths, which the caption tells of.
/// Their order is lost.
std::optional<Histogram> histogram_of(std::vector<double>& values, const std::string& title, const std::string& unit);

}  // namespace smallbatch
