// Blocks become smaller where a GPU has no memory for them, down to a floor.
#include "app/plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace smallbatch {
namespace {

TEST(Plan, SmallerBlocksAreTakenDownToAFloor) {
  Plan plan;
  plan.on_gpus = true;
  plan.threads = 8;
  plan.block_bytes = std::int64_t{64} << 20;
  SolveSet set;
  set.batch = 1'000'000;
  set.shape.n = 16;
  set.shape.nrhs = 1;
  set.chunk_bytes = std::int64_t{32} << 20;  // for which larger blocks would be better
  std::size_t blocks = blocks_of(plan, set).size();
  int times = 0;
  while (take_smaller_blocks(plan)) {
    ++times;
    const std::size_t now = blocks_of(plan, set).size();
    EXPECT_GT(now, blocks);
    blocks = now;
  }
  EXPECT_EQ(times, 6);
  EXPECT_EQ(plan.block_bytes, std::int64_t{1} << 20);
}

TEST(Plan, WithoutAGpuBlocksStayAsTheyAre) {
  Plan plan;
  plan.block_bytes = std::int64_t{64} << 20;
  EXPECT_FALSE(take_smaller_blocks(plan));
  EXPECT_EQ(plan.block_bytes, std::int64_t{64} << 20);
}

}  // namespace
}  // namespace smallbatch
