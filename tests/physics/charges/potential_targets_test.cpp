// Targets other than lattices: points, and the charges themselves. Truths: closed forms, published lattice sums, and a
// direct sum in long double.
#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class PotentialTargets : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PotentialTargets, all_backends, backend_test_name);

TEST_P(PotentialTargets, EveryTargetWithinTheBounds) {
  for (const bool neutral : {true, false}) {
    Problem problem = random_problem(211, 1100, 20, neutral);
    add_random_points(problem, 212, 901, 20);
    if (!neutral)
      for (double& q : problem.charge) q = std::abs(q);
    for (const Where& where : {Where(at_points), Where(at_charges), Where(11, 10, 9)})
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const PotentialOptions options{Singular::infinite, 332.06371329919225};
        const auto answer = evaluate_everything<T>(*potential_, where, {problem}, options);
        expect_agrees(compare_with_truth(answer, problem, where, options));
        EXPECT_EQ(answer.info[0], 0);
      });
  }
}

TEST_P(PotentialTargets, TwoChargesFeelEachOtherAlone) {
  Problem problem;  // 5 apart
  problem.add(1, 2, 3, 2);
  problem.add(4, 6, 3, -1);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate_everything<T>(*potential_, at_charges, {problem});
    EXPECT_EQ(answer.info[0], 0);
    const double allowed = sizeof(T) == 4 ? 1e-6 : 1e-15;
    EXPECT_NEAR(answer.potential[0], -1 / 5.0, allowed);
    EXPECT_NEAR(answer.potential[1], 2 / 5.0, allowed);
    const double expected[6] = {3 / 125.0, 4 / 125.0, 0, 6 / 125.0, 8 / 125.0, 0};  // field of each charge at the other
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(answer.field[i], expected[i], allowed) << i;
  });
}

TEST_P(PotentialTargets, LatticePointsGivenAsPointsHaveTheSameValues) {
  const LatticeShape shape{9, 8, 7};
  Problem problem = random_problem(221, 300, 8);
  problem.spacing = {0.75, 1.25, 0.5};  // coordinates of lattice points are then exact
  for (std::int64_t i = 0; i < shape.points(); ++i)
    problem.add_point(problem.origin[0] + 0.75 * static_cast<double>(i % 9),
                      problem.origin[1] + 1.25 * static_cast<double>(i / 9 % 8),
                      problem.origin[2] + 0.5 * static_cast<double>(i / 72));
  problem.add(problem.points[90], problem.points[91], problem.points[92], 1);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto lattice = evaluate_everything<T>(*potential_, shape, {problem});
    const auto points = evaluate_everything<T>(*potential_, at_points, {problem});
    EXPECT_EQ(lattice.info[0], 1);
    EXPECT_EQ(points.info[0], 1);
    Comparison found;
    for (std::int64_t i = 0; i < shape.points(); ++i) {
      const Truth expected = truth<T>(problem, shape, i, {}, extent(problem, shape));
      const auto at = static_cast<std::size_t>(i);
      found.add(error_over_bound(points.potential[at], lattice.potential[at], expected.bound), i);
      if (i == 30) continue;  // on a charge there is no field
      for (std::size_t axis = 0; axis < 3; ++axis)
        found.add(error_over_bound(points.field[3 * at + axis], lattice.field[3 * at + axis], expected.field_bound), i);
    }
    expect_agrees(found);
    EXPECT_EQ(points.potential[30], static_cast<T>(infinity));
  });
}

