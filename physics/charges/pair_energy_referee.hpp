// The referee's energies of pairs, and whether what a block has of them is right. Written with Eigen in double
// precision; of what it judges it shares only the constants of physics/pair_energy.hpp and physics/potential.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "physics/charges/potential_referee.hpp"
#include "physics/pair_energy.hpp"

namespace smallbatch {

/// The numbers of the bounds in physics/pair_energy.hpp. In single precision they are those of V.
inline constexpr PotentialBounds pair_energy_bounds_float = potential_bounds_float,
                                 pair_energy_bounds_double{2 * potential_bounds_double.of_terms,
                                                           2 * potential_bounds_double.of_distances};

/// The referee's answer about one problem, with the bounds that a backend must keep.
struct ReferencePairEnergy {
  double energy = 0, bound = 0;                          ///< the singularity policy applied
  std::vector<double> energy_per_charge, charge_bounds;  ///< where they are wanted
  std::int32_t info = 0, or_else = 0;                    ///< two statuses where rounding decides
};

/// `pause` is called every few hundredths of a second, by any of the threads, and may throw.
ReferencePairEnergy reference_pair_energy(const ChargeBatch& charges, std::int64_t problem,
                                          const PairEnergyOptions& options, bool with_energy_per_charge,
                                          unsigned threads = 1, const std::function<void()>& pause = {});

/// Error over bound of what a block has of its problem `problem`: at most 1 where energy, the energies of its charges,
/// where it has them, and status are right. A NaN is right where the referee has one.
double pair_energy_error_over_bound(const PairEnergyBlock& block, std::int64_t problem,
                                    const ReferencePairEnergy& reference);

/// When U, and the energies of charges where they are wanted, are right: that rule as a sentence, with its numbers.
std::string pair_energy_criterion(const PairEnergyOptions& options, bool with_energy_per_charge,
                                  bool with_widths = false);

}  // namespace smallbatch
