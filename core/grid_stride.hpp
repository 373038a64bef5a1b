// One loop for host and device: every element-wise kernel walks its indices this way, so that any launch is right,
// <<<1,1>>> included, and the same body runs as a plain loop on the host.
#pragma once

#include <cstdint>

namespace smallbatch {

/// body(i) for i = first, first + step, ... below count. A kernel passes its thread's index in the grid and the grid's
/// size; the host passes 0 and 1. (nvcc compiles it for the device through --expt-relaxed-constexpr.)
template <class Body>
constexpr void for_each_index(std::int64_t first, std::int64_t step, std::int64_t count, Body body) {
  for (std::int64_t i = first; i < count; i += step) body(i);
}

}  // namespace smallbatch
