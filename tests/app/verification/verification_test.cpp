// Verification must find wrong answers of every kind at every place. One file, because verdicts, their counts and the
// verified statistics are computed together.
#include "app/verification/verification.hpp"
#include "app/verification/outcome.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "app/cli/interruption.hpp"
#include "core/error.hpp"
#include "physics/charges/potential_referee.hpp"
#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver.hpp"

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
      block_.info[s] = block_.repaired[s] = 0;
      block_.backward_error[s] = block_.perturbation[s] = 0;
    }
  }
  Verdict verdict_of(std::size_t system) { return verify(set_, block_, floor_, 1, everything, 1).verdict[system]; }
  /// Gives system `s` the results of a solver that could not solve it, with the status `info`.
  void fail(std::size_t s, std::int32_t info) {
    block_.info[s] = info;
    block_.x[2 * s] = block_.x[2 * s + 1] = nan_value;
    block_.backward_error[s] = block_.rcond[s] = block_.smallest_pivot[s] = nan_value;
    block_.log_determinant[s] = nan_value;
    block_.perturbation[s] = nan_value;
  }
  SolveSet set_;
  SpdBlock<float> block_;
  double floor_ = 0;
};

TEST_F(VerifySystems, RightAnswersAgree) {
  for (const Verdict v : verify(set_, block_, 0, 1, everything, 2).verdict) EXPECT_EQ(v, Verdict::agreed);
}

