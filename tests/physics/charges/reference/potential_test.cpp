// The referee's answers at chosen points, and its bounds. The referee must reject wrong answers.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "core/compare.hpp"
#include "core/parallel.hpp"
#include "physics/charges/potential_referee.hpp"
#include "tests/physics/potential_cases.hpp"

namespace smallbatch::testing {
namespace {

const LatticeShape shape{15, 12, 10};

Problem tricky_problem() {
  Problem problem = random_problem(5, 1000, 12, false);
  problem.spacing = {1.1, 0.7, 1.3};
  problem.add(problem.origin[0] + 3 * 1.1, problem.origin[1] + 2 * 0.7, problem.origin[2] + 1.3,
              -1);                                                                       // on a lattice point
  problem.add(problem.origin[0] + 1.1 + 1e-5, problem.origin[1], problem.origin[2], 2);  // near a lattice point
  problem.add(problem.origin[0], problem.origin[1], problem.origin[2], 0);
  return problem;
}

std::vector<std::int64_t> all_points() {
  std::vector<std::int64_t> points(static_cast<std::size_t>(shape.points()));
  std::iota(points.begin(), points.end(), std::int64_t{0});
  return points;
}

std::vector<ReferencePotential> ask(const Problem& problem, const PotentialOptions& options, ScalarType precision) {
  const Batch batch(shape, {random_problem(1, 10, 5), problem});
  const std::vector<std::int64_t> points = all_points();
  std::vector<ReferencePotential> answer(points.size());
  reference_potential(batch.charges(), batch.lattice(), 1, options, precision, points, answer);
  return answer;
}

template <class T>
void expect_true_potential_and_bound(Singular policy) {
  const Problem problem = tricky_problem();
  const PotentialOptions options{policy, 14.4};
  const auto answer = ask(problem, options, scalar_type_of<T>);
  const long double largest = extent(problem, shape);
  for (std::int64_t point = 0; point < shape.points(); ++point) {
    const Truth expected = truth<T>(problem, shape, point, options, largest);
    // The referee's own error must be a small part of the bound that it checks. For single precision this is a
    // millionth of the bound. For double precision it is a third of the bound without the term for coordinates.
    const double allowed = sizeof(T) == sizeof(float) ? 1e-6 * static_cast<double>(expected.bound)
                                                      : truth<double>(problem, shape, point, options, 0).bound / 3;
    EXPECT_TRUE(within(error_over_bound(answer[point].potential, expected.potential, allowed), 1))
        << point << ' ' << answer[point].potential << ' ' << expected.potential;
    EXPECT_NEAR(answer[point].bound, expected.bound, 1e-9 * expected.bound) << point;
  }
}

TEST(ReferencePotential, IsTrueAndKnowsTheBound) {
  for (const Singular policy : {Singular::infinite, Singular::skip}) {
    expect_true_potential_and_bound<float>(policy);
    expect_true_potential_and_bound<double>(policy);
  }
}

TEST(ReferencePotential, IsTrueForFieldsAtEveryKindOfTarget) {
  Problem problem = tricky_problem();
  add_random_points(problem, 9, 200, 12);
  problem.add_point(problem.position[0], problem.position[1], problem.position[2]);
  problem.add(problem.position[3], problem.position[4], problem.position[5], 0.5);
  for (const Where& where : {Where(shape), Where(at_points), Where(at_charges)})
    for (const PotentialOptions& options : {PotentialOptions{Singular::infinite, 14.4},
                                            {Singular::skip, 14.4},
                                            {Singular::infinite, 1, 0.3, 0},
                                            {Singular::infinite, 1, 0, 5},
                                            {Singular::skip, 1, 0.2, 7}}) {
      const Batch batch(where, {random_problem(1, 10, 5), problem});
      std::vector<std::int64_t> targets(static_cast<std::size_t>(target_count(problem, where)));
      std::iota(targets.begin(), targets.end(), std::int64_t{0});
      std::vector<ReferencePotential> answer(targets.size());
      const ReferenceStatus status =
          reference_potential(batch.charges(), batch.targets(), 1, options, ScalarType::float64, targets, answer, 2);
      EXPECT_EQ(status.info, true_info(problem, where, options));
      EXPECT_EQ(status.or_else, status.info);
      const long double largest = extent(problem, where);
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const Truth expected = truth<double>(problem, where, targets[i], options, largest);
        const Truth without_shift = truth<double>(problem, where, targets[i], options, 0);
        // The referee's own error must be a small part of the bound that it checks.
        EXPECT_TRUE(within(error_over_bound(answer[i].potential, expected.potential, without_shift.bound), 0.5)) << i;
        EXPECT_NEAR(answer[i].bound, expected.bound, 1e-9 * expected.bound) << i;
        EXPECT_NEAR(answer[i].field_bound, expected.field_bound, 1e-9 * expected.field_bound) << i;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          if (std::isnan(expected.field[axis]))
            EXPECT_TRUE(std::isnan(answer[i].field[axis])) << i;
          else
            EXPECT_TRUE(
                within(error_over_bound(answer[i].field[axis], expected.field[axis], without_shift.field_bound), 0.5))
                << i;
        }
      }
    }
}

