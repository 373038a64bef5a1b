// Verification must find wrong answers, wherever they are and whatever they look like.
#include "app/verification.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smallbatch {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
const VerifyMode everything;

/// Four systems A = diag(2, 4), b = (2, 8), x = (1, 2).
class VerifySystems : public ::testing::Test {
 protected:
  VerifySystems() {
    set_.name = "s";
    set_.shape = {2, 1, Storage::dense};
    set_.batch = 4;
    block_.resize(set_.shape, 4);
    for (std::size_t s = 0; s < 4; ++s) {
      const float a[] = {2, 0, 0, 4};
      std::copy(a, a + 4, block_.a.begin() + static_cast<std::ptrdiff_t>(4 * s));
      block_.b[2 * s] = 2;
      block_.b[2 * s + 1] = 8;
      block_.x[2 * s] = 1;
      block_.x[2 * s + 1] = 2;
      block_.rcond[s] = 0.5F;
      block_.smallest_pivot[s] = 2;
      block_.log_determinant[s] = std::log(8);
    }
  }
  Verdict verdict_of(std::size_t system) { return verify(set_, block_, floor_, everything, 1).verdict[system]; }
  /// System `s` as a solver leaves it that could not solve it.
  void fail(std::size_t s, std::int32_t info) {
    block_.info[s] = info;
    block_.x[2 * s] = block_.x[2 * s + 1] = nan_value;
    block_.backward_error[s] = block_.rcond[s] = block_.smallest_pivot[s] = nan_value;
    block_.log_determinant[s] = nan_value;
  }
  SolveSet set_;
  SpdBlock<float> block_;
  double floor_ = 0;
};

TEST_F(VerifySystems, RightAnswersAgree) {
  for (const Verdict v : verify(set_, block_, 0, everything, 2).verdict) EXPECT_EQ(v, Verdict::agreed);
}

TEST_F(VerifySystems, WrongAnswersDisagreeAndNameTheSystem) {
  const std::vector<std::pair<float, float>> wrong{{nan_value, 2}, {1, INFINITY}, {-1, 2},
                                                   {2, 1},         {0, 0},        {1, 2.0001F}};
  for (const auto& [x0, x1] : wrong) {
    block_.x[4] = x0;
    block_.x[5] = x1;
    const Verdicts verdicts = verify(set_, block_, 0, everything, 2);
    SetOutcome outcome = start_outcome(set_);
    outcome.count_verdicts(0, verdicts);
    EXPECT_EQ(outcome.verification.disagreed, 1) << x0 << " " << x1;
    EXPECT_EQ(outcome.verification.agreed, 3);
    EXPECT_EQ(outcome.verification.worst_index, 2);
    EXPECT_FALSE(outcome.all_right());
  }
}

TEST_F(VerifySystems, AStatusThatIsMadeUpDisagrees) {
  fail(1, 2);
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
}

TEST_F(VerifySystems, AFailureThatWasMissedDisagrees) {
  block_.a[3] = -4;  // the second pivot of system 0
  EXPECT_EQ(verdict_of(0), Verdict::disagreed);
  fail(0, 2);
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
}

TEST_F(VerifySystems, AFailedSystemMustNotLookSolved) {
  block_.a[3] = -4;
  const auto spoiled = [&](auto spoil) {
    fail(0, 2);
    spoil();
    EXPECT_EQ(verdict_of(0), Verdict::disagreed);
    block_.repaired[0] = 0;
  };
  spoiled([&] { block_.x[1] = 2; });
  spoiled([&] { block_.backward_error[0] = 0; });
  spoiled([&] { block_.rcond[0] = 0.5F; });
  spoiled([&] { block_.smallest_pivot[0] = 2; });
  spoiled([&] { block_.log_determinant[0] = 1; });
  spoiled([&] { block_.repaired[0] = 1; });
  fail(0, 2);
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
}