TEST_P(PotentialTargets, RockSaltCubesGiveMadelungsConstantAtTheCentralIon) {
  for (const auto& [half_edge, madelung] : {std::pair{10, -1.747568603771808}, {20, -1.747564845218306}}) {
    constexpr double distance = 2.82;
    Problem problem = rock_salt_problem(half_edge, distance);
    problem.add_point(0, 0, 0);
    const std::size_t centre = problem.charge.size() / 2;
    ASSERT_EQ(problem.position[3 * centre], 0);
    if (half_edge == 10)
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const auto answer = evaluate_everything<T>(*potential_, at_charges, {problem}, {Singular::infinite, distance});
        // Many charges have one of a few distances, so errors of a root in single precision do not average out. The
        // GPU's root is good to 2^-22.9. With baseline instructions, the root and the quotient are both rounded.
        const double single = backend_.kind == BackendKind::cuda ? 1e-5 : 4e-6;
        EXPECT_NEAR(answer.potential[centre], madelung, sizeof(T) == 4 ? single : 1e-12);
        for (std::size_t axis = 0; axis < 3; ++axis)  // by symmetry
          EXPECT_NEAR(answer.field[3 * centre + axis], 0, sizeof(T) == 4 ? 2e-6 : 1e-12);
      });
    const auto answer = evaluate<double>(*potential_, at_points, {problem}, {Singular::skip, distance});
    EXPECT_NEAR(answer.potential[0], madelung, 1e-12);
    EXPECT_EQ(answer.info[0], 1);
  }
}

TEST_P(PotentialTargets, PointsOnChargesFollowThePolicy) {
  Problem problem = random_problem(231, 200, 8);
  const auto both = [&](double x, double y, double z, std::initializer_list<double> charges) {
    for (const double q : charges) problem.add(x, y, z, q);
    problem.add_point(x, y, z);
  };
  both(1, 2, 3, {0.5});
  both(2, 2, 3, {-1e-9});
  both(3, 2, 3, {0.25, -0.25});     // cancel
  both(4, 2, 3, {0.1, 0.2, -0.3});  // cancel, up to rounding
  both(5, 2, 3, {-2, 1});
  both(6, 2, 3, {0});  // no charge other than 0
  problem.add_point(1 + 0.9e-6, 2, 3);
  problem.add_point(1, 2 - 1.1e-6, 3);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto marked = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::infinite, 2});
    EXPECT_EQ(marked.info[0], 6);  // counts targets, not charges
    EXPECT_EQ(marked.potential[0], static_cast<T>(infinity));
    EXPECT_EQ(marked.potential[1], static_cast<T>(-infinity));
    EXPECT_EQ(marked.potential[4], static_cast<T>(-infinity));
    EXPECT_EQ(marked.potential[6], static_cast<T>(infinity));
    for (const std::size_t target : {0, 1, 4, 6})
      for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_TRUE(std::isnan(marked.field[3 * target + axis])) << target;
    for (const std::size_t target : {2, 3, 5, 7})
      for (std::size_t axis = 0; axis < 3; ++axis)
        EXPECT_TRUE(std::isfinite(marked.field[3 * target + axis])) << target;
    expect_agrees(compare_with_truth(marked, problem, at_points, {Singular::infinite, 2}));

    const auto skipped = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::skip, 2});
    EXPECT_EQ(skipped.info[0], 6);
    for (const T value : skipped.potential) EXPECT_TRUE(std::isfinite(value));
    for (const T value : skipped.field) EXPECT_TRUE(std::isfinite(value));
    expect_agrees(compare_with_truth(skipped, problem, at_points, {Singular::skip, 2}));
  });
}

TEST_P(PotentialTargets, ChargesThatShareAPlaceAreOnOneAnother) {
  Problem problem = random_problem(241, 130, 8);
  problem.add(1, 2, 3, 0.5);
  problem.add(1, 2, 3, 0.75);
  problem.add(5, 2, 3, 1);  // at this target, the next two charges cancel
  problem.add(5, 2, 3, -1);
  problem.add(5, 2, 3, 1);
  problem.add(2, 2, 2, 0);  // two charges of 0 at one position
  problem.add(2, 2, 2, -0.0);
  problem.add(3, 3, 3, 0);  // a charge of 0 on a charge of -2
  problem.add(3, 3, 3, -2);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto marked = evaluate_everything<T>(*potential_, at_charges, {problem});
    EXPECT_EQ(marked.info[0], 6);
    EXPECT_EQ(marked.potential[130], static_cast<T>(infinity));
    EXPECT_EQ(marked.potential[131], static_cast<T>(infinity));
    EXPECT_TRUE(std::isfinite(marked.potential[132]));
    EXPECT_EQ(marked.potential[133], static_cast<T>(infinity));  // two charges of +1 lie here
    EXPECT_TRUE(std::isfinite(marked.potential[135]));
    EXPECT_EQ(marked.potential[137], static_cast<T>(-infinity));
    EXPECT_TRUE(std::isfinite(marked.potential[138]));
    expect_agrees(compare_with_truth(marked, problem, at_charges));
    const auto skipped = evaluate_everything<T>(*potential_, at_charges, {problem}, {Singular::skip, 1});
    EXPECT_EQ(skipped.info[0], 6);
    expect_agrees(compare_with_truth(skipped, problem, at_charges, {Singular::skip, 1}));
    for (const T value : skipped.field) EXPECT_TRUE(std::isfinite(value));
  });
}

