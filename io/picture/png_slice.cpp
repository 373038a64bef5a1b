// Draws a plane of V as a PNG. A lattice point is a rectangle of pixels. Axes are in angstrom, and both have the same
// number of pixels per angstrom.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/number_text.hpp"
#include "io/interchange/export_file.hpp"
#include "io/interchange/lattice_export.hpp"
#include "io/picture/axis_ticks.hpp"
#include "io/picture/colour_scales.hpp"
#include "io/picture/framed_picture.hpp"
#include "io/picture/picture.hpp"

namespace smallbatch {
namespace {

/// A plane of lattice points across one axis. The first of the other two axes runs to the right, the second upwards.
struct LatticePlane {
  std::size_t across = 2, right = 0, up = 1;  ///< axes: 0 x, 1 y, 2 z
  std::int64_t columns = 0, rows = 0;         ///< points to the right and upwards
  double coordinate = 0;                      ///< coordinate along `across`; all lengths are in angstrom
  double left = 0, bottom = 0;                ///< edges of the first cells; a lattice point is the middle of its cell
  double column_spacing = 1, row_spacing = 1;
};

constexpr std::array<char, 3> axis_names{'x', 'y', 'z'};

LatticePlane plane_across(int axis, std::int64_t index, const LatticeShape& shape, const std::array<double, 3>& origin,
                          const std::array<double, 3>& spacing) {
  const std::array<std::int64_t, 3> counts{shape.nx, shape.ny, shape.nz};
  LatticePlane plane;
  plane.across = static_cast<std::size_t>(axis);
  plane.right = axis == 0 ? 1 : 0;
  plane.up = axis == 2 ? 1 : 2;
  plane.columns = counts[plane.right];
  plane.rows = counts[plane.up];
  plane.coordinate = origin[plane.across] + static_cast<double>(index) * spacing[plane.across];
  if (std::abs(plane.coordinate) < 1e-9 * spacing[plane.across])
    plane.coordinate = 0;  // removes what rounding left of 0
  plane.column_spacing = spacing[plane.right];
  plane.row_spacing = spacing[plane.up];
  plane.left = origin[plane.right] - plane.column_spacing / 2;
  plane.bottom = origin[plane.up] - plane.row_spacing / 2;
  return plane;
}

constexpr std::int64_t greatest_side = 32768;  // most points along a side of the plane

/// Values of the plane. Columns vary fastest, and the lowest row is first.
std::vector<double> values_of_plane(const LatticeMap& map, const LatticePlane& plane, std::int64_t index) {
  const std::array<std::int64_t, 3> strides{1, map.shape.nx, map.shape.plane_points()};
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(plane.columns * plane.rows));
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    for (std::int64_t column = 0; column < plane.columns; ++column) {
      values.push_back(
          map.values[index * strides[plane.across] + row * strides[plane.up] + column * strides[plane.right]]);
    }
  }
  return values;
}

std::vector<Tick> ticks_of_axis(double low, double spacing, std::int64_t count, std::int64_t most) {
  return round_ticks(low, low + spacing * static_cast<double>(count), most, 0);
}

struct Pixels {
  std::int64_t width = 0, height = 0;
};

/// Size of the whole plane in pixels, with one scale for both axes. Planes with very flat or very high cells have two
/// scales. With one scale, their cells would be thinner than a pixel, or the picture would be too long.
Pixels pixels_of(const LatticePlane& plane) {
  constexpr double wanted_width = 512, greatest = 4096, longest_cell = 8;
  const auto columns = static_cast<double>(plane.columns), rows = static_cast<double>(plane.rows);
  const double most_per_angstrom = greatest / (rows * plane.row_spacing);
  double per_angstrom = std::min(std::ceil(wanted_width / columns) / plane.column_spacing, most_per_angstrom);
  per_angstrom = std::max({per_angstrom, 1 / plane.column_spacing, 1 / plane.row_spacing});
  // A row is a whole number of pixels if possible.
  const double whole = std::max(1.0, std::round(per_angstrom * plane.row_spacing)) / plane.row_spacing;
  if (whole * plane.column_spacing >= 1) per_angstrom = whole;
  const auto length = [&](double count, double spacing) {
    return std::llround(std::clamp(count * spacing * per_angstrom, count, std::max(greatest, longest_cell * count)));
  };
  return {length(columns, plane.column_spacing), length(rows, plane.row_spacing)};
}

