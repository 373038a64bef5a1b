#include "core/grid_stride.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace smallbatch {
namespace {

// Each index is visited exactly once for any number of threads.
TEST(ForEachIndex, EveryThreadCountCoversEveryIndexOnce) {
  for (const std::int64_t threads : {1, 3, 7, 64}) {
    std::vector<int> visits(50, 0);
    for (std::int64_t thread = 0; thread < threads; ++thread)
      for_each_index(thread, threads, 50, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(visits, std::vector<int>(50, 1)) << threads << " threads";
  }
}

TEST(ForEachIndex, AllIndicesInTheirOrderWithoutAGrid) {
  std::vector<std::int64_t> order;
  for_each_index(4, [&](std::int64_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3}));
  for_each_index(0, [&](std::int64_t i) { order.push_back(i); });
  EXPECT_EQ(order.size(), 4U);
}

TEST(ForEachIndex, ThreadsTogetherVisitEveryIndexOnce) {
  for (const unsigned threads : {0, 1, 3})
    for (const std::int64_t count : {0, 1, 99, 1000}) {
      std::vector<int> visits(static_cast<std::size_t>(count), 0);
      for_each_index_on_threads(count, 10, threads, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(count), 1)) << threads << " threads";
    }
}

}  // namespace
}  // namespace smallbatch
