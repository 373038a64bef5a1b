// What a call of Potential::evaluate must satisfy, checked once for all three implementations.
#pragma once

#include "physics/potential.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Throws Error (bad_input) naming the problem's index: a shape below 1 or too large to count, planes outside the
/// lattice, a spacing below least_spacing or not finite, an origin that is not finite, offsets that decrease; or a
/// softening that is none (is_softening), a cut-off that is negative or not finite, a unit factor that is not finite,
/// a screening length that is none (is_screening_length); widths with a softening or a screening length.
void check_potential_call(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options);

/// The same of what can be told without the batch's arrays: of the options, and of the lattices' shape and planes.
bool are_usable(const ChargeBatch& charges, const PotentialOptions& options);
bool can_be_counted(std::int64_t problems, const LatticeBatch& lattice);

/// Values of the whole call: points of lattices, points, or charges.
std::int64_t target_count(const ChargeBatch& charges, const TargetBatch& targets);

}  // namespace smallbatch
#pragma GCC visibility pop
