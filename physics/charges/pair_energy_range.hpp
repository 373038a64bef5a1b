// Decides which pairs are summed in double precision, and keeps sums in double precision within their range. The wings
// cuda and cpu share this file. The referee shares only the conversions of options. nvcc compiles these functions for
// the device through --expt-relaxed-constexpr.
#pragma once

#include "physics/charges/summed_in_double.hpp"
#include "physics/pair_energy.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Converts the options of a pair energy to those of a potential.
constexpr PotentialOptions potential_options(const PairEnergyOptions& options) {
  return {options.singular, options.unit_factor, options.softening, options.cutoff, options.screening_length};
}

/// Converts the options of a potential to those of a pair energy. Pairs of an interaction energy are in double
/// precision.
constexpr PairEnergyOptions interaction_energy_options(const PotentialOptions& options) {
  return {options.singular,  ScalarType::float64, options.unit_factor,
          options.softening, options.cutoff,      options.screening_length};
}

/// Whether all pairs are summed in double precision: options.precision is float64, or single precision cannot hold
/// terms with these lengths.
constexpr bool all_pairs_in_double(const PairEnergyOptions& options) {
  return options.precision == ScalarType::float64 || options.softening > largest_length ||
         (options.cutoff > 0 && (options.cutoff < least_length || options.softening > options.cutoff));
}

/// Largest coordinate (angstrom, from the problem's first charge) and charge (e) that a sum in `precision` accepts.
constexpr double largest_input_of(ScalarType precision) {
  return precision == ScalarType::float32 ? largest_input<float> : largest_input<double>;
}

/// Factor of the charges in a sum in double precision. It is 1 if the strongest charge is at most 2^100 e. With this
/// factor, the sum of 2^60 products of charges divided by a length of 2^-511 does not overflow.
constexpr double pair_charge_scale(double strongest) { return strongest > 0x1p100 ? 0x1p-400 : 1; }
/// Removes the scale from `sum`, a sum of products of scaled charges, and multiplies it by `factor`. A step overflows
/// only if the result does.
constexpr double unscaled_energy(double sum, double factor, double scale) {
  if (scale == 1) return factor * sum;
  const double unit = 1 / scale / scale;
  return -1 < sum && sum < 1 ? (sum * unit) * factor : (factor * unit) * sum;
}

}  // namespace smallbatch
