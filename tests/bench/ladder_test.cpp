// Every row of every table is right, on sizes that no tile divides; and the check that says so can fail.
#include "bench/ladder.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>

#include "bench/solve_peers.hpp"
#include "bench/solve_systems.hpp"
#include "bench/tables.hpp"
#include "core/device.hpp"
#include "core/device_cuda.hpp"

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
    std::set<std::string> names;
    for (const Step& step : ladder.steps) {
      EXPECT_LE(measure(ladder, step, 1).error_over_bound, 1) << ladder.title << ": " << step.name;
      EXPECT_TRUE(names.insert(step.name).second) << ladder.title << " has two steps " << step.name;
    }
  }
};

TEST_F(Ladders, EveryStepOfEveryTableIsRight) {
  for (const LadderTable& table : ladder_tables()) expect_right(table.sample());
}

TEST_F(Ladders, EverySingleCallIsRight) {
  for (const std::int64_t batch : {1, 2, 10, 33}) {
    const Ladder ladder = calls_ladder(batch);
    for (const Step& step : ladder.steps) {
      const Measurement measured = measure_calls(ladder, step);
      EXPECT_LE(measured.error_over_bound, 1) << ladder.title << ": " << step.name;
      EXPECT_GT(measured.lowest_seconds, 0);
      EXPECT_LE(measured.lowest_seconds, measured.median_seconds);
      EXPECT_LE(measured.median_seconds, measured.highest_seconds);
    }
  }
}

TEST_F(Ladders, AStepThatWritesNothingIsWrong) {
  Step nothing;
  nothing.launch = [](cudaStream_t) {};
  for (const LadderTable& table : ladder_tables())
    EXPECT_GT(measure(table.sample(), nothing, 1).error_over_bound, 1) << table.name;
}

TEST_F(Ladders, AWrongStepIsNotTimed) {
  Ladder ladder;
  ladder.poison = [](cudaStream_t) {};
  ladder.check = [] { return std::numeric_limits<double>::quiet_NaN(); };
  int launches = 0;
  Step step;
  step.launch = [&](cudaStream_t) { ++launches; };
  step.vendor = true;
  EXPECT_EQ(measure(ladder, step, 5).median_seconds, 0);
  EXPECT_EQ(measure_calls(ladder, step).median_seconds, 0);
  EXPECT_EQ(launches, 2) << "one launch each, for the check";
}

TEST_F(Ladders, KernelsTellWhatTheyTake) {
  std::set<std::string> seen;
  for (const Step& step : ladder_tables().front().sample().steps) {
    if (step.vendor) continue;
    const std::vector<KernelResources> kernels = kernel_resources(step);
    ASSERT_FALSE(kernels.empty()) << step.name;
    for (const KernelResources& kernel : kernels) {
      EXPECT_GE(kernel.registers, 8) << step.name;
      EXPECT_LE(kernel.registers, 255) << step.name;
      EXPECT_GT(kernel.resident_warps, 0) << step.name;
      EXPECT_LE(kernel.resident_warps, 64) << step.name;
    }
    // 32 x 32 elements over blocks of 1024 / rows threads, as the steps are named; a warp holds 32 rows of A
    if (step.name == "rows_per_thread_1") {
      EXPECT_EQ(kernels[0].threads, 1024);
    }
    if (step.name == "rows_per_thread_16") {
      EXPECT_EQ(kernels[0].threads, 64);
    }
    if (step.name == "rows_per_thread_4") {
      EXPECT_EQ(kernels[0].shared_bytes, 32 * 33 * sizeof(float));
    }
    if (step.name == "lane_per_row_shuffles") {
      EXPECT_EQ(kernels[0].threads, 32);
      EXPECT_EQ(kernels[0].shared_bytes, 0U);
      EXPECT_GT(kernels[0].registers, 32);
    }
    if (step.name == "four_rows_per_lane") {
      EXPECT_GT(kernels[0].registers, 4 * 32);
    }
    seen.insert(step.name);
  }
  for (const char* name : {"rows_per_thread_1", "rows_per_thread_16", "lane_per_row_shuffles", "four_rows_per_lane"})
    EXPECT_TRUE(seen.count(name)) << name;
}

TEST_F(Ladders, OneBadNumberIsFound) {
  const auto systems = std::make_shared<const Systems<float>>(SpdShape{8, 1, Storage::dense}, 1777);
  const Stream stream;
  const Step step = vendor_steps(systems).at(0);
  const auto solve = [&] {
    systems->poison(stream.get());
    step.prepare(stream.get());
    step.launch(stream.get());
    step.finish(stream.get());
    stream.synchronize();
  };
  const auto put = [&](std::int64_t index, float value) {
    check(cudaMemcpy(systems->x + index, &value, sizeof(value), cudaMemcpyHostToDevice));
  };
  solve();
  EXPECT_LE(systems->worst_error(), 1);
  put(8 * 1776 + 3, 100);  // in the last system, which the referee judges
  EXPECT_GT(systems->worst_error(), 1);
  solve();
  put(8 * 2 + 3, std::numeric_limits<float>::quiet_NaN());  // in a system that it does not judge
  EXPECT_GT(systems->worst_error(), 1);
  solve();
  const std::int32_t failed = 1;
  check(cudaMemcpy(systems->info + 2, &failed, sizeof(failed), cudaMemcpyHostToDevice));
  EXPECT_GT(systems->worst_error(), 1);
}

}  // namespace
}  // namespace smallbatch
