// Results for a whole problem: lowest, highest and sum of its potentials, and the interaction energy of two groups.
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "physics/charges/potential_referee.hpp"
#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class PotentialSummaryTest : public PotentialBackendTest {};
class PotentialEnergy : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PotentialSummaryTest, all_backends, backend_test_name);
INSTANTIATE_TEST_SUITE_P(Backends, PotentialEnergy, all_backends, backend_test_name);

template <class T>
void expect_summary(const PotentialSummary& summary, const std::vector<T>& values) {
  long double sum = 0, magnitude = 0;
  double lowest = infinity, highest = -infinity;
  std::int64_t finite = 0;
  for (const T value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    magnitude += std::abs(value);
    lowest = std::min<double>(lowest, value);
    highest = std::max<double>(highest, value);
    ++finite;
  }
  EXPECT_EQ(summary.values, finite);
  EXPECT_EQ(summary.lowest, lowest);
  EXPECT_EQ(summary.highest, highest);
  EXPECT_NEAR(summary.sum, static_cast<double>(sum), 1e-12 * static_cast<double>(magnitude));
}

/// Expects the right summary of each plane, or of the problem if its targets are no lattice.
template <class T>
void expect_summaries(const Answer<T>& answer, std::size_t problem) {
  const std::vector<PotentialSummary> summaries = answer.summary_of(problem);
  const std::vector<T> values = answer.potential_of(problem);
  const auto each = static_cast<std::ptrdiff_t>(values.size() / summaries.size());
  for (std::size_t k = 0; k < summaries.size(); ++k) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(k) * each;
    expect_summary<T>(summaries[k], {first, first + each});
  }
}

TEST_P(PotentialSummaryTest, IsThatOfTheValues) {
  std::vector<Problem> problems;
  for (const std::int64_t charges : {0, 1, 300, 40}) {
    problems.push_back(random_problem(510 + static_cast<std::uint64_t>(charges), charges, 9));
    add_random_points(problems.back(), 511, charges * 3, 9);
  }
  problems[2].add(problems[2].origin[0], problems[2].origin[1], problems[2].origin[2], 1);  // infinities
  problems[2].add_point(problems[2].origin[0], problems[2].origin[1], problems[2].origin[2]);
  problems[3].add(problems[3].position[0], problems[3].position[1], problems[3].position[2], -1);
  for (const Where& where : {Where(at_points), Where(at_charges), Where(25, 23, 21), Where(1, 1, 1)})
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto answer = evaluate_everything<T>(*potential_, where, problems);
      for (std::size_t p = 0; p < problems.size(); ++p) expect_summaries(answer, p);
    });
}

TEST_P(PotentialSummaryTest, ByHand) {
  Problem problem;
  problem.add(0, 0, 0, 2);
  problem.add_point(4, 0, 0);
  problem.add_point(0, 0, 0);
  problem.add_point(0, -1, 0);
  const auto answer = evaluate_everything<double>(*potential_, at_points, {problem}, {Singular::infinite, -1});
  EXPECT_EQ(answer.summary[0].values, 2);
  EXPECT_EQ(answer.summary[0].lowest, -2);
  EXPECT_EQ(answer.summary[0].highest, -0.5);
  EXPECT_EQ(answer.summary[0].sum, -2.5);
}

TEST_P(PotentialSummaryTest, OfPlanesIsOfThosePlanes) {
  const Batch batch({6, 5, 8}, {random_problem(521, 50, 6), random_problem(522, 60, 6)});
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto part = evaluate<T>(*potential_, batch, {}, 3, 2, Wanted::everything);
    EXPECT_EQ(part.summary.size(), 4U);
    for (std::size_t p = 0; p < 2; ++p) expect_summaries(part, p);
  });
}

