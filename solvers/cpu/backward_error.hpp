// The backward error of one system, from what is stored: every element of A counts as it is, both triangles where both
// are there. For the few systems whose triangles differ, and those that were repaired; the cpu's inner loops judge the
// others themselves.
#pragma once

#include <cstdint>

#include "core/systems.hpp"

namespace smallbatch {

/// As solvers/spd_solver.hpp defines it, for one system of `shape` whose a and b lie tight; x_distance: from one number
/// of x to the next. The residual is computed in twice the precision of T.
template <class T>
double backward_error_of(const SpdShape& shape, const T* a, const T* b, const T* x, std::int64_t x_distance = 1);

}  // namespace smallbatch
