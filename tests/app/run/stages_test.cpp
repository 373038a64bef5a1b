// Blocks pass all stages in order, few are in memory, and all stages end if one fails.
#include "app/run/stages.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace smallbatch {
namespace {

struct Block {
  std::int64_t number = -1;
  int stages = 0;  ///< stages that the block has passed

  explicit Block(std::pmr::memory_resource*) {}
};

TEST(Stages, EveryBlockPassesAllOfThemInOrder) {
  StageThreads threads;
  for (const std::int64_t blocks : {0, 1, 2, 3, 4, 5, 1000}) {
    std::array<std::vector<std::int64_t>, 4> taken;
    const auto stage = [&](int number) {
      return [&taken, number](std::int64_t k, Block& block, std::size_t = 0) {
        taken.at(static_cast<std::size_t>(number)).push_back(k);
        if (number == 0) {
          block.number = k;
          block.stages = 0;
        }
        EXPECT_EQ(block.number, k);
        EXPECT_EQ(block.stages++, number);
      };
    };
    StageSeconds seconds;
    stream_blocks<Block>(blocks, {true, stage(0), stage(1), stage(2), stage(3)}, threads,
                         std::pmr::new_delete_resource(), seconds);
    std::vector<std::int64_t> all;
    for (std::int64_t k = 0; k < blocks; ++k) all.push_back(k);
    for (const std::vector<std::int64_t>& of_stage : taken) EXPECT_EQ(of_stage, all);
  }
}

TEST(Stages, AreAtWorkAtTheSameTimeOnSoManyBlocksAndNoMore) {
  // Stage s waits with block 3 - s until all four stages wait. The test ends only if the stages overlap.
  StageThreads threads;
  std::atomic<int> begun = 0;
  std::atomic<std::int64_t> in_memory = 0, most = 0;
  const auto meet = [&](std::int64_t k, int stage) {
    if (k != 3 - stage) return;
    ++begun;
    while (begun < 4) std::this_thread::yield();
  };
  Stages<Block> stages;
  stages.reads_one_at_a_time = true;
  stages.read = [&](std::int64_t k, Block&) {
    most = std::max<std::int64_t>(most, ++in_memory);
    meet(k, 0);
  };
  stages.compute = [&](std::int64_t k, Block&, std::size_t) { meet(k, 1); };
  stages.verify = [&](std::int64_t k, Block&) { meet(k, 2); };
  stages.write = [&](std::int64_t k, Block&) {
    meet(k, 3);
    --in_memory;
  };
  StageSeconds seconds;
  stream_blocks<Block>(200, stages, threads, std::pmr::new_delete_resource(), seconds);
  EXPECT_EQ(begun, 4);
  EXPECT_EQ(most, threads.blocks_in_memory());
  EXPECT_EQ(most, 5);
}

TEST(Stages, SeveralDevicesComputeAtTheSameTimeAndBlocksAreWrittenInOrder) {
  // The first three blocks wait for each other while they are computed. The test ends only if three devices compute
  // them at the same time.
  StageThreads threads(3);
  std::atomic<int> met = 0;
  std::array<std::atomic<std::int64_t>, 3> computed{};
  std::vector<std::int64_t> written;
  Stages<Block> stages;
  stages.read = [](std::int64_t k, Block& block) { block.number = k; };
  stages.compute = [&](std::int64_t k, Block& block, std::size_t device) {
    EXPECT_EQ(block.number, k);
    ++computed.at(device);
    if (k >= 3) return;
    ++met;
    while (met < 3) std::this_thread::yield();
  };
  stages.verify = [](std::int64_t k, Block& block) { EXPECT_EQ(block.number, k); };
  stages.write = [&](std::int64_t k, Block&) { written.push_back(k); };
  StageSeconds seconds;
  stream_blocks<Block>(500, stages, threads, std::pmr::new_delete_resource(), seconds);
  EXPECT_EQ(computed[0] + computed[1] + computed[2], 500);
  for (const auto& of_device : computed) EXPECT_GE(of_device, 1);
  ASSERT_EQ(written.size(), 500U);
  for (std::int64_t k = 0; k < 500; ++k) EXPECT_EQ(written[static_cast<std::size_t>(k)], k);
}

TEST(Stages, TwoBlocksAreReadAtATime) {
  // The first two blocks wait for each other while they are read. The test ends only if both are read at the same time.
  StageThreads threads;
  std::atomic<int> met = 0;
  std::vector<std::int64_t> written;
  Stages<Block> stages;
  stages.read = [&](std::int64_t k, Block& block) {
    block.number = k;
    if (k >= 2) return;
    ++met;
    while (met < 2) std::this_thread::yield();
  };
  stages.compute = [](std::int64_t k, Block& block, std::size_t) { EXPECT_EQ(block.number, k); };
  stages.verify = [](std::int64_t, Block&) {};
  stages.write = [&](std::int64_t k, Block& block) {
    EXPECT_EQ(block.number, k);
    written.push_back(k);
  };
  StageSeconds seconds;
  stream_blocks<Block>(500, stages, threads, std::pmr::new_delete_resource(), seconds);
  ASSERT_EQ(written.size(), 500U);
  for (std::int64_t k = 0; k < 500; ++k) EXPECT_EQ(written[static_cast<std::size_t>(k)], k);
}

TEST(Stages, HaveOneThreadEachFromSetToSet) {
  StageThreads threads;
  std::array<std::set<std::thread::id>, 4> seen;
  for (int set = 0; set < 3; ++set) {
    const auto stage = [&](std::size_t number) {
      return [&seen, number](std::int64_t, Block&, std::size_t = 0) {
        seen.at(number).insert(std::this_thread::get_id());
      };
    };
    StageSeconds seconds;
    stream_blocks<Block>(20, {true, stage(0), stage(1), stage(2), stage(3)}, threads, std::pmr::new_delete_resource(),
                         seconds);
  }
  std::set<std::thread::id> all{std::this_thread::get_id()};
  for (const std::set<std::thread::id>& of_stage : seen) {
    EXPECT_EQ(of_stage.size(), 1U);
    all.insert(of_stage.begin(), of_stage.end());
  }
  EXPECT_EQ(all.size(), 5U);
}

TEST(Stages, AFailureOfAnyEndsAllAndReachesTheCaller) {
  StageThreads threads;
  for (std::size_t failing = 0; failing < 4; ++failing) {
    for (const std::int64_t at : {0, 1, 7, 99}) {
      std::array<std::atomic<std::int64_t>, 4> done{};
      const auto stage = [&](std::size_t number) {
        return [&, number](std::int64_t k, Block&, std::size_t = 0) {
          if (number == failing && k == at) throw std::runtime_error("stage " + std::to_string(number));
          ++done.at(number);
        };
      };
      StageSeconds seconds;
      try {
        stream_blocks<Block>(100, {true, stage(0), stage(1), stage(2), stage(3)}, threads,
                             std::pmr::new_delete_resource(), seconds);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "stage " + std::to_string(failing));
      }
      EXPECT_EQ(done.at(failing), at);
      for (std::size_t later = failing + 1; later < 4; ++later) EXPECT_LE(done.at(later), at);
      for (std::size_t earlier = 0; earlier < failing; ++earlier) EXPECT_LE(done.at(earlier), at + 5);
    }
  }
}

