// Screened and Gaussian charges on the GPU, in cases that need special steps of the kernel. The cases are targets far
// from the origin, targets near a charge, and values beyond the range of a type. Truths: results in double precision,
// and formulas by hand. Skipped without a GPU.
#include <gtest/gtest.h>

#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class Targets : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, Targets, ::testing::Values(BackendKind::cuda), backend_test_name);

TEST_P(Targets, KeepTheirDigitsFarFromTheOrigin) {
  Problem problem = random_problem(31, 40, 5);
  add_random_points(problem, 32, 50, 5);
  for (double& x : problem.position) x += 1e5;
  for (double& x : problem.points) x += 1e5;
  for (double& q : problem.charge) q = std::abs(q);
  problem.add_point(0, 0, 0);
  std::swap_ranges(problem.points.begin(), problem.points.begin() + 3,
                   problem.points.end() - 3);  // the first point is the origin of coordinates: now (0, 0, 0)
  Problem gaussian = problem;
  gaussian.width.assign(gaussian.charge.size(), 0.5);
  for (const auto& [of, length] : {std::pair{problem, 3.0}, {gaussian, 0.0}}) {
    const PotentialOptions options{Singular::infinite, 1, 0, 0, length};
    const Answer<float> single = evaluate<float>(*potential_, at_points, {of}, options);
    const Answer<double> exact = evaluate<double>(*potential_, at_points, {of}, options);
    for (std::size_t i = 1; i < exact.potential.size(); ++i)
      EXPECT_NEAR(single.potential[i], exact.potential[i], 1e-6 * exact.potential[i]);
  }
}

TEST_P(Targets, NearAChargeTheCutOffHolds) {
  Problem problem;
  problem.add(1, 1, 1, 1);
  problem.add_point(1 + 0x1p-19, 1, 1);  // at 1.9e-6 from the charge
  problem.add_point(1 + 0x1p-18, 1, 1);  // beyond the cut-off
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const Answer<T> found = evaluate<T>(*potential_, at_points, {problem}, {Singular::infinite, 1, 0, 0x1.8p-19, 1e3});
    const double whole = 25 / 81.0 * 0x1p19;  // (1 - 4/9)^2 / r
    EXPECT_NEAR(found.potential[0], whole, whole * 1e-6);
    EXPECT_EQ(found.potential[1], 0);
    EXPECT_EQ(found.info[0], 0);
  });
}

TEST_P(Targets, BeyondTheRangeAreInfinitiesAndAStatus) {
  Problem problem;
  problem.add(0, 0, 0, -1e15);
  problem.add_point(0, 0, 2);
  problem.add_point(0, 0, 60);
  const Answer<float> single =
      evaluate_everything<float>(*potential_, at_points, {problem}, {Singular::infinite, 1e30, 0, 0, 1});
  EXPECT_EQ(single.info[0], info_values_out_of_range);
  EXPECT_EQ(single.potential[0], -infinity);
  EXPECT_EQ(single.field[2], -infinity);
  EXPECT_NEAR(single.potential[1] / (-1e45 * std::exp(-60.0) / 60), 1, 1e-5);

  problem.charge = {1e150};
  problem.width = {1e-140};
  problem.points = {0, 0, 0, 0, 0, 1e-140, 0, 0, 2};
  const Answer<double> narrow = evaluate_everything<double>(*potential_, at_points, {problem});
  EXPECT_EQ(narrow.info[0], info_values_out_of_range);
  EXPECT_NEAR(narrow.potential[0] / (std::sqrt(2 / std::acos(-1.0)) * 1e290), 1, 1e-14);
  EXPECT_NEAR(narrow.potential[1] / (std::erf(std::sqrt(0.5)) * 1e290), 1, 1e-14);
  EXPECT_EQ(narrow.field[2], 0);
  EXPECT_EQ(narrow.field[5], infinity);
  EXPECT_NEAR(narrow.field[8] / 2.5e149, 1, 1e-14);
}

}  // namespace
}  // namespace smallbatch::testing