TEST_P(PotentialSummaryTest, HaveTheSameBitsForEveryCutIntoPlanes) {
  // Planes of one point, of less than one piece (4096 values), and of several pieces, the last of them partly filled.
  for (const LatticeShape shape : {LatticeShape{1, 1, 40}, {30, 17, 9}, {131, 127, 7}}) {
    std::vector<Problem> problems{random_problem(541, 9, 6), random_problem(542, 3, 6), random_problem(543, 0, 6)};
    problems[1].add(problems[1].origin[0], problems[1].origin[1], problems[1].origin[2] + 3, -1);  // an infinity
    const Batch batch(shape, problems);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto whole = evaluate<T>(*potential_, batch, {}, 0, shape.nz, Wanted::everything);
      ASSERT_EQ(whole.summary.size(), 3 * static_cast<std::size_t>(shape.nz));
      for (std::size_t p = 0; p < problems.size(); ++p) {
        expect_summaries(whole, p);
        const auto alone = evaluate_everything<T>(*potential_, shape, {problems[p]});
        EXPECT_TRUE(same_bits(whole.summary_of(p), alone.summary)) << p;
        std::vector<PotentialSummary> joined;
        for (std::int64_t first = 0, planes = 1; first < shape.nz; first += planes, ++planes) {
          planes = std::min(planes, shape.nz - first);
          const auto part = evaluate<T>(*potential_, batch, {}, first, planes, Wanted::everything).summary_of(p);
          joined.insert(joined.end(), part.begin(), part.end());
        }
        EXPECT_TRUE(same_bits(whole.summary_of(p), joined)) << p;
      }
    });
  }
}

TEST_P(PotentialSummaryTest, HaveTheSameBitsWhereverTheValuesLie) {
  // At points, equal values give equal bits, however many values lie before them in memory.
  Problem problem = random_problem(551, 7, 6), before = problem;
  add_random_points(problem, 552, 9001, 6);
  for (const std::int64_t others : {0, 1, 4095, 4096, 5000}) {
    before.points.clear();
    add_random_points(before, 553, others, 6);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto alone = evaluate_everything<T>(*potential_, at_points, {problem});
      const auto after = evaluate_everything<T>(*potential_, at_points, {before, problem});
      EXPECT_TRUE(same_bits(after.summary_of(1), alone.summary)) << others;
    });
  }
}

TEST_P(PotentialSummaryTest, OfNothingIsEmpty) {
  Problem bad = random_problem(531, 20, 6), nothing;
  bad.charge[3] = NAN;
  bad.group.assign(20, 1);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const Where& where : {Where(at_charges), Where(3, 3, 3)}) {
      const auto answer = evaluate_everything<T>(*potential_, where, {bad});
      EXPECT_LT(answer.info[0], 0);
      for (const PotentialSummary& summary : answer.summary) {
        EXPECT_EQ(summary.values, 0);
        EXPECT_EQ(summary.lowest, infinity);
        EXPECT_EQ(summary.highest, -infinity);
        EXPECT_EQ(summary.sum, 0);
      }
      EXPECT_TRUE(std::isnan(answer.energy[0]));
    }
    const auto answer = evaluate_everything<T>(*potential_, at_points, {nothing});
    EXPECT_EQ(answer.summary[0].values, 0);
    EXPECT_EQ(answer.summary[0].lowest, infinity);
    EXPECT_EQ(answer.summary[0].highest, -infinity);
    EXPECT_EQ(answer.energy[0], 0);
  });
}

TEST_P(PotentialEnergy, OfNoGroupsIsNothing) {
  const Problem problem = random_problem(911, 5, 3);
  Problem bad = problem;
  bad.charge[2] = NAN;
  const Batch batch(at_charges, {problem, bad});
  ChargeBatch charges = batch.charges();
  charges.group = nullptr;
  std::vector<double> potential(10), energy(2, -12345);
  std::vector<std::int32_t> info(2, -99);
  potential_->evaluate(charges, TargetBatch{}, {},
                       PotentialResult<double>{potential.data(), info.data(), nullptr, nullptr, energy.data()});
  EXPECT_EQ(energy[0], 0);
  EXPECT_TRUE(std::isnan(energy[1]));
}

TEST_P(PotentialEnergy, ManyChargesOfOneSignLoseNothing) {
  // Every 64 charges add nearly half a unit in the last place of the largest sums. A running sum would lose them all.
  constexpr int charges = 1 << 18;
  Problem problem;
  problem.origin = {0, 5, 0};
  for (int i = 0; i < charges; ++i) problem.add(0, 0, 0, 1.0 / 64, 1);
  problem.add(1, 0, 0, 1 + 0x1p-42 - 0x1p-46, 2);
  const double energy = evaluate_everything<double>(*potential_, {1, 1, 1}, {problem}).energy[0];
  EXPECT_NEAR(energy / (charges / 64), 1 + 0x1p-42 - 0x1p-46, 0x1p-44);
}

