// The cpu's repair of matrices that are singular to working precision; SpdOptions::pivot_floor defines it.
#pragma once

#include "core/systems.hpp"

namespace smallbatch {

/// Repairs the results of one system that a solver without a floor has stored; `results` points to them. If a pivot is
/// raised, or if the solver had failed at a pivot, the results become those of the nearby matrix. The arrays a, b and x
/// have no gaps; x must not be b.
template <class T>
void repair_pivots(const SpdShape& shape, const T* a, const T* b, double pivot_floor, const SpdSolution<T>& results);

}  // namespace smallbatch
