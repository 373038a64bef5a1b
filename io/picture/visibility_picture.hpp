// |V| of one integration as a picture. Baselines run to the right and channels upwards, with numbers on both axes.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "io/result_reader.hpp"

namespace smallbatch {

inline constexpr const char* visibility_picture_ending = ".png";

/// Means of |V| over the visibilities in each cell of the picture. A cell is one baseline and one channel. Neighbours
/// share a cell if there are more than `greatest_side` baselines or channels.
class MagnitudeMap {
 public:
  static constexpr std::int64_t greatest_side = 2560;

  MagnitudeMap(std::int64_t baselines, std::int64_t channels);

  /// Adds a visibility to its cell. A NaN does not count.
  void add(std::int64_t baseline, std::int64_t channel, double magnitude) {
    if (std::isnan(magnitude)) return;
    const auto cell =
        static_cast<std::size_t>(channel * rows_ / channels_ * columns_ + baseline * columns_ / baselines_);
    sum_[cell] += magnitude;
    ++count_[cell];
  }
  /// Returns the mean of a cell, or NaN if nothing counts there.
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

/// Reads |V| of an integration of a result file, some channels at a time. A visibility without samples does not count.
/// Throws Error(usage) for an integration that the set lacks, and Error(bad_input) if the file has no visibilities.
MagnitudeMap read_magnitudes(const ResultReader& results, const CorrelationSet& set, std::int64_t integration);

/// Colours of a picture, from light yellow to dark blue. NaN is grey. Values beyond the ends, and infinities, have
/// the colour of the end.
struct VisibilityColours {
  /// Whether the scale is logarithmic: the largest |V| is more than 20 times the median. If so, `lowest` is the second
  /// percentile, but at least a millionth of the largest |V|. Otherwise it is 0.
  bool is_logarithmic = false;
  double lowest = 0, highest = 0;  ///< |V| at the ends of the colour bar; 0 if no |V| is finite
  /// Counts of cells: below the scale; below the scale and 0; infinite.
  std::int64_t below = 0, zeros = 0, infinite = 0;
};

/// Writes a PNG file. A cell is a rectangle of pixels, and the map has at least 768 x 512 pixels. The axes show the
/// indices of baselines and channels. If `frequency` (Hz; empty if unknown) has equal steps, the channels have an axis
/// in MHz instead. The file also stores the title, the colours and the place of the map (`MapPlace`) as PNG text
/// chunks. Throws Error(output).
VisibilityColours write_visibility_picture(const std::string& path, const MagnitudeMap& map,
                                           const std::vector<double>& frequency, const std::string& title,
                                           bool overwrite);

}  // namespace smallbatch