TEST(ReferencePotential, FieldOfOneChargeByHand) {
  Problem problem;  // distance 5, L = 5: E = -2/25 (-0.6, -0.8, 0), bound 2/25 (2^-20 + 2^-21)
  problem.add(3, 4, 0, -2);
  const Batch batch({1, 1, 1}, {problem});
  const std::vector<std::int64_t> points{0};
  std::vector<ReferencePotential> answer(1);
  reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float32, points, answer);
  EXPECT_DOUBLE_EQ(answer[0].field[0], 0.048);
  EXPECT_DOUBLE_EQ(answer[0].field[1], 0.064);
  EXPECT_EQ(answer[0].field[2], 0);
  EXPECT_DOUBLE_EQ(answer[0].field_bound, 0.08 * 1.5 * 0x1p-20);
  reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float64, points, answer);
  EXPECT_DOUBLE_EQ(answer[0].field_bound, 0.08 * 1.5 * 0x1p-49);
}

TEST(ReferencePotential, OneChargeByHand) {
  Problem problem;  // at distance 5 of point (0,0,0), L = 5: bound 2/5 (2^-22 + 2^-23)
  problem.add(3, 4, 0, -2);
  const Batch batch({1, 1, 1}, {problem});
  const std::vector<std::int64_t> points{0};
  std::vector<ReferencePotential> answer(1);
  reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float32, points, answer);
  EXPECT_DOUBLE_EQ(answer[0].potential, -0.4);
  EXPECT_DOUBLE_EQ(answer[0].bound, 0.4 * 1.5 * 0x1p-22);
  reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float64, points, answer);
  EXPECT_DOUBLE_EQ(answer[0].bound, 0.4 * 1.5 * 0x1p-51);
}

TEST(ReferencePotential, BoundsCountChargesThatAreHardlyThere) {
  Problem problem;  // both charges are at distance 5 from the point (0,0,0), so L of physics/potential.hpp is 5
  problem.add(3, 4, 0, -1e-35);
  problem.add(0, 0, 5, 0);
  const Batch batch({1, 1, 1}, {problem});
  const std::vector<std::int64_t> points{0};
  std::vector<ReferencePotential> answer(1);
  reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float32, points, answer);
  EXPECT_DOUBLE_EQ(answer[0].bound, 0x1p-70 / 5 * 1.5 * 0x1p-22);
  EXPECT_DOUBLE_EQ(answer[0].field_bound, 0x1p-30 / 25 * 1.5 * 0x1p-20);
  reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float64, points, answer);
  EXPECT_DOUBLE_EQ(answer[0].bound, 2e-36 * 1.5 * 0x1p-51);
}

TEST(ReferencePotential, BoundsGrowWithASofteningLongerThanTheCutoff) {
  Problem problem;  // r, s, rho = 3, 4, 5; L = 3
  problem.add(3, 0, 0, 1);
  const Batch batch({1, 1, 1}, {problem});
  const std::vector<std::int64_t> points{0};
  std::vector<ReferencePotential> answer(1);
  for (const auto& [cutoff, m] : {std::pair{3.5, 3.5}, {0.1, 0.0}, {3.0, 3.0}, {7.0, 5.0}}) {
    reference_potential(batch.charges(), batch.lattice(), 0, {Singular::infinite, 1, 4, cutoff}, ScalarType::float32,
                        points, answer);
    EXPECT_DOUBLE_EQ(answer[0].bound, m > 0 ? 2 / 5.0 * (2 + 0.5 * 3 / m) * 0x1p-22 : 0);
    EXPECT_DOUBLE_EQ(answer[0].field_bound, m > 0 ? 2 / (5 * m) * (2 + 0.5 * 3 / m) * 0x1p-20 : 0);
  }
}

TEST(ReferencePotential, KeepsDigitsWhenEverythingIsFarFromZero) {
  Problem problem;
  problem.origin = {1e6 + 0.1, -1e6 / 3, 7e5};
  problem.spacing = {0.1, 0.3, 0.7};
  for (int i = 0; i < 300; ++i) problem.add(1e6 + 0.01 * i, -1e6 / 3 + 0.02 * i, 7e5 + 0.03 * i, 1 + i % 3);
  const auto answer = ask(problem, {}, ScalarType::float64);
  for (std::int64_t point = 0; point < shape.points(); ++point) {
    const Truth expected = truth<double>(problem, shape, point, {}, 0);
    EXPECT_TRUE(within(error_over_bound(answer[point].potential, expected.potential, expected.bound), 0.75)) << point;
  }
}

TEST(ReferencePotential, TellsDistancesThatRoundingHidesFromOneAnother) {
  Problem problem;  // 3 * 0.1 is rounded, so the charge is beside lattice point 3, at more than the softening
  problem.origin = {0, 0, 0};
  problem.spacing = {0.1, 1, 1};
  problem.add(3 * 0.1, 0, 0, 1);
  const long double distance = std::abs(3 * static_cast<long double>(0.1) - static_cast<long double>(3 * 0.1));
  ASSERT_GT(distance, 0);
  for (const ScalarType precision : {ScalarType::float32, ScalarType::float64}) {
    const double potential = ask(problem, {Singular::infinite, 1, 1e-150}, precision)[3].potential;
    EXPECT_NEAR(potential, static_cast<double>(1 / distance), 1e-12 * potential);
  }
}

