// Export of lattices to formats of other programs. Each format has a function and a file; lattice_export.cpp lists
// them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/potentials.hpp"

namespace smallbatch {

/// Potential map on one lattice: values (nz, ny, nx), x fastest; lengths in angstrom.
struct LatticeMap {
  LatticeShape shape;
  std::array<double, 3> origin{}, spacing{};
  std::span<const double> values;
  std::string title;  ///< one line: set, problem, unit
  std::string unit;   ///< of the values
};

// All functions write to a temporary file and rename it. They throw Error(output) if the target exists and overwrite is
// false, or if it cannot be written. They throw Error(usage) if map.values does not have the map's shape.

/// Largest magnitude in an OpenDX or cube file. Readers of these files accept no infinity (V at a charge), and most use
/// single precision. A larger value or an infinity becomes 1e30 with its sign. Magnitudes below 1e-99 are written as 0,
/// because some readers refuse their exponents.
inline constexpr double largest_exported_value = 1e30;

/// Writes an OpenDX scalar field, z fastest, like APBS. Values have nine digits, so a float comes back exactly. Returns
/// the number of values that became 1e30 with their sign. The format has no NaN: a NaN throws Error(bad_input), which
/// names the point.
std::int64_t write_opendx(const std::string& path, const LatticeMap& map, bool overwrite);

/// Writes a Gaussian cube file, z fastest. Lengths are in bohr, and values have the six digits of the format. Values
/// stay in the map's unit, which the title in the first line names. The atoms are the problem's charges: position (n,3)
/// in angstrom, charge (n) and atomic numbers (n). Without atomic numbers the file gets 0. Returns the number of values
/// that became 1e30 with their sign. Throws Error(bad_input) for a NaN, like write_opendx().
std::int64_t write_cube(const std::string& path, const LatticeMap& map, std::span<const double> position,
                        std::span<const double> charge, std::span<const std::int8_t> atomic_number, bool overwrite);

/// Contents of a slice picture, for messages. Red is negative, blue positive, white zero, grey not a number. Beyond the
/// limit, and for infinities, the colour is full.
struct SlicePicture {
  double lowest = 0, highest = 0;  ///< of the slice's finite values
  std::int64_t finite = 0, infinite = 0;
  /// |V| at full colour: the 98th percentile of the finite values, so that a single charge near the plane does not set
  /// the scale. If this percentile is 0, the largest finite |V|.
  double colour_limit = 0;

  /// Adds a value to all members except the limit.
  void count(double value);
  /// Returns text such as "values from -1 to 2, and 3 infinite". `number` formats a number.
  [[nodiscard]] std::string values_text(std::string (*number)(double)) const;
};

SlicePicture measure_slice(std::span<const double> values);

/// Writes a PNG of the plane `index` across `axis` (0 x, 1 y, 2 z). The map is about 512 pixels wide or more. The title
/// and the plane's coordinate stand above, and axes are in angstrom. A colour bar on the right has numbers and the
/// unit, and an arrow at an end that values exceed. The first of the other two axes runs to the right, the second
/// upwards.
///
/// Both axes have equal pixels per angstrom. They differ only if a point would otherwise be thinner than a pixel, or a
/// map of few points longer than 4096 pixels. The file also stores the title, the axis, the index, the map's place
/// (`MapPlace`) and the colour limit as PNG text chunks. Throws Error(usage) for an axis or an index that the lattice
/// lacks.
SlicePicture write_png_slice(const std::string& path, const LatticeMap& map, int axis, std::int64_t index,
                             bool overwrite);

/// Data besides V that some formats contain.
struct MapExtras {
  std::span<const double> position, charge;  ///< the atoms of a cube file
  std::span<const std::int8_t> atomic_number;
  int axis = 2;
  std::optional<std::int64_t> slice;  ///< plane of a picture; nothing: the middle
};

struct MapFormat {
  std::string_view ending;  ///< of the file's name
  /// Writes the file. Returns remarks for the user: "" or clauses that begin with "; ".
  std::string (*write)(const std::string& path, const LatticeMap& map, const MapExtras& extras, bool overwrite);
};

/// Returns the format of the path's ending. Throws Error(usage) if the ending is unknown.
const MapFormat& map_format_of(const std::string& path);

/// Returns all endings as text, with `last_word` before the last ending: ".dx, .cube and .png" for "and".
std::string map_endings(const std::string& last_word);

}  // namespace smallbatch
