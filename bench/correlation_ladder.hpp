// Ladders of correlations with 1024 samples per channel.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Ladder for float32, from one visibility per thread to production.
Ladder correlation_ladder(std::int64_t inputs, std::int64_t channels);

/// Ladder of the vendor's library and production alone.
Ladder correlation_comparison(SampleType type, std::int64_t inputs, std::int64_t channels);

}  // namespace smallbatch
