// Which pairs' energies are summed in double precision, and how such sums stay clear of the ends of its range. Shared
// by cuda and cpu; the referee has its own of all but the options. (nvcc compiles these functions for the device
// through
// --expt-relaxed-constexpr.)
#pragma once

#include "physics/charges/summed_in_double.hpp"
#include "physics/pair_energy.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// One call's options as the other kind of call has them. Pairs of an interaction energy are in double precision.
constexpr PotentialOptions potential_options(const PairEnergyOptions& options) {
  return {options.singular, options.unit_factor, options.softening, options.cutoff, options.screening_length};
}

constexpr PairEnergyOptions interaction_energy_options(const PotentialOptions& options) {
  return {options.singular,  ScalarType::float64, options.unit_factor,
          options.softening, options.cutoff,      options.screening_length};
}

/// Whether single precision does not hold the terms of any problem, or is not asked for.
constexpr bool all_pairs_in_double(const PairEnergyOptions& options) {
  return options.precision == ScalarType::float64 || options.softening > largest_length ||
         (options.cutoff > 0 && (options.cutoff < least_length || options.softening > options.cutoff));
}

/// Largest coordinate (angstrom, from the problem's first charge) and charge (e).
constexpr double largest_input_of(ScalarType precision) {
  return precision == ScalarType::float32 ? largest_input<float> : largest_input<double>;
}

/// What charges are multiplied by before they are summed in double precision, where the strongest is so strong: 2^60
/// products of them, divided by a length of 2^-511, do not overflow then.
constexpr double pair_charge_scale(double strongest) { return strongest > 0x1p100 ? 0x1p-400 : 1; }
/// What a sum of products of such charges is, times `factor`. Neither step overflows unless the result does.
constexpr double unscaled_energy(double sum, double factor, double scale) {
  if (scale == 1) return factor * sum;
  const double unit = 1 / scale / scale;
  return -1 < sum && sum < 1 ? (sum * unit) * factor : (factor * unit) * sum;
}

}  // namespace smallbatch
