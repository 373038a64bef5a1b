// Threads for host loops.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#pragma GCC visibility push(default)
namespace smallbatch {

/// How many threads can run at a time: one per core that this process may use, as far as its affinity and the quota of
/// its control group (of Linux, version 2) let it; at least 1.
unsigned hardware_threads();

/// A number of threads that somebody asked for; 0: hardware_threads().
unsigned thread_count(unsigned asked_for);

/// The cores that a quota is, rounded up: "200000 100000", microseconds of all in microseconds of time, is 2. Nothing
/// where there is none ("max 100000"), or the text is no quota.
std::optional<unsigned> cores_of_quota(const std::string& text);

/// Calls body(first, last) for pieces of [0, count) of at most `grain` each, on `threads` threads (0: one per core).
/// Pieces start at multiples of `grain`. Which thread takes which piece is not fixed, so a body must not depend on it.
/// The first exception that a body throws is thrown again here, once all threads have ended.
void parallel_for(std::int64_t count, std::int64_t grain, unsigned threads,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body);

}  // namespace smallbatch
#pragma GCC visibility pop
