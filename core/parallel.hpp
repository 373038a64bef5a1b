// Threads for host loops.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns how many threads can run at a time, at least 1: one per core that this process may use. CPU affinity and the
/// quota of the Linux control group (version 2) limit this number.
unsigned hardware_threads();

/// Returns `asked_for`, or hardware_threads() if `asked_for` is 0.
unsigned thread_count(unsigned asked_for);

/// Returns the number of cores of a quota, rounded up. "200000 100000" means 200000 microseconds of computing in 100000
/// microseconds of time: 2 cores. Returns nothing for "max 100000" (no quota) and for any other text.
std::optional<unsigned> cores_of_quota(const std::string& text);

/// Calls body(first, last) for pieces of [0, count) on `threads` threads (0: one per core). A piece has at most `grain`
/// indices and starts at a multiple of `grain`. Any thread may take any piece, so a body must not depend on its thread.
/// If a body throws, the first exception is thrown again here after all threads have ended.
void parallel_for(std::int64_t count, std::int64_t grain, unsigned threads,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body);

}  // namespace smallbatch
#pragma GCC visibility pop
