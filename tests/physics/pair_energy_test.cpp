// Energies of pairs, over all backends. Truths: two charges by hand, published lattice sums, two dipoles, symmetries,
// and a direct sum in long double.
#include "physics/pair_energy.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "physics/pair_energy_referee.hpp"
#include "tests/backends.hpp"
#include "tests/physics/potential_cases.hpp"

namespace smallbatch::testing {
namespace {

constexpr ScalarType both_precisions[] = {ScalarType::float32, ScalarType::float64};

PairEnergyBlock block_of(const std::vector<Problem>& problems, bool in_groups, bool per_charge) {
  PairEnergyBlock block;
  block.count = static_cast<std::int64_t>(problems.size());
  block.offset.push_back(0);
  for (const Problem& problem : problems) {
    block.position.insert(block.position.end(), problem.position.begin(), problem.position.end());
    block.charge.insert(block.charge.end(), problem.charge.begin(), problem.charge.end());
    std::vector<std::int8_t> group = problem.group;
    group.resize(problem.charge.size());
    if (in_groups) block.group.insert(block.group.end(), group.begin(), group.end());
    block.offset.push_back(static_cast<std::int64_t>(block.charge.size()));
  }
  block.resize_results(per_charge);
  // What no sum gives, so that an energy that was never written shows.
  std::fill(block.info.begin(), block.info.end(), -99);
  std::fill(block.energy.begin(), block.energy.end(), -12345);
  std::fill(block.energy_per_charge.begin(), block.energy_per_charge.end(), -12345);
  return block;
}

class PairEnergies : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!IsSkipped()) backend_of_pairs_ = make_pair_energy(backend_);
  }
  /// In groups where some problem has them.
  PairEnergyBlock evaluate(const std::vector<Problem>& problems, const PairEnergyOptions& options = {},
                           bool per_charge = true) {
    const bool in_groups =
        std::any_of(problems.begin(), problems.end(), [](const Problem& problem) { return !problem.group.empty(); });
    PairEnergyBlock block = block_of(problems, in_groups, per_charge);
    backend_of_pairs_->evaluate(block.charges(), options, block.result());
    return block;
  }
  std::unique_ptr<PairEnergy> backend_of_pairs_;
};

INSTANTIATE_TEST_SUITE_P(Backends, PairEnergies, all_backends, backend_test_name);

/// The direct sum of one problem, with the bounds of physics/pair_energy.hpp.
struct PairTruth {
  long double energy = 0, bound = 0;
  std::vector<long double> of_charge, bound_of_charge;
};
PairTruth pair_truth(const Problem& problem, const PairEnergyOptions& options) {
  const std::size_t count = problem.charge.size();
  PairTruth truth;
  truth.of_charge.assign(count, 0);
  truth.bound_of_charge.assign(count, 0);
  const bool single = options.precision == ScalarType::float32;
  const long double relative = single ? 0x1p-22L : 0x1p-50L, shift = relative / 2;
  const long double largest_extent = extent(problem, at_charges), eps = options.softening, c = options.cutoff;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      if (problem.group.empty() ? j >= i : problem.group[i] != 1 || problem.group[j] != 2) continue;
      if (problem.charge[i] == 0 || problem.charge[j] == 0) continue;
      const long double r = norm(displacement(problem, at_charges, static_cast<std::int64_t>(i), j));
      if (eps == 0 && r < 1e-6L) continue;
      if (c > 0 && r >= 1.01L * c) continue;
      const long double rho = std::sqrt(r * r + eps * eps);
      const long double w = c > 0 ? std::max(0.0L, 1 - r * r / (c * c)) : 1;
      const long double product = options.unit_factor * static_cast<long double>(problem.charge[i]) *
                                  static_cast<long double>(problem.charge[j]);
      const long double energy = product / rho * (w * w);
      const long double bound = std::abs(product) / rho * (relative + shift * largest_extent / rho) * (c > 0 ? 2 : 1);
      truth.energy += energy;
      truth.bound += bound;
      for (const std::size_t k : {i, j}) {
        truth.of_charge[k] += energy / 2;
        truth.bound_of_charge[k] += bound / 2;
      }
    }
  return truth;
}