TEST_P(PotentialTargets, TargetsCloseToCharges) {
  for (const double distance : {0.3, 1e-2, 1e-3, 1e-4, 1e-5, 2e-6, 5e-7, 1e-12}) {
    Problem problem = random_problem(251, 100, 30);
    for (const std::size_t i : {3, 50, 99}) {
      const double* const s = problem.position.data() + 3 * i;
      problem.add_point(s[0] + distance, s[1], s[2]);
    }
    for (const std::size_t i : {7, 63}) {
      const double x = problem.position[3 * i], y = problem.position[3 * i + 1], z = problem.position[3 * i + 2];
      problem.add(x, y - distance, z, 1.5);
    }
    for (const Where& where : {Where(at_points), Where(at_charges)})
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        for (const Singular policy : {Singular::infinite, Singular::skip}) {
          const auto answer = evaluate_everything<T>(*potential_, where, {problem}, {policy, 1});
          EXPECT_EQ(answer.info[0], true_info(problem, where, {})) << distance;
          EXPECT_EQ(answer.info[0], distance > 1e-6 ? 0 : where.kind == at_points ? 3 : 4) << distance;
          expect_agrees(compare_with_truth(answer, problem, where, {policy, 1}));
        }
      });
  }
}

TEST_P(PotentialTargets, AnyNumberOfTargetsAndCharges) {
  for (const std::int64_t charges : {0, 1, 2, 7, 31, 32, 33, 64, 65, 257})
    for (const std::int64_t points : {1, 15, 63, 64, 65, 129, 1025}) {
      Problem problem = random_problem(261 + static_cast<std::uint64_t>(charges), charges, 9);
      add_random_points(problem, 262, points, 9);
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const auto answer = evaluate_everything<T>(*potential_, at_points, {problem});
        expect_agrees(compare_with_truth(answer, problem, at_points));
        EXPECT_EQ(answer.info[0], 0);
        if (points != 1 || charges == 0) return;
        const auto own = evaluate_everything<T>(*potential_, at_charges, {problem});
        expect_agrees(compare_with_truth(own, problem, at_charges));
        EXPECT_EQ(own.info[0], 0);
      });
    }
}

TEST_P(PotentialTargets, OneChargeAloneFeelsNothing) {
  Problem problem;
  problem.add(1e6, -3, 8, 5);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate_everything<T>(*potential_, at_charges, {problem});
    EXPECT_EQ(answer.info[0], 0);
    EXPECT_EQ(answer.potential[0], 0);
    for (const T value : answer.field) EXPECT_EQ(value, 0);
  });
}

TEST_P(PotentialTargets, NothingToDo) {
  const Problem nothing, charges = random_problem(271, 50, 5);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const Where& where : {Where(at_points), Where(at_charges)}) {
      EXPECT_TRUE(evaluate_everything<T>(*potential_, where, {}).potential.empty());
      const auto answer = evaluate_everything<T>(*potential_, where, {nothing, nothing});
      EXPECT_EQ(answer.info, (std::vector<std::int32_t>{0, 0}));
    }
    const auto answer = evaluate_everything<T>(*potential_, at_points, {charges, nothing, charges});
    EXPECT_EQ(answer.info, (std::vector<std::int32_t>{0, 0, 0}));
    EXPECT_TRUE(answer.potential.empty());
  });
}

TEST_P(PotentialTargets, WithoutAPointOnlyNumbersThatAreNotFiniteAreRefused) {
  Problem far, strong, bad;
  far.add(1e200, 0, 0, 1);
  strong.add(1, 0, 0, 1e20);
  bad.add(1, 0, NAN, 1);
  const auto answer = evaluate_everything<float>(*potential_, at_points, {far, strong, bad});
  EXPECT_EQ(answer.info, (std::vector<std::int32_t>{0, 0, info_charges_not_finite}));
}

