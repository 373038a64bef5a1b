#include "io/hdf5/array_runs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace smallbatch {
namespace {

using Indices = std::vector<std::int64_t>;

struct Runs {
  Indices elements;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
};

Runs runs_of(const Indices& shape, const Indices& start, const Indices& count) {
  Runs found;
  for_each_run(shape, start, count, [&](std::int64_t first, std::int64_t length) {
    found.runs.emplace_back(first, length);
    for (std::int64_t i = 0; i < length; ++i) found.elements.push_back(first + i);
  });
  return found;
}

TEST(ArrayRuns, every_box_of_an_array_is_found_in_order) {
  const Indices shape{3, 4, 2};
  int boxes = 0;
  for (std::int64_t code = 0; code < 3 * 3 * 4 * 4 * 2 * 2; ++code) {
    const Indices start{code % 3, code / 9 % 4, code / 144 % 2};
    const Indices count{code / 3 % 3 + 1, code / 36 % 4 + 1, code / 288 + 1};
    if (start[0] + count[0] > 3 || start[1] + count[1] > 4 || start[2] + count[2] > 2) continue;
    Indices expected;
    for (std::int64_t i = start[0]; i < start[0] + count[0]; ++i) {
      for (std::int64_t j = start[1]; j < start[1] + count[1]; ++j) {
        for (std::int64_t k = start[2]; k < start[2] + count[2]; ++k) expected.push_back(8 * i + 2 * j + k);
      }
    }
    const Runs found = runs_of(shape, start, count);
    EXPECT_EQ(found.elements, expected);
    for (std::size_t i = 1; i < found.runs.size(); ++i) {  // whole planes are one run, so no two runs touch
      const auto& [first, length] = found.runs[i - 1];
      EXPECT_TRUE(first + length < found.runs[i].first || count[1] < 4 || count[2] < 2);
    }
    ++boxes;
  }
  EXPECT_EQ(boxes, 6 * 10 * 3);
}

TEST(ArrayRuns, what_is_whole_behind_one_axis_is_one_run) {
  EXPECT_EQ(runs_of({5, 4, 3}, {2, 0, 0}, {3, 4, 3}).runs, (decltype(Runs::runs){{24, 36}}));
  EXPECT_EQ(runs_of({5, 4, 3}, {2, 1, 0}, {1, 2, 3}).runs, (decltype(Runs::runs){{27, 6}}));
  EXPECT_EQ(runs_of({5, 4, 3}, {2, 1, 0}, {2, 2, 3}).runs, (decltype(Runs::runs){{27, 6}, {39, 6}}));
  EXPECT_EQ(runs_of({7}, {2}, {4}).runs, (decltype(Runs::runs){{2, 4}}));
  EXPECT_EQ(runs_of({}, {}, {}).runs, (decltype(Runs::runs){{0, 1}}));
}

}  // namespace
}  // namespace smallbatch
