// The backward error of one system, from stored data. Every element of A is used as it is stored; in dense storage,
// these are the elements of both triangles. The cpu uses this function for the few systems with differing triangles,
// and for repaired systems. The loops of judge.hpp compute the backward errors of all other systems.
#pragma once

#include <cstdint>

#include "core/systems.hpp"

namespace smallbatch {

/// Returns the backward error that solvers/spd_solver.hpp defines, for one system of `shape`. The arrays a and b have
/// no gaps; x_distance is the distance from one number of x to the next. The residual is computed in twice the
/// precision of T.
template <class T>
double backward_error_of(const SpdShape& shape, const T* a, const T* b, const T* x, std::int64_t x_distance = 1);

}  // namespace smallbatch
