// Where the sum in working precision T cannot be trusted, and what the singularity policy makes of a charge on a target
// (how near that is, physics/singularity.hpp says). Shared by cuda and cpu; the referee has its own. (nvcc compiles
// these functions for the device through --expt-relaxed-constexpr.)
//
// Let u = 2^-24 (float) or 2^-53 (double), s a charge and p a lattice point, both relative to the lattice's origin and
// each rounded to T. The rounding moves them by at most u|s| and u|p|, so the distance r is wrong by d <= u (|s| +
// |p|), and q/r by |q| d / (r (r - d)). The bound allows |q| 2u L / r^2 for that, with L >= |s| and L >= |p|: enough,
// to first order in d/r. The higher orders stay harmless as long as d/r is small: for r >= 2^8 u |s|, and so |p| <= |s|
// (1 + 2^8 u), d/r is below 2^-6.99, 0.8 % of what is allowed. (The rest of the arithmetic is relative to q/r, a few u,
// and so close to a charge L/r dwarfs it.) Hence the radius |s| 2^8 u around every charge: the points within it are
// summed again in double precision. It depends on the charge's own distance from the origin, so one charge far away
// does not widen the others'. A lattice point is that close only where it shares most leading digits with the charge:
// for a lattice of 256 points per axis the radius is under 1 % of a spacing, and it reaches a neighbouring point only
// where an axis has more than some 2^15 points.
//
// Two more radii are folded in: where the singularity policy decides (twice that distance, so that rounding in the
// search cannot lose a point), and where r*r would leave T's normal numbers.
#pragma once

#include <cstdint>

#include "physics/potential.hpp"

namespace smallbatch {

/// Largest coordinate (angstrom, from the lattice's origin) and charge (e) that a sum in T takes: squares and sums of
/// anything smaller neither overflow nor lose their reciprocal root.
template <class T>
inline constexpr double largest_input = sizeof(T) == 4 ? 1e15 : 1e150;

/// A field is summed from q d/rho^3, which leaves single precision's normal numbers before q/rho^2 does. With rho from
/// `least_length` on, and charges and coordinates (from the origin) up to `largest_length` and `largest_charge`, it
/// does not; nearer targets are summed in double precision, and so are all targets of problems that hold larger numbers
/// (at points, on the GPU, a point that is too far from the origin alone).
inline constexpr double least_length = 0x1p-30, largest_length = 0x1p30, largest_charge = 0x1p30;

/// Whether single precision does not hold the terms of a problem with coordinates and charges up to these.
constexpr bool leaves_single_range(const PotentialOptions& options, bool with_field, double extent, double charge) {
  return options.softening > largest_length || (with_field && (extent > largest_length || charge > largest_charge));
}

/// How near a charge at distance `norm` from the origin a target must be to be summed again in double precision. Beside
/// larger distances what a softening's square loses where it is no normal float is nothing.
template <class T>
constexpr double near_radius(double norm, double singular_distance, bool with_field) {
  const double rounding = norm * (sizeof(T) == 4 ? 0x1p-16 : 0x1p-45);
  const double policy = 2 * singular_distance;
  const double underflow = sizeof(T) != 4 ? 0x1p-500 : with_field ? least_length : 0x1p-60;
  const double larger = rounding > policy ? rounding : policy;
  return larger > underflow ? larger : underflow;
}

/// Lattice indices first..last of one axis, empty where last < first.
struct LatticeIndices {
  std::int64_t first = 0, last = -1;
  [[nodiscard]] constexpr bool empty() const { return last < first; }
};

/// The indices k in [0, points) with |k * spacing - coordinate| <= radius.
constexpr LatticeIndices near_indices(double coordinate, double spacing, std::int64_t points, double radius) {
  const double low = (coordinate - radius) / spacing, high = (coordinate + radius) / spacing;
  const auto end = static_cast<double>(points);
  if (!(low < end) || !(high >= 0)) return {};
  LatticeIndices range{0, points - 1};
  if (low > 0) {
    range.first = static_cast<std::int64_t>(low);  // rounds down
    if (static_cast<double>(range.first) < low) ++range.first;
  }
  if (high < end) range.last = static_cast<std::int64_t>(high);
  if (range.last > points - 1) range.last = points - 1;
  return range;
}

/// The index in [0, points) whose lattice plane lies nearest to the coordinate.
constexpr std::int64_t nearest_index(double coordinate, double spacing, std::int64_t points) {
  const double index = coordinate / spacing + 0.5;
  if (!(index > 0)) return 0;
  if (index >= static_cast<double>(points)) return points - 1;
  return static_cast<std::int64_t>(index);
}

/// What the charges on a point make of its potential. `others`: sum of q/r over all other charges, in the unit asked
/// for; `net` and `magnitude`: sums of q and |q| over those on the point.
constexpr double apply_singularity(Singular policy, double others, double net, double magnitude) {
  const bool balanced = (net < 0 ? -net : net) <= net_charge_tolerance * magnitude;
  if (policy == Singular::skip || balanced) return others;
  return net > 0 ? __builtin_huge_val() : -__builtin_huge_val();
}
/// Whether they make it infinite, and its field none.
constexpr bool is_singular(Singular policy, double net, double magnitude) {
  return apply_singularity(policy, 0, net, magnitude) != 0;
}

}  // namespace smallbatch
