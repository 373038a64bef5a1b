// Screened and Gaussian charges, over the backends that support them. Truths: pairs by hand, potentials in closed form,
// and a direct sum in long double with a separate implementation of g.
#include <gtest/gtest.h>

#include <numbers>
#include <tuple>

#include "core/error.hpp"
#include "physics/charges/pair_energy_referee.hpp"
#include "tests/physics/pair_energy_cases.hpp"
#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class Interactions : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, Interactions, all_backends, backend_test_name);
class PairInteractions : public PairEnergyTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PairInteractions, all_backends, backend_test_name);

constexpr double unit = 332.06371329919225;

PotentialOptions screened(double length, double softening = 0, double cutoff = 0) {
  return {Singular::infinite, unit, softening, cutoff, length};
}
/// Widths from far below to far above the distances of charges. Some charges are points.
void add_widths(Problem& problem) {
  constexpr double widths[] = {0.7, 0, 1e-3, 30, 0.2, 1e-12, 2, 0.05};
  for (std::size_t i = 0; i < problem.charge.size(); ++i) problem.width.push_back(widths[i % std::size(widths)]);
}
Problem some_problem(std::uint64_t seed, std::int64_t charges, bool with_widths) {
  Problem problem = random_problem(seed, charges, 12);
  problem.spacing = {1.1, 0.9, 1.3};
  add_random_points(problem, seed + 1, 150, 12);
  // Points on a charge, beside one, and away from all charges.
  for (const double shift : {0.0, 1e-7, 1e-3, 400.0})
    problem.add_point(problem.position[0] + shift, problem.position[1], problem.position[2]);
  // Charges on the lattice's second point, on another charge, and beside one.
  problem.add(problem.origin[0] + 1.1, problem.origin[1], problem.origin[2], 0.5);
  problem.add(problem.position[3], problem.position[4], problem.position[5], -0.25);
  problem.add(problem.position[9], problem.position[10], problem.position[11] + 1e-5, 0.75);
  if (with_widths) add_widths(problem);
  for (std::size_t i = 0; i < problem.charge.size(); ++i) problem.group.push_back(static_cast<std::int8_t>(i % 3));
  return problem;
}

template <class T>
void expect_truth(Potential& backend, const std::vector<Problem>& problems, const PotentialOptions& options) {
  for (const Where& where : {Where(7, 6, 5), Where(at_points), Where(at_charges)}) {
    const Answer<T> alone = evaluate<T>(backend, where, problems, options);
    const Answer<T> found = evaluate_everything<T>(backend, where, problems, options);
    for (std::size_t p = 0; p < problems.size(); ++p) {
      SCOPED_TRACE(::testing::Message() << "screening " << options.screening_length << ", softening "
                                        << options.softening << ", cut-off " << options.cutoff << ", targets "
                                        << static_cast<int>(where.kind) << ", problem " << p << ", " << sizeof(T));
      expect_agrees(compare_with_truth(alone, problems[p], where, options, static_cast<std::int64_t>(p)));
      expect_agrees(compare_with_truth(found, problems[p], where, options, static_cast<std::int64_t>(p)));
      EXPECT_EQ(found.info[p], true_info(problems[p], where, options));
    }
  }
}

TEST_P(Interactions, ScreenedWithinTheBounds) {
  const std::vector<Problem> problems{some_problem(1, 130, false), some_problem(3, 4, false),
                                      some_problem(5, 37, false)};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const double length : {7.8, 0.3, 1e-3, 1e6})
      for (const auto& [softening, cutoff] : {std::pair{0.0, 0.0}, {0.5, 0.0}, {0.0, 5.0}, {0.5, 6.0}})
        expect_truth<T>(*potential_, problems, screened(length, softening, cutoff));
  });
}

TEST_P(Interactions, GaussiansWithinTheBounds) {
  const std::vector<Problem> problems{some_problem(1, 130, true), some_problem(3, 4, true), some_problem(5, 37, true)};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const double cutoff : {0.0, 5.0})
      for (const Singular policy : {Singular::infinite, Singular::skip})
        expect_truth<T>(*potential_, problems, {policy, unit, 0, cutoff});
  });
}

