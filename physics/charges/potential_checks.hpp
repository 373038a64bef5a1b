// Checks the arguments of Potential::evaluate, in the same way for all three implementations.
#pragma once

#include "physics/potential.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Throws Error (bad_input) with the problem's index in the message for
/// - a shape below 1 or too large to count, or planes outside the lattice;
/// - a spacing below least_spacing or not finite, or an origin that is not finite;
/// - offsets that decrease;
/// - a softening or screening length that is_softening() or is_screening_length() refuses;
/// - a cut-off that is negative or not finite, or a unit factor that is not finite;
/// - widths with a softening or a screening length.
void check_potential_call(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options);

/// Whether the options can be used. The check reads no array of the batch, so these may be device arrays.
bool are_usable(const ChargeBatch& charges, const PotentialOptions& options);
/// Whether the lattices' shape and planes can be used, and whether the number of points of all problems is
/// representable.
bool can_be_counted(std::int64_t problems, const LatticeBatch& lattice);

/// Number of potentials that a call computes: one for each lattice point, point or charge of all problems.
std::int64_t target_count(const ChargeBatch& charges, const TargetBatch& targets);

}  // namespace smallbatch
#pragma GCC visibility pop
