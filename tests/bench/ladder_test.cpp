// Every row of every ladder is right, on sizes that no tile divides; and the check that says so can fail.
#include "bench/ladder.hpp"

#include <gtest/gtest.h>

#include "core/device.hpp"

namespace smallbatch {
namespace {

class Ladders : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceList list = cuda_devices();
    if (list.devices.empty()) GTEST_SKIP() << "no GPU: " << list.why_none;
  }
  static void expect_right(const Ladder& ladder) {
    EXPECT_FALSE(ladder.steps.empty());
    for (const Step& step : ladder.steps) EXPECT_LE(measure(ladder, step, 1).error_over_bound, 1) << step.name;
  }
};

TEST_F(Ladders, EverySolveStepIsRight) {
  expect_right(solve_ladder<float>(32, 1001));
  expect_right(solve_ladder<float>(16, 1001));
  expect_right(solve_ladder<double>(32, 1001));
  expect_right(solve_ladder<double>(8, 1001));
}

TEST_F(Ladders, EveryPotentialStepIsRight) { expect_right(potential_ladder(37, 301)); }

TEST_F(Ladders, AStepThatWritesNothingIsWrong) {
  const Step nothing{"nothing", "", nullptr, [](cudaStream_t) {}};
  EXPECT_GT(measure(solve_ladder<float>(32, 100), nothing, 1).error_over_bound, 1);
  EXPECT_GT(measure(potential_ladder(16, 10), nothing, 1).error_over_bound, 1);
}

}  // namespace
}  // namespace smallbatch
