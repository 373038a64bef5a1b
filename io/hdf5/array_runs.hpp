// Splits a box of an array into runs of consecutive elements. Private to io/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace smallbatch {

/// Calls visit(first, length) for every run of elements [first, first + length) in a box. The box is [start, start +
/// count) along the axes of an array of `shape`. The runs come in order, each as long as possible. No count may be 0.
void for_each_run(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& start,
                  const std::vector<std::int64_t>& count,
                  const std::function<void(std::int64_t first, std::int64_t length)>& visit);

}  // namespace smallbatch
