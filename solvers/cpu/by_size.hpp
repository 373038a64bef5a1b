// Batches whose systems differ in size: those of one size are gathered, solved as a batch of that size, and their
// answers put where they belong. So no lane waits for a larger neighbour, and each system has the bits that it has
// among others of its size.
#pragma once

#include <cstdint>
#include <functional>

#include "core/systems.hpp"

namespace smallbatch {

/// solve(batch, solution) for up to `at_once` systems of one size at a time, on `threads` threads.
template <class T>
void solve_by_size(const SpdBatch<T>& batch, const SpdSolution<T>& solution, std::int64_t at_once, unsigned threads,
                   const std::function<void(const SpdBatch<T>&, const SpdSolution<T>&)>& solve);

}  // namespace smallbatch
