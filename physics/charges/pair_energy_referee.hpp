// The referee computes energies of pairs, and judges the energies in a block. It uses Eigen in double precision. It
// shares only the constants of physics/pair_energy.hpp and physics/potential.hpp with the code that it judges.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "physics/charges/potential_referee.hpp"
#include "physics/pair_energy.hpp"

namespace smallbatch {

/// Numbers in the bounds of physics/pair_energy.hpp. In single precision they equal the numbers in V's bound.
inline constexpr PotentialBounds pair_energy_bounds_float = potential_bounds_float,
                                 pair_energy_bounds_double{2 * potential_bounds_double.of_terms,
                                                           2 * potential_bounds_double.of_distances};

/// The referee's answer for one problem, with the bounds that a backend must keep.
struct ReferencePairEnergy {
  double energy = 0, bound = 0;                          ///< with the singularity policy applied
  std::vector<double> energy_per_charge, charge_bounds;  ///< empty unless they are wanted
  std::int32_t info = 0, or_else = 0;                    ///< two statuses if rounding decides between them; else equal
};

/// Computes the referee's answer. The threads call `pause` every few hundredths of a second; `pause` may throw.
ReferencePairEnergy reference_pair_energy(const ChargeBatch& charges, std::int64_t problem,
                                          const PairEnergyOptions& options, bool with_energy_per_charge,
                                          unsigned threads = 1, const std::function<void()>& pause = {});

/// Error over bound of a problem of a block. The number is at most 1 if the energy, the status and any energies of
/// charges are right. A NaN is right only where the referee has a NaN.
double pair_energy_error_over_bound(const PairEnergyBlock& block, std::int64_t problem,
                                    const ReferencePairEnergy& reference);

/// Returns a sentence with numbers that says when U is right, and the energies of charges if they are wanted.
std::string pair_energy_criterion(const PairEnergyOptions& options, bool with_energy_per_charge,
                                  bool with_widths = false);

}  // namespace smallbatch
