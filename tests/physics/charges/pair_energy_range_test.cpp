// Pair energies of charges at one position and of very near charges, numbers that are not finite or leave their range,
// and invalid calls.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "tests/physics/pair_energy_cases.hpp"

namespace smallbatch::testing {
namespace {

class PairEnergyRange : public PairEnergyTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PairEnergyRange, all_backends, backend_test_name);

TEST_P(PairEnergyRange, PairsTooNearForSinglePrecisionAreSummedInDouble) {
  for (const bool in_groups : {false, true})
    for (const double apart : {0.9e-5, 3e-4, 7e-4}) {
      Problem problem = some_charges(961, 300, in_groups, 2000);
      for (double& q : problem.charge) q *= 1e-4;                           // the pair below then outweighs these
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

TEST_P(PairEnergyRange, PairsOnOnePlaceDecideWhereOthersLeaveTheRange) {
  for (const bool in_groups : {false, true})
    for (const double sign : {1.0, -1.0}) {
      Problem problem;  // a pair of `sign` at one position, and a pair of the other sign with an energy that overflows
      problem.add(0, 0, 0, 1e14);
      problem.add(0, 0, 0, sign * 1e14);
      problem.add(1, 0, 0, 1e14);
      problem.add(3, 0, 0, -sign * 1e14);
      if (in_groups) problem.group = {1, 2, 1, 2};
      const PairEnergyBlock found = evaluate({problem}, {Singular::infinite, ScalarType::float64, 1e300});
      EXPECT_EQ(found.energy[0], sign * infinity) << in_groups;
      EXPECT_EQ(found.info[0], info_values_out_of_range);
    }
}

TEST_P(PairEnergyRange, PairsOnOnePlaceFollowThePolicy) {
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
      EXPECT_EQ(marked.energy[0], -infinity);  // the unit factor is negative
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

TEST_P(PairEnergyRange, AWrongNumberSpoilsItsProblemAlone) {
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

TEST_P(PairEnergyRange, TheRangeOfInputsIsThePrecisions) {
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

TEST_P(PairEnergyRange, LargeNumbersInSinglePrecision) {
  Problem problem;  // two strong charges far apart, and a weak charge
  problem.add(0, 0, 0, 1e15);
  problem.add(1e15, 0, 0, 1e15);
  problem.add(0, 1e14, 0, -1e-15);
  const PairEnergyOptions options;
  expect_agrees(compare_with_truth(evaluate({problem}, options), {problem}, options));
  for (const double softening : {1e-150, 1e-12, 1e12, 1e150})
    for (const double cutoff : {0.0, 1e-200, 1e-12, 1e200}) {
      if (cutoff > 0 && cutoff < 1e-12) continue;  // the bound does not cover such a cut-off
      const PairEnergyOptions unusual{Singular::infinite, ScalarType::float32, 1, softening, cutoff};
      expect_agrees(compare_with_truth(evaluate({problem}, unusual), {problem}, unusual));
    }
}

TEST_P(PairEnergyRange, WhatLeavesTheRangeIsAnInfinity) {
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
  // The sum is far beyond the range of double, but the energy is not.
  const PairEnergyBlock softened = evaluate({problem}, {Singular::infinite, ScalarType::float64, 1e-200, 1e-150});
  EXPECT_EQ(softened.info[0], 0);
  EXPECT_NEAR(softened.energy[0] / -2e100, 1, 1e-14);
}

TEST_P(PairEnergyRange, ProblemsWithoutPairsHaveNone) {
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

TEST_P(PairEnergyRange, OffsetsNeedNotBeginAtZero) {
  const Problem problem = some_charges(991, 70, true);
  const Batch batch(at_charges, {problem});  // the batch has charges of NaN before and after the problem
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

TEST_P(PairEnergyRange, CallsThatMakeNoSenseAreRefused) {
  const Problem problem = some_charges(992, 5, false);
  for (const PairEnergyOptions& options : {PairEnergyOptions{Singular::infinite, ScalarType::float32, 1, -1, 0},
                                           PairEnergyOptions{Singular::infinite, ScalarType::float32, 1, 0, -1},
                                           PairEnergyOptions{Singular::infinite, ScalarType::float32, infinity, 0, 0}})
    EXPECT_THROW(evaluate({problem}, options), Error);
  PairEnergyBlock block = block_of({problem}, false, false);
  block.offset[1] = -1;
  EXPECT_THROW(backend_of_pairs_->evaluate(block.charges(), {}, block.result()), Error);
}

}  // namespace
}  // namespace smallbatch::testing
