// Batches on the host whose systems differ in size: those of one size are gathered, solved as a batch of that size, and
// their answers put where they belong. So no lane waits for a larger neighbour, and each system has the bits that it
// has among others of its size. Private to this room.
#pragma once

#include <cstdint>
#include <functional>

#include "core/systems.hpp"

namespace smallbatch {

/// What solve_by_size() does at a time.
struct AtOnce {
  std::int64_t systems;  ///< at most so many of one size
  unsigned calls;        ///< of solve(), on a thread each; 0: one per core
  unsigned threads;      ///< that gather and put back what a call solves, where it has not a thread alone; 0: likewise
};

/// solve(batch, solution) for the systems of one size, and of the next, until all are solved.
template <class T>
void solve_by_size(const SpdBatch<T>& batch, const SpdSolution<T>& solution, const AtOnce& at_once,
                   const std::function<void(const SpdBatch<T>&, const SpdSolution<T>&)>& solve);

}  // namespace smallbatch
