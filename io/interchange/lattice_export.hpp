// Lattices in other people's formats: a function and a file for each, and their list in lattice_export.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/potentials.hpp"

namespace smallbatch {

/// One potential map: values (nz, ny, nx), x fastest; lengths in angstrom.
struct LatticeMap {
  LatticeShape shape;
  std::array<double, 3> origin{}, spacing{};
  std::span<const double> values;
  std::string title;  ///< one line: set, problem, unit
  std::string unit;   ///< of the values
};

// All write to a temporary file and rename it; they throw Error(output) where the target exists and overwrite is false,
// or cannot be written, and Error(usage) where map.values is not of the map's shape.

/// The largest magnitude in an OpenDX or cube file. Their readers know no infinity (V at a charge), and most keep
/// single precision: beyond this, and for an infinity, the file holds this value with the sign of V. Magnitudes below
/// 1e-99, whose exponents not every reader takes, are written as 0.
inline constexpr double largest_exported_value = 1e30;

/// OpenDX scalar field, z fastest, as APBS writes it, with nine digits (a float comes back exactly). Returns how many
/// values were limited. A NaN has no form in the file: Error(bad_input), naming the point.
std::int64_t write_opendx(const std::string& path, const LatticeMap& map, bool overwrite);

/// Gaussian cube, bohr, z fastest, six digits as the format fixes; values stay in the map's unit, which the title names
/// in the first line. The atoms are the problem's charges: position (n,3) in angstrom and charge (n), with their atomic
/// numbers (n), or 0 where there are none. Returns how many values were limited; NaN as above.
std::int64_t write_cube(const std::string& path, const LatticeMap& map, std::span<const double> position,
                        std::span<const double> charge, std::span<const std::int8_t> atomic_number, bool overwrite);

/// What a slice picture shows, for the caller to tell: blue is negative, red positive, white zero, grey not a number.
/// Beyond the limit, and for infinities, the colour is full.
struct SlicePicture {
  double lowest = 0, highest = 0;  ///< of the slice's finite values
  std::int64_t finite = 0, infinite = 0;
  /// |V| at full colour: the 98th percentile of the finite values, so that one near charge does not rule; their largest
  /// where that percentile is 0.
  double colour_limit = 0;

  /// Of all but the limit.
  void count(double value);
  /// "values from -1 to 2, and 3 infinite", in words of the caller's for a number.
  [[nodiscard]] std::string values_text(std::string (*number)(double)) const;
};

SlicePicture measure_slice(std::span<const double> values);

/// A PNG of the plane `index` across `axis` (0 x, 1 y, 2 z), its map about 512 pixels wide or more, with the title and
/// the plane's place above it, axes in angstrom, and a colour bar with its numbers and the unit at its right, and an
/// arrow at an end that values are beyond. An angstrom is as many pixels along both axes, unless a point would then be
/// thinner than a pixel, or the map of few points longer than 4096. The first of the other two axes runs to the right,
/// the second upwards. Title, axis, index, the map's place
/// (`MapPlace`) and the colour limit are texts of the file. Throws Error(usage) for an axis or an index that the
/// lattice lacks.
SlicePicture write_png_slice(const std::string& path, const LatticeMap& map, int axis, std::int64_t index,
                             bool overwrite);

/// What some formats show besides the map, or of it.
struct MapExtras {
  std::span<const double> position, charge;  ///< the atoms of a cube file
  std::span<const std::int8_t> atomic_number;
  int axis = 2;
  std::optional<std::int64_t> slice;  ///< of a picture; the middle where there is none
};

struct MapFormat {
  std::string_view ending;  ///< of the file's name
  /// Writes, and returns what is worth telling of it: "" or clauses that begin with "; ".
  std::string (*write)(const std::string& path, const LatticeMap& map, const MapExtras& extras, bool overwrite);
};

/// The format that the ending of the path names. Throws Error(usage) where none does.
const MapFormat& map_format_of(const std::string& path);

/// All endings: ".dx, .cube and .png" with "and" as the last word.
std::string map_endings(const std::string& last_word);

}  // namespace smallbatch
