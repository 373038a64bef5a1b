// Decides where a sum in working precision T is not accurate enough, and applies the singularity policy to charges on a
// target. (The header physics/singularity.hpp says which charges lie on a target.) The wings cuda and cpu share this
// file; the referee has its own rules. For the device, nvcc compiles these functions through --expt-relaxed-constexpr.
//
// Let u = 2^-24 (float) or 2^-53 (double). Let s be a charge and p a lattice point. Both are relative to the lattice's
// origin and rounded to T (float or double). Rounding moves s by at most u|s| and p by at most u|p|. The distance r is
// therefore wrong by d <= u (|s| + |p|), and q/r is wrong by |q| d / (r (r - d)). For this error the bound allows |q|
// 2u L / r^2, with L >= |s| and L >= |p|. That is enough, to first order in d/r.
//
// The higher orders are harmless while d/r is small. For r >= 2^8 u |s|, d/r is below 2^-6.99. (At the smallest such r,
// |p| is at most |s| (1 + 2^8 u).) The higher orders are then 0.8 % of what the bound allows. The rest of the
// arithmetic has errors of a few u, relative to q/r. Near the radius, the bound is much larger than these errors,
// because L/r is large.
//
// Every charge therefore has a radius of 2^8 u |s|. Points within the radius are summed again in double precision. The
// radius depends on the charge's own distance from the origin. A charge far away does not widen the radii of other
// charges. A lattice point is within the radius only if its coordinates share most leading digits with those of the
// charge. For a lattice of 256 points per axis the radius is under 1 % of a spacing. It reaches a neighbouring point
// only if an axis has more than about 2^15 points.
//
// Two more conditions widen the radius. It is at least twice the singular distance, so that rounding in the search
// cannot lose a point on a charge. It also covers the distances at which r*r would leave T's normal numbers.
#pragma once

#include <cstdint>

#include "physics/potential.hpp"

namespace smallbatch {

/// Largest coordinate (angstrom, from the problem's origin) and charge (e) that a sum in T accepts. Squares and sums of
/// smaller numbers do not overflow, and their reciprocal roots do not underflow.
template <class T>
inline constexpr double largest_input = sizeof(T) == 4 ? 1e15 : 1e150;

/// Limits within which single precision can sum a field. The sum contains q d/rho^3, which leaves the normal numbers
/// before q/rho^2 does. The sum stays within them if rho is at least `least_length` and if coordinates (from the
/// origin) and charges are at most `largest_length` and `largest_charge`. Nearer targets are summed in double
/// precision, and so are all targets of a problem with larger numbers. At points on the GPU, only the points that are
/// too far from the origin are summed in double precision.
inline constexpr double least_length = 0x1p-30, largest_length = 0x1p30, largest_charge = 0x1p30;

/// Whether single precision cannot hold the terms of a problem with coordinates up to `extent` and charges up to
/// `charge`.
constexpr bool leaves_single_range(const PotentialOptions& options, bool with_field, double extent, double charge) {
  return options.softening > largest_length || (with_field && (extent > largest_length || charge > largest_charge));
}

/// Distance from a charge within which a target is summed again in double precision. The charge lies at distance `norm`
/// from the origin. A softening loses digits if its square is not a normal float. This loss matters only within the
/// radius.
template <class T>
constexpr double near_radius(double norm, double singular_distance, bool with_field) {
  const double rounding = norm * (sizeof(T) == 4 ? 0x1p-16 : 0x1p-45);
  const double policy = 2 * singular_distance;
  const double underflow = sizeof(T) != 4 ? 0x1p-500 : with_field ? least_length : 0x1p-60;
  const double larger = rounding > policy ? rounding : policy;
  return larger > underflow ? larger : underflow;
}

/// Lattice indices first..last of one axis; empty if last < first.
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

/// Index in [0, points) of the lattice plane that is nearest to the coordinate.
constexpr std::int64_t nearest_index(double coordinate, double spacing, std::int64_t points) {
  const double index = coordinate / spacing + 0.5;
  if (!(index > 0)) return 0;
  if (index >= static_cast<double>(points)) return points - 1;
  return static_cast<std::int64_t>(index);
}

/// Potential at a point with charges on it. The argument `others` is the sum of q/r over all other charges, in the
/// wanted unit. The arguments `net` and `magnitude` are the sums of q and |q| over the charges on the point.
constexpr double apply_singularity(Singular policy, double others, double net, double magnitude) {
  const bool balanced = (net < 0 ? -net : net) <= net_charge_tolerance * magnitude;
  if (policy == Singular::skip || balanced) return others;
  return net > 0 ? __builtin_huge_val() : -__builtin_huge_val();
}
/// Whether the charges on a point make its potential infinite and its field a NaN.
constexpr bool is_singular(Singular policy, double net, double magnitude) {
  return apply_singularity(policy, 0, net, magnitude) != 0;
}

}  // namespace smallbatch
