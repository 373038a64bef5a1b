// The ladders (bench/ladder.hpp) of the solvers, from the vendor's libraries to the production kernels.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"
#include "core/systems.hpp"

namespace smallbatch {

/// Ladder of all steps from a naive one to the production code: n = 32, one right-hand side, dense.
template <class T>
Ladder solve_ladder(std::int64_t batch);

/// Ladder of only the vendor's routines and the production methods, for any shape.
template <class T>
Ladder solve_comparison(const SpdShape& shape, std::int64_t batch);

/// Ladder of the method `automatic`, in three steps: x alone, x with its backward error, and all numbers that a run
/// stores. With `with_others`, steps of Gauss-Jordan and of the vendor's routines follow. Ladder::min_bytes counts only
/// the bytes of A, and of its inverse.
template <class T>
Ladder solve_of_size(const SpdShape& shape, std::int64_t batch, bool with_others);

/// Ladder of systems with sizes from `smallest` to n in one batch.
template <class T>
Ladder solve_of_many_sizes(int n, int smallest, std::int64_t batch);

/// Ladder for calls with few systems: one right-hand side, dense.
template <class T>
Ladder solve_call(int n, std::int64_t batch);

}  // namespace smallbatch
