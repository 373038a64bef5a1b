// The launch for arrays on the device: what it refuses before anything runs. (What it computes is what the cuda solver
// computes, whose tests are those of all backends.)
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "solvers/spd_solver.cuh"

namespace smallbatch::testing {
namespace {

/// Arrays that no kernel ever sees.
class SpdLaunch : public ::testing::Test {
 protected:
  cudaError_t launch() { return launch_spd_solve(batch_, solution_, options_, nullptr); }

  std::vector<float> memory_ = std::vector<float>(4096, 1);
  std::vector<std::int32_t> info_ = std::vector<std::int32_t>(16, 77);
  SpdBatch<float> batch_{{4, 1, Storage::dense}, 3, memory_.data(), memory_.data() + 1024};
  SpdSolution<float> solution_{memory_.data() + 2048, info_.data()};
  SpdOptions options_;
};

TEST_F(SpdLaunch, RefusesSizesThatNoKernelIsFor) {
  for (const int n : {-1, 0, 65, std::numeric_limits<int>::max()}) {
    batch_.shape.n = n;
    EXPECT_EQ(launch(), cudaErrorInvalidValue) << n;
  }
}

TEST_F(SpdLaunch, RefusesCountsThatMakeNoSense) {
  batch_.shape.nrhs = -1;
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
  batch_.shape = {4, 1, Storage::dense, true};
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
  batch_.shape = {4, 1, Storage::dense};
  batch_.count = -1;
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
  batch_.count = 0;
  EXPECT_EQ(launch(), cudaSuccess);
}

TEST_F(SpdLaunch, RefusesArraysThatAreNotThere) {
  const SpdBatch<float> batch = batch_;
  const SpdSolution<float> solution = solution_;
  const auto expect_refused = [&] {
    EXPECT_EQ(launch(), cudaErrorInvalidValue);
    batch_ = batch;
    solution_ = solution;
  };
  batch_.a = nullptr;
  expect_refused();
  batch_.b = nullptr;
  expect_refused();
  solution_.x = nullptr;
  expect_refused();
  solution_.info = nullptr;
  expect_refused();
}

TEST_F(SpdLaunch, RefusesStridesAndPlacesThatOverlap) {
  const SpdBatch<float> batch = batch_;
  const SpdSolution<float> solution = solution_;
  const auto expect_refused = [&] {
    EXPECT_EQ(launch(), cudaErrorInvalidValue);
    batch_ = batch;
    solution_ = solution;
  };
  batch_.a_stride = 15;
  expect_refused();
  batch_.b_stride = -2;
  expect_refused();
  solution_.x_stride = 0;
  expect_refused();
  solution_.x = memory_.data() + 40;  // within A
  expect_refused();
  solution_.x = const_cast<float*>(batch_.b);  // read while it would be written
  expect_refused();
}

TEST_F(SpdLaunch, RefusesFloorsThatAreNoFractions) {
  for (const double floor : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    options_.pivot_floor = floor;
    EXPECT_EQ(launch(), cudaErrorInvalidValue) << floor;
  }
}

}  // namespace
}  // namespace smallbatch::testing