TEST_F(VerifySystems, WrongAnswersDisagreeAndNameTheSystem) {
  const std::vector<std::pair<float, float>> wrong{{nan_value, 2}, {1, INFINITY}, {-1, 2},
                                                   {2, 1},         {0, 0},        {1, 2.0001F}};
  for (const auto& [x0, x1] : wrong) {
    block_.x[4] = x0;
    block_.x[5] = x1;
    const Verdicts verdicts = verify(set_, block_, 0, 1, everything, 2);
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
  spoiled([&] { block_.perturbation[0] = 0; });
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
  wrong("perturbation", block_.perturbation, std::vector{nan_value, 1e-9F, -1e-9F, infinity});
}

TEST_F(VerifySystems, BackwardErrorsInDoublePrecisionAreVerifiedToAPartOfThemselves) {
  // A x = b, 3x3. Its solution in double precision has a residual, so the stored error is about half a roundoff.
  SolveSet set;
  set.name = "s";
  set.batch = 1;
  set.shape = {3, 1, Storage::dense};
  set.type = ScalarType::float64;
  SpdBlock<double> block;
  block.resize(set.shape, 1);
  std::copy_n(std::array{4.0, 1.0, 1.0 / 3, 1.0, 3.0, 0.1, 1.0 / 3, 0.1, 2.0}.begin(), 9, block.a.begin());
  std::copy_n(std::array{1.0, 2.0, 1.0 / 7}.begin(), 3, block.b.begin());
  make_spd_solver({BackendKind::reference})->solve(block.batch(), block.solution());
  const double right = block.backward_error[0];
  ASSERT_GT(right, 0.01 * 0x1p-53);
  const auto verdict = [&](double value) {
    block.backward_error[0] = value;
    return verify(set, block, 0, 1, everything, 1).verdict[0];
  };
  EXPECT_EQ(verdict(right), Verdict::agreed);
  for (const double wrong : {0.0, 0.5 * right, 1.5 * right, 1.1 * right + 5 * 0x1p-53, right + 0x1p-53})
    EXPECT_EQ(verdict(wrong), Verdict::disagreed) << wrong;
  // Results before format 1.3 lack the perturbation. Their residuals were computed in double precision, so the bound is
  // wider.
  block.perturbation.clear();
  EXPECT_EQ(verdict(right + 0x1p-54), Verdict::agreed);
}

TEST_F(VerifySystems, LogDeterminantsFarFromOneAreRight) {
  // ln det A = ln d + e ln 2 is rounded twice: in the stored number and in the referee's number. The bound must allow
  // both.
  for (int k = -300; k <= 300; k += 7) {
    SolveSet set;
    set.batch = 40;
    set.shape = {1, 0, Storage::dense, true};
    set.type = ScalarType::float64;
    SpdBlock<double> block;
    block.resize(set.shape, 40);
    for (int s = 0; s < 40; ++s) block.a[static_cast<std::size_t>(s)] = std::ldexp(1 + s / 41.0 + 1e-3, k);
    make_spd_solver({BackendKind::cpu})->solve(block.batch(), block.solution());
    for (const Verdict verdict : verify(set, block, 0, 1, everything, 1).verdict)
      EXPECT_EQ(verdict, Verdict::agreed) << k;
    block.log_determinant[3] += 8 * 0x1p-53 * std::abs(block.log_determinant[3]) + 0x1p-47;
    EXPECT_EQ(verify(set, block, 0, 1, everything, 1).verdict[3], Verdict::disagreed);
  }
}

TEST_F(VerifySystems, RepairedSystemsAreVerifiedByTheRepairedMatrix) {
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
  block_.perturbation[1] = static_cast<float>(floor_);
  EXPECT_EQ(verdict_of(1), Verdict::agreed);
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
  for (const float wrong : {0.0F, 0.99F * static_cast<float>(floor_), 1.0F, nan_value}) {
    block_.perturbation[1] = wrong;
    EXPECT_EQ(verdict_of(1), Verdict::disagreed) << wrong;
  }
  block_.perturbation[1] = static_cast<float>(floor_);
  block_.repaired[1] = 0;
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
  block_.repaired[1] = 1;
  block_.backward_error[1] = 0;  // right for the repaired matrix, but the error must be that of A as given
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
  block_.backward_error[1] = static_cast<float>(floor_ / 4);
  floor_ *= 2;
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
  floor_ = 0;
  EXPECT_EQ(verdict_of(1), Verdict::disagreed);
}

TEST_F(VerifySystems, ResultsWithoutNumbersAreVerifiedByTheirAnswers) {
  block_.rcond.clear();
  block_.smallest_pivot.clear();
  block_.log_determinant.clear();
  block_.repaired.clear();
  block_.perturbation.clear();
  EXPECT_EQ(verdict_of(0), Verdict::agreed);
  block_.x[0] = -1;
  EXPECT_EQ(verdict_of(0), Verdict::disagreed);
}

TEST_F(VerifySystems, TheDeterminantAloneIsVerified) {
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
  block_.info[3] = 2;  // the numbers of a failed system do not count
  SetOutcome outcome = start_outcome(set_);
  outcome.count_numbers(block_);
  EXPECT_EQ(outcome.worst_backward_error, 2);
  EXPECT_EQ(outcome.smallest_rcond, 0.125);
  EXPECT_EQ(outcome.repaired_pivots, 3);
  EXPECT_EQ(outcome.repaired_systems, 2);
  for (const std::size_t s : {0, 1, 2}) {  // a NaN counts as the worst number, in any system
    block_.backward_error = {0, 0, 0, 0};
    block_.backward_error[s] = block_.rcond[s] = nan_value;
    SetOutcome spoiled = start_outcome(set_);
    spoiled.count_numbers(block_);
    EXPECT_TRUE(std::isnan(spoiled.worst_backward_error.value()));
    EXPECT_TRUE(std::isnan(spoiled.smallest_rcond.value()));
  }
  EXPECT_FALSE(start_outcome(set_).worst_backward_error.has_value());
}

TEST_F(VerifySystems, TheRulesSentenceIsTheReferees) {
  for (const ScalarType type : {ScalarType::float32, ScalarType::float64})
    for (const SpdShape& shape :
         {SpdShape{2, 1, Storage::dense}, {2, 0, Storage::dense}, {2, 0, Storage::dense, true}}) {
      set_.shape = shape;
      set_.type = type;
      EXPECT_EQ(start_outcome(set_).verification.criterion, spd_criterion(shape, type));
    }
}

TEST_F(VerifySystems, ASampleIsSpreadEvenly) {
  const Verdicts verdicts = verify(set_, block_, 0, 1, {VerifyMode::Kind::sample, 2}, 1);
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
  Verdicts verdicts_of_block() {
    points_ = 0;
    return verify(set_, block_, PotentialOptions{}, everything, 2, points_);
  }
  PotentialSet set_;
  PotentialBlock<float> block_;
  std::int64_t points_ = 0;
};

TEST_F(VerifyPotential, TheRulesSentenceIsTheReferees) {
  for (const bool is_more : {false, true})
    for (const ScalarType type : {ScalarType::float32, ScalarType::float64}) {
      set_.has_field = set_.has_groups = is_more;
      set_.softening = set_.cutoff = is_more ? 2 : 0;
      const PotentialOptions options{Singular::infinite, 1, set_.softening, set_.cutoff};
      EXPECT_EQ(start_outcome(set_, type).verification.criterion,
                potential_criterion(options, type, is_more, is_more) + "; V_min, V_max and V_mean are those of V");
    }
}

TEST_F(VerifyPotential, RightValuesAgree) {
  EXPECT_EQ(verdicts_of_block().verdict[0], Verdict::agreed);
  EXPECT_EQ(points_, 6);
}

TEST_F(VerifyPotential, OneWrongValueAnywhereDisagrees) {
  const AlignedVector<float> right = block_.potential;
  for (std::size_t i = 0; i < right.size(); ++i)
    for (const float wrong : {-right[i], nan_value, INFINITY, right[i] * 1.00001F, 0.0F}) {
      block_.potential = right;
      block_.potential[i] = wrong;
      EXPECT_EQ(verdicts_of_block().verdict[0], Verdict::disagreed) << "point " << i << " = " << wrong;
    }
}

TEST_F(VerifyPotential, AStatusMustFitTheCharges) {
  block_.info[0] = info_charges_not_finite;
  EXPECT_EQ(verdicts_of_block().verdict[0], Verdict::disagreed);  // the charges are valid
  std::fill(block_.potential.begin(), block_.potential.end(), nan_value);
  EXPECT_EQ(verdicts_of_block().verdict[0], Verdict::disagreed);
  block_.position[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(verdicts_of_block().verdict[0], Verdict::agreed);  // the referee refuses the charges, too
  block_.info[0] = 0;
  EXPECT_EQ(verdicts_of_block().verdict[0], Verdict::disagreed);
}

TEST_F(VerifyPotential, TheNumberOfChargesOnPointsMustBeRight) {
  block_.info[0] = 1;
  EXPECT_EQ(verdicts_of_block().verdict[0], Verdict::disagreed);
}

TEST_F(VerifyPotential, AProblemInTwoBlocksIsCountedOnce) {
  for (const bool fails : {false, true}) {
    if (fails) {
      block_.position[0] = nan_value;
      block_.info[0] = info_charges_not_finite;
      std::fill(block_.potential.begin(), block_.potential.end(), nan_value);
    }
    PotentialTally<float> tally(set_, PotentialOptions{}, everything, 1);
    for (const std::int64_t plane : {0, 1}) {
      PotentialBlock<float> part = block_;
      part.first_plane = plane;
      part.plane_count = 1;
      part.potential = {block_.potential.begin() + 3 * plane, block_.potential.begin() + 3 * plane + 3};
      tally.count(part, tally.verify(part));
    }
    const double lowest = fails ? nan_value : block_.potential[5], highest = fails ? nan_value : 1;
    double mean = 0;
    for (const float v : block_.potential) mean += v / 6.0;
    tally.finish({{lowest}, {highest}, {mean}});
    EXPECT_EQ(tally.verdicts().verdict[0], Verdict::agreed);
    EXPECT_EQ(tally.outcome.verification.checked, 1);
    EXPECT_EQ(tally.outcome.values_checked, 6);
    EXPECT_EQ(tally.outcome.failed_count(), fails ? 1 : 0);
    EXPECT_EQ(tally.outcome.potential_range.has_value(), !fails);
  }
}

/// In this unit, V of the first point is beyond single precision, and V of the second is just within it.
class VerifyPotentialOutOfRange : public VerifyPotential {
 protected:
  VerifyPotentialOutOfRange() {
    options_.unit_factor = 1.5 * static_cast<double>(std::numeric_limits<float>::max());
    for (float& v : block_.potential) v = static_cast<float>(options_.unit_factor * v);
    block_.info = {info_values_out_of_range};
  }
  Verdict verdict(VerifyMode mode = everything) { return verify(set_, block_, options_, mode, 1, points_).verdict[0]; }
  PotentialOptions options_;
};

TEST_F(VerifyPotentialOutOfRange, InfinitiesOfTheRightSignAgree) {
  ASSERT_EQ(block_.potential[0], INFINITY);
  ASSERT_TRUE(std::isfinite(block_.potential[1]));
  EXPECT_EQ(verdict(), Verdict::agreed);
  block_.info[0] = 0;
  EXPECT_EQ(verdict(), Verdict::disagreed);
}

TEST_F(VerifyPotentialOutOfRange, AnythingElseDisagrees) {
  for (const float wrong : {-INFINITY, nan_value, std::numeric_limits<float>::max(), 0.0F}) {
    block_.potential[0] = wrong;
    EXPECT_EQ(verdict(), Verdict::disagreed) << wrong;
  }
}

TEST_F(VerifyPotentialOutOfRange, AnInfinityWithinTheRangeDisagrees) {
  block_.potential[1] = INFINITY;
  EXPECT_EQ(verdict(), Verdict::disagreed);
}

TEST_F(VerifyPotentialOutOfRange, AtTheEdgeBothAnswersAgree) {
  // V of the first point is within its error bound of the largest float, so both statuses and both values are right.
  for (const double part : {1 - 5e-8, 1.0, 1 + 5e-8}) {
    options_.unit_factor = part * static_cast<double>(std::numeric_limits<float>::max());
    for (const int z : {0, 1})
      for (const int x : {1, 2, 3})
        block_.potential[static_cast<std::size_t>(3 * z + x - 1)] =
            static_cast<float>(options_.unit_factor / std::sqrt(x * x + z * z));
    for (const float first : {std::numeric_limits<float>::max(), INFINITY})
      for (const std::int32_t info : {0, info_values_out_of_range}) {
        block_.potential[0] = first;
        block_.info[0] = info;
        EXPECT_EQ(verdict(), Verdict::agreed) << part << " " << first << " " << info;
      }
  }
}

TEST_F(VerifyPotentialOutOfRange, PointsAreVerifiedByTheirValues) {
  set_.targets = block_.targets = TargetKind::points;
  set_.point_offset = block_.point_offset = {0, 7};
  for (const int z : {0, 1})
    for (const int x : {1, 2, 3}) block_.point.insert(block_.point.end(), {double(x), 0, double(z)});
  block_.point.insert(block_.point.end(), {0, 0, 0});  // on the charge
  block_.potential.push_back(INFINITY);
  const VerifyMode first_point{VerifyMode::Kind::sample, 1};
  for (const VerifyMode& mode : {everything, first_point}) {
    block_.info[0] = info_values_out_of_range;
    EXPECT_EQ(verdict(mode), Verdict::agreed);
    block_.info[0] = 1;
    EXPECT_EQ(verdict(mode), Verdict::disagreed);
  }
  options_.unit_factor /= 2;  // all values are in range, except V of the target on the charge
  for (std::size_t i = 0; i < 6; ++i)
    block_.potential[i] =
        static_cast<float>(options_.unit_factor / std::hypot(block_.point[3 * i], block_.point[3 * i + 2]));
  for (const VerifyMode& mode : {everything, first_point}) {
    block_.info[0] = 1;
    EXPECT_EQ(verdict(mode), Verdict::agreed);
  }
  block_.info[0] = info_values_out_of_range;
  EXPECT_EQ(verdict(), Verdict::disagreed);
  block_.info[0] = 1;
  block_.potential[3] = INFINITY;  // the sample does not have this point
  EXPECT_EQ(verdict(first_point), Verdict::disagreed);
}

/// Two lattices of 100 x 50 x 2 points, each with one charge on its first point.
class VerifyManyPoints : public ::testing::Test {
 protected:
  VerifyManyPoints() {
    set_.name = "p";
    set_.batch = block_.count = 2;
    set_.offset = block_.offset = {0, 1, 2};
    set_.shape = block_.shape = {100, 50, 2};
    block_.plane_count = 2;
    block_.position = {0, 0, 0, 0, 0, 0};
    block_.charge = {1, -1};
    block_.origin = {0, 0, 0, 0, 0, 0};
    block_.spacing = {1, 1, 1, 1, 1, 1};
    block_.info = {1, 1};
    for (const float charge : {1.0F, -1.0F})
      for (const int z : {0, 1})
        for (int y = 0; y < 50; ++y)
          for (int x = 0; x < 100; ++x)
            block_.potential.push_back(static_cast<float>(charge / std::sqrt(x * x + y * y + z * z)));
  }
  PotentialSet set_;
  PotentialBlock<float> block_;
  std::int64_t points_ = 0;
};

TEST_F(VerifyManyPoints, OneWrongValueInAnyPieceDisagrees) {
  for (const std::size_t i : {1, 31, 32, 4095, 4096, 4097, 9999, 10001, 14096, 19999}) {
    const float right = block_.potential[i];
    block_.potential[i] *= 1.0001F;
    const Verdicts verdicts = verify(set_, block_, PotentialOptions{}, everything, 2, points_);
    EXPECT_EQ(verdicts.verdict[0], i < 10000 ? Verdict::disagreed : Verdict::agreed) << i;
    EXPECT_EQ(verdicts.verdict[1], i < 10000 ? Verdict::agreed : Verdict::disagreed) << i;
    block_.potential[i] = right;
  }
}

// With one thread, each piece is reported separately. With several threads, a thread leaves its pairs to the next
// report if another thread is reporting. So the number of reports then depends on the scheduler.
TEST_F(VerifyManyPoints, AllPairsAreReportedInParts) {
  for (const unsigned threads : {1U, 2U})
    for (const auto& [mode, least_parts] : {std::pair{everything, threads == 1 ? 4 : 1},
                                            {VerifyMode{VerifyMode::Kind::sample, 7}, 1},
                                            {VerifyMode{VerifyMode::Kind::none, 0}, 1}}) {
      double reported = 0;
      int parts = 0;
      verify(set_, block_, PotentialOptions{}, mode, threads, points_, [&](double pairs) {
        EXPECT_GE(pairs, 0);
        reported += pairs;
        ++parts;
      });
      EXPECT_DOUBLE_EQ(reported, 20000);
      EXPECT_GE(parts, least_parts);
    }
}

using VerifyManyPointsDeathTest = VerifyManyPoints;

TEST_F(VerifyManyPointsDeathTest, AnInterruptionIsNoticedBetweenParts) {
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);  // a background job of a shell ignores SIGINT until it is reset
        catch_interruptions();
        double reported = 0;
        try {
          verify(set_, block_, PotentialOptions{}, everything, 1, points_, [&](double pairs) {
            reported += pairs;
            std::raise(SIGINT);
          });
        } catch (const Error& error) {
          std::exit(error.kind() == ErrorKind::interrupted && reported > 0 && reported < 10000 ? 0 : 1);
        }
        std::exit(2);
      },
      ::testing::ExitedWithCode(0), "");
}

