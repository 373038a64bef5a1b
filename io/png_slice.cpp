// A plane of V as a PNG: one rectangle of pixels per lattice point, between axes in angstrom.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/axis_ticks.hpp"
#include "io/colour_scales.hpp"
#include "io/export_file.hpp"
#include "io/framed_picture.hpp"
#include "io/lattice_export.hpp"
#include "io/picture.hpp"

namespace smallbatch {
namespace {

constexpr std::int64_t greatest_side = 32768;  // points of a plane, either way

/// The plane's values, `columns` to the right (fastest) and `rows` upwards.
struct Plane {
  std::int64_t columns = 0, rows = 0;
  std::string column_name, row_name;
  double column_origin = 0, row_origin = 0, column_spacing = 1, row_spacing = 1;
  std::vector<double> values;
};

Plane take_plane(const LatticeMap& map, int axis, std::int64_t index) {
  const std::array<std::int64_t, 3> counts{map.shape.nx, map.shape.ny, map.shape.nz};
  const std::array<std::int64_t, 3> strides{1, map.shape.nx, map.shape.plane_points()};
  const std::size_t right = axis == 0 ? 1 : 0;
  const std::size_t up = axis == 2 ? 1 : 2;
  Plane plane{counts[right],
              counts[up],
              std::string(1, "xyz"[right]),
              std::string(1, "xyz"[up]),
              map.origin[right],
              map.origin[up],
              map.spacing[right],
              map.spacing[up],
              {}};
  plane.values.reserve(static_cast<std::size_t>(plane.columns * plane.rows));
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    for (std::int64_t column = 0; column < plane.columns; ++column) {
      plane.values.push_back(
          map.values[index * strides[static_cast<std::size_t>(axis)] + row * strides[up] + column * strides[right]]);
    }
  }
  return plane;
}

/// A lattice point is the middle of its cell.
std::vector<Tick> ticks_of_axis(double first, double spacing, std::int64_t count, std::int64_t most) {
  const double low = first - spacing / 2;
  return round_ticks(low, low + spacing * static_cast<double>(count), most, 0);
}

FramedPicture draw(const LatticeMap& map, const Plane& plane, double limit, const std::string& title) {
  constexpr std::int64_t least_width = 512, greatest_height = 4096, most_ticks = 7;
  const std::int64_t cell_width = (least_width + plane.columns - 1) / plane.columns;
  const double wanted_height = static_cast<double>(cell_width) * plane.row_spacing / plane.column_spacing;
  const std::int64_t greatest_cell_height = std::max<std::int64_t>(greatest_height / plane.rows, 1);
  const std::int64_t cell_height =
      std::llround(std::clamp(wanted_height, 1.0, static_cast<double>(greatest_cell_height)));
  const std::int64_t height = plane.rows * cell_height;

  PictureWords words;
  words.title = title;
  words.right_title = plane.column_name + " (angstrom)";
  words.up_title = plane.row_name + " (angstrom)";
  words.bar_title = map.unit.empty() ? "V" : "V (" + plain_line(map.unit) + ")";
  const auto most_upwards = std::clamp<std::int64_t>(height / (2 * text_height), 2, most_ticks);
  words.right = ticks_of_axis(plane.column_origin, plane.column_spacing, plane.columns, most_ticks);
  words.up = ticks_of_axis(plane.row_origin, plane.row_spacing, plane.rows, most_upwards);
  words.bar = limit > 0 ? round_ticks(-limit, limit, most_upwards, 0) : std::vector<Tick>{{0.5, "0"}};
  const auto draw_map = [&](Image& image, const MapPlace& place) {
    for (std::int64_t row = 0; row < plane.rows; ++row) {
      const std::int64_t top = place.top + (plane.rows - 1 - row) * cell_height;
      for (std::int64_t column = 0; column < plane.columns; ++column) {
        const Colour colour = potential_colour(plane.values[row * plane.columns + column], limit);
        image.fill(place.left + column * cell_width, place.left + (column + 1) * cell_width, top, top + cell_height,
                   colour);
      }
    }
  };
  return draw_framed(plane.columns * cell_width, height, words, draw_map,
                     [](double place) { return signed_scale_colour(2 * place - 1); });
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
  const auto across = static_cast<std::size_t>(axis);
  double place = map.origin[across] + static_cast<double>(index) * map.spacing[across];
  if (std::abs(place) < 1e-9 * map.spacing[across]) place = 0;  // what rounding has left
  const std::string title = plain_line(map.title);
  const FramedPicture picture =
      draw(map, plane, result.colour_limit, title + ", " + axis_name + " = " + number_text(place, 6) + " angstrom");

  const std::array<std::pair<const char*, std::string>, 6> texts{{{"Title", title},
                                                                  {"Axis", axis_name},
                                                                  {"Index", std::to_string(index)},
                                                                  {"Map", picture.map.text()},
                                                                  {"Colour limit", shortest_text(result.colour_limit)},
                                                                  {"Software", "smallbatch"}}};
  write_png(path, picture.image, texts, overwrite);
  return result;
}

}  // namespace smallbatch
