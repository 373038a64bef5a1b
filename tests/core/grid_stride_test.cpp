#include "core/grid_stride.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace smallbatch {
namespace {

// Whatever the number of threads, each index is visited exactly once.
TEST(ForEachIndex, EveryThreadCountCoversEveryIndexOnce) {
  for (const std::int64_t threads : {1, 3, 7, 64}) {
    std::vector<int> visits(50, 0);
    for (std::int64_t thread = 0; thread < threads; ++thread)
      for_each_index(thread, threads, 50, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(visits, std::vector<int>(50, 1)) << threads << " threads";
  }
}

}  // namespace
}  // namespace smallbatch