TEST_F(VerifySystems, WrongNumbersDisagree) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto wrong = [&](const char* what, auto& numbers, auto values) {
    const auto right = numbers;
    for (const auto value : values) {
      numbers[2] = value;
      EXPECT_EQ(verdict_of(2), Verdict::disagreed) << what << " " << value;
    }
    numbers = right;
    EXPECT_EQ(verdict_of(2), Verdict::agreed) << what;
  };
  wrong("backward error", block_.backward_error, std::vector{nan_value, 1e-6F, -1e-6F, infinity});
  wrong("rcond", block_.rcond, std::vector{nan_value, 0.50001F, 0.49999F, -0.5F, 0.0F, infinity});
  wrong("pivot", block_.smallest_pivot, std::vector{nan_value, 2.0001F, 1.9999F, -2.0F, 0.0F, 4.0F, infinity});
  wrong("ln det", block_.log_determinant,
        std::vector<double>{nan_value, std::log(8) + 1e-5, std::log(8) - 1e-5, -std::log(8), 0, infinity});
  wrong("repaired", block_.repaired, std::vector{1, -1});
}

TEST_F(VerifySystems, RepairedSystemsAreJudgedByTheRepairedMatrix) {
  // [1 1; 1 1] with the floor f: x = (1, 1) solves [1 1; 1 1+f] x = (2, 2+f).
  floor_ = 0x1p-7;
  for (const std::size_t s : {4, 5, 6, 7}) block_.a[s] = 1;
  block_.b[2] = 2;
  block_.b[3] = static_cast<float>(2 + floor_);
  block_.x[3] = 1;
  block_.backward_error[1] = static_cast<float>(floor_ / 4);
  block_.rcond[1] = static_cast<float>(floor_ / (2 + floor_) / (2 + floor_));
  block_.smallest_pivot[1] = static_cast<float>(floor_);
  block_.log_determinant[1] = std::log(floor_);
  block_.repaired[1] = 1;
  EXPECT_EQ(verdict_of(1), Verdict::agreed);
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
  block_.repaired[1] = 0;
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
  block_.repaired[1] = 1;
  block_.backward_error[1] = 0;  // that is the repaired matrix's, not the one of A as given
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
  block_.backward_error[1] = static_cast<float>(floor_ / 4);
  floor_ *= 2;
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
  floor_ = 0;
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
}

TEST_F(VerifySystems, ResultsWithoutNumbersAreJudgedByTheirAnswers) {
  block_.rcond.clear();
  block_.smallest_pivot.clear();
  block_.log_determinant.clear();
  block_.repaired.clear();
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
  block_.x[0] = -1;
  EXPECT_EQ(verdict_of(0), Verdict::disagreed);
}

TEST_F(VerifySystems, TheDeterminantAloneIsJudged) {
  set_.shape = {2, 0, Storage::dense_lower, true};
  block_.shape = set_.shape;
  block_.b.clear();
  block_.x.clear();
  block_.backward_error.clear();
  block_.a[1] = nan_value;  // the upper triangle
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
  block_.log_determinant[0] += 1e-5;
  EXPECT_EQ(verdict_of(0), Verdict::disagreed);
}

TEST_F(VerifySystems, TheWorstNumbersAreReported) {
  block_.backward_error = {0, 0x1p-24F, 0x1p-23F, 1};
  block_.rcond = {0.5F, 0.25F, 0.125F, 0};
  block_.repaired = {0, 2, 1, 9};
  block_.info[3] = 2;  // a failed system has no numbers
  SetOutcome outcome = start_outcome(set_);
  outcome.count_numbers(block_);
  EXPECT_EQ(outcome.worst_backward_error, 2);
  EXPECT_EQ(outcome.smallest_rcond, 0.125);
  EXPECT_EQ(outcome.repaired_pivots, 3);
  EXPECT_EQ(outcome.repaired_systems, 2);
  for (const std::size_t s : {0, 1, 2}) {  // a NaN is the worst, wherever it is
    block_.backward_error = {0, 0, 0, 0};
    block_.backward_error[s] = block_.rcond[s] = nan_value;
    SetOutcome spoiled = start_outcome(set_);
    spoiled.count_numbers(block_);
    EXPECT_TRUE(std::isnan(spoiled.worst_backward_error.value()));
    EXPECT_TRUE(std::isnan(spoiled.smallest_rcond.value()));
  }
  EXPECT_FALSE(start_outcome(set_).worst_backward_error.has_value());
}

