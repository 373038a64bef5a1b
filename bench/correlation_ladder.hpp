// Correlations of 1024 samples per channel.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// float32, from a visibility per thread to production.
Ladder correlation_ladder(std::int64_t inputs, std::int64_t channels);

/// The vendor's library and production alone.
Ladder correlation_comparison(SampleType type, std::int64_t inputs, std::int64_t channels);

}  // namespace smallbatch
