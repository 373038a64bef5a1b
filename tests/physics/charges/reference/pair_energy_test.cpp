// The referee of pair energies: it accepts right results and rejects wrong ones.
#include "physics/charges/pair_energy_referee.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/physics/pair_energy_cases.hpp"

namespace smallbatch::testing {
namespace {

class PairEnergyReferee : public PairEnergyTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PairEnergyReferee, all_backends, backend_test_name);

TEST_P(PairEnergyReferee, TheRefereeAgrees) {
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

TEST(PairEnergyVerdict, TheBoundIsTheStatedOne) {
  for (const bool in_groups : {false, true})
    for (const ScalarType precision : both_precisions)
      for (const auto& [softening, cutoff] : {std::pair{0.0, 0.0}, {0.5, 5.0}}) {
        const Problem problem = some_charges(994, 120, in_groups);
        const PairEnergyOptions options{Singular::infinite, precision, -7, softening, cutoff};
        PairEnergyBlock block = block_of({problem}, in_groups, true);
        const ReferencePairEnergy found = reference_pair_energy(block.charges(), 0, options, true);
        const PairTruth truth = pair_truth(problem, options);
        EXPECT_NEAR(found.bound / static_cast<double>(truth.bound), 1, 1e-6);
        for (std::size_t i = 0; i < 120; ++i)
          EXPECT_NEAR(found.charge_bounds[i], static_cast<double>(truth.bound_of_charge[i]),
                      1e-6 * found.charge_bounds[i] + 1e-300);
      }
}

TEST(PairEnergyVerdict, APauseMayThrow) {
  PairEnergyBlock block = block_of({some_charges(997, 600, false)}, false, false);
  int pauses = 0;
  (void)reference_pair_energy(block.charges(), 0, {}, false, 1, [&] { ++pauses; });
  EXPECT_EQ(pauses, 3);  // 600 charges, 256 at a time
  EXPECT_THROW(reference_pair_energy(block.charges(), 0, {}, false, 2, [] { throw std::runtime_error("stop"); }),
               std::runtime_error);
}

TEST(PairEnergyVerdict, TheRuleIsASentence) {
  EXPECT_EQ(pair_energy_criterion({}, false),
            "|U - U*| <= f sum |q_i q_j|/r_ij (2^-22 + 2^-23 L/r_ij) against direct summation with Eigen in double "
            "precision");
  const std::string text = pair_energy_criterion({Singular::infinite, ScalarType::float64, 1, 0.5, 9}, true);
  EXPECT_NE(text.find("2 f sum |q_i q_j|/rho_ij (2^-49 + 2^-51 L/m_ij), and half of that for a charge's pairs"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace smallbatch::testing
