#include "io/hdf5/array_runs.hpp"

#include <cstddef>

namespace smallbatch {

void for_each_run(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& start,
                  const std::vector<std::int64_t>& count,
                  const std::function<void(std::int64_t first, std::int64_t length)>& visit) {
  // The axes from `outer` on form one run, because the box spans the axes after `outer` completely. The loop below
  // counts through the axes before `outer`.
  std::size_t outer = shape.size();
  std::int64_t length = 1;
  while (outer > 0) {
    --outer;
    length *= count[outer];
    if (count[outer] != shape[outer]) break;
  }
  std::vector<std::int64_t> index(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(outer));
  for (;;) {
    std::int64_t first = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      first = first * shape[axis] + (axis < outer ? index[axis] : start[axis]);
    visit(first, length);
    std::size_t axis = outer;
    while (axis > 0 && ++index[axis - 1] == start[axis - 1] + count[axis - 1]) {
      index[axis - 1] = start[axis - 1];
      --axis;
    }
    if (axis == 0) return;
  }
}

}  // namespace smallbatch
