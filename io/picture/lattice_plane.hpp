// A plane of a lattice's points across one of its axes, as a picture shows it. The first of the other two axes runs to
// the right, the second upwards.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/potentials.hpp"

namespace smallbatch {

struct LatticePlane {
  std::size_t across = 2, right = 0, up = 1;  ///< axes: 0 x, 1 y, 2 z
  std::int64_t columns = 0, rows = 0;         ///< points to the right and upwards
  double place = 0;                           ///< along `across`; all lengths are in angstrom
  double left = 0, bottom = 0;  ///< where the first cells begin: a lattice point is the middle of its cell
  double column_spacing = 1, row_spacing = 1;
};

inline constexpr std::array<char, 3> axis_names{'x', 'y', 'z'};

inline LatticePlane plane_across(int axis, std::int64_t index, const LatticeShape& shape,
                                 const std::array<double, 3>& origin, const std::array<double, 3>& spacing) {
  const std::array<std::int64_t, 3> counts{shape.nx, shape.ny, shape.nz};
  LatticePlane plane;
  plane.across = static_cast<std::size_t>(axis);
  plane.right = axis == 0 ? 1 : 0;
  plane.up = axis == 2 ? 1 : 2;
  plane.columns = counts[plane.right];
  plane.rows = counts[plane.up];
  plane.place = origin[plane.across] + static_cast<double>(index) * spacing[plane.across];
  if (std::abs(plane.place) < 1e-9 * spacing[plane.across]) plane.place = 0;  // what rounding has left
  plane.column_spacing = spacing[plane.right];
  plane.row_spacing = spacing[plane.up];
  plane.left = origin[plane.right] - plane.column_spacing / 2;
  plane.bottom = origin[plane.up] - plane.row_spacing / 2;
  return plane;
}

}  // namespace smallbatch
