// What a call of Potential::evaluate must satisfy, checked once for all three implementations.
#pragma once

#include "physics/potential.hpp"

namespace smallbatch {

/// Throws Error (bad_input) naming the problem's index: a shape below 1 or too large to count, planes outside the
/// lattice, a spacing that is not positive and finite, an origin that is not finite, offsets that decrease; or a
/// softening or cut-off that is negative or not finite.
void check_potential_call(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options);

/// Values of the whole call: points of lattices, points, or charges.
std::int64_t target_count(const ChargeBatch& charges, const TargetBatch& targets);

}  // namespace smallbatch
