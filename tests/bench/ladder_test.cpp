// Every row of every table is right, on sizes that no tile divides. Wrong answers fail the check.
#include "bench/ladder.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "bench/potential_ladder.hpp"
#include "bench/potential_problem.hpp"
#include "bench/solve_ladder.hpp"
#include "bench/solve_peers.hpp"
#include "bench/solve_systems.hpp"
#include "bench/tables.hpp"
#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "physics/charges/potential_referee.hpp"
#include "physics/potential.hpp"
#include "solvers/spd_solver.cuh"

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
      const Judgement judgement = measure(ladder, step, 1).judgement;
      if (step.l2_limit > 0)
        EXPECT_LE(judgement.relative_l2, step.l2_limit) << ladder.title << ": " << step.name;
      else
        EXPECT_LE(judgement.error_over_bound, 1) << ladder.title << ": " << step.name;
      EXPECT_TRUE(names.insert(step.name).second) << ladder.title << " has two steps " << step.name;
    }
  }
};

TEST_F(Ladders, EveryStepOfEveryTableIsRight) {
  for (const std::vector<LadderTable>& tables :
       {ladder_tables(), potential_sizes(), small_potential_sizes(), sums_of_sizes()})
    for (const LadderTable& table : tables) expect_right(table.sample());
  for (const SizesTable& table : solve_sizes())
    for (const LadderTable& row : table.rows) expect_right(row.sample());
}

TEST_F(Ladders, EverySingleCallIsRight) {
  for (const std::int64_t batch : {1, 2, 10, 33}) {
    const Ladder ladder = solve_call<float>(batch == 10 ? 27 : 32, batch);
    for (const Step& step : ladder.steps) {
      const Measurement measured = measure_calls(ladder, step);
      EXPECT_TRUE(measured.right) << ladder.title << ": " << step.name << ", " << measured.judgement.error_over_bound;
      EXPECT_GT(measured.lowest_seconds, 0);
      EXPECT_LE(measured.lowest_seconds, measured.median_seconds);
      EXPECT_LE(measured.median_seconds, measured.highest_seconds);
    }
  }
}

TEST_F(Ladders, AStepThatWritesNothingIsWrong) {
  Step nothing;
  nothing.launch = [](cudaStream_t) {};
  for (const LadderTable& table : ladder_tables()) {
    const Ladder ladder = table.sample();
    nothing.l2_limit = 0;
    EXPECT_FALSE(measure(ladder, nothing, 1).right) << table.name;
    if (!ladder.shows_l2) continue;
    nothing.l2_limit = 1e30;
    EXPECT_FALSE(measure(ladder, nothing, 1).right) << table.name;
  }
}

TEST_F(Ladders, AStepWithoutABoundIsJudgedByItsL2Error) {
  Ladder ladder;
  ladder.poison = [](cudaStream_t) {};
  ladder.check = [] { return Judgement{5, 1e-6}; };
  Step step;
  step.launch = [](cudaStream_t) {};
  EXPECT_FALSE(measure(ladder, step, 1).right);
  step.l2_limit = 1e-5;
  EXPECT_TRUE(measure(ladder, step, 1).right);
  step.check = [] { return Judgement{0.5, 1e-4}; };
  EXPECT_FALSE(measure(ladder, step, 1).right) << "its own check comes first";
}

TEST_F(Ladders, AHostsStepIsTimedByTheHostsClock) {
  Ladder ladder;
  ladder.poison = [](cudaStream_t) {};
  ladder.check = [] { return Judgement{}; };
  Step step;
  step.host = true;
  step.launch = [](cudaStream_t) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  const Measurement measured = measure(ladder, step, 3);
  EXPECT_GE(measured.lowest_seconds, 5e-3);
  EXPECT_TRUE(measured.kernels.empty());
}

