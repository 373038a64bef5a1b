// The ladders of the solvers: what S1 measures, from what the vendor's libraries offer to the production kernels.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"
#include "core/systems.hpp"

namespace smallbatch {

/// Every step from naive to production: n = 32, one right-hand side, dense.
template <class T>
Ladder solve_ladder(std::int64_t batch);

/// The production methods beside the vendor's routines alone, for any shape.
template <class T>
Ladder solve_comparison(const SpdShape& shape, std::int64_t batch);

/// `automatic` with x alone, with the backward error, and with all that a run stores; `with_others` also beside
/// Gauss-Jordan and the vendor's routines. The bytes that every step must move are those of A, and of its inverse.
template <class T>
Ladder solve_of_size(const SpdShape& shape, std::int64_t batch, bool with_others);

/// Systems of sizes from `smallest` to n in one batch.
template <class T>
Ladder solve_of_many_sizes(int n, int smallest, std::int64_t batch);

/// What is called with few systems: one right-hand side, dense.
template <class T>
Ladder solve_call(int n, std::int64_t batch);

}  // namespace smallbatch
