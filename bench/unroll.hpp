// What unrolling does to a loop of one load, one reciprocal square root, one sine and eight dependent multiply-adds.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// The loop unrolled 1, 2, 4, 8 and 16 times; 1024 blocks of 256 threads, each thread with `values` neighbours of its
/// own, a multiple of 16.
Ladder unroll_ladder(std::int64_t values);

}  // namespace smallbatch