/// Charges of 1 and -2 on the x axis at 0 and 2. The first problem has both charges and the points (1, 0, 0) and (5, 0,
/// 0). The second has charges without points. The third has the first charge only, and the point (0, 3, 0).
class VerifyPoints : public ::testing::Test {
 protected:
  VerifyPoints() {
    set_.name = "p";
    set_.batch = block_.count = 3;
    set_.targets = block_.targets = TargetKind::points;
    set_.has_field = set_.has_groups = true;
    set_.offset = block_.offset = {0, 2, 3, 4};
    set_.point_offset = block_.point_offset = {0, 2, 2, 3};
    block_.position = {0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0};
    block_.charge = {1, -2, 1, 1};
    block_.group = {1, 2, 1, 1};
    block_.wants_energy = true;
    block_.point = {1, 0, 0, 5, 0, 0, 0, 3, 0};
    block_.resize_results(true);
    block_.potential = {-1, 1.0F / 5 - 2.0F / 3, 1.0F / 3};
    // The field points toward the charge of -2, and away from the charge of 1.
    block_.field = {3, 0, 0, 1.0F / 25 - 2.0F / 9, 0, 0, 0, 1.0F / 9, 0};
    block_.energy = {-1, 0, 0};
  }
  Verdicts verdicts_of_block() {
    points_ = 0;
    return verify(set_, block_, options_, everything, 2, points_);
  }
  PotentialSet set_;
  PotentialBlock<float> block_;
  PotentialOptions options_;
  std::int64_t points_ = 0;
};

