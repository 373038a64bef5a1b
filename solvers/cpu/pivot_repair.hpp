// The repair of matrices that are singular to working precision, on the cpu: SpdOptions::pivot_floor says what it
// means.
#pragma once

#include "core/systems.hpp"

namespace smallbatch {

/// Takes the results of one system, whose pointers point to them, as a solver without a floor has left them; where a
/// pivot lies below the floor, or where without one no factors were found, puts those of the nearby matrix in their
/// place. a, b and x lie tight; x may not be b.
template <class T>
void repair_pivots(const SpdShape& shape, const T* a, const T* b, double pivot_floor, const SpdSolution<T>& results);

}  // namespace smallbatch
