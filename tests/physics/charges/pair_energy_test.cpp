// Energies of pairs, over all backends. Truths: two charges by hand, published lattice sums, two dipoles, symmetries,
// and a direct sum in long double.
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "tests/physics/pair_energy_cases.hpp"

namespace smallbatch::testing {
namespace {

class PairEnergies : public PairEnergyTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PairEnergies, all_backends, backend_test_name);

TEST_P(PairEnergies, TwoChargesByHand) {
  Problem problem;  // 5 apart
  problem.add(1, 2, 3, 2);
  problem.add(4, 6, 3, -1);
  Problem grouped = problem;
  grouped.group = {1, 2};
  for (const ScalarType precision : both_precisions)
    for (const Problem& of : {problem, grouped}) {
      const PairEnergyBlock found = evaluate({of}, {Singular::infinite, precision, 10});
      const double allowed = precision == ScalarType::float32 ? 4e-6 : 1e-14;
      EXPECT_EQ(found.info[0], 0);
      EXPECT_NEAR(found.energy[0], -4, allowed);
      EXPECT_NEAR(found.energy_per_charge[0], -2, allowed);
      EXPECT_NEAR(found.energy_per_charge[1], -2, allowed);
    }
}

TEST_P(PairEnergies, SofteningAndCutOffOfTwoChargesByHand) {
  Problem problem;  // distance 3: a softening of 4 gives rho = 5, and a cut-off of 6 the factor (1 - 1/4)^2
  problem.add(0, 0, 0, 2);
  problem.add(3, 0, 0, 3);
  for (const ScalarType precision : both_precisions) {
    const double allowed = precision == ScalarType::float32 ? 4e-6 : 1e-14;
    EXPECT_NEAR(evaluate({problem}, {Singular::infinite, precision, 1, 4, 0}).energy[0], 6 / 5.0, allowed);
    EXPECT_NEAR(evaluate({problem}, {Singular::infinite, precision, 1, 0, 6}).energy[0], 2 * 9 / 16.0, allowed);
    EXPECT_NEAR(evaluate({problem}, {Singular::infinite, precision, 1, 4, 6}).energy[0], 6 / 5.0 * 9 / 16.0, allowed);
    EXPECT_EQ(evaluate({problem}, {Singular::infinite, precision, 1, 0, 3}).energy[0], 0);
    EXPECT_EQ(evaluate({problem}, {Singular::infinite, precision, 1, 4, 2}).energy[0], 0);
  }
}

TEST_P(PairEnergies, OnlyGroupsOneAndTwoTakePart) {
  Problem problem;
  problem.add(0, 0, 0, 5, 0);
  problem.add(1, 0, 0, 1, 1);
  problem.add(3, 0, 0, 2, 2);
  problem.add(1, 4, 0, 3, 2);
  problem.add(9, 0, 0, 7, 3);
  problem.add(2, 0, 0, 0, 1);
  for (const ScalarType precision : both_precisions) {
    const PairEnergyBlock found = evaluate({problem}, {Singular::infinite, precision});
    const double allowed = precision == ScalarType::float32 ? 1e-6 : 1e-14;
    EXPECT_NEAR(found.energy[0], 1 * 2 / 2.0 + 1 * 3 / 4.0, allowed);
    const double expected[] = {0, 0.875, 0.5, 0.375, 0, 0};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(found.energy_per_charge[i], expected[i], allowed) << i;
  }
}

TEST_P(PairEnergies, EveryEnergyWithinTheBounds) {
  for (const bool in_groups : {false, true})
    for (const ScalarType precision : both_precisions)
      for (const auto& [softening, cutoff] : {std::pair{0.0, 0.0},
                                              {0.5, 0.0},
                                              {0.0, 5.0},
                                              {0.5, 5.0},
                                              {1e5, 0.0},
                                              {4.9, 5.0},
                                              {99.0, 100.0},
                                              {1e5, 5.0}}) {
        const std::vector<Problem> problems = problems_of_many_sizes(in_groups);
        const PairEnergyOptions options{Singular::infinite, precision, -332.06371329919225, softening, cutoff};
        const PairEnergyBlock found = evaluate(problems, options);
        expect_agrees(compare_with_truth(found, problems, options));
        EXPECT_EQ(std::count(found.info.begin(), found.info.end(), 0), found.count);
      }
}

TEST_P(PairEnergies, ManyChargesOfOneSignWithinTheBounds) {
  Problem problem = random_problem(931, 5000, 60, false);  // more than one piece of columns
  for (double& q : problem.charge) q = std::abs(q) + 0.1;
  for (const ScalarType precision : both_precisions) {
    const PairEnergyOptions options{Singular::infinite, precision};
    expect_agrees(compare_with_truth(evaluate({problem}, options), {problem}, options));
  }
}

TEST_P(PairEnergies, EnergiesOfChargesAddUp) {
  for (const bool in_groups : {false, true})
    for (const ScalarType precision : both_precisions) {
      const std::vector<Problem> problems{some_charges(941, 333, in_groups)};
      const PairEnergyOptions options{Singular::infinite, precision};
      const PairEnergyBlock found = evaluate(problems, options);
      const double sum = std::accumulate(found.energy_per_charge.begin(), found.energy_per_charge.end(), 0.0);
      EXPECT_NEAR(found.energy[0], sum, 2 * static_cast<double>(pair_truth(problems[0], options).bound));
    }
}

TEST_P(PairEnergies, RockSaltGivesMadelungsConstant) {
  constexpr double distance = 2.82;
  Problem problem = rock_salt_problem(10, distance);
  problem.group.assign(problem.charge.size(), 2);
  problem.group[problem.charge.size() / 2] = 1;
  for (const ScalarType precision : both_precisions)
    EXPECT_NEAR(evaluate({problem}, {Singular::infinite, precision, distance}).energy[0], -1.747568603771808,
                precision == ScalarType::float32 ? 1e-5 : 1e-12);
}

TEST_P(PairEnergies, DipolesAttractAsTheirMomentsSay) {
  constexpr double
      d = 1e-3,
      r = 4;  // dipoles at distance r along z, moments (0,0,1) and (x,0,z): U = p.p' / r^3 - 3 (p.r)(p'.r) / r^5
  for (const auto& [x, z, expected] : {std::tuple{0.0, 1.0, -2 / 64.0}, {1.0, 0.0, 0.0}, {0.6, 0.8, -1.6 / 64}}) {
    Problem problem;
    problem.add(0, 0, d / 2, 1 / d, 1);
    problem.add(0, 0, -d / 2, -1 / d, 1);
    problem.add(x * d / 2, 0, r + z * d / 2, 1 / d, 2);
    problem.add(-x * d / 2, 0, r - z * d / 2, -1 / d, 2);
    EXPECT_NEAR(evaluate({problem}, {Singular::infinite, ScalarType::float64}).energy[0], expected, 1e-7);
  }
}

TEST_P(PairEnergies, BitsDependOnTheProblemAlone) {
  for (const bool in_groups : {false, true})
    for (const ScalarType precision : both_precisions) {
      const PairEnergyOptions options{Singular::infinite, precision, 3};
      const std::vector<Problem> problems = problems_of_many_sizes(in_groups);
      const PairEnergyBlock together = evaluate(problems, options);
      for (std::size_t p = 0; p < problems.size(); ++p) {
        const PairEnergyBlock alone = evaluate({problems[p]}, options);
        const PairEnergyBlock without = evaluate({problems[p]}, options, false);
        if (in_groups && problems[p].group.empty()) continue;  // alone, this problem has no groups
        EXPECT_TRUE(same_bits(alone.energy, {together.energy[p]})) << p;
        EXPECT_TRUE(same_bits(alone.energy, without.energy)) << p;
        EXPECT_TRUE(same_bits(std::vector<double>(alone.energy_per_charge.begin(), alone.energy_per_charge.end()),
                              std::vector<double>(together.energy_per_charge.begin() + together.offset[p],
                                                  together.energy_per_charge.begin() + together.offset[p + 1])))
            << p;
      }
      EXPECT_TRUE(same_bits(evaluate(problems, options).energy, together.energy));
    }
}

TEST_P(PairEnergies, TheOrderOfChargesMattersLittle) {
  Problem problem = some_charges(951, 400, true), turned = problem;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t from = (i * 131 + 7) % 400;
    turned.charge[i] = problem.charge[from];
    turned.group[i] = problem.group[from];
    for (std::size_t axis = 0; axis < 3; ++axis) turned.position[3 * i + axis] = problem.position[3 * from + axis];
  }
  for (const ScalarType precision : both_precisions) {
    const PairEnergyOptions options{Singular::infinite, precision};
    const PairEnergyBlock found = evaluate({problem, turned}, options);
    const double bound = static_cast<double>(pair_truth(problem, options).bound + pair_truth(turned, options).bound);
    EXPECT_LE(error_over_bound(found.energy[0], found.energy[1], bound), 1);
  }
}

}  // namespace
}  // namespace smallbatch::testing
