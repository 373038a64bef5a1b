// The ladder of reductions: the sum of an array in single precision.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Every step from naive to production.
Ladder reduce_ladder(std::int64_t count);

/// Production beside the vendor's library alone.
Ladder reduce_comparison(std::int64_t count);

}  // namespace smallbatch
