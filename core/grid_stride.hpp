// One loop for host and device: every element-wise operation is a functor that is called with an index, and walks its
// indices this way. So any launch is right, <<<1,1>>> included, and the same functor runs on the host, as a plain loop
// or on threads. core/grid_stride.cuh launches it. (nvcc compiles both through --expt-relaxed-constexpr.)
#pragma once

#include <cstdint>

#include "core/parallel.hpp"

namespace smallbatch {

/// body(i) for i = first, first + step, ... below count: a thread's share, by its index in the grid and the grid's
/// size.
template <class Body>
constexpr void for_each_index(std::int64_t first, std::int64_t step, std::int64_t count, Body body) {
  for (std::int64_t i = first; i < count; i += step) body(i);
}

/// body(i) for all i below count, one after the other.
template <class Body>
constexpr void for_each_index(std::int64_t count, Body body) {
  for_each_index(0, 1, count, body);
}

/// The same on `threads` threads (0: one per core), which take `grain` neighbours at a time. In no fixed order: what
/// the body does with one index must not depend on another.
template <class Body>
void for_each_index_on_threads(std::int64_t count, std::int64_t grain, unsigned threads, Body body) {
  parallel_for(count, grain, threads,
               [&](std::int64_t first, std::int64_t last) { for_each_index(first, 1, last, body); });
}

}  // namespace smallbatch