TEST_P(Interactions, TheRefereeAgrees) {
  for (const bool with_widths : {false, true}) {
    const Problem problem = some_problem(7, 60, with_widths);
    for (const double length : {5.0, 0.05, 1e-4})
      for (const double cutoff : {0.0, 6.0})
        for (const Where& where : {Where(5, 4, 3), Where(at_points), Where(at_charges)})
          for_both_precisions([&](auto zero) {
            using T = decltype(zero);
            const PotentialOptions options = screened(with_widths ? 0 : length, 0, cutoff);
            const Batch batch(where, {problem});
            const Answer<T> found = evaluate_everything<T>(*potential_, where, {problem}, options);
            PotentialBlock<T> block;
            block.potential.assign(found.potential.begin(), found.potential.end());
            block.field.assign(found.field.begin(), found.field.end());
            const PotentialReferee referee(batch.charges(), batch.targets(), 0, options, scalar_type_of<T>, true);
            EXPECT_TRUE(is_status(found.info[0], referee.status(), Beyond::no));
            for (std::int64_t target = 0; target < target_count(problem, where); ++target) {
              ReferencePotential expected;
              referee.at({&target, 1}, {&expected, 1});
              Beyond beyond = Beyond::no;
              EXPECT_LE(potential_error_over_bound(block, target, true, expected, beyond), 1)
                  << with_widths << ' ' << length << ' ' << cutoff << ' ' << target;
            }
          });
  }
}

TEST_P(Interactions, OneChargeByHand) {
  Problem problem;
  problem.add(0, 0, 0, 2);
  problem.add_point(0, 0, 3);
  problem.add_point(0, 0, 0);
  const auto at = [&](const Problem& of, const PotentialOptions& options) {
    return evaluate_everything<double>(*potential_, at_points, {of}, options);
  };
  const Answer<double> yukawa = at(problem, {Singular::skip, 1, 0, 0, 1.5});
  EXPECT_NEAR(yukawa.potential[0], 2 * std::exp(-2.0) / 3, 1e-15);
  EXPECT_NEAR(yukawa.field[2], 2 * std::exp(-2.0) / 3 * (1 / 3.0 + 1 / 1.5), 1e-15);
  EXPECT_EQ(yukawa.potential[1], 0);
  problem.width = {1.5};
  const Answer<double> wide = at(problem, {});
  const double t = std::sqrt(2.0);
  EXPECT_NEAR(wide.potential[0], 2 * std::erf(t) / 3, 1e-15);
  EXPECT_NEAR(wide.field[2], 2 * (std::erf(t) - 2 / std::sqrt(std::numbers::pi) * t * std::exp(-2.0)) / 9, 1e-15);
  EXPECT_NEAR(wide.potential[1], 2 * std::sqrt(2 / std::numbers::pi) / 1.5, 1e-15);
  EXPECT_EQ(wide.field[5], 0);
  EXPECT_EQ(wide.info[0], 0);
}

TEST_P(Interactions, AnEvenShellIsScreenedAsTheoryHasIt) {
  // The shell has radius 1 and charge q. Outside, V = q l sinh(1/l) exp(-r/l) / r.
  // Within, V = q l exp(-1/l) sinh(r/l) / r.
  Problem shell = uniform_shell();
  shell.add_point(0, 0, 2);
  shell.add_point(0.3, 0, 0);
  const double l = 0.8;
  const Answer<double> found = evaluate<double>(*potential_, at_points, {shell}, {Singular::infinite, 1, 0, 0, l});
  EXPECT_NEAR(found.potential[0], 5 * std::exp(-2 / l) / 2 * std::sinh(1 / l) * l, 2e-3);
  EXPECT_NEAR(found.potential[1], 5 * std::exp(-1 / l) * std::sinh(0.3 / l) * l / 0.3, 2e-3);
}

