// Threads for host loops.
#pragma once

#include <cstdint>
#include <functional>

namespace smallbatch {

/// One per core, at least 1.
unsigned hardware_threads();

/// Calls body(first, last) for pieces of [0, count) of at most `grain` each, on `threads` threads (0: one per core).
/// Pieces start at multiples of `grain`. Which thread takes which piece is not fixed, so a body must not depend on it.
/// The first exception that a body throws is thrown again here, once all threads have ended.
void parallel_for(std::int64_t count, std::int64_t grain, unsigned threads,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body);

}  // namespace smallbatch
