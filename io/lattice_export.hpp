// Lattices in other people's formats.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/batch.hpp"

namespace smallbatch {

/// One potential map: values (nz, ny, nx), x fastest; lengths in angstrom.
struct LatticeMap {
  LatticeShape shape;
  std::array<double, 3> origin{}, spacing{};
  std::span<const double> values;
  std::string title;  ///< one line: set, problem, unit
};

// All write to a temporary file and rename it; they throw Error(output) where the target exists and overwrite is false,
// or cannot be written.

/// OpenDX scalar field, z fastest, as APBS writes it.
void write_opendx(const std::string& path, const LatticeMap& map, bool overwrite);

/// Gaussian cube, bohr, z fastest; the atoms are the problem's charges (atomic number 0 where unknown, charge given).
void write_cube(const std::string& path, const LatticeMap& map, std::span<const double> position,
                std::span<const double> charge, bool overwrite);

/// What a slice picture shows, for the caller to tell: blue is negative, red positive, white zero.
struct SlicePicture {
  double lowest = 0, highest = 0;  ///< of the slice's finite values
  double colour_limit = 0;         ///< |V| at full colour: the 98th percentile, so that one near charge does not rule
};

/// A PNG of the plane `index` across `axis` (0 x, 1 y, 2 z), at least 512 pixels wide, with a colour bar.
SlicePicture write_png_slice(const std::string& path, const LatticeMap& map, int axis, std::int64_t index,
                             bool overwrite);

}  // namespace smallbatch