TEST_P(PotentialEnergy, TwoChargesByHand) {
  Problem problem;  // 3 apart
  problem.add(1, 2, 2, 2, 1);
  problem.add(0, 0, 0, -5, 2);
  problem.add(0.5, 0, 0, 100, 0);  // in neither group
  problem.add(0.5, 1, 0, 100, 3);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto energy = [&](const PotentialOptions& options) {
      return evaluate_everything<T>(*potential_, at_charges, {problem}, options).energy[0];
    };
    const double volt = potential_unit_factor(PotentialUnit::volt);
    EXPECT_DOUBLE_EQ(energy({}), -10 / 3.0);
    EXPECT_DOUBLE_EQ(energy({Singular::infinite, volt}), -10 / 3.0 * volt);
    EXPECT_DOUBLE_EQ(energy({Singular::infinite, 1, 4, 0}), -2);  // rho = 5
    EXPECT_DOUBLE_EQ(energy({Singular::infinite, 1, 0, 5}), -10 / 3.0 * 0.4096);
    EXPECT_DOUBLE_EQ(energy({Singular::infinite, 1, 4, 5}), -2 * 0.4096);
    EXPECT_EQ(energy({Singular::infinite, 1, 0, 3}), 0);
  });
}

/// Expected energy: the sum over group 1 of q times the true V of group 2.
double true_energy(const Problem& problem, const PotentialOptions& options, double& bound) {
  long double sum = 0, magnitude = 0;
  for (std::size_t i = 0; i < problem.charge.size(); ++i)
    for (std::size_t j = 0; j < problem.charge.size() && problem.group[i] == 1; ++j) {
      if (problem.group[j] != 2) continue;
      const long double r = norm(displacement(problem, at_charges, static_cast<std::int64_t>(i), j));
      const long double rho = std::sqrt(r * r + static_cast<long double>(options.softening) * options.softening);
      const long double c = options.cutoff, w = c > 0 ? std::max(0.0L, 1 - r * r / (c * c)) : 1;
      const long double term = static_cast<long double>(problem.charge[i]) * problem.charge[j] / rho;
      sum += term * w * w;
      if (c == 0 || r < 1.01L * c) magnitude += std::abs(term);
    }
  bound = static_cast<double>(options.unit_factor * magnitude * 0x1p-44L);
  return static_cast<double>(options.unit_factor * sum);
}

TEST_P(PotentialEnergy, OfManyChargesWithinTheBound) {
  std::vector<Problem> problems;
  for (const std::int64_t charges : {0, 1, 2, 100, 700}) {
    Problem problem = random_problem(540 + static_cast<std::uint64_t>(charges), charges, 12);
    for (double& x : problem.position) x += 1e4 / 3.0;
    for (std::int64_t i = 0; i < charges; ++i) problem.group.push_back(static_cast<std::int8_t>((i * i + i / 3) % 4));
    problems.push_back(problem);
  }
  for (const PotentialOptions& options : {PotentialOptions{Singular::infinite, 332.0},
                                          {Singular::infinite, 1, 0.3, 0},
                                          {Singular::infinite, 1, 0, 6},
                                          {Singular::infinite, 1, 0.2, 5}})
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto answer = evaluate_everything<T>(*potential_, at_charges, problems, options);
      const Batch batch(at_charges, problems);
      for (std::size_t p = 0; p < problems.size(); ++p) {
        double bound = 0;
        const double expected = true_energy(problems[p], options, bound);
        EXPECT_TRUE(within(error_over_bound(answer.energy[p], expected, bound), 1)) << p;
        const auto reference = reference_energy(batch.charges(), static_cast<std::int64_t>(p), options);
        EXPECT_TRUE(within(error_over_bound(reference.energy, expected, bound), 0.1)) << p;
        EXPECT_NEAR(reference.bound, bound, 1e-9 * bound);
      }
    });
}