FramedPicture draw(const LatticeMap& map, const LatticePlane& plane, std::span<const double> values, double limit,
                   const std::string& title) {
  constexpr std::int64_t most_ticks = 7, characters_of_tick = 8;
  const auto [width, height] = pixels_of(plane);

  PictureWords words;
  words.title = title;
  words.right_title = std::string(1, axis_names[plane.right]) + " (angstrom)";
  words.up_title = std::string(1, axis_names[plane.up]) + " (angstrom)";
  words.bar_title = map.unit.empty() ? "V" : "V (" + plain_line(map.unit) + ")";
  const auto most_upwards = std::clamp<std::int64_t>(height / (2 * text_height), 2, most_ticks);
  const auto most_right = std::clamp<std::int64_t>(width / (characters_of_tick * character_width), 2, most_ticks);
  words.right = ticks_of_axis(plane.left, plane.column_spacing, plane.columns, most_right);
  words.up = ticks_of_axis(plane.bottom, plane.row_spacing, plane.rows, most_upwards);
  words.bar = limit > 0 ? round_ticks(-limit, limit, most_upwards, 0) : std::vector<Tick>{{0.5, "0"}};
  words.is_exceeded = std::ranges::any_of(values, [&](double value) { return value > limit; });
  words.is_undercut = std::ranges::any_of(values, [&](double value) { return value < -limit; });
  const auto draw_map = [&](Image& image, const MapPlace& place) {
    const auto edge = [&](std::int64_t column) { return place.left + column * place.width / plane.columns; };
    for (std::int64_t row = 0; row < plane.rows; ++row) {
      const std::int64_t from_top = plane.rows - 1 - row;
      const std::int64_t top = place.top + from_top * place.height / plane.rows;
      const std::int64_t bottom = place.top + (from_top + 1) * place.height / plane.rows;
      for (std::int64_t column = 0; column < plane.columns; ++column) {
        const Colour colour = potential_colour(values[row * plane.columns + column], limit);
        image.fill(edge(column), edge(column + 1), top, bottom, colour);
      }
    }
  };
  return draw_framed(width, height, words, draw_map, [](double place) { return signed_scale_colour(2 * place - 1); });
}

}  // namespace

void SlicePicture::count(double value) {
  if (std::isinf(value)) ++infinite;
  if (!std::isfinite(value)) return;
  lowest = finite == 0 ? value : std::min(lowest, value);
  highest = finite == 0 ? value : std::max(highest, value);
  ++finite;
}

std::string SlicePicture::values_text(std::string (*number)(double)) const {
  if (finite == 0) return infinite > 0 ? "no finite values" : "no numbers";
  return "values from " + number(lowest) + " to " + number(highest) +
         (infinite > 0 ? ", and " + std::to_string(infinite) + " infinite" : "");
}

SlicePicture measure_slice(std::span<const double> values) {
  SlicePicture result;
  std::vector<double> magnitude;
  for (const double value : values) {
    result.count(value);
    if (std::isfinite(value)) magnitude.push_back(std::abs(value));
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
  const LatticePlane plane = plane_across(axis, index, map.shape, map.origin, map.spacing);
  if (std::max(plane.columns, plane.rows) > greatest_side) {
    throw Error(ErrorKind::usage, "cannot write " + path,
                "a plane of " + std::to_string(plane.columns) + " x " + std::to_string(plane.rows) +
                    " points is too large for a picture",
                "Export OpenDX.");
  }
  const std::vector<double> values = values_of_plane(map, plane, index);
  const SlicePicture result = measure_slice(values);
  const std::string title = plain_line(map.title);
  const FramedPicture picture = draw(map, plane, values, result.colour_limit,
                                     title + ", " + axis_name + " = " + number_text(plane.coordinate, 6) + " angstrom");

  const std::array<std::pair<const char*, std::string>, 6> texts{{{"Title", title},
                                                                  {"Axis", axis_name},
                                                                  {"Index", std::to_string(index)},
                                                                  {"Map", picture.map.text()},
                                                                  {"Colour limit", number_text(result.colour_limit)},
                                                                  {"Software", "smallbatch"}}};
  write_png(path, picture.image, texts, overwrite);
  return result;
}

}  // namespace smallbatch
