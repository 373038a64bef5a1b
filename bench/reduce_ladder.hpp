// The ladders of reductions: the sum of an array in single precision.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Ladder of all steps from naive to production.
Ladder reduce_ladder(std::int64_t count);

/// Ladder of the vendor's library and production alone.
Ladder reduce_comparison(std::int64_t count);

}  // namespace smallbatch