Comparison compare_with_truth(const PairEnergyBlock& block, const std::vector<Problem>& problems,
                              const PairEnergyOptions& options) {
  Comparison found;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const PairTruth truth = pair_truth(problems[p], options);
    const auto add = [&](double got, long double expected, long double bound) {
      found.add(error_over_bound(got, static_cast<double>(expected), static_cast<double>(bound)),
                static_cast<std::int64_t>(p));
    };
    add(block.energy[p], truth.energy, truth.bound);
    for (std::size_t i = 0; i < truth.of_charge.size() && !block.energy_per_charge.empty(); ++i)
      add(block.energy_per_charge[static_cast<std::size_t>(block.offset[p]) + i], truth.of_charge[i],
          truth.bound_of_charge[i]);
  }
  return found;
}

/// Random charges, some of which are 0, in groups 0, 1 and 2 where they are wanted.
Problem some_charges(std::uint64_t seed, std::int64_t count, bool in_groups, double shift = 0) {
  Problem problem = random_problem(seed, count, 12);
  for (double& coordinate : problem.position) coordinate += shift;
  for (std::size_t i = 4; i < problem.charge.size(); i += 7) problem.charge[i] = 0;
  for (std::size_t i = 0; in_groups && i < problem.charge.size(); ++i)
    problem.group.push_back(static_cast<std::int8_t>((i * 5 + seed) % 3));
  return problem;
}