TEST_P(PotentialTargets, BadNumbersAreAStatusAndLeaveNeighboursAlone) {
  Problem good = random_problem(281, 90, 6);
  add_random_points(good, 282, 70, 6);
  Problem nan_point = good, infinite_point = good, nan_charge = good, far = good, far_charge = good, both = good;
  nan_point.points[0] = NAN;
  infinite_point.points[209] = -infinity;
  nan_charge.charge[89] = NAN;
  far.points[100] = -3e15;
  far_charge.position[100] = 3e15;
  both.points[100] = 3e15;
  both.position[4] = infinity;
  const std::vector<Problem> problems{nan_point, good, infinite_point, nan_charge, far, far_charge, both, good};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto alone = evaluate_everything<T>(*potential_, at_points, {good});
    const auto answer = evaluate_everything<T>(*potential_, at_points, problems);
    const std::int32_t range = sizeof(T) == 4 ? info_charges_out_of_range : 0, bad = info_charges_not_finite;
    EXPECT_EQ(answer.info, (std::vector<std::int32_t>{bad, 0, bad, bad, range, range, bad, 0}));
    for (std::size_t p = 0; p < problems.size(); ++p) {
      if (answer.info[p] < 0) {
        for (const T value : answer.potential_of(p)) EXPECT_TRUE(std::isnan(value)) << p;
        for (const T value : answer.field_of(p)) EXPECT_TRUE(std::isnan(value)) << p;
      } else if (p == 1 || p == 7) {
        EXPECT_TRUE(same_bits(answer.potential_of(p), alone.potential)) << p;
        EXPECT_TRUE(same_bits(answer.field_of(p), alone.field)) << p;
      } else {
        expect_agrees(compare_with_truth(answer, problems[p], at_points, {}, static_cast<std::int64_t>(p)));
      }
    }
    // With charges as targets, points have no effect.
    const auto own = evaluate_everything<T>(*potential_, at_charges, problems);
    EXPECT_EQ(own.info, (std::vector<std::int32_t>{0, 0, 0, bad, 0, range, bad, 0}));
  });
}

TEST_P(PotentialTargets, BatchesDoNotChangeBits) {
  std::vector<Problem> problems;
  for (const std::int64_t charges : {0, 1, 255, 0, 256, 257, 600, 32, 33, 0}) {
    problems.push_back(random_problem(290 + static_cast<std::uint64_t>(charges), charges, 15));
    add_random_points(problems.back(), 291, (charges * 7 + 3) % 130, 15);
  }
  for (const Where& where : {Where(at_points), Where(at_charges)})
    for (const PotentialOptions& options :
         {PotentialOptions{}, {Singular::infinite, 1, 0.5, 0}, {Singular::infinite, 1, 0, 6}})
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const auto whole = evaluate_everything<T>(*potential_, where, problems, options);
        for (std::size_t p = 0; p < problems.size(); ++p) {
          const auto alone = evaluate_everything<T>(*potential_, where, {problems[p]}, options);
          EXPECT_TRUE(same_bits(whole.potential_of(p), alone.potential)) << p;
          EXPECT_TRUE(same_bits(whole.field_of(p), alone.field)) << p;
          EXPECT_EQ(whole.info[p], alone.info[0]) << p;
          EXPECT_TRUE(same_bits(whole.summary_of(p), alone.summary)) << p;
        }
      });
}

TEST_P(PotentialTargets, OffsetsThatFallAreRefused) {
  Problem problem = random_problem(301, 4, 3);
  add_random_points(problem, 302, 4, 3);
  Batch batch(at_points, {problem, problem});
  batch.point_offset[1] = 99;
  std::vector<float> values(8);
  std::vector<std::int32_t> info(2);
  try {
    potential_->evaluate(batch.charges(), batch.targets(), {}, PotentialResult<float>{values.data(), info.data()});
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(std::string(error.what()).find("points of problem 1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace smallbatch::testing