TEST_P(Interactions, WeakScreeningAndNarrowChargesArePlain) {
  Problem problem = random_problem(11, 100, 12);
  const Where where(9, 8, 7);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    expect_agrees(compare_with_truth(
        evaluate_everything<T>(*potential_, where, {problem}, {Singular::infinite, 1, 0, 0, largest_softening}),
        problem, where));
    Problem narrow = problem;
    for (const double width : {0.0, least_width, least_softening, 1e-150, 1e-40}) {
      narrow.width.assign(narrow.charge.size(), width);
      expect_agrees(compare_with_truth(evaluate_everything<T>(*potential_, where, {narrow}), problem, where));
    }
  });
}

TEST_P(Interactions, BadWidthsAreStatuses) {
  Problem problem = random_problem(11, 5, 12);
  const auto info_of = [&](double width, bool of_pairs) {
    Problem bad = problem;
    bad.width = {0.5, 0, 1, width, 0};
    if (!of_pairs) return evaluate<float>(*potential_, {2, 2, 2}, {bad, problem}).info;
    PairEnergyBlock block = block_of({bad}, false, true);
    make_pair_energy(backend_)->evaluate(block.charges(), {}, block.result());
    return std::vector<std::int32_t>{block.info[0], std::isnan(block.energy[0]) ? 0 : 1};
  };
  for (const bool of_pairs : {false, true}) {
    for (const double width : {-1.0, -1e-300, double{NAN}, infinity, -infinity})
      EXPECT_EQ(info_of(width, of_pairs), (std::vector<std::int32_t>{info_charges_not_finite, 0})) << width;
    EXPECT_EQ(info_of(1.1e15, of_pairs), (std::vector<std::int32_t>{info_charges_out_of_range, 0}));
  }
}

TEST_P(Interactions, ValuesOfGaussiansLeaveTheirRangeByTheirWidth) {
  Problem problem;
  problem.add(1, 1, 1, 1e15);
  for (const auto& [width, leaves] : {std::pair{1.0, false}, {1e-10, true}, {0.0, false}}) {
    problem.width = {width};  // for a point charge on a lattice point, rho is the spacing
    EXPECT_EQ(evaluate_everything<float>(*potential_, {3, 3, 3}, {problem}, {Singular::infinite, 1e4}).info[0],
              leaves       ? info_values_out_of_range
              : width == 0 ? 1
                           : 0)
        << width;
  }
}

TEST_P(Interactions, CallsThatMakeNoSenseAreRefused) {
  Problem problem = random_problem(11, 5, 12);
  const auto refuses = [&](const Problem& of, const PotentialOptions& options) {
    EXPECT_THROW(evaluate<float>(*potential_, {2, 2, 2}, {of}, options), Error);
  };
  for (const double length : {-1.0, double{NAN}, infinity, 0x1p-512, 0x1p512}) refuses(problem, screened(length));
  problem.width.assign(5, 1);
  refuses(problem, screened(1));
  refuses(problem, {Singular::infinite, 1, 0.5});
}

TEST_P(Interactions, SplitsAndBatchesDoNotChangeBits) {
  const Where where(9, 5, 8);
  for (const bool with_widths : {false, true}) {
    const std::vector<Problem> problems{some_problem(1, 100, with_widths), some_problem(3, 33, with_widths)};
    for (const double cutoff : {0.0, 5.0}) {
      const PotentialOptions options = screened(with_widths ? 0 : 4, 0, cutoff);
      for_both_precisions([&](auto zero) {
        using T = decltype(zero);
        const Answer<T> whole = evaluate_everything<T>(*potential_, where, problems, options);
        const Answer<T> alone = evaluate_everything<T>(*potential_, where, {problems[1]}, options);
        EXPECT_TRUE(same_bits(alone.potential, whole.potential_of(1)));
        EXPECT_TRUE(same_bits(alone.field, whole.field_of(1)));
        const Answer<T> plane =
            evaluate<T>(*potential_, Batch(where, {problems[1]}), options, 3, 2, Wanted::everything);
        const auto begin = static_cast<std::size_t>(3 * where.shape.plane_points());
        EXPECT_TRUE(std::equal(plane.potential.begin(), plane.potential.end(),
                               alone.potential.begin() + static_cast<std::ptrdiff_t>(begin)));
        if (backend_.kind != BackendKind::cpu) return;
        // In a lattice with longer rows, other targets share a tile.
        const Answer<T> lattice = evaluate<T>(*potential_, where, {problems[1]}, options);
        const Answer<T> rows = evaluate<T>(*potential_, {70, 5, 8}, {problems[1]}, options);
        for (std::size_t row = 0; row < 40; ++row)
          EXPECT_TRUE(std::equal(rows.potential.begin() + static_cast<std::ptrdiff_t>(70 * row),
                                 rows.potential.begin() + static_cast<std::ptrdiff_t>(70 * row + 9),
                                 lattice.potential.begin() + static_cast<std::ptrdiff_t>(9 * row)))
              << row;
      });
    }
  }
}