TEST_F(VerifySystems, ASampleIsSpreadEvenly) {
  const Verdicts verdicts = verify(set_, block_, 0, {VerifyMode::Kind::sample, 2}, 1);
  EXPECT_EQ(verdicts.verdict[0], Verdict::agreed);
  EXPECT_EQ(verdicts.verdict[1], Verdict::not_checked);
  EXPECT_EQ(verdicts.verdict[2], Verdict::agreed);
  EXPECT_EQ(verdicts.verdict[3], Verdict::not_checked);
}

/// One charge at the origin of a 3x1x2 lattice that starts at (1,0,0).
class VerifyPotential : public ::testing::Test {
 protected:
  VerifyPotential() {
    set_.name = "p";
    set_.offset = {0, 1};
    set_.shape = block_.shape = {3, 1, 2};
    block_.count = 1;
    block_.plane_count = 2;
    block_.offset = {0, 1};
    block_.position = {0, 0, 0};
    block_.charge = {1};
    block_.origin = {1, 0, 0};
    block_.spacing = {1, 1, 1};
    block_.info = {0};
    for (const int z : {0, 1})
      for (const int x : {1, 2, 3}) block_.potential.push_back(static_cast<float>(1 / std::sqrt(x * x + z * z)));
  }
  Verdicts judge() {
    points_ = 0;
    return verify(set_, block_, PotentialOptions{}, everything, 2, points_);
  }
  PotentialSet set_;
  PotentialBlock<float> block_;
  std::int64_t points_ = 0;
};

TEST_F(VerifyPotential, RightValuesAgree) {
  EXPECT_EQ(judge().verdict[0], Verdict::agreed);
  EXPECT_EQ(points_, 6);
}

TEST_F(VerifyPotential, OneWrongValueAnywhereDisagrees) {
  const std::vector<float> right = block_.potential;
  for (std::size_t i = 0; i < right.size(); ++i)
    for (const float wrong : {-right[i], nan_value, INFINITY, right[i] * 1.00001F, 0.0F}) {
      block_.potential = right;
      block_.potential[i] = wrong;
      EXPECT_EQ(judge().verdict[0], Verdict::disagreed) << "point " << i << " = " << wrong;
    }
}

TEST_F(VerifyPotential, AStatusMustFitTheCharges) {
  block_.info[0] = info_charges_not_finite;
  EXPECT_EQ(judge().verdict[0], Verdict::disagreed);  // the charges are fine
  std::fill(block_.potential.begin(), block_.potential.end(), nan_value);
  EXPECT_EQ(judge().verdict[0], Verdict::disagreed);
  block_.position[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judge().verdict[0], Verdict::agreed);  // both refuse
  block_.info[0] = 0;
  EXPECT_EQ(judge().verdict[0], Verdict::disagreed);
}

TEST_F(VerifyPotential, TheNumberOfChargesOnPointsMustBeRight) {
  block_.info[0] = 1;
  EXPECT_EQ(judge().verdict[0], Verdict::disagreed);
}

TEST(Verdicts, AHairAboveTheBoundStaysADisagreement) {
  Verdicts whole(1), part(1);
  part.add(0, 1 + 1e-12);  // 1 as a float
  whole.merge(0, part);
  EXPECT_EQ(whole.verdict[0], Verdict::disagreed);
}

TEST(Verdicts, PartsOfAProblemAddUpToTheWorst) {
  Verdicts whole(2), part(1);
  part.add(0, 0.25);
  whole.merge(1, part);
  EXPECT_EQ(whole.verdict[1], Verdict::agreed);
  Verdicts worse(1);
  worse.add(0, 3);
  whole.merge(1, worse);
  whole.merge(1, part);
  EXPECT_EQ(whole.verdict[1], Verdict::disagreed);
  EXPECT_EQ(whole.error_over_bound[1], 3);
  EXPECT_EQ(whole.verdict[0], Verdict::not_checked);
}

}  // namespace
}  // namespace smallbatch
