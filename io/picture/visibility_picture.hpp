// |V| of one integration as a picture: baselines to the right, channels upwards, with numbers on its axes.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "io/result_reader.hpp"

namespace smallbatch {

inline constexpr const char* visibility_picture_ending = ".png";

/// Means of |V| over the visibilities that fall into a cell of the picture. A cell is one baseline and one channel, or,
/// where there are more than `greatest_side` of them, as many neighbours as that takes.
class MagnitudeMap {
 public:
  static constexpr std::int64_t greatest_side = 2560;

  MagnitudeMap(std::int64_t baselines, std::int64_t channels);

  /// A visibility that is NaN does not count.
  void add(std::int64_t baseline, std::int64_t channel, double magnitude) {
    if (std::isnan(magnitude)) return;
    const auto cell =
        static_cast<std::size_t>(channel * rows_ / channels_ * columns_ + baseline * columns_ / baselines_);
    sum_[cell] += magnitude;
    ++count_[cell];
  }
  /// NaN where nothing counts.
  [[nodiscard]] double mean(std::int64_t column, std::int64_t row) const {
    const auto cell = static_cast<std::size_t>(row * columns_ + column);
    return sum_[cell] / static_cast<double>(count_[cell]);
  }

  [[nodiscard]] std::int64_t baselines() const { return baselines_; }
  [[nodiscard]] std::int64_t channels() const { return channels_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  std::int64_t baselines_, channels_, columns_, rows_;
  std::vector<double> sum_;
  std::vector<std::int64_t> count_;
};

/// |V| of an integration of a result file, which is read some channels at a time. A visibility of no samples does not
/// count. Throws Error(usage) for an integration that the set lacks, Error(bad_input) where it has no visibilities.
MagnitudeMap read_magnitudes(const ResultReader& results, const CorrelationSet& set, std::int64_t integration);

/// The colours of a picture, for the caller to tell: from yellow, which is light, to blue, which is dark; grey is not a
/// number. Beyond their ends, and for infinities, the colour is that of the end.
struct VisibilityColours {
  /// Where the largest |V| is more than 20 times the median. Then `lowest` is the second percentile, but at least a
  /// millionth of the largest; else 0.
  bool is_logarithmic = false;
  double lowest = 0, highest = 0;  ///< |V| at the ends of the colour bar; 0 where there is no finite |V|
  std::int64_t below = 0, zeros = 0, infinite = 0;  ///< cells below the scale, those of them that are 0, and above it
};

/// A PNG: a cell is a rectangle of pixels, so many that the map is 768 x 512 at least. The axes have the numbers of
/// baselines and of channels, or, with their frequencies (Hz; empty where they are not known) in equal steps, MHz.
/// Above it is the title. Title, colours and the map's place (`MapPlace`) are texts of the file. Throws Error(output).
VisibilityColours write_visibility_picture(const std::string& path, const MagnitudeMap& map,
                                           const std::vector<double>& frequency, const std::string& title,
                                           bool overwrite);

}  // namespace smallbatch
