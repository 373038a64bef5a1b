// The effect of unrolling a loop of one load, one reciprocal square root, one sine and eight dependent multiply-adds.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Ladder of the loop unrolled 1, 2, 4, 8 and 16 times. There are 1024 blocks of 256 threads. Each thread has its own
/// `values` neighbouring numbers, a multiple of 16.
Ladder unroll_ladder(std::int64_t values);

}  // namespace smallbatch