TEST_F(VerifyPoints, RightValuesAgree) {
  const Verdicts verdicts = verdicts_of_block();
  for (const Verdict v : verdicts.verdict) EXPECT_EQ(v, Verdict::agreed);
  EXPECT_EQ(points_, 3);
}

TEST_F(VerifyPoints, OneWrongNumberDisagreesAndNamesTheProblem) {
  const auto wrong_in = [&](auto& numbers, const std::vector<std::size_t>& problem_of) {
    const auto right = numbers;
    for (std::size_t i = 0; i < right.size(); ++i)
      for (const auto wrong : {right[i] + 1e-5, static_cast<double>(nan_value), static_cast<double>(INFINITY)}) {
        numbers = right;
        numbers[i] = static_cast<std::remove_reference_t<decltype(numbers[i])>>(wrong);
        const Verdicts verdicts = verdicts_of_block();
        for (std::size_t p = 0; p < 3; ++p)
          EXPECT_EQ(verdicts.verdict[p], p == problem_of[i] ? Verdict::disagreed : Verdict::agreed)
              << i << " " << wrong;
      }
    numbers = right;
  };
  wrong_in(block_.potential, {0, 0, 2});
  wrong_in(block_.field, {0, 0, 0, 0, 0, 0, 2, 2, 2});
  wrong_in(block_.energy, {0, 1, 2});
  block_.info[1] = 1;  // of the problem without points
  EXPECT_EQ(verdicts_of_block().verdict[1], Verdict::disagreed);
}