TEST_P(PotentialEnergy, IsTheSumOfChargesTimesPotentials) {
  // The charges of group 1 become points in the potential of group 2 alone, and the reverse.
  Problem both = random_problem(551, 300, 12);
  both.group.resize(300);
  Problem groups[2];
  for (std::size_t i = 0; i < 300; ++i) {
    const std::size_t group = i % 5 < 2 ? 0 : 1;
    both.group[i] = static_cast<std::int8_t>(group + 1);
    const double* const s = both.position.data() + 3 * i;
    groups[group].add(s[0], s[1], s[2], both.charge[i]);
  }
  groups[0].points = groups[1].position;
  groups[1].points = groups[0].position;
  const double energy = evaluate_everything<float>(*potential_, {2, 2, 2}, {both}).energy[0];
  const auto potentials = evaluate<double>(*potential_, at_points, {groups[0], groups[1]});
  double forth = 0, back = 0;
  for (std::size_t i = 0; i < groups[1].charge.size(); ++i) forth += groups[1].charge[i] * potentials.potential[i];
  for (std::size_t i = 0; i < groups[0].charge.size(); ++i) back += groups[0].charge[i] * potentials.potential_of(1)[i];
  EXPECT_GT(std::abs(energy), 1e-3);
  EXPECT_NEAR(energy, forth, 1e-11);
  EXPECT_NEAR(energy, back, 1e-11);
}

TEST_P(PotentialEnergy, PairsThatShareAPlaceFollowThePolicy) {
  const auto pair = [](double first, double second, double off) {
    Problem problem;
    problem.add(5, 6, 7, first, 1);
    problem.add(5, 6, 7 + off, second, 2);
    problem.add(5, 6, 10, 3, 2);
    problem.add(5, 6, 10, 8, 2);  // on a charge of the same group, so they form no pair
    return problem;
  };
  Problem opposite = pair(1, 1, 0);
  opposite.add(5, 6, 7, -1, 2);
  const std::vector<Problem> problems{pair(1, 2, 0), pair(-1, 2, 5e-7), pair(1, 2, 2e-6), opposite, pair(0, 2, 0)};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto marked = evaluate_everything<T>(*potential_, at_charges, problems).energy;
    EXPECT_EQ(marked[0], infinity);
    EXPECT_EQ(marked[1], -infinity);
    EXPECT_EQ(evaluate_everything<T>(*potential_, at_charges, problems, {Singular::infinite, -1}).energy[0], -infinity);
    EXPECT_NEAR(marked[2], 1e6 + 11 / 3.0, 1e-3);  // 7 + 2e-6 is rounded
    EXPECT_TRUE(std::isnan(marked[3]));
    EXPECT_EQ(marked[4], 0);
    const auto skipped = evaluate_everything<T>(*potential_, at_charges, problems, {Singular::skip, 1}).energy;
    EXPECT_DOUBLE_EQ(skipped[0], 11 / 3.0);
    EXPECT_DOUBLE_EQ(skipped[1], -11 / 3.0);
    EXPECT_DOUBLE_EQ(skipped[3], 11 / 3.0);
    const auto soft = evaluate_everything<T>(*potential_, at_charges, problems, {Singular::infinite, 1, 4, 0}).energy;
    EXPECT_DOUBLE_EQ(soft[0], 2 / 4.0 + 11 / 5.0);  // rho = 4 and 5
    EXPECT_DOUBLE_EQ(soft[3], 11 / 5.0);
    const Batch batch(at_charges, problems);
    EXPECT_EQ(reference_energy(batch.charges(), 0, {}).energy, infinity);
    EXPECT_EQ(reference_energy(batch.charges(), 1, {}).energy, -infinity);
    EXPECT_TRUE(std::isnan(reference_energy(batch.charges(), 3, {}).energy));
  });
}

TEST_P(PotentialEnergy, WithoutGroupsIsNone) {
  const Problem problem = random_problem(561, 30, 6);  // all in group 0
  EXPECT_EQ(evaluate_everything<float>(*potential_, at_charges, {problem}).energy[0], 0);
}

TEST_P(PotentialEnergy, DoesNotDependOnTheBatch) {
  std::vector<Problem> problems;
  for (const std::int64_t charges : {40, 0, 257, 600}) {
    problems.push_back(random_problem(570 + static_cast<std::uint64_t>(charges), charges, 12));
    for (std::int64_t i = 0; i < charges; ++i) problems.back().group.push_back(static_cast<std::int8_t>(i % 3));
  }
  const auto whole = evaluate_everything<float>(*potential_, {4, 4, 4}, problems);
  for (std::size_t p = 0; p < problems.size(); ++p)
    EXPECT_EQ(whole.energy[p], evaluate_everything<float>(*potential_, {4, 4, 4}, {problems[p]}).energy[0]) << p;
}

}  // namespace
}  // namespace smallbatch::testing
