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
    }
  }
  Verdict verdict_of(std::size_t system) { return verify(set_, block_, everything, 1).verdict[system]; }
  SolveSet set_;
  SpdBlock<float> block_;
};

TEST_F(VerifySystems, RightAnswersAgree) {
  for (const Verdict v : verify(set_, block_, everything, 2).verdict) EXPECT_EQ(v, Verdict::agreed);
}

TEST_F(VerifySystems, WrongAnswersDisagreeAndNameTheSystem) {
  const std::vector<std::pair<float, float>> wrong{{nan_value, 2}, {1, INFINITY}, {-1, 2},
                                                   {2, 1},         {0, 0},        {1, 2.0001F}};
  for (const auto& [x0, x1] : wrong) {
    block_.x[4] = x0;
    block_.x[5] = x1;
    const Verdicts verdicts = verify(set_, block_, everything, 2);
    SetOutcome outcome = start_outcome(set_);
    outcome.count_verdicts(0, verdicts);
    EXPECT_EQ(outcome.verification.disagreed, 1) << x0 << " " << x1;
    EXPECT_EQ(outcome.verification.agreed, 3);
    EXPECT_EQ(outcome.verification.worst_index, 2);
    EXPECT_FALSE(outcome.all_right());
  }
}

TEST_F(VerifySystems, AStatusThatIsMadeUpDisagrees) {
  block_.info[1] = 2;
  block_.x[2] = block_.x[3] = nan_value;
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
}

TEST_F(VerifySystems, AFailureThatWasMissedDisagrees) {
  block_.a[3] = -4;  // the second pivot of system 0
  EXPECT_EQ(verdict_of(0), Verdict::disagreed);
  block_.info[0] = 2;
  EXPECT_EQ(verdict_of(0), Verdict::disagreed);  // a failed system must not look solved
  block_.x[0] = block_.x[1] = nan_value;
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
}

TEST_F(VerifySystems, ASampleIsSpreadEvenly) {
  const Verdicts verdicts = verify(set_, block_, {VerifyMode::Kind::sample, 2}, 1);
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