TEST_F(VerifyPoints, AFieldIsNoNumberWhereThePotentialIsInfiniteAndNowhereElse) {
  block_.point[6] = block_.point[7] = block_.point[8] = 0;  // on the charge
  block_.info[2] = 1;
  block_.potential[2] = INFINITY;
  block_.field[6] = block_.field[7] = block_.field[8] = nan_value;
  EXPECT_EQ(verdicts_of_block().verdict[2], Verdict::agreed);
  block_.field[7] = 0;
  EXPECT_EQ(verdicts_of_block().verdict[2], Verdict::disagreed);
  options_.singular = Singular::skip;
  block_.potential[2] = block_.field[6] = block_.field[8] = 0;
  EXPECT_EQ(verdicts_of_block().verdict[2], Verdict::agreed);
  block_.field[7] = nan_value;
  EXPECT_EQ(verdicts_of_block().verdict[2], Verdict::disagreed);
}

TEST_F(VerifyPoints, ASampleChecksThatManyPointsAndEnergies) {
  const VerifyMode one{VerifyMode::Kind::sample, 1};
  Verdicts verdicts = verify(set_, block_, options_, one, 1, points_);
  EXPECT_EQ(points_, 1);
  EXPECT_EQ(verdicts.verdict[0], Verdict::agreed);
  EXPECT_EQ(verdicts.verdict[1], Verdict::not_checked);
  EXPECT_EQ(verdicts.verdict[2], Verdict::not_checked);
  block_.energy[0] = 1;
  verdicts = verify(set_, block_, options_, one, 1, points_);
  EXPECT_EQ(verdicts.verdict[0], Verdict::disagreed);
}