std::vector<Problem> problems_of_many_sizes(bool in_groups) {
  std::vector<Problem> problems;
  std::uint64_t seed = 900;
  for (const std::int64_t count : {0, 1, 2, 3, 17, 0, 63, 64, 65, 129, 255, 256, 257, 700})
    problems.push_back(some_charges(seed++, count, in_groups));
  problems.push_back(some_charges(seed++, 150, in_groups, 1000));
  return problems;
}

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
  Problem problem;  // 3 apart: with a softening of 4, rho = 5; within a cut-off of 6, (1 - 1/4)^2
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
      for (const auto& [softening, cutoff] : {std::pair{0.0, 0.0}, {0.5, 0.0}, {0.0, 5.0}, {0.5, 5.0}}) {
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
  constexpr double d = 1e-3,
                   r = 4;  // side by side along z, moments of 1 along z and x: p.p' / r^3 - 3 (p.r)(p'.r) / r^5
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
        if (in_groups && problems[p].group.empty()) continue;  // alone it is not in groups
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

TEST_P(PairEnergies, PairsTooNearForSinglePrecisionAreSummedInDouble) {
  for (const bool in_groups : {false, true})
    for (const double apart : {0.9e-5, 3e-4, 7e-4}) {
      Problem problem = some_charges(961, 300, in_groups, 2000);
      for (double& q : problem.charge) q *= 1e-4;                           // so that the pair outweighs them
      problem.position[0] = problem.position[1] = problem.position[2] = 0;  // an extent of 3500 angstrom
      const double x = problem.position[3 * 150] + 0x1p-20, y = 2001, z = 2002;
      problem.add(x, y, z, 1);
      problem.add(x + apart, y, z, -1);
      if (in_groups) problem.group.insert(problem.group.end(), {1, 2});
      const std::size_t last = problem.charge.size() - 1;
      const double exact = 1 / (problem.position[3 * last] - problem.position[3 * last - 3]);
      Problem others = problem;
      others.charge[last] = others.charge[last - 1] = 0;
      const PairEnergyBlock found = evaluate({problem, others});
      EXPECT_EQ(found.info[0], 0);
      EXPECT_NEAR(found.energy[0] - found.energy[1], -exact, 1e-6 * exact) << apart;
      EXPECT_NEAR(found.energy_per_charge[last], -exact / 2, 1e-6 * exact) << apart;
    }
}

TEST_P(PairEnergies, PairsOnOnePlaceFollowThePolicy) {
  for (const bool in_groups : {false, true})
    for (const ScalarType precision : both_precisions) {
      Problem alike = some_charges(971, 200, in_groups), unlike = alike, both = alike;
      const auto on = [&](Problem& problem, double x, double first, double second) {
        problem.add(x, 5, 5, first);
        problem.add(x, 5 + 0.9e-6, 5, second);
        if (in_groups) problem.group.insert(problem.group.end(), {1, 2});
      };
      on(alike, 1, 0.5, 2);
      on(alike, 2, -0.5, -2);
      on(alike, 3, -0.5, 0);
      on(unlike, 1, -1, 1e-3);
      on(both, 1, 1, 1);
      on(both, 2, -1, 1);
      const PairEnergyOptions options{Singular::infinite, precision, -2};
      const std::vector<Problem> problems{alike, unlike, both};
      const PairEnergyBlock marked = evaluate(problems, options);
      EXPECT_EQ(marked.energy[0], -infinity);  // the factor turns the sign
      EXPECT_EQ(marked.energy[1], infinity);
      EXPECT_TRUE(std::isnan(marked.energy[2]));
      EXPECT_EQ(marked.info, (std::vector<std::int32_t>{2, 1, 2}));
      EXPECT_EQ(marked.energy_per_charge[200], -infinity);
      EXPECT_EQ(marked.energy_per_charge[203], -infinity);
      EXPECT_TRUE(std::isfinite(marked.energy_per_charge[199]));
      EXPECT_TRUE(std::isfinite(marked.energy_per_charge[204]));
      const PairEnergyOptions skipping{Singular::skip, precision, -2};
      const PairEnergyBlock skipped = evaluate(problems, skipping);
      EXPECT_EQ(skipped.info, (std::vector<std::int32_t>{2, 1, 2}));
      expect_agrees(compare_with_truth(skipped, problems, skipping));
      const PairEnergyOptions softened{Singular::infinite, precision, -2, 0.1};
      const PairEnergyBlock soft = evaluate(problems, softened);
      EXPECT_EQ(soft.info, (std::vector<std::int32_t>{0, 0, 0}));
      expect_agrees(compare_with_truth(soft, problems, softened));
    }
}

TEST_P(PairEnergies, AWrongNumberSpoilsItsProblemAlone) {
  for (const bool in_groups : {false, true})
    for (const double wrong : {static_cast<double>(NAN), infinity, -infinity}) {
      const Problem good = some_charges(981, 100, in_groups);
      Problem bad_place = good, bad_charge = good, bad_first = good;
      bad_place.position[3 * 99 + 1] = wrong;
      bad_charge.charge[50] = wrong;
      bad_first.position[0] = wrong;
      const PairEnergyBlock found = evaluate({good, bad_place, good, bad_charge, bad_first, good});
      const PairEnergyBlock alone = evaluate({good});
      EXPECT_EQ(found.info, (std::vector<std::int32_t>{0, -1, 0, -1, -1, 0}));
      for (const std::size_t p : {1, 3, 4}) {
        EXPECT_TRUE(std::isnan(found.energy[p])) << p;
        for (std::size_t i = 100 * p; i < 100 * p + 100; ++i) EXPECT_TRUE(std::isnan(found.energy_per_charge[i])) << i;
      }
      for (const std::size_t p : {0, 2, 5}) EXPECT_TRUE(same_bits({found.energy[p]}, alone.energy)) << p;
    }
}

TEST_P(PairEnergies, TheRangeOfInputsIsThePrecisions) {
  for (const double large : {1.1e15, 1.1e150}) {
    Problem place, charge;
    place.add(0, 0, 0, 1);
    place.add(0, large, 0, 1);
    charge.add(0, 0, 0, 1);
    charge.add(1, 0, 0, large);
    const std::vector<Problem> problems{place, charge};
    const PairEnergyBlock single = evaluate(problems, {Singular::infinite, ScalarType::float32});
    const PairEnergyBlock exact = evaluate(problems, {Singular::infinite, ScalarType::float64});
    EXPECT_EQ(single.info, (std::vector<std::int32_t>{-2, -2}));
    EXPECT_TRUE(std::isnan(single.energy[0]));
    if (large > 1e150) {
      EXPECT_EQ(exact.info, (std::vector<std::int32_t>{-2, -2}));
    } else {
      EXPECT_EQ(exact.info, (std::vector<std::int32_t>{0, 0}));
      EXPECT_NEAR(exact.energy[0], 1 / large, 1e-14 / large);
      EXPECT_NEAR(exact.energy[1], large, 1e-14 * large);
    }
  }
}

TEST_P(PairEnergies, LargeNumbersInSinglePrecision) {
  Problem problem;  // far apart, strong, weak
  problem.add(0, 0, 0, 1e15);
  problem.add(1e15, 0, 0, 1e15);
  problem.add(0, 1e14, 0, -1e-15);
  const PairEnergyOptions options;
  expect_agrees(compare_with_truth(evaluate({problem}, options), {problem}, options));
  for (const double softening : {1e-150, 1e-12, 1e12, 1e150})
    for (const double cutoff : {0.0, 1e-200, 1e-12, 1e200}) {
      if (cutoff > 0 && cutoff < 1e-12) continue;  // of which the bound says nothing
      const PairEnergyOptions unusual{Singular::infinite, ScalarType::float32, 1, softening, cutoff};
      expect_agrees(compare_with_truth(evaluate({problem}, unusual), {problem}, unusual));
    }
}

TEST_P(PairEnergies, WhatLeavesTheRangeIsAnInfinity) {
  Problem problem;
  problem.add(0, 0, 0, 1e150);
  problem.add(0, 0, 0.5, -1e150);
  problem.add(0, 0, 7, 1);
  const PairEnergyOptions inside{Singular::infinite, ScalarType::float64, 1e6};
  const PairEnergyBlock found = evaluate({problem}, inside);
  EXPECT_EQ(found.info[0], 0);
  EXPECT_NEAR(found.energy[0] / -2e306, 1, 1e-14);
  const PairEnergyBlock beyond = evaluate({problem}, {Singular::infinite, ScalarType::float64, 1e9});
  EXPECT_EQ(beyond.info[0], info_values_out_of_range);
  EXPECT_EQ(beyond.energy[0], -infinity);
  EXPECT_EQ(beyond.energy_per_charge[0], -infinity);
  EXPECT_TRUE(std::isfinite(beyond.energy_per_charge[2]));
  // The sum is far beyond double's range, the energy is not.
  const PairEnergyBlock softened = evaluate({problem}, {Singular::infinite, ScalarType::float64, 1e-200, 1e-150});
  EXPECT_EQ(softened.info[0], 0);
  EXPECT_NEAR(softened.energy[0] / -2e100, 1, 1e-14);
}

TEST_P(PairEnergies, ProblemsWithoutPairsHaveNone) {
  Problem one, grouped;
  one.add(1e9, 2, 3, 4);
  grouped.add(0, 0, 0, 1, 1);
  grouped.add(1, 0, 0, 1, 1);
  for (const ScalarType precision : both_precisions) {
    const PairEnergyBlock found = evaluate({Problem(), one, Problem()}, {Singular::infinite, precision});
    EXPECT_EQ(found.info, (std::vector<std::int32_t>{0, 0, 0}));
    EXPECT_EQ(found.energy, (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(found.energy_per_charge[0], 0);
    const PairEnergyBlock in_groups = evaluate({grouped}, {Singular::infinite, precision});
    EXPECT_EQ(in_groups.energy[0], 0);
    EXPECT_EQ(in_groups.energy_per_charge[1], 0);
  }
  PairEnergyBlock none = block_of({}, false, false);
  backend_of_pairs_->evaluate(none.charges(), {}, none.result());
}

TEST_P(PairEnergies, OffsetsNeedNotBeginAtZero) {
  const Problem problem = some_charges(991, 70, true);
  const Batch batch(at_charges, {problem});  // between charges of NaN
  double energy = 0;
  std::int32_t info = -99;
  std::vector<double> of_charges(70, -12345);
  backend_of_pairs_->evaluate(batch.charges(), {}, {&energy, &info, of_charges.data()});
  const PairEnergyBlock expected = evaluate({problem});
  EXPECT_EQ(info, 0);
  EXPECT_TRUE(same_bits({energy}, expected.energy));
  EXPECT_TRUE(
      same_bits(of_charges, std::vector<double>(expected.energy_per_charge.begin(), expected.energy_per_charge.end())));
}

TEST_P(PairEnergies, CallsThatMakeNoSenseAreRefused) {
  const Problem problem = some_charges(992, 5, false);
  for (const PairEnergyOptions& options : {PairEnergyOptions{Singular::infinite, ScalarType::float32, 1, -1, 0},
                                           PairEnergyOptions{Singular::infinite, ScalarType::float32, 1, 0, -1},
                                           PairEnergyOptions{Singular::infinite, ScalarType::float32, infinity, 0, 0}})
    EXPECT_THROW(evaluate({problem}, options), Error);
  PairEnergyBlock block = block_of({problem}, false, false);
  block.offset[1] = -1;
  EXPECT_THROW(backend_of_pairs_->evaluate(block.charges(), {}, block.result()), Error);
}

TEST_P(PairEnergies, TheRefereeAgrees) {
  for (const bool in_groups : {false, true})
    for (const ScalarType precision : both_precisions)
      for (const auto& [softening, cutoff] : {std::pair{0.0, 0.0}, {0.5, 5.0}}) {
        std::vector<Problem> problems = problems_of_many_sizes(in_groups);
        problems.back().position[7] = NAN;
        problems[4].position[3] = problems[4].position[0] = problems[4].position[6];
        const PairEnergyOptions options{Singular::infinite, precision, 2, softening, cutoff};
        PairEnergyBlock block = evaluate(problems, options);
        for (std::int64_t p = 0; p < block.count; ++p) {
          const ReferencePairEnergy expected = reference_pair_energy(block.charges(), p, options, true);
          EXPECT_LE(pair_energy_error_over_bound(block, p, expected), 1) << p;
        }
      }
}

TEST(PairEnergyVerdict, WrongNumbersAreFound) {
  PairEnergyBlock block = block_of({some_charges(993, 90, false)}, false, true);
  const PairEnergyOptions options{Singular::infinite, ScalarType::float32, 5};
  make_pair_energy({BackendKind::reference})->evaluate(block.charges(), options, block.result());
  const ReferencePairEnergy expected = reference_pair_energy(block.charges(), 0, options, true, 2);
  const auto error = [&] { return pair_energy_error_over_bound(block, 0, expected); };
  EXPECT_EQ(error(), 0);
  const PairEnergyBlock right = block;
  const auto expect_found = [&](const char* what, const std::function<void()>& spoil) {
    spoil();
    EXPECT_FALSE(error() <= 1) << what;
    block = right;
  };
  expect_found("a little too much", [&] { block.energy[0] += 1.5 * expected.bound; });
  expect_found("a flipped sign", [&] { block.energy[0] = -block.energy[0]; });
  expect_found("a NaN", [&] { block.energy[0] = NAN; });
  expect_found("an infinity", [&] { block.energy[0] = infinity; });
  expect_found("a status", [&] { block.info[0] = 1; });
  expect_found("two charges' energies swapped",
               [&] { std::swap(block.energy_per_charge[1], block.energy_per_charge[2]); });
  expect_found("a charge's energy that is a NaN", [&] { block.energy_per_charge[80] = NAN; });
  EXPECT_EQ(error(), 0);
}

TEST(PairEnergyVerdict, TheRuleIsASentence) {
  EXPECT_EQ(pair_energy_criterion({}, false),
            "|U - U*| <= f sum |q_i q_j|/r_ij (2^-22 + 2^-23 L/r_ij) against direct summation with Eigen in double "
            "precision");
  const std::string text = pair_energy_criterion({Singular::infinite, ScalarType::float64, 1, 0.5, 9}, true);
  EXPECT_NE(text.find("2 f sum |q_i q_j|/rho_ij (2^-50 + 2^-51 L/rho_ij), and half of that for a charge's pairs"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace smallbatch::testing
