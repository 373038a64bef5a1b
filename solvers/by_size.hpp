// Batches on the host with systems of different sizes. Systems of the same size are gathered and solved as a batch of
// that size; then their answers are copied to their places. No lane waits for a larger neighbour, and each system gets
// the same bits as in a batch where all systems have its size. Private to this room.
#pragma once

#include <cstdint>
#include <functional>

#include "core/systems.hpp"

namespace smallbatch {

/// How much solve_by_size() does at a time.
struct AtOnce {
  std::int64_t systems;  ///< the largest number of systems in one call of solve()
  unsigned calls;        ///< how many calls of solve() run at a time, each on its own thread; 0: one per core
  unsigned threads;      ///< threads that gather and put back the systems of one call; 0: one per core
};

/// Calls solve(batch, solution) for each size, until all systems are solved.
template <class T>
void solve_by_size(const SpdBatch<T>& batch, const SpdSolution<T>& solution, const AtOnce& at_once,
                   const std::function<void(const SpdBatch<T>&, const SpdSolution<T>&)>& solve);

}  // namespace smallbatch
