// A loop that host and device share. Every element-wise operation is a functor that is called with an index; this loop
// walks the indices. Any number of blocks and threads is therefore right, even <<<1,1>>>. The functor also runs on the
// host, as a plain loop or on threads. The launch is in core/grid_stride.cuh. (nvcc compiles the loop for both sides
// with --expt-relaxed-constexpr.)
#pragma once

#include <cstdint>

#include "core/parallel.hpp"

namespace smallbatch {

/// Calls body(i) for i = first, first + step, ... below count. A GPU thread passes its index in the grid and the size
/// of the grid.
template <class Body>
constexpr void for_each_index(std::int64_t first, std::int64_t step, std::int64_t count, Body body) {
  for (std::int64_t i = first; i < count; i += step) body(i);
}

/// Calls body(i) for all i below count, in order.
template <class Body>
constexpr void for_each_index(std::int64_t count, Body body) {
  for_each_index(0, 1, count, body);
}

/// Calls body(i) for all i below count on `threads` threads (0: one per core). A thread takes `grain` neighbouring
/// indices at a time. The order is not fixed, so the work for one index must not depend on that for another.
template <class Body>
void for_each_index_on_threads(std::int64_t count, std::int64_t grain, unsigned threads, Body body) {
  parallel_for(count, grain, threads,
               [&](std::int64_t first, std::int64_t last) { for_each_index(first, 1, last, body); });
}

}  // namespace smallbatch
