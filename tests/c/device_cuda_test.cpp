// Properties that the C interface has only with device arrays. Calls neither synchronize nor allocate, so CUDA graphs
// can capture them. Invalid calls return a status.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/device_cuda.hpp"
#include "tests/c/places.hpp"

namespace smallbatch::testing {

namespace {

class DeviceCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    if (smallbatch_device_count() == 0) GTEST_SKIP() << "no GPU: " << smallbatch_last_error(nullptr);
    ASSERT_EQ(smallbatch_create(&handle_, SMALLBATCH_CUDA, -1), SMALLBATCH_SUCCESS);
    place_ = make_device_place();
    ASSERT_EQ(smallbatch_set_stream(handle_, place_->stream()), SMALLBATCH_SUCCESS);
  }
  void TearDown() override { smallbatch_destroy(handle_); }

  smallbatch_handle handle_ = nullptr;
  std::unique_ptr<Place> place_;
};

}  // namespace

TEST_F(DeviceCalls, AreCapturedIntoAGraph) {
  // Two systems of 2 x 2 are solved in place. Their upper triangles are stored by columns, with a gap below each
  // column. Then the potential of a charge at (1, 0, 0) is evaluated at two points, at distances of 2 and 4.
  Array<double> a(*place_, std::vector<double>(12));
  Array<double> b(*place_, std::vector<double>(4));
  Array<std::int32_t> info(*place_, {-99, -99}), potential_info(*place_, {-99});
  Array<float> xyzq(*place_, {1, 0, 0, 1});
  Array<double> point(*place_, {3, 0, 0, 1, 4, 0}), potential(*place_, {-77, -77});
  smallbatch_systems systems;
  smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, SMALLBATCH_DEVICE, 2, 1, 2);
  systems.order = SMALLBATCH_COLUMN_MAJOR;
  systems.storage = SMALLBATCH_UPPER;
  systems.a = a.there();
  systems.lda = 3;
  systems.b = b.there();
  smallbatch_solutions solutions;
  smallbatch_solutions_init(&solutions);
  solutions.x = b.there();
  solutions.info = info.there();
  smallbatch_charges charges;
  smallbatch_charges_init(&charges, SMALLBATCH_DEVICE, 1, 1);
  charges.xyzq = xyzq.there();
  charges.xyzq_type = SMALLBATCH_FLOAT32;
  smallbatch_targets targets;
  smallbatch_points_init(&targets, 2);
  targets.point = point.there();
  smallbatch_potentials potentials;
  smallbatch_potentials_init(&potentials, SMALLBATCH_FLOAT64);
  potentials.potential = potential.there();
  potentials.info = potential_info.there();
  std::size_t solve_bytes = 0, potential_bytes = 0;
  ASSERT_EQ(smallbatch_solve_workspace(handle_, &systems, &solutions, nullptr, &solve_bytes), SMALLBATCH_SUCCESS);
  ASSERT_EQ(smallbatch_potential_workspace(handle_, &charges, &targets, &potentials, nullptr, &potential_bytes),
            SMALLBATCH_SUCCESS);
  void* const solve_workspace = place_->allocate(solve_bytes);
  void* const potential_workspace = place_->allocate(potential_bytes);

  auto* const stream = static_cast<cudaStream_t>(place_->stream());
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(smallbatch_solve(handle_, &systems, &solutions, nullptr, solve_workspace, solve_bytes), SMALLBATCH_SUCCESS)
      << smallbatch_last_error(handle_);
  EXPECT_EQ(
      smallbatch_potential(handle_, &charges, &targets, &potentials, nullptr, potential_workspace, potential_bytes),
      SMALLBATCH_SUCCESS)
      << smallbatch_last_error(handle_);
  check(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0));
  for (const double scale : {1.0, 2.0, -3.0}) {
    // (4, 1; 1, 3) (1, 2) = (6, 7) and (2, 0; 0, 5) (3, 1) = (6, 5)
    const std::vector<double> matrices{4, 777, 777, 1, 3, 777, 2, 777, 777, 0, 5, 777};
    const std::vector<double> right_hand_sides{6 * scale, 7 * scale, 6 * scale, 5 * scale};
    const std::vector<float> charge{1, 0, 0, static_cast<float>(scale)};
    place_->copy_in(a.there(), matrices.data(), matrices.size() * sizeof(double));
    place_->copy_in(b.there(), right_hand_sides.data(), right_hand_sides.size() * sizeof(double));
    place_->copy_in(xyzq.there(), charge.data(), charge.size() * sizeof(float));
    check(cudaGraphLaunch(executable, stream));
    const std::vector<double> x = b.back();
    const double expected[] = {scale, 2 * scale, 3 * scale, scale};
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(x[k], expected[k], 1e-14) << k;
    EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 0}));
    EXPECT_NEAR(potential.back()[0], scale / 2, 1e-14);
    EXPECT_NEAR(potential.back()[1], scale / 4, 1e-14);
    EXPECT_EQ(potential_info.back()[0], 0);
  }
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
}

TEST_F(DeviceCalls, WhoseArraysOverlapAreRefused) {
  Array<double> a(*place_, {2, 1, 1, 2}), b(*place_, {3, 3});
  Array<std::int32_t> info(*place_, {-99});
  smallbatch_systems systems;
  smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, SMALLBATCH_DEVICE, 2, 1, 1);
  systems.a = a.there();
  systems.b = b.there();
  smallbatch_solutions solutions;
  smallbatch_solutions_init(&solutions);
  solutions.x = a.there();
  solutions.info = info.there();
  std::size_t bytes = 0;
  ASSERT_EQ(smallbatch_solve_workspace(handle_, &systems, &solutions, nullptr, &bytes), SMALLBATCH_SUCCESS);
  EXPECT_EQ(smallbatch_solve(handle_, &systems, &solutions, nullptr, place_->allocate(bytes), bytes),
            SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_NE(std::string(smallbatch_last_error(handle_)).find("overlap"), std::string::npos);
  EXPECT_EQ(info.back()[0], -99);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(DeviceCalls, NeedAnAlignedWorkspace) {
  Array<float> xyzq(*place_, {0, 0, 0, 1});
  Array<double> energy(*place_, {-77});
  Array<std::int32_t> info(*place_, {-99});
  smallbatch_charges charges;
  smallbatch_charges_init(&charges, SMALLBATCH_DEVICE, 1, 1);
  charges.xyzq = xyzq.there();
  smallbatch_pair_energies energies;
  smallbatch_pair_energies_init(&energies, SMALLBATCH_FLOAT32);
  energies.energy = energy.there();
  energies.info = info.there();
  std::size_t bytes = 0;
  ASSERT_EQ(smallbatch_pair_energy_workspace(handle_, &charges, &energies, nullptr, &bytes), SMALLBATCH_SUCCESS);
  ASSERT_GT(bytes, 0U);
  auto* const workspace = static_cast<char*>(place_->allocate(bytes + 1));
  EXPECT_EQ(smallbatch_pair_energy(handle_, &charges, &energies, nullptr, workspace + 1, bytes),
            SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_NE(std::string(smallbatch_last_error(handle_)).find("multiple of 256"), std::string::npos);
  EXPECT_EQ(smallbatch_pair_energy(handle_, &charges, &energies, nullptr, workspace, bytes), SMALLBATCH_SUCCESS);
  EXPECT_EQ(energy.back()[0], 0);
}

}  // namespace smallbatch::testing
