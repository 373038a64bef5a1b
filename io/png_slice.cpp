// A plane of V as a PNG: one rectangle of pixels per lattice point, beside it the scale of colours.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "io/colour_scales.hpp"
#include "io/export_file.hpp"
#include "io/lattice_export.hpp"
#include "io/picture.hpp"

namespace smallbatch {
namespace {

constexpr std::int64_t greatest_side = 32768;  // points of a plane, either way

/// The plane's values, `columns` to the right (fastest) and `rows` upwards.
struct Plane {
  std::int64_t columns = 0, rows = 0;
  double column_spacing = 1, row_spacing = 1;
  std::vector<double> values;
};

Plane take_plane(const LatticeMap& map, int axis, std::int64_t index) {
  const std::array<std::int64_t, 3> counts{map.shape.nx, map.shape.ny, map.shape.nz};
  const std::array<std::int64_t, 3> strides{1, map.shape.nx, map.shape.plane_points()};
  const std::size_t right = axis == 0 ? 1 : 0;
  const std::size_t up = axis == 2 ? 1 : 2;
  Plane plane{counts[right], counts[up], map.spacing[right], map.spacing[up], {}};
  plane.values.reserve(static_cast<std::size_t>(plane.columns * plane.rows));
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    for (std::int64_t column = 0; column < plane.columns; ++column) {
      plane.values.push_back(
          map.values[index * strides[static_cast<std::size_t>(axis)] + row * strides[up] + column * strides[right]]);
    }
  }
  return plane;
}

Image draw(const Plane& plane, double limit) {
  constexpr std::int64_t least_width = 512, greatest_height = 4096;
  constexpr std::int64_t gap = 14, bar_width = 26, tick = 6, space = 8, margin = 8;
  const std::int64_t cell_width = (least_width + plane.columns - 1) / plane.columns;
  const double wanted_height = static_cast<double>(cell_width) * plane.row_spacing / plane.column_spacing;
  const std::int64_t greatest_cell_height = std::max<std::int64_t>(greatest_height / plane.rows, 1);
  const std::int64_t cell_height =
      std::llround(std::clamp(wanted_height, 1.0, static_cast<double>(greatest_cell_height)));
  const std::int64_t map_width = plane.columns * cell_width, height = plane.rows * cell_height;
  const std::int64_t bar_left = map_width + gap, bar_right = bar_left + bar_width;

  // Numbers beside the ticks, where there is room for them.
  std::array<std::string, 5> numbers;
  std::int64_t numbers_width = 0;
  for (std::size_t quarter = 0; quarter < numbers.size() && height >= 6 * text_height; ++quarter) {
    const double value = limit * (1 - 0.5 * static_cast<double>(quarter));
    if (value == 0 && quarter != 2) continue;
    numbers[quarter] = number_text(value, 4);
    numbers_width = std::max(numbers_width, text_width(numbers[quarter]) + space);
  }

  Image image(bar_right + numbers_width + margin, height);
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    const std::int64_t top = (plane.rows - 1 - row) * cell_height;
    for (std::int64_t column = 0; column < plane.columns; ++column) {
      const Colour colour = potential_colour(plane.values[row * plane.columns + column], limit);
      image.fill(column * cell_width, (column + 1) * cell_width, top, top + cell_height, colour);
    }
  }
  image.fill(map_width, map_width + 1, 0, height, ink);
  image.fill(bar_left - 1, bar_right + 1, 0, height, ink);
  const double last_row = static_cast<double>(std::max<std::int64_t>(height - 1, 1));
  for (std::int64_t row = 0; row < height; ++row) {
    image.fill(bar_left, bar_right, row, row + 1, signed_scale_colour(1 - 2 * static_cast<double>(row) / last_row));
  }
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const std::int64_t row = quarter * (height - 1) / 4;
    image.fill(bar_left - tick, bar_left, row - 1, row + 1, ink);
    const std::string& number = numbers[static_cast<std::size_t>(quarter)];
    if (number.empty()) continue;
    image.write(bar_right + space, std::clamp<std::int64_t>(row - number_middle, 2 * font_size, height - text_height),
                number);
  }
  return image;
}

}  // namespace

SlicePicture measure_slice(std::span<const double> values) {
  SlicePicture result;
  std::vector<double> magnitude;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    result.lowest = magnitude.empty() ? value : std::min(result.lowest, value);
    result.highest = magnitude.empty() ? value : std::max(result.highest, value);
    magnitude.push_back(std::abs(value));
  }
  if (magnitude.empty()) return result;
  const double most = percentile(magnitude, 98);
  result.colour_limit = most > 0 ? most : std::max(std::abs(result.lowest), std::abs(result.highest));
  return result;
}

SlicePicture write_png_slice(const std::string& path, const LatticeMap& map, int axis, std::int64_t index,
                             bool overwrite) {
  check_shape(path, map);
  if (axis < 0 || axis > 2) {
    throw Error(ErrorKind::usage, "cannot write " + path, "a lattice has no axis " + std::to_string(axis),
                "Choose 0 (x), 1 (y) or 2 (z).");
  }
  const std::string axis_name(1, "xyz"[axis]);
  const std::int64_t planes = std::array{map.shape.nx, map.shape.ny, map.shape.nz}[static_cast<std::size_t>(axis)];
  if (index < 0 || index >= planes) {
    throw Error(ErrorKind::usage, "cannot write " + path,
                "the lattice has " + std::to_string(planes) + " planes across " + axis_name +
                    ", and there is no plane " + std::to_string(index),
                "Choose one from 0 to " + std::to_string(planes - 1) + ".");
  }
  const Plane plane = take_plane(map, axis, index);
  if (std::max(plane.columns, plane.rows) > greatest_side) {
    throw Error(ErrorKind::usage, "cannot write " + path,
                "a plane of " + std::to_string(plane.columns) + " x " + std::to_string(plane.rows) +
                    " points is too large for a picture",
                "Export OpenDX.");
  }
  const SlicePicture result = measure_slice(plane.values);
  const Image image = draw(plane, result.colour_limit);

  const std::array<std::pair<const char*, std::string>, 5> texts{{{"Title", plain_line(map.title)},
                                                                  {"Axis", axis_name},
                                                                  {"Index", std::to_string(index)},
                                                                  {"Colour limit", shortest_text(result.colour_limit)},
                                                                  {"Software", "smallbatch"}}};
  write_png(path, image, texts, overwrite);
  return result;
}

}  // namespace smallbatch
