// Softening and cut-off. Truths: the closed forms, by hand and in long double.
#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class PotentialOptionsTest : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PotentialOptionsTest, all_backends, backend_test_name);

TEST_P(PotentialOptionsTest, SofteningIsPlummers) {
  Problem problem;
  problem.add(1, 2, 3, -2);
  for (const double r : {0.0, 1e-7, 0.5, 4.0, 100.0}) problem.add_point(1, 2 + r, 3);
  constexpr double eps = 3;
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::infinite, 1, eps, 0});
    EXPECT_EQ(answer.info[0], 0);
    const double relative = sizeof(T) == 4 ? 1e-6 : 1e-14;
    for (std::size_t i = 0; i < 5; ++i) {
      const double r = std::array{0.0, 1e-7, 0.5, 4.0, 100.0}[i], rho = std::sqrt(r * r + eps * eps);
      EXPECT_NEAR(answer.potential[i], -2 / rho, relative * 2 / rho);
      EXPECT_NEAR(answer.field[3 * i + 1], -2 * r / (rho * rho * rho), relative * 2 / (rho * rho));
      EXPECT_EQ(answer.field[3 * i], 0);
      EXPECT_EQ(answer.field[3 * i + 2], 0);
    }
    EXPECT_EQ(answer.field[1], 0);                     // at the charge
    EXPECT_NEAR(answer.potential[3], -0.4, relative);  // r, eps, rho = 4, 3, 5
    EXPECT_NEAR(answer.field[3 * 3 + 1], -8 / 125.0, relative);
  });
}

TEST_P(PotentialOptionsTest, SoftenedChargesThatShareAPlaceAreFinite) {
  Problem problem;
  problem.add(0, 0, 0, 1);
  problem.add(0, 0, 0, 2);
  problem.add(0, 0, 0, 0);
  problem.add(2, 1, 0, -1);
  problem.add(2, 1, 0, 1);
  problem.add_point(0, 0, 0);
  problem.add_point(2, 1, 0);
  constexpr double eps = 0.5, other = 1 / 2.29128784747792;  // rho^2 = 5 + 1/4
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const Singular policy : {Singular::infinite, Singular::skip}) {
      const PotentialOptions options{policy, 1, eps, 0};
      const double allowed = sizeof(T) == 4 ? 4e-6 : 1e-13;
      const auto at = evaluate_everything<T>(*potential_, at_charges, {problem}, options);
      EXPECT_EQ(at.info[0], 0);
      EXPECT_NEAR(at.potential[0], 4, allowed);
      EXPECT_NEAR(at.potential[1], 2, allowed);
      EXPECT_NEAR(at.potential[2], 6, allowed);
      EXPECT_NEAR(at.potential[3], 2 + 3 * other, allowed);
      EXPECT_NEAR(at.potential[4], -2 + 3 * other, allowed);
      for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(at.field[6 + axis], 0, allowed);
      const auto points = evaluate_everything<T>(*potential_, at_points, {problem}, options);
      EXPECT_EQ(points.info[0], 0);
      EXPECT_NEAR(points.potential[0], 6, allowed);
      EXPECT_NEAR(points.potential[1], 3 * other, allowed);
      const auto lattice = evaluate_everything<T>(*potential_, {3, 2, 1}, {problem}, options);
      EXPECT_EQ(lattice.info[0], 0);
      EXPECT_NEAR(lattice.potential[0], 6, allowed);
      EXPECT_NEAR(lattice.potential[5], 3 * other, allowed);
      EXPECT_NEAR(lattice.field[3 * 5], 3 * other * other * other * 2, allowed);
    }
  });
}

TEST_P(PotentialOptionsTest, SoftenedWithinTheBounds) {
  Problem problem = random_problem(411, 500, 10);
  add_random_points(problem, 412, 200, 10);
  problem.add_point(problem.position[0], problem.position[1], problem.position[2]);
  problem.add(problem.position[3], problem.position[4] + 1e-9, problem.position[5], 1);
  problem.add(problem.origin[0] + 3, problem.origin[1] + 2, problem.origin[2] + 1 - 1e-5, -1);
  for (const double eps : {1e-12, 1e-7, 1e-4, 0.1, 30.0})
    for (const Where& where : {Where(at_points), Where(at_charges), Where(9, 8, 7)})
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const PotentialOptions options{Singular::infinite, 1, eps, 0};
        const auto answer = evaluate_everything<T>(*potential_, where, {problem}, options);
        EXPECT_EQ(answer.info[0], 0);
        expect_agrees(compare_with_truth(answer, problem, where, options));
        const auto alone = evaluate<T>(*potential_, where, {problem}, options);
        expect_agrees(compare_with_truth(alone, problem, where, options));
      });
}

