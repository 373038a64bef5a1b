#include "io/picture/visibility_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/number_text.hpp"
#include "io/interchange/export_file.hpp"
#include "io/picture/axis_ticks.hpp"
#include "io/picture/colour_scales.hpp"
#include "io/picture/framed_picture.hpp"
#include "io/picture/picture.hpp"

namespace smallbatch {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{1} << 28;

template <class T>
void add_magnitudes(const SignalBlock& block, std::int64_t baselines, MagnitudeMap& map) {
  for (std::int64_t c = 0; c < block.channels; ++c) {
    for (std::int64_t b = 0; b < baselines; ++b) {
      const auto index = static_cast<std::size_t>(c * baselines + b);
      if (block.weight[index] == 0) continue;
      std::array<T, 2> value;
      std::memcpy(value.data(), block.visibility.data() + index * sizeof(value), sizeof(value));
      const auto real = static_cast<double>(value[0]), imaginary = static_cast<double>(value[1]);
      map.add(b, block.first + c, std::sqrt(real * real + imaginary * imaginary));
    }
  }
}

/// Ticks of the numbers 0 ... count - 1. Each is in the middle of its part of the axis.
std::vector<Tick> in_the_middle_of_cells(std::vector<Tick> ticks, std::int64_t count) {
  const auto n = static_cast<double>(count);
  for (Tick& tick : ticks) tick.place = (tick.place * (n - 1) + 0.5) / n;
  return ticks;
}

/// Whether all channels lie within half a step of a grid with equal steps.
bool are_equal_steps(const std::vector<double>& frequency) {
  if (frequency.empty()) return false;
  const double step = (frequency.back() - frequency.front()) / static_cast<double>(frequency.size() - 1);
  for (std::size_t c = 1; c < frequency.size(); ++c) {
    if (!(std::abs(frequency[c] - frequency[0] - static_cast<double>(c) * step) < std::abs(step) / 2)) return false;
  }
  return std::isfinite(frequency[0]);
}

/// Ticks from the first channel to the last. Frequencies may rise or fall.
std::vector<Tick> frequency_ticks(const std::vector<double>& frequency, std::int64_t most) {
  const double first = frequency.front() / 1e6, last = frequency.back() / 1e6;
  std::vector<Tick> ticks = round_ticks(std::min(first, last), std::max(first, last), most, 0);
  for (Tick& tick : ticks)
    if (first > last) tick.place = 1 - tick.place;
  return ticks;
}

std::vector<Tick> ticks_of_cells(std::int64_t count, std::int64_t most) {
  return in_the_middle_of_cells(round_ticks(0, static_cast<double>(count - 1), most, 1), count);
}

VisibilityColours choose_colours(const MagnitudeMap& map) {
  std::vector<double> values;
  for (std::int64_t row = 0; row < map.rows(); ++row)
    for (std::int64_t column = 0; column < map.columns(); ++column)
      if (std::isfinite(map.mean(column, row))) values.push_back(map.mean(column, row));
  VisibilityColours colours;
  for (std::int64_t row = 0; row < map.rows(); ++row)
    for (std::int64_t column = 0; column < map.columns(); ++column)
      if (std::isinf(map.mean(column, row))) ++colours.infinite;
  if (values.empty()) return colours;
  colours.highest = *std::max_element(values.begin(), values.end());
  colours.is_logarithmic = colours.highest > 20 * percentile(values, 50);
  if (colours.is_logarithmic) colours.lowest = std::max(percentile(values, 2), colours.highest * 1e-6);
  for (const double value : values) {
    if (value < colours.lowest) ++colours.below;
    if (value < colours.lowest && value == 0) ++colours.zeros;
  }
  return colours;
}

double colour_place(double value, const VisibilityColours& colours) {
  if (!(colours.highest > 0)) return value > 0 ? 1 : 0;
  const double place = colours.is_logarithmic
                           ? std::log(value / colours.lowest) / std::log(colours.highest / colours.lowest)
                           : value / colours.highest;
  return std::clamp(place, 0.0, 1.0);
}

/// Returns the number of pixels, at least `least`, that `count` cells of equal size take.
std::int64_t enlarged(std::int64_t count, std::int64_t least) { return count * ((least + count - 1) / count); }

FramedPicture draw(const MagnitudeMap& map, const std::vector<double>& frequency, const VisibilityColours& colours,
                   const std::string& title) {
  constexpr std::int64_t least_width = 768, least_height = 512, most_ticks = 9;
  PictureWords words;
  words.title = title;
  words.right_title = "baseline";
  words.right = ticks_of_cells(map.baselines(), most_ticks);
  const bool has_frequencies = are_equal_steps(frequency);
  words.up_title = has_frequencies ? "frequency (MHz)" : "channel";
  words.up = has_frequencies ? in_the_middle_of_cells(frequency_ticks(frequency, most_ticks), map.channels())
                             : ticks_of_cells(map.channels(), most_ticks);
  words.bar_title = colours.is_logarithmic ? "|V|, logarithmic" : "|V|";
  words.bar = colours.is_logarithmic ? logarithmic_ticks(colours.lowest, colours.highest)
                                     : round_ticks(0, colours.highest, most_ticks, 0);
  words.is_exceeded = colours.infinite > 0;
  words.is_undercut = colours.below > 0;
  const auto draw_map = [&](Image& image, const MapPlace& place) {
    const std::int64_t cell_width = place.width / map.columns(), cell_height = place.height / map.rows();
    for (std::int64_t row = 0; row < map.rows(); ++row) {
      const std::int64_t below = place.top + place.height - row * cell_height;
      for (std::int64_t column = 0; column < map.columns(); ++column) {
        const double value = map.mean(column, row);
        image.fill(place.left + column * cell_width, place.left + (column + 1) * cell_width, below - cell_height, below,
                   std::isnan(value) ? grey : magnitude_colour(colour_place(value, colours)));
      }
    }
  };
  return draw_framed(enlarged(map.columns(), least_width), enlarged(map.rows(), least_height), words, draw_map,
                     magnitude_colour);
}

}  // namespace

