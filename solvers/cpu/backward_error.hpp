// The backward error of one system, from stored data. Every stored element of A counts as it is; dense storage has both
// triangles. Used for the few systems with differing triangles and for repaired systems. The cpu's inner loops judge
// all others themselves.
#pragma once

#include <cstdint>

#include "core/systems.hpp"

namespace smallbatch {

/// Returns the backward error that solvers/spd_solver.hpp defines, for one system of `shape`. Its a and b have no gaps;
/// x_distance is the distance from one number of x to the next. The residual is computed in twice the precision of T.
template <class T>
double backward_error_of(const SpdShape& shape, const T* a, const T* b, const T* x, std::int64_t x_distance = 1);

}  // namespace smallbatch
