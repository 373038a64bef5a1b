// Common parts of the tests of pair energies: the fixture, problems, and the truth, a direct sum in long double.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "physics/pair_energy.hpp"
#include "tests/backends.hpp"
#include "tests/physics/potential_cases.hpp"

namespace smallbatch::testing {

inline constexpr ScalarType both_precisions[] = {ScalarType::float32, ScalarType::float64};

inline PairEnergyBlock block_of(const std::vector<Problem>& problems, bool in_groups, bool per_charge) {
  PairEnergyBlock block;
  block.count = static_cast<std::int64_t>(problems.size());
  block.offset.push_back(0);
  for (const Problem& problem : problems) {
    block.position.insert(block.position.end(), problem.position.begin(), problem.position.end());
    block.charge.insert(block.charge.end(), problem.charge.begin(), problem.charge.end());
    block.width.insert(block.width.end(), problem.width.begin(), problem.width.end());
    std::vector<std::int8_t> group = problem.group;
    group.resize(problem.charge.size());
    if (in_groups) block.group.insert(block.group.end(), group.begin(), group.end());
    block.offset.push_back(static_cast<std::int64_t>(block.charge.size()));
  }
  block.resize_results(per_charge);
  // No sum gives these numbers, so they reveal energies that the backend never wrote.
  std::fill(block.info.begin(), block.info.end(), -99);
  std::fill(block.energy.begin(), block.energy.end(), -12345);
  std::fill(block.energy_per_charge.begin(), block.energy_per_charge.end(), -12345);
  return block;
}

class PairEnergyTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!IsSkipped()) backend_of_pairs_ = make_pair_energy(backend_);
  }
  /// Evaluates the energies of problems, in groups if any problem has groups.
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

/// The direct sum of one problem, with the bounds of physics/pair_energy.hpp.
struct PairTruth {
  long double energy = 0, bound = 0;
  std::vector<long double> of_charge, bound_of_charge;
};
inline PairTruth pair_truth(const Problem& problem, const PairEnergyOptions& options) {
  const std::size_t count = problem.charge.size();
  PairTruth truth;
  truth.of_charge.assign(count, 0);
  truth.bound_of_charge.assign(count, 0);
  const bool single = options.precision == ScalarType::float32;
  const long double largest_extent = extent(problem, at_charges), eps = options.softening, c = options.cutoff;
  const long double shift = single ? 0x1p-23L : 0x1p-51L, relative = (eps > 0 ? 4 : 2) * shift;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      if (problem.group.empty() ? j >= i : problem.group[i] != 1 || problem.group[j] != 2) continue;
      if (problem.charge[i] == 0 || problem.charge[j] == 0) continue;
      const long double r = norm(displacement(problem, at_charges, static_cast<std::int64_t>(i), j));
      const long double width = problem.width.empty() ? 0 : std::hypot<long double>(problem.width[i], problem.width[j]);
      if (eps == 0 && width == 0 && r < 1e-6L) continue;
      if (c > 0 && r >= 1.01L * c) continue;
      const TrueAction action = true_action(r, eps, options.screening_length, width, single);
      const long double rho = action.m;
      const long double w = c > 0 ? std::max(0.0L, 1 - r * r / (c * c)) : 1;
      const long double product = options.unit_factor * static_cast<long double>(problem.charge[i]) *
                                  static_cast<long double>(problem.charge[j]);
      const long double energy = product / rho * (w * w) * action.value;
      const long double length = c > 0 ? std::min(rho, c) : rho;
      const long double bound =
          std::abs(product) / rho * (relative + shift * largest_extent / length) * (c > 0 ? 2 : 1) *
              action.value_bound +
          true_least(options.screening_length, single) * std::abs(options.unit_factor * problem.charge[i]);
      truth.energy += energy;
      truth.bound += bound;
      for (const std::size_t k : {i, j}) {
        truth.of_charge[k] += energy / 2;
        truth.bound_of_charge[k] += bound / 2;
      }
    }
  return truth;
}

inline Comparison compare_with_truth(const PairEnergyBlock& block, const std::vector<Problem>& problems,
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

/// Random charges, some of which are 0. If `in_groups`, they are in groups 0, 1 and 2.
inline Problem some_charges(std::uint64_t seed, std::int64_t count, bool in_groups, double shift = 0) {
  Problem problem = random_problem(seed, count, 12);
  for (double& coordinate : problem.position) coordinate += shift;
  for (std::size_t i = 4; i < problem.charge.size(); i += 7) problem.charge[i] = 0;
  for (std::size_t i = 0; in_groups && i < problem.charge.size(); ++i)
    problem.group.push_back(static_cast<std::int8_t>((i * 5 + seed) % 3));
  return problem;
}

inline std::vector<Problem> problems_of_many_sizes(bool in_groups) {
  std::vector<Problem> problems;
  std::uint64_t seed = 900;
  for (const std::int64_t count : {0, 1, 2, 3, 17, 0, 63, 64, 65, 129, 255, 256, 257, 700})
    problems.push_back(some_charges(seed++, count, in_groups));
  problems.push_back(some_charges(seed++, 150, in_groups, 1000));
  return problems;
}

}  // namespace smallbatch::testing
