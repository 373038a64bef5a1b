// Decides where values leave the range of their type, and keeps sums in double precision within it. The wings cuda and
// cpu share this file; the referee has its own rules. nvcc compiles these functions for the device through
// --expt-relaxed-constexpr.
//
// In double precision a charge may be 1e150 e, and a softening may be as short as 2^-511 angstrom. Then q/rho^2 would
// overflow and sums of such terms would be NaN. V and E must instead be finite, or infinities of the right sign. In
// such cases charges are summed in units of 2^540 e, so that no sum of 2^20 terms overflows. Terms that underflow are
// below 2^-482 e/angstrom or e/angstrom^2.
#pragma once

#include <cstdint>
#include <limits>

#include "physics/charges/summed_in_double.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Reciprocal of the large unit of charges, in 1/e.
inline constexpr double per_large_unit = 0x1p-540;

/// Returns the least rho: the softening, or without a softening the least distance between a target and a charge that
/// does not lie on it.
constexpr double least_distance(const PotentialOptions& options, double singular_distance) {
  return options.softening > 0 ? options.softening : singular_distance;
}

/// Returns a power of two. If charges are multiplied by it, their sums in double precision do not overflow. `most` is
/// at least the sum of |q|.
constexpr double charge_scale(double most, double least_distance) {
  return most / least_distance / least_distance < 0x1p1000 ? 1 : per_large_unit;
}
/// Converts `sum`, a sum over scaled charges, to the unit of V, E or the energy.
constexpr double unscaled(double sum, double unit_factor, double scale) {
  const double scaled = unit_factor * sum, magnitude = scaled < 0 ? -scaled : scaled;
  return magnitude < 0x1p-1000 ? unit_factor * (sum / scale)
                               : scaled / scale;  // neither step leaves the normal numbers
}

/// Whether a problem's lengths are too extreme for the GPU's inner loops. These loops form 1/rho^3, and with a cut-off
/// they form w from rho^2.
constexpr bool is_extreme(const PotentialOptions& options, bool with_field, double least_distance) {
  return least_distance < 0x1p-240 || (with_field && options.softening > 0x1p300) ||
         (options.cutoff > 0 && options.softening > options.cutoff);
}

/// Sums that decide whether values on a lattice may leave their range (info_values_out_of_range), in the large unit of
/// charges.
struct LargestValues {
  double potential = 0, field = 0;

  /// Adds a charge of this magnitude at distance `rho` from its nearest lattice point.
  constexpr void add(double magnitude, double rho, const PotentialOptions& options) {
    const double share = per_large_unit * magnitude / rho;
    potential += share;
    field += options.cutoff > 0 ? share / rho * (1 + 2 * rho / options.cutoff) : share / rho;
  }
  constexpr void add(const LargestValues& more) {
    potential += more.potential;
    field += more.field;
  }
  /// Whether the sums leave the range of T.
  template <class T>
  [[nodiscard]] constexpr bool leave_range(const PotentialOptions& options, bool with_field) const {
    const double factor = options.unit_factor < 0 ? -options.unit_factor : options.unit_factor;
    const double limit = per_large_unit * static_cast<double>(std::numeric_limits<T>::max()) / factor;
    return potential > limit || (with_field && field > limit);
  }
};

/// Whether `count` charges could produce a value beyond the range of T. Their actual positions and strengths are not
/// examined. The result is rarely true. If it is, the caller must examine each charge.
template <class T>
constexpr bool may_leave_range(const PotentialOptions& options, bool with_field, std::int64_t count,
                               double singular_distance) {
  LargestValues at_most;
  at_most.add(static_cast<double>(count) * largest_input<T>, least_distance(options, singular_distance), options);
  return at_most.template leave_range<T>(options, with_field);
}

}  // namespace smallbatch