TEST_P(Interactions, EnergiesOfGroups) {
  for (const bool with_widths : {false, true}) {
    Problem problem = some_problem(21, 90, with_widths);
    if (!with_widths) problem.position[3 * 91] += 1;  // charge 91 lies on charge 1
    for (const double cutoff : {0.0, 5.0}) {
      const PotentialOptions options = screened(with_widths ? 0 : 4, 0, cutoff);
      const Answer<double> found = evaluate_everything<double>(*potential_, {2, 2, 2}, {problem}, options);
      const PairTruth truth =
          pair_truth(problem, {Singular::infinite, ScalarType::float64, unit, 0, cutoff, options.screening_length});
      EXPECT_NEAR(found.energy[0], static_cast<double>(truth.energy), static_cast<double>(truth.bound))
          << with_widths << cutoff;
    }
  }
}

TEST_P(PairInteractions, TwoChargesByHand) {
  Problem problem;  // 5 apart
  problem.add(1, 2, 3, 2);
  problem.add(4, 6, 3, -1);
  for (const ScalarType precision : both_precisions) {
    const double allowed = precision == ScalarType::float32 ? 1e-6 : 1e-15;
    problem.width.clear();
    EXPECT_NEAR(evaluate({problem}, {Singular::infinite, precision, 1, 0, 0, 2.5}).energy[0], -0.4 * std::exp(-2.0),
                allowed);
    problem.width = {3, 4};  // sqrt(3^2 + 4^2) = 5
    EXPECT_NEAR(evaluate({problem}, {Singular::infinite, precision}).energy[0], -0.4 * std::erf(std::sqrt(0.5)),
                allowed);
    Problem on_one_place = problem;
    on_one_place.position = {1, 2, 3, 1, 2, 3};
    const PairEnergyBlock found = evaluate({on_one_place}, {Singular::infinite, precision});
    EXPECT_NEAR(found.energy[0], -2 * std::sqrt(2 / std::numbers::pi) / 5, allowed);
    EXPECT_EQ(found.info[0], 0);
    on_one_place.width = {0, 0};
    EXPECT_EQ(evaluate({on_one_place}, {Singular::infinite, precision}).info[0], 1);
  }
}

TEST_P(PairInteractions, EveryEnergyWithinTheBounds) {
  for (const bool in_groups : {false, true})
    for (const ScalarType precision : both_precisions)
      for (const auto& [screening_length, softening, cutoff] :
           {std::tuple{0.0, 0.0, 0.0}, {0.0, 0.0, 5.0}, {4.0, 0.0, 0.0}, {0.1, 0.5, 0.0}, {4.0, 0.5, 5.0}}) {
        std::vector<Problem> problems = problems_of_many_sizes(in_groups);
        for (Problem& problem : problems)
          if (screening_length == 0) add_widths(problem);
        const PairEnergyOptions options{Singular::infinite, precision, unit, softening, cutoff, screening_length};
        const PairEnergyBlock found = evaluate(problems, options);
        SCOPED_TRACE(::testing::Message() << "screening " << screening_length << ", cut-off " << cutoff);
        expect_agrees(compare_with_truth(found, problems, options));
        EXPECT_EQ(std::count(found.info.begin(), found.info.end(), 0), found.count);
        for (std::int64_t p = 0; p < found.count; ++p)
          EXPECT_LE(pair_energy_error_over_bound(found, p, reference_pair_energy(found.charges(), p, options, true)),
                    1);
      }
}

}  // namespace
}  // namespace smallbatch::testing
