// The sentence of potential_criterion(), against the bounds that the referee gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "physics/charges/potential_referee.hpp"
#include "tests/physics/potential_cases.hpp"

namespace smallbatch::testing {
namespace {

/// Powers of two in a sentence, as numbers.
std::vector<double> powers(const std::string& sentence) {
  std::vector<double> found;
  const std::regex power("2\\^(-[0-9]+)");
  for (std::sregex_iterator i(sentence.begin(), sentence.end(), power), end; i != end; ++i)
    found.push_back(std::ldexp(1, std::stoi((*i)[1])));
  return found;
}

TEST(PotentialCriterion, HasTheNumbersOfTheBounds) {
  Problem problem;  // r = 3 and rho = 5 from the only point, L = 3
  problem.add(3, 0, 0, 1);
  const Batch batch({1, 1, 1}, {problem});
  const std::vector<std::int64_t> points{0};
  std::vector<ReferencePotential> answer(1);
  for (const ScalarType precision : {ScalarType::float32, ScalarType::float64})
    for (const double softening : {0.0, 4.0})
      for (const double cutoff : {0.0, 7.0, 3.5}) {
        const PotentialOptions options{Singular::infinite, 1, softening, cutoff};
        reference_potential(batch.charges(), batch.lattice(), 0, options, precision, points, answer);
        const std::string sentence = potential_criterion(options, precision, true, false);
        const std::vector<double> found = powers(sentence);
        ASSERT_EQ(found.size(), 4U) << sentence;
        const double rho = std::hypot(3, softening), twice = sentence.find("<= 2 f sum") < sentence.size() ? 2 : 1;
        const double m = sentence.find("m_i the smaller of ") < sentence.size() ? std::min(rho, cutoff) : rho;
        EXPECT_DOUBLE_EQ(answer[0].bound, twice / rho * (found[0] + found[1] * 3 / m)) << sentence;
        EXPECT_DOUBLE_EQ(answer[0].field_bound, twice / (rho * m) * (found[2] + found[3] * 3 / m)) << sentence;
        EXPECT_EQ(found[0], (softening > 0 ? 4 : 2) * found[1]) << sentence;
        EXPECT_EQ(sentence.find("rho_i") < sentence.size(), softening > 0) << sentence;
      }
}

TEST(PotentialCriterion, SaysWhatAnInteractionAdds) {
  Problem problem;  // r = 3 from the only point, L = 3
  problem.add(3, 0, 0, 1);
  std::vector<ReferencePotential> answer(1);
  const auto bounds = [&](const PotentialOptions& options) {
    const Batch batch({1, 1, 1}, {problem});
    reference_potential(batch.charges(), batch.lattice(), 0, options, ScalarType::float32, std::vector<std::int64_t>{0},
                        answer);
    return potential_criterion(options, ScalarType::float32, true, false, !problem.width.empty());
  };
  const std::string screened = bounds({Singular::infinite, 1, 0, 0, 2});
  std::vector<double> found = powers(screened.substr(0, screened.find(" against")));
  EXPECT_NE(screened.find("<= 2 f sum_i |q_i| (1 + x_i) exp(-x_i)/r_i ("), std::string::npos) << screened;
  EXPECT_NE(screened.find("<= 2 f sum_i |q_i| (1 + x_i)^2 exp(-x_i)/r_i^2 ("), std::string::npos) << screened;
  EXPECT_NE(screened.find(", x_i = r_i/screening_length"), std::string::npos) << screened;
  EXPECT_NEAR(answer[0].bound, 2 * 2.5 * std::exp(-1.5) / 3 * (found[0] + found[1]), 1e-15);
  EXPECT_NEAR(answer[0].field_bound, 2 * 2.5 * 2.5 * std::exp(-1.5) / 9 * (found[2] + found[3]), 1e-15);
  problem.width = {4};
  const std::string wide = bounds({});
  found = powers(wide.substr(0, wide.find(" against")));
  EXPECT_NE(wide.find(", rho_i the larger of r_i and 1.25 width_i"), std::string::npos) << wide;
  EXPECT_NEAR(answer[0].bound, 2 / 5.0 * (found[0] + found[1] * 3 / 5), 1e-15);
  EXPECT_NEAR(answer[0].field_bound, 2 / 25.0 * (found[2] + found[3] * 3 / 5), 1e-15);
}

TEST(PotentialCriterion, DefinesWhatItNamesOfPairsAlone) {
  for (const double softening : {0.0, 4.0})
    for (const double cutoff : {0.0, 7.0})
      for (const double screening_length : {0.0, 2.0})
        for (const bool with_widths : {false, true}) {
          if (with_widths && softening + screening_length > 0) continue;
          const PotentialOptions options{Singular::infinite, 1, softening, cutoff, screening_length};
          const auto sentence = [&](bool with_energy) {
            return potential_criterion(options, ScalarType::float32, false, with_energy, with_widths);
          };
          const std::string all = sentence(true), plain = sentence(false), against = all.substr(all.find(" against"));
          EXPECT_EQ(against.find(", x_ij = ") < against.size(), screening_length > 0) << all;
          EXPECT_EQ(against.find(", rho_ij the larger") < against.size(), with_widths) << all;
          EXPECT_EQ(against.find("m_ij"), std::string::npos) << all;
          const bool is_plain = screening_length == 0 && !with_widths;
          EXPECT_EQ(against == plain.substr(plain.find(" against")), is_plain) << all;
        }
}

TEST(PotentialCriterion, SaysHowFarACutoffsBoundReaches) {
  const PotentialOptions options{Singular::infinite, 1, 0, 100};
  const std::string sentence = potential_criterion(options, ScalarType::float32, false, false);
  const double reach = 100 * std::stod(sentence.substr(sentence.find("within ") + 7));
  for (const auto& [distance, counts] : {std::pair{reach - 1e-3, true}, {reach + 1e-3, false}}) {
    Problem problem;
    problem.add(distance, 0, 0, 1);
    const Batch batch({1, 1, 1}, {problem});
    std::vector<ReferencePotential> answer(1);
    reference_potential(batch.charges(), batch.lattice(), 0, options, ScalarType::float32, std::vector<std::int64_t>{0},
                        answer);
    EXPECT_EQ(answer[0].bound > 0, counts) << distance;
  }
}

TEST(PotentialCriterion, HasTheNumberOfTheEnergysBound) {
  const double position[] = {0, 0, 0, 0, 4, 0}, charge[] = {1, -2};  // |q_i q_j| / r_ij = 1/2
  const std::int8_t group[] = {1, 2};
  const std::int64_t offset[] = {0, 2};
  ChargeBatch charges{};
  charges.count = 1;
  charges.position = position;
  charges.charge = charge;
  charges.offset = offset;
  charges.group = group;
  const std::vector<double> found = powers(potential_criterion({}, ScalarType::float32, false, true));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_DOUBLE_EQ(reference_energy(charges, 0, {}).bound, found[2] / 2);
}

}  // namespace
}  // namespace smallbatch::testing