MagnitudeMap::MagnitudeMap(std::int64_t baselines, std::int64_t channels)
    : baselines_(baselines),
      channels_(channels),
      columns_(std::min(baselines, greatest_side)),
      rows_(std::min(channels, greatest_side)),
      sum_(static_cast<std::size_t>(columns_ * rows_)),
      count_(sum_.size()) {}

MagnitudeMap read_magnitudes(const ResultReader& results, const CorrelationSet& set, std::int64_t integration) {
  const std::string what = "cannot draw correlation/" + set.name;
  if (set.integrations() == 0 || set.batch == 0)
    throw Error(ErrorKind::bad_input, what, "it has no visibilities", "Export another set.");
  if (integration < 0 || integration >= set.integrations()) {
    throw Error(ErrorKind::usage, what,
                "there are " + std::to_string(set.integrations()) + " integrations, and not one with the number " +
                    std::to_string(integration),
                "Choose one from 0 to " + std::to_string(set.integrations() - 1) + ".");
  }
  MagnitudeMap map(set.baselines(), set.batch);
  const std::int64_t bytes = set.baselines() * (bytes_of(set.visibility()) + 4);
  const std::int64_t step = std::clamp<std::int64_t>(block_bytes / bytes, 1, set.batch);
  SignalBlock block;
  block.first_time = integration * set.integrate;
  block.times = std::min(set.integrate, set.times - block.first_time);
  for (block.first = 0; block.first < set.batch; block.first += step) {
    block.channels = std::min(step, set.batch - block.first);
    results.read(set, block);
    switch (set.visibility()) {
      case SumType::complex_float32:
        add_magnitudes<float>(block, set.baselines(), map);
        break;
      case SumType::complex_int32:
        add_magnitudes<std::int32_t>(block, set.baselines(), map);
        break;
      case SumType::complex_int64:
        add_magnitudes<std::int64_t>(block, set.baselines(), map);
        break;
    }
  }
  return map;
}

VisibilityColours write_visibility_picture(const std::string& path, const MagnitudeMap& map,
                                           const std::vector<double>& frequency, const std::string& title,
                                           bool overwrite) {
  const VisibilityColours colours = choose_colours(map);
  const FramedPicture picture = draw(map, frequency, colours, plain_line(title));
  const std::array<std::pair<const char*, std::string>, 6> texts{
      {{"Title", plain_line(title)},
       {"Map", picture.map.text()},
       {"Scale", colours.is_logarithmic ? "logarithmic" : "linear"},
       {"Lowest colour", number_text(colours.lowest)},
       {"Highest colour", number_text(colours.highest)},
       {"Software", "smallbatch"}}};
  write_png(path, picture.image, texts, overwrite);
  return colours;
}

}  // namespace smallbatch
