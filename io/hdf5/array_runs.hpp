// Where a box of an array lies, as runs of consecutive elements. Private to io/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace smallbatch {

/// Calls visit(first, length) for every run of elements [first, first + length) of an array of `shape` that the box
/// [start, start + count) of its axes has, in their order; a run is as long as it can be. No count is 0.
void for_each_run(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& start,
                  const std::vector<std::int64_t>& count,
                  const std::function<void(std::int64_t first, std::int64_t length)>& visit);

}  // namespace smallbatch