TEST_F(VerifyPoints, ABlockIsAPartOfTheSet) {
  PotentialBlock<float> last;
  last.targets = TargetKind::points;
  last.first = 2;
  last.count = 1;
  last.offset = last.point_offset = {0, 1};
  last.position = {0, 0, 0};
  last.charge = {1};
  last.group = {1};
  last.wants_energy = true;
  last.point = {0, 3, 0};
  last.resize_results(true);
  last.potential = {1.0F / 3};
  last.field = {0, 1.0F / 9, 0};
  EXPECT_EQ(verify(set_, last, options_, everything, 1, points_).verdict.at(0), Verdict::agreed);
  last.potential = {1.0F / 4};
  EXPECT_EQ(verify(set_, last, options_, everything, 1, points_).verdict.at(0), Verdict::disagreed);
}

/// Three problems. V is (1, 2, infinity) in the first, (3, infinity, -6) in the second, and NaN in the third. The
/// second problem is cut into two blocks of planes.
class VerifyStatistics : public ::testing::Test {
 protected:
  VerifyStatistics() {
    add(0, 0, {1, 2, INFINITY});
    add(1, 0, {3, INFINITY});
    add(1, 2, {-6});
    add(2, 0, {nan_value, nan_value, nan_value});
  }
  void add(std::int64_t problem, std::int64_t plane, const std::vector<float>& values) {
    PotentialBlock<float> block;
    block.shape = {1, 1, 3};
    block.first = problem;
    block.count = 1;
    block.first_plane = plane;
    block.plane_count = static_cast<std::int64_t>(values.size());
    block.potential.assign(values.begin(), values.end());
    referee_.add(block);
  }
  StatisticsReferee referee_{3};
  PotentialStatistics right_{{1, -6, std::nan("")}, {2, 3, std::nan("")}, {1.5, -1.5, std::nan("")}};
};