TEST_P(PotentialOptionsTest, CutoffByHand) {
  Problem problem;
  problem.add(0, 0, 0, 2);
  for (const double r : {3.0, 5.0, 5.000001, 6.0, 1000.0}) problem.add_point(0, 0, -r);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::infinite, 1, 0, 5});
    // w = 16/25: V = 2/3 w^2, E = -2 (w^2/9 + 4 w/25)
    EXPECT_NEAR(answer.potential[0], 2 / 3.0 * 0.4096, sizeof(T) == 4 ? 4e-7 : 1e-15);
    EXPECT_NEAR(answer.field[2], -2 * (0.4096 / 9 + 4 * 0.64 / 25), sizeof(T) == 4 ? 4e-7 : 1e-15);
    for (std::size_t i = 1; i < 5; ++i) {
      EXPECT_EQ(answer.potential[i], 0) << i;
      for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_EQ(answer.field[3 * i + axis], 0) << i;
    }
    const auto softened = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::infinite, 1, 4, 5});
    // rho = 5: V = 2/5 w^2, E = -2 * 3 (w^2/125 + 4 w/(5*25))
    EXPECT_NEAR(softened.potential[0], 0.4 * 0.4096, sizeof(T) == 4 ? 4e-7 : 1e-15);
    EXPECT_NEAR(softened.field[2], -6 * (0.4096 / 125 + 4 * 0.64 / 125), sizeof(T) == 4 ? 4e-7 : 1e-15);
    EXPECT_EQ(softened.potential[1], 0);
  });
}

TEST_P(PotentialOptionsTest, NoStepAtTheCutoff) {
  // Just within c, with d = c - r: V = (q/c) (2 d/c)^2 and E = (4 q/c^2) (2 d/c), to first order in d/c.
  constexpr double c = 7;
  Problem problem;
  problem.add(0, 0, 0, 1);
  const double steps[] = {1e-2, 1e-3, 1e-4};
  for (const double d : steps) problem.add_point(c - d, 0, 0);
  for (const double d : steps) problem.add_point(c + d, 0, 0);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::infinite, 1, 0, c});
    for (std::size_t i = 0; i < 3; ++i) {
      const double x = 2 * steps[i] / c, rounding = sizeof(T) == 4 ? 2e-7 : 1e-15;
      EXPECT_NEAR(answer.potential[i], x * x / c, 0.01 * x * x / c + rounding * x);
      EXPECT_NEAR(answer.field[3 * i], 4 * x / (c * c), 0.01 * x / (c * c) + rounding);
      EXPECT_EQ(answer.potential[3 + i], 0);
      EXPECT_EQ(answer.field[9 + 3 * i], 0);
    }
  });
}

TEST_P(PotentialOptionsTest, CutOffWithinTheBounds) {
  Problem problem = random_problem(421, 1500, 32);
  add_random_points(problem, 422, 300, 32);
  problem.spacing = {1.9, 2.1, 0.7};
  problem.add_point(problem.position[0], problem.position[1], problem.position[2]);
  problem.add(problem.position[3], problem.position[4], problem.position[5], 1);
  problem.add(problem.origin[0] + 1.9, problem.origin[1], problem.origin[2], -1);
  for (const double cutoff : {2.0, 6.0, 17.0})
    for (const Where& where : {Where(at_points), Where(at_charges), Where(13, 10, 9), Where(2, 3, 40)})
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const PotentialOptions options{Singular::infinite, 2, 0, cutoff};
        const auto answer = evaluate_everything<T>(*potential_, where, {problem}, options);
        EXPECT_EQ(answer.info[0], where.kind == at_charges ? 2 : 1);
        expect_agrees(compare_with_truth(answer, problem, where, options));
      });
}