TEST_F(Ladders, AWrongStepIsNotTimed) {
  Ladder ladder;
  ladder.poison = [](cudaStream_t) {};
  ladder.check = [] { return Judgement{std::numeric_limits<double>::quiet_NaN()}; };
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
    // A block has 32 x 32 / rows threads, with rows as in the name. A lane has 32 registers for each row that it keeps.
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

TEST_F(Ladders, AKernelLaunchedAgainIsListedOnce) {
  const Ladder ladder = potential_ladder(40, 9000);  // three batches of charges in constant memory
  expect_right(ladder);
  for (const Step& step : ladder.steps) {
    if (step.name == "one_point_constant") {
      EXPECT_EQ(kernel_resources(step).size(), 1U);
    }
    if (step.name == "tile_4x4") {
      EXPECT_EQ(kernel_resources(step).at(0).shared_bytes, 256 * 16U);
    }
  }
}

TEST_F(Ladders, OneBadPotentialIsFound) {
  const DevicePotentialProblem problem({7, 6, 5}, {40, 3, 20}, true);
  const Stream stream;
  const auto put = [&](float* values, std::int64_t index, float value) {
    check(cudaMemcpy(values + index, &value, sizeof(value), cudaMemcpyHostToDevice));
  };
  std::vector<float> potential, field;
  for (std::int64_t p = 0; p < problem.count; ++p) {
    std::vector<std::int64_t> points(static_cast<std::size_t>(problem.shape.points()));
    for (std::size_t i = 0; i < points.size(); ++i) points[i] = static_cast<std::int64_t>(i);
    std::vector<ReferencePotential> expected(points.size());
    reference_potential(problem.charges(), problem.lattice(), p, {}, ScalarType::float32, points, expected);
    for (const ReferencePotential& at : expected) {
      potential.push_back(static_cast<float>(at.potential));
      for (const double component : at.field) field.push_back(static_cast<float>(component));
    }
  }
  const auto restore = [&] {
    problem.poison(stream.get());
    stream.synchronize();
    check(cudaMemcpy(problem.result.potential, potential.data(), potential.size() * sizeof(float),
                     cudaMemcpyHostToDevice));
    check(cudaMemcpy(problem.result.field, field.data(), field.size() * sizeof(float), cudaMemcpyHostToDevice));
  };
  restore();
  EXPECT_LE(problem.judge(true).error_over_bound, 1);
  EXPECT_LE(problem.judge(true).relative_l2, 1e-6);
  put(problem.result.potential, problem.points() - 1, 1e3F);  // the last target, which the referee judges
  EXPECT_GT(problem.judge(true).error_over_bound, 1);
  EXPECT_GT(problem.judge(true).relative_l2, 1e-5);
  restore();
  put(problem.result.field, 3 * problem.points() - 1, 1e3F);
  EXPECT_GT(problem.judge(true).error_over_bound, 1);
  EXPECT_LE(problem.judge(false).error_over_bound, 1);
  put(problem.result.field, 4, std::numeric_limits<float>::quiet_NaN());
  EXPECT_GT(problem.judge(true).relative_l2, 1e30);
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
  put(8 * 2 + 3, std::numeric_limits<float>::quiet_NaN());  // in a system that the referee does not judge
  EXPECT_GT(systems->worst_error(), 1);
  solve();
  const std::int32_t failed = 1;
  check(cudaMemcpy(systems->info + 2, &failed, sizeof(failed), cudaMemcpyHostToDevice));
  EXPECT_GT(systems->worst_error(), 1);
}

TEST_F(Ladders, OneBadNumberAboutAMatrixIsFound) {
  const Systems<float> systems({8, 1, Storage::dense}, 1777);
  const Stream stream;
  const auto solve = [&](Stored stored) {
    systems.poison(stream.get());
    check(launch_spd_solve(systems.batch(), systems.solution(stored), {}, systems.workspace, stream.get()));
    stream.synchronize();
  };
  solve(Stored::backward_error);
  EXPECT_LE(systems.worst_error(Stored::backward_error), 1);
  EXPECT_GT(systems.worst_error(Stored::everything), 1) << "most numbers are not there";
  solve(Stored::everything);
  EXPECT_LE(systems.worst_error(Stored::everything), 1);
  const float wrong = 0.5;
  check(cudaMemcpy(systems.everything.rcond + 1776, &wrong, sizeof(wrong), cudaMemcpyHostToDevice));
  EXPECT_GT(systems.worst_error(Stored::everything), 1);
  EXPECT_LE(systems.worst_error(Stored::backward_error), 1);
}

}  // namespace
}  // namespace smallbatch
