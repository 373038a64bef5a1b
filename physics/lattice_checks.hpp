// What a call of LatticePotential::evaluate must satisfy, checked once for all three implementations.
#pragma once

#include "core/batch.hpp"

namespace smallbatch {

/// Throws Error (bad_input) naming the problem's index: a shape below 1 or too large to count, planes outside the
/// lattice, a spacing that is not positive and finite, an origin that is not finite, offsets that decrease.
void check_lattice_call(const ChargeBatch& charges, const LatticeBatch& lattice);

}  // namespace smallbatch
