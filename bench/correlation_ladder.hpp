// Ladders (bench/ladder.hpp) of correlations with 1024 samples per channel.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Ladder for float32, from one visibility per thread to the production code.
Ladder correlation_ladder(std::int64_t inputs, std::int64_t channels);

/// Ladder of two steps: the vendor's library and the production code.
Ladder correlation_comparison(SampleType type, std::int64_t inputs, std::int64_t channels);

}  // namespace smallbatch