TEST_P(PotentialOptionsTest, ChargesBeyondTheCutoffChangeNothing) {
  // Charges beyond the cut-off may change the rounding of values, but all values stay within their bounds. If these are
  // the only charges, values are 0.
  Problem here = random_problem(431, 300, 8), with_others = here, others_alone;
  others_alone.origin = here.origin;
  const Problem others = random_problem(432, 300, 8);
  for (std::size_t i = 0; i < 300; ++i) {
    const double* const s = others.position.data() + 3 * i;
    with_others.add(s[0] + 100, s[1], s[2], others.charge[i]);
    others_alone.add(s[0] + 100, s[1], s[2], others.charge[i]);
  }
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const PotentialOptions options{Singular::infinite, 1, 0, 20};
    const auto answer = evaluate_everything<T>(*potential_, {8, 8, 8}, {here, with_others, others_alone}, options);
    Comparison found;
    for (std::int64_t point = 0; point < 512; ++point) {
      const double bound = truth<T>(with_others, {8, 8, 8}, point, options, extent(with_others, {8, 8, 8})).bound;
      found.add(error_over_bound(answer.potential[static_cast<std::size_t>(point + 512)],
                                 answer.potential[static_cast<std::size_t>(point)], bound),
                point);
    }
    expect_agrees(found);
    for (const T value : answer.potential_of(2)) EXPECT_EQ(value, 0);
    for (const T value : answer.field_of(2)) EXPECT_EQ(value, 0);
  });
}

TEST_P(PotentialOptionsTest, LongSofteningsAreWithinTheBounds) {
  Problem problem = random_problem(461, 500, 10);
  add_random_points(problem, 462, 200, 10);
  for (double& q : problem.charge) q = 0.7;  // equal terms, which are rounded in one direction
  for (const auto& [softening, cutoff] : {std::pair{2e5, 0.0}, {123.4, 0.0}, {4.9, 5.0}, {90.0, 100.0}, {3e3, 5.0}})
    for (const Where& where : {Where(at_points), Where(at_charges), Where(9, 8, 7)})
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const PotentialOptions options{Singular::infinite, 1, softening, cutoff};
        const auto answer = evaluate_everything<T>(*potential_, where, {problem}, options);
        EXPECT_EQ(answer.info[0], 0);
        expect_agrees(compare_with_truth(answer, problem, where, options));
      });
}

TEST_P(PotentialOptionsTest, AVeryLongCutoffIsNone) {
  Problem problem = random_problem(441, 200, 10);
  add_random_points(problem, 442, 100, 10);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const double cutoff : {1e12, 1e100}) {
      const auto answer = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::infinite, 1, 0, cutoff});
      expect_agrees(compare_with_truth(answer, problem, at_points));
    }
  });
}

TEST_P(PotentialOptionsTest, AVeryShortCutoffLeavesOnlyWhatIsOnTheTarget) {
  Problem problem = random_problem(451, 200, 10);
  problem.add_point(problem.position[0], problem.position[1], problem.position[2] + 5e-7);
  problem.add_point(1, 2, 3);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const double cutoff : {1e-9, 1e-30}) {
      const auto answer = evaluate_everything<T>(*potential_, at_points, {problem}, {Singular::infinite, 1, 0, cutoff});
      EXPECT_EQ(answer.info[0], 1);
      EXPECT_EQ(std::abs(answer.potential[0]), static_cast<T>(infinity));
      EXPECT_EQ(answer.potential[1], 0);
      for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_EQ(answer.field[3 + axis], 0);
    }
  });
}

TEST_P(PotentialOptionsTest, LengthsThatMakeNoSenseAreRefused) {
  const Batch batch(at_charges, {random_problem(461, 3, 1)});
  for (const double bad : {-1.0, static_cast<double>(NAN), infinity})
    for (const bool softening : {true, false}) {
      const PotentialOptions options{Singular::infinite, 1, softening ? bad : 0, softening ? 0 : bad};
      try {
        evaluate<float>(*potential_, batch, options, 0, 1);
        ADD_FAILURE() << "not refused: " << bad;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_input);
        EXPECT_NE(std::string(error.what()).find(softening ? "softening" : "cut-off"), std::string::npos);
      }
    }
}

}  // namespace
}  // namespace smallbatch::testing