TEST_F(VerifyStatistics, PartsAddUp) {
  StatisticsOfSet found(3);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const PotentialSummary none{infinity, -infinity, 0, 0};
  found.add(0, 1, std::vector<PotentialSummary>{{2, 2, 2, 1}, {1, 1, 1, 1}, none});  // three planes of problem 0
  found.add(1, 2, std::vector<PotentialSummary>{{3, 3, 3, 1}, none, none, none});    // two planes of problems 1 and 2
  found.add(1, 1, std::vector<PotentialSummary>{{-6, -6, -6, 1}});
  const PotentialStatistics statistics = found.statistics();
  for (std::size_t p = 0; p < 2; ++p) {
    EXPECT_EQ(statistics.lowest[p], right_.lowest[p]);
    EXPECT_EQ(statistics.highest[p], right_.highest[p]);
    EXPECT_EQ(statistics.mean[p], right_.mean[p]);
  }
  EXPECT_TRUE(std::isnan(statistics.lowest[2]) && std::isnan(statistics.highest[2]) && std::isnan(statistics.mean[2]));
}

TEST(StatisticsOfSet, DoNotDependOnHowPlanesWereCut) {
  // A plain running sum would lose the planes after 1e16. StatisticsOfSet adds the rounding errors, so every cut gives
  // one mean.
  std::vector<PotentialSummary> planes;
  for (const double sum : {1e16, 1.0, 1.0, 1.0, -1e16, 0.1, 0.2, 0.3}) planes.push_back({sum, sum, sum, 1});
  std::vector<double> means;
  for (const std::size_t cut : {8, 1, 3, 5}) {
    StatisticsOfSet found(1);
    for (std::size_t first = 0; first < planes.size(); first += cut)
      found.add(0, 1, std::span(planes).subspan(first, std::min(cut, planes.size() - first)));
    means.push_back(found.statistics().mean[0]);
  }
  for (const double mean : means) EXPECT_EQ(mean, means[0]);
  EXPECT_DOUBLE_EQ(means[0], 3.6 / 8);
}

TEST_F(VerifyStatistics, RightOnesAgreeAndMakeNoProblemChecked) {
  Verdicts verdicts(3);
  verify_statistics(right_, referee_, verdicts);
  for (const Verdict v : verdicts.verdict) EXPECT_EQ(v, Verdict::not_checked);
  verdicts.add(1, 0.5);
  verify_statistics(right_, referee_, verdicts);
  EXPECT_EQ(verdicts.verdict[1], Verdict::agreed);
}

