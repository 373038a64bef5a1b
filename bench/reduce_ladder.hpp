// The ladders (bench/ladder.hpp) of reductions: the sum of an array in single precision.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Ladder of all steps, from a naive one to the production code.
Ladder reduce_ladder(std::int64_t count);

/// Ladder of two steps: the vendor's library and the production code.
Ladder reduce_comparison(std::int64_t count);

}  // namespace smallbatch
