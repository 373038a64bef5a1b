// Blocks become smaller if a GPU has no memory for them, down to a least size.
#include "app/run/plan.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/exit_codes.hpp"
#include "app/run/smaller_blocks.hpp"
#include "core/error.hpp"
#include "tests/app/calling_sink.hpp"

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
  set.chunk_bytes = std::int64_t{32} << 20;  // larger blocks would be faster for this set
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

/// A run of a set on a GPU that has no memory for the first `refusals` attempts, and its messages.
class BlocksThatFit : public ::testing::Test {
 protected:
  BlocksThatFit() : before_(spdlog::default_logger()) {
    plan_.on_gpus = true;
    plan_.block_bytes = std::int64_t{16} << 20;
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<testing::CallingSink>([this](const std::string& line) { lines_.push_back(line); })));
  }
  ~BlocksThatFit() override { spdlog::set_default_logger(before_); }

  std::string run(int refusals, ErrorKind kind = ErrorKind::out_of_memory) {
    return in_blocks_that_fit(
        plan_, [&] { ++times_forgotten_; },
        [&]() -> std::string {
          sizes_.push_back(plan_.block_bytes >> 20);
          if (static_cast<int>(sizes_.size()) > refusals) return "done";
          throw Error(kind, "cuda:0 has no memory for a block.");
        });
  }

  Plan plan_;
  int times_forgotten_ = 0;
  std::vector<std::int64_t> sizes_;  ///< sizes of the blocks of each attempt, in MiB
  std::vector<std::string> lines_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(BlocksThatFit, AreTheFirstWhereThereIsMemory) {
  EXPECT_EQ(run(0), "done");
  EXPECT_EQ(sizes_, (std::vector<std::int64_t>{16}));
  EXPECT_TRUE(lines_.empty());
  EXPECT_EQ(times_forgotten_, 0);
}

TEST_F(BlocksThatFit, AreHalvedWithOneWarning) {
  EXPECT_EQ(run(3), "done");
  EXPECT_EQ(sizes_, (std::vector<std::int64_t>{16, 8, 4, 2}));
  EXPECT_EQ(lines_,
            (std::vector<std::string>{"cuda:0 has no memory for a block. The run continues with smaller blocks."}));
  EXPECT_EQ(times_forgotten_, 3);
  // The next set begins with blocks of the size that fitted, without a warning.
  sizes_.clear();
  EXPECT_EQ(run(1), "done");
  EXPECT_EQ(sizes_, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(BlocksThatFit, AreNotHalvedBelowAFloor) {
  try {
    run(100);
    ADD_FAILURE() << "there was never any memory";
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error.kind()), ExitCode::out_of_memory);
    EXPECT_EQ(static_cast<int>(exit_code_of(error.kind())), 6);
  }
  EXPECT_EQ(sizes_, (std::vector<std::int64_t>{16, 8, 4, 2, 1}));
}

TEST_F(BlocksThatFit, AreNotLookedForAfterAnotherFailure) {
  EXPECT_THROW(run(1, ErrorKind::device_lost), Error);
  EXPECT_EQ(sizes_, (std::vector<std::int64_t>{16}));
  plan_.on_gpus = false;  // smaller blocks do not help the CPU
  sizes_.clear();
  EXPECT_THROW(run(1), Error);
  EXPECT_EQ(sizes_, (std::vector<std::int64_t>{16}));
}

}  // namespace
}  // namespace smallbatch