/// Values of three problems, with infinities. The second problem is longer than the part that a thread sums at a time.
class VerifyStatisticsOfMany : public ::testing::Test {
 protected:
  static constexpr std::int64_t ends[] = {0, 70000, 300001, 300011};
  VerifyStatisticsOfMany() {
    block_.targets = TargetKind::points;
    block_.count = 3;
    block_.point_offset.assign(std::begin(ends), std::end(ends));
    for (std::int64_t i = 0; i < ends[3]; ++i)
      block_.potential.push_back(i % 1009 == 1008 ? INFINITY : std::sin(static_cast<float>(i)) + 0.25F);
  }
  /// Returns whether the referee agrees with `statistics` for every number of threads.
  bool agree(const PotentialStatistics& statistics) const {
    bool all = true;
    for (const unsigned threads : {1, 2, 5}) {
      StatisticsReferee referee(3);
      referee.add(block_, threads);
      for (std::int64_t p = 0; p < 3; ++p) all = all && referee.largest_error_over_bound(statistics, p) <= 1;
    }
    return all;
  }
  PotentialStatistics found() const {
    PotentialStatistics statistics;
    for (std::size_t p = 0; p < 3; ++p) {
      double lowest = HUGE_VAL, highest = -HUGE_VAL;
      long double sum = 0;
      std::int64_t values = 0;
      for (std::int64_t i = ends[p]; i < ends[p + 1]; ++i) {
        const double v = block_.potential[static_cast<std::size_t>(i)];
        if (!std::isfinite(v)) continue;
        lowest = std::min(lowest, v);
        highest = std::max(highest, v);
        sum += v;
        ++values;
      }
      statistics.lowest.push_back(lowest);
      statistics.highest.push_back(highest);
      statistics.mean.push_back(static_cast<double>(sum / static_cast<long double>(values)));
    }
    return statistics;
  }
  PotentialBlock<float> block_;
};

TEST_F(VerifyStatisticsOfMany, EveryValueCounts) {
  const PotentialStatistics before = found();
  EXPECT_TRUE(agree(before));
  for (const std::size_t i :
       {0, 15, 16, 2047, 2048, 65535, 65536, 69999, 70000, 131071, 200000, 300000, 300001, 300010})
    for (const float extreme : {-3.0F, 3.0F}) {
      const float kept = block_.potential[i];
      block_.potential[i] = extreme;
      EXPECT_FALSE(agree(before)) << i;
      EXPECT_TRUE(agree(found())) << i;
      block_.potential[i] = kept;
    }
}

TEST_F(VerifyStatisticsOfMany, AWrongMeanDisagrees) {
  for (std::size_t p = 0; p < 3; ++p) {
    PotentialStatistics wrong = found();
    wrong.mean[p] *= 1 + 1e-9;
    EXPECT_FALSE(agree(wrong)) << p;
  }
}

TEST_F(VerifyStatistics, WrongOnesDisagree) {
  for (auto* numbers : {&right_.lowest, &right_.highest, &right_.mean})
    for (std::size_t p = 0; p < 3; ++p)
      for (const double wrong : {std::nextafter((*numbers)[p], 100) + 1e-12, std::nan(""), HUGE_VAL, 0.0}) {
        const double kept = (*numbers)[p];
        if (std::isnan(kept) && std::isnan(wrong)) continue;
        (*numbers)[p] = wrong;
        Verdicts verdicts(3);
        verify_statistics(right_, referee_, verdicts);
        if (!(std::isnan(kept) && std::isnan((*numbers)[p]))) {
          EXPECT_EQ(verdicts.verdict[p], Verdict::disagreed) << p << " " << wrong;
        }
        (*numbers)[p] = kept;
      }
}

TEST(Verdicts, AHairAboveTheBoundStaysADisagreement) {
  Verdicts whole(1), part(1);
  part.add(0, 1 + 1e-12);  // rounds to 1 as a float
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