/// If a device is lost while it computes a block, another device computes the block. Blocks are written once, in order.
TEST(Stages, TheOthersGoOnWhereADeviceIsLost) {
  StageThreads threads(4);
  for (const std::int64_t at : {0, 1, 5, 60, 99}) {
    std::atomic<bool> is_lost = false;
    std::array<std::atomic<std::int64_t>, 100> computed{};
    std::vector<std::int64_t> written;
    Stages<Block> stages;
    stages.read = [](std::int64_t k, Block& block) { block.number = k; };
    stages.compute = [&](std::int64_t k, Block& block, std::size_t device) {
      if (k == at && !is_lost.exchange(true)) {
        block.stages = -1000;
        throw Error(ErrorKind::device_lost, "lost");
      }
      EXPECT_EQ(block.number, k);
      EXPECT_LT(device, 4U);
      block.stages = 1;
      ++computed.at(static_cast<std::size_t>(k));
    };
    stages.verify = [](std::int64_t, Block& block) { EXPECT_EQ(block.stages, 1); };
    stages.write = [&](std::int64_t k, Block&) { written.push_back(k); };
    StageSeconds seconds;
    stream_blocks<Block>(100, stages, threads, std::pmr::new_delete_resource(), seconds);
    EXPECT_TRUE(is_lost);
    for (const auto& times : computed) EXPECT_EQ(times, 1);
    ASSERT_EQ(written.size(), 100U);
    for (std::int64_t k = 0; k < 100; ++k) EXPECT_EQ(written[static_cast<std::size_t>(k)], k);
  }
}

TEST(Stages, OneDeviceThatIsLeftDoesAllOfIt) {
  spdlog::default_logger();  // makes the logger before threads use it, as the program does
  StageThreads threads(3);
  for (std::size_t left = 0; left < 3; ++left) {
    std::array<std::atomic<int>, 3> calls{};
    std::vector<std::int64_t> written;
    Stages<Block> stages;
    stages.read = [](std::int64_t, Block&) {};
    stages.compute = [&](std::int64_t, Block&, std::size_t device) {
      ++calls.at(device);
      if (device != left) throw Error(ErrorKind::device_lost, "lost");
    };
    stages.verify = [](std::int64_t, Block&) {};
    stages.write = [&](std::int64_t k, Block&) { written.push_back(k); };
    StageSeconds seconds;
    stream_blocks<Block>(50, stages, threads, std::pmr::new_delete_resource(), seconds);
    EXPECT_EQ(calls.at(left), 50);
    for (std::size_t lost = 0; lost < 3; ++lost) {
      if (lost == left) continue;
      EXPECT_LE(calls.at(lost), 1);
    }
    EXPECT_EQ(written.size(), 50U);
  }
}

TEST(Stages, WhereAllDevicesAreLostTheLastOneTells) {
  spdlog::default_logger();
  StageThreads threads(3);
  Stages<Block> stages;
  stages.read = [](std::int64_t, Block&) {};
  stages.compute = [](std::int64_t k, Block&, std::size_t) {
    if (k >= 10) throw Error(ErrorKind::device_lost, "all of them");
  };
  std::int64_t written = 0;
  stages.verify = [](std::int64_t, Block&) {};
  stages.write = [&](std::int64_t k, Block&) {
    EXPECT_LT(k, 10);
    ++written;
  };
  StageSeconds seconds;
  try {
    stream_blocks<Block>(50, stages, threads, std::pmr::new_delete_resource(), seconds);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device_lost);
  }
  EXPECT_LE(written, 10);
}

}  // namespace
}  // namespace smallbatch
