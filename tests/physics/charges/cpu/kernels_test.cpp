// Every instruction set that this machine runs, through make_cpu_potential(), against the direct sum in long double.
#include "physics/charges/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "physics/charges/potential_backends.hpp"
#include "tests/larger_or_nan.hpp"
#include "tests/physics/potential_cases.hpp"

namespace smallbatch::testing {
namespace {

TEST(DirectSumKernels, BaselineIsLastAndNamesDiffer) {
  const auto usable = usable_direct_sum_kernels();
  ASSERT_FALSE(usable.empty());
  EXPECT_STREQ(usable.back().name, "baseline");
  std::set<std::string> names;
  for (const DirectSumKernels& lanes : usable) names.insert(lanes.name);
  EXPECT_EQ(names.size(), usable.size());
}

TEST(DirectSumKernels, EachKeepsTheBound) {
  const LatticeShape shape{13, 11, 9};
  Problem problem = random_problem(5, 777, 11);
  problem.add(problem.origin[0] + 3, problem.origin[1] + 2, problem.origin[2] + 1, 1);
  problem.add(problem.origin[0] + 5 + 1e-5, problem.origin[1] + 2, problem.origin[2] + 1, 1);
  for (const DirectSumKernels& lanes : usable_direct_sum_kernels()) {
    const auto potential = make_cpu_potential(1, lanes);
    EXPECT_EQ(potential->description(), std::string("cpu direct sum ") + lanes.name);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      for (const Singular policy : {Singular::infinite, Singular::skip}) {
        const auto answer = evaluate<T>(*potential, shape, {problem}, {policy, 1});
        EXPECT_EQ(answer.info[0], 1);
        const Comparison found = compare_with_truth(answer, problem, shape, {policy, 1});
        EXPECT_TRUE(found.agree()) << lanes.name << " worst " << found.worst << " at " << found.worst_index;
      }
    });
  }
}

TEST(DirectSumKernels, EachKeepsTheBoundsOfFieldsAtEveryKindOfTarget) {
  Problem problem = random_problem(6, 777, 11);
  add_random_points(problem, 7, 333, 11);
  problem.add_point(problem.position[0], problem.position[1], problem.position[2] + 1e-6);
  problem.add(problem.position[30], problem.position[31], problem.position[32] + 1e-5, 1);
  for (const DirectSumKernels& lanes : usable_direct_sum_kernels()) {
    const auto potential = make_cpu_potential(1, lanes);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      for (const Where& where : {Where(7, 8, 9), Where(at_points), Where(at_charges)})
        for (const PotentialOptions& options : {PotentialOptions{},
                                                {Singular::infinite, 1, 0.4, 0},
                                                {Singular::infinite, 1, 0, 4},
                                                {Singular::infinite, 1, 0.3, 5}})
          for (const Wanted wanted : {Wanted::potential, Wanted::everything}) {
            const auto answer = evaluate<T>(*potential, where, {problem}, options, wanted);
            const Comparison found = compare_with_truth(answer, problem, where, options);
            EXPECT_TRUE(found.agree()) << lanes.name << " worst " << found.worst << " at " << found.worst_index;
          }
    });
  }
}

TEST(DirectSumKernels, DoublePrecisionLosesNothingToDistantOrigins) {
  // The bound has a term 2^-52 L/r for rounded displacements, and here L/r is 10^6. The kernels keep the bound without
  // this term, because their displacements are exact.
  const LatticeShape shape{1000001, 1, 1};
  Problem problem;
  // Rounded so that long double holds `position - origin` and `index * spacing` exactly, but double does not.
  problem.origin = {std::round(-0x1p45 / 3) * 0x1p-45, 0.1, 1e3};
  problem.spacing = {std::round(0x1p46 / 10) * 0x1p-46, 1, 1};
  for (int i = 0; i < 40; ++i) problem.add(1e5 - 0.017 * i, 0.1 + 0.01 * i, 1e3 + 1e-9 * i, 1 + i % 3);
  for (const DirectSumKernels& lanes : usable_direct_sum_kernels()) {
    const auto answer = evaluate<double>(*make_cpu_potential(1, lanes), shape, {problem});
    Comparison found;
    for (std::int64_t point = shape.points() - 200; point < shape.points(); ++point) {
      const Truth expected = truth<double>(problem, shape, point, {}, 0);
      found.add(error_over_bound(answer.potential[point], expected.potential, expected.bound), point);
    }
    EXPECT_TRUE(found.agree()) << lanes.name << " worst " << found.worst << " at " << found.worst_index;
  }
}

TEST(DirectSumKernels, SinglePrecisionRootsAreGoodToTheLastPlaces) {
  // A single term: squaring, root and reciprocal together lose less than 2^-23.
  const float zero = 0, one = 1;
  const SingleCharges charges{1, &zero, &zero, &zero, &one, nullptr};
  for (const DirectSumKernels& lanes : usable_direct_sum_kernels()) {
    double worst = 0;
    for (int call = 0; call < 500; ++call) {
      SingleTargets targets{};
      targets.count = targets_per_call;
      for (int i = 0; i < targets_per_call; ++i)
        targets.x[i] = static_cast<float>(1 + (call * targets_per_call + i) / 10000.0);
      SingleSums sums;
      lanes.sum_single(charges, {}, targets, {}, sums);
      for (int i = 0; i < targets_per_call; ++i)
        worst = larger_or_nan(worst, std::abs(sums.potential[i] * static_cast<double>(targets.x[i]) - 1));
    }
    EXPECT_LT(worst, 2 * 0x1p-24) << lanes.name;
  }
}

TEST(DirectSumKernels, DoublePrecisionRootsAreGoodToTheLastPlaces) {
  // A single term in double precision loses less than 2^-52, over the whole range of coordinates.
  const double zero = 0, one = 1;
  const DoubleCharges charges{1, &zero, &zero, &zero, &zero, &zero, &zero, &one};
  for (const DirectSumKernels& lanes : usable_direct_sum_kernels()) {
    double worst = 0;
    for (const double scale : {0x1p-480, 0x1p-33, 1.0, 0x1p33, 0x1p498})
      for (int call = 0; call < 500; ++call) {
        DoubleTargets targets{};
        targets.count = targets_per_call;
        for (int i = 0; i < targets_per_call; ++i) targets.x[i] = scale * (1 + (call * targets_per_call + i) / 10000.0);
        DoubleSums sums;
        lanes.sum_double(charges, {}, targets, {}, 0, sums);
        for (int i = 0; i < targets_per_call; ++i)
          worst = larger_or_nan(
              worst, std::abs(static_cast<double>(
                         static_cast<long double>(sums.potential[i]) * static_cast<long double>(targets.x[i]) - 1)));
      }
    EXPECT_LT(worst, 2 * 0x1p-53) << lanes.name;
  }
}

}  // namespace
}  // namespace smallbatch::testing