TEST(ReferencePotential, KeepsDigitsWhenOneChargeOutweighsTheRest) {
  Problem problem = random_problem(6, 30000, 15);
  problem.charge[0] = 1e7;
  const Batch batch(shape, {problem});
  std::vector<std::int64_t> points;
  for (std::int64_t point = 0; point < shape.points(); point += 13) points.push_back(point);
  std::vector<ReferencePotential> answer(points.size());
  reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float64, points, answer);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Truth expected = truth<double>(problem, shape, points[i], {}, 0);
    EXPECT_TRUE(within(error_over_bound(answer[i].potential, expected.potential, expected.bound), 1)) << points[i];
  }
}

TEST(ReferencePotential, BadChargesGiveNan) {
  for (const double bad : {static_cast<double>(NAN), std::numeric_limits<double>::infinity(), 1e16}) {
    Problem problem = tricky_problem();
    problem.position[10] = bad;
    for (const auto& value : ask(problem, {}, ScalarType::float32)) EXPECT_TRUE(std::isnan(value.potential));
  }
}

TEST(ReferencePotential, NoChargesGiveZeroAndAllowNothingElse) {
  for (const auto& value : ask(Problem{}, {}, ScalarType::float32)) {
    EXPECT_EQ(value.potential, 0);
    EXPECT_EQ(value.bound, 0);
  }
}

TEST(ReferencePotential, WhatIsFoundAtATargetDependsOnNoOther) {
  // One target is on a charge, one is near a charge, and many are neither.
  const Batch batch(shape, {tricky_problem()});
  const std::vector<std::int64_t> points = all_points();
  for (const ScalarType precision : {ScalarType::float32, ScalarType::float64}) {
    const PotentialReferee referee(batch.charges(), batch.lattice(), 0, {}, precision, true);
    std::vector<ReferencePotential> together(points.size());
    referee.at(points, together);
    for (std::size_t i = 0; i < points.size(); ++i) {
      ReferencePotential alone;
      referee.at(std::span(points).subspan(i, 1), std::span(&alone, 1));
      EXPECT_EQ(alone.singular, together[i].singular) << i;
      EXPECT_EQ(alone.potential, together[i].potential) << i;
      EXPECT_EQ(alone.bound, together[i].bound) << i;
      EXPECT_EQ(alone.field_bound, together[i].field_bound) << i;
      for (std::size_t axis = 0; axis < 3 && !alone.singular; ++axis)
        EXPECT_EQ(alone.field[axis], together[i].field[axis]) << i;
    }
  }
}

TEST(ReferencePotential, ManyThreadsMayAskAtOnce) {
  const Batch batch(shape, {tricky_problem()});
  const std::vector<std::int64_t> points = all_points();
  const auto answer = [&] {
    std::vector<ReferencePotential> out(points.size());
    reference_potential(batch.charges(), batch.lattice(), 0, {}, ScalarType::float32, points, out);
    return out;
  };
  const auto expected = answer();
  std::vector<std::vector<ReferencePotential>> answers(8);
  parallel_for(8, 1, 4, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) answers[i] = answer();
  });
  for (const auto& got : answers)
    for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(got[i].potential, expected[i].potential);
}

TEST(ReferencePotential, CatchesWrongAnswers) {
  const auto reference = ask(tricky_problem(), {}, ScalarType::float32);
  std::vector<double> expected, bound;
  for (const auto& value : reference) {
    expected.push_back(value.potential);
    bound.push_back(value.bound);
  }
  const auto disagreeing = [&](const std::vector<double>& got) {
    Comparison found;
    for (std::size_t i = 0; i < got.size(); ++i)
      found.add(error_over_bound(got[i], expected[i], bound[i]), static_cast<std::int64_t>(i));
    return found.disagreeing;
  };
  EXPECT_EQ(disagreeing(expected), 0);
  auto wrong = expected;
  wrong[100] = -wrong[100];
  EXPECT_EQ(disagreeing(wrong), 1);
  wrong = expected;
  wrong[100] = NAN;
  wrong[101] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(disagreeing(wrong), 2);
  wrong = expected;
  std::swap(wrong[200], wrong[1200]);
  EXPECT_EQ(disagreeing(wrong), 2);
  wrong = expected;
  wrong[7] += 2 * bound[7];
  EXPECT_EQ(disagreeing(wrong), 1);
  const std::size_t on_charge = (1 * 12 + 2) * 15 + 3;
  ASSERT_EQ(expected[on_charge], -std::numeric_limits<double>::infinity());
  wrong = expected;
  wrong[on_charge] = -1e30;
  EXPECT_EQ(disagreeing(wrong), 1);
  wrong[on_charge] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(disagreeing(wrong), 1);
}

}  // namespace
}  // namespace smallbatch::testing
