// Where values leave the range of their type, and how sums in double precision stay clear of it. Shared by cuda and
// cpu; the referee has its own. (nvcc compiles these functions for the device through --expt-relaxed-constexpr.)
//
// In double precision a charge may be 1e150 e, and a distance as small as 2^-511 angstrom, a softening's: q/rho^2 would
// overflow, and sums of such terms be a NaN, though V and E are wanted in range, or as infinities of their sign. Where
// that may be, charges are therefore summed in units of 2^540 e: no sum of 2^20 terms overflows then. What underflows
// is below 2^-482 e/angstrom or e/angstrom^2.
#pragma once

#include <cstdint>
#include <limits>

#include "physics/charges/summed_in_double.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// 1 over the large unit of charges, in e.
inline constexpr double per_large_unit = 0x1p-540;

/// How near a charge may come to a target that it does not lie on, or rho to 0.
constexpr double least_distance(const PotentialOptions& options, double singular_distance) {
  return options.softening > 0 ? options.softening : singular_distance;
}

/// What charges are multiplied by, a power of two, before they are summed in double precision; `most`: no sum of their
/// magnitudes is larger.
constexpr double charge_scale(double most, double least_distance) {
  return most / least_distance / least_distance < 0x1p1000 ? 1 : per_large_unit;
}
/// What a sum of such charges is in a unit of V, E or the energy.
constexpr double unscaled(double sum, double unit_factor, double scale) {
  const double scaled = unit_factor * sum, magnitude = scaled < 0 ? -scaled : scaled;
  return magnitude < 0x1p-1000 ? unit_factor * (sum / scale)
                               : scaled / scale;  // neither step leaves the normal numbers
}

/// Whether the GPU's inner loops, which form 1/rho^3, and with a cut-off w from rho^2, are not up to a problem's
/// lengths.
constexpr bool is_extreme(const PotentialOptions& options, bool with_field, double least_distance) {
  return least_distance < 0x1p-240 || (with_field && options.softening > 0x1p300) ||
         (options.cutoff > 0 && options.softening > options.cutoff);
}

/// The sums that decide whether values on a lattice may leave their range (info_values_out_of_range), in the large
/// unit.
struct LargestValues {
  double potential = 0, field = 0;

  /// A charge of this magnitude, for the lattice point nearest to it.
  constexpr void add(double magnitude, double rho, const PotentialOptions& options) {
    const double share = per_large_unit * magnitude / rho;
    potential += share;
    field += options.cutoff > 0 ? share / rho * (1 + 2 * rho / options.cutoff) : share / rho;
  }
  constexpr void add(const LargestValues& more) {
    potential += more.potential;
    field += more.field;
  }
  /// Whether they leave the range of T.
  template <class T>
  [[nodiscard]] constexpr bool leave_range(const PotentialOptions& options, bool with_field) const {
    const double factor = options.unit_factor < 0 ? -options.unit_factor : options.unit_factor;
    const double limit = per_large_unit * static_cast<double>(std::numeric_limits<T>::max()) / factor;
    return potential > limit || (with_field && field > limit);
  }
};

/// Whether any `count` charges could leave it: hardly ever, and then each charge is looked at.
template <class T>
constexpr bool may_leave_range(const PotentialOptions& options, bool with_field, std::int64_t count,
                               double singular_distance) {
  LargestValues at_most;
  at_most.add(static_cast<double>(count) * largest_input<T>, least_distance(options, singular_distance), options);
  return at_most.template leave_range<T>(options, with_field);
}

}  // namespace smallbatch
