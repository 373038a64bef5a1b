// The comparison of answers with their bounds, tested with wrong answers.
#include "core/compare.hpp"
#include "core/not_finite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace smallbatch {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST(Within, AcceptsErrorsUpToTheBound) {
  EXPECT_TRUE(within(0, 0));
  EXPECT_TRUE(within(1, 1));
  EXPECT_TRUE(within(0.5, 1));
  EXPECT_FALSE(within(std::nextafter(1.0, 2.0), 1));
}

TEST(Within, NeverAcceptsNaNOrAnInfiniteBound) {
  EXPECT_FALSE(within(nan_value, 1));
  EXPECT_FALSE(within(0, nan_value));
  EXPECT_FALSE(within(1, infinity));
  EXPECT_FALSE(within(infinity, infinity));
  EXPECT_FALSE(within(infinity, 1));
}

TEST(ErrorOverBound, IsTheErrorInUnitsOfTheBound) {
  EXPECT_EQ(error_over_bound(3, 3, 0.5), 0);
  EXPECT_EQ(error_over_bound(4, 3, 0.5), 2);
  EXPECT_EQ(error_over_bound(2, 3, 0.5), 2);
  EXPECT_EQ(error_over_bound(-3, 3, 1), 6);  // the sign is flipped
}

TEST(ErrorOverBound, NaNIsInfinitelyWrong) {
  EXPECT_EQ(error_over_bound(nan_value, 1, 1), infinity);
  EXPECT_EQ(error_over_bound(1, nan_value, 1), infinity);
  EXPECT_EQ(error_over_bound(nan_value, nan_value, 1), infinity);
  EXPECT_EQ(error_over_bound(1, 2, nan_value), infinity);
}

TEST(ErrorOverBound, AnInfinityAgreesOnlyWithTheSameInfinity) {
  EXPECT_EQ(error_over_bound(infinity, infinity, 1), 0);
  EXPECT_EQ(error_over_bound(infinity, -infinity, 1), infinity);
  EXPECT_EQ(error_over_bound(infinity, 1, 1), infinity);
  EXPECT_EQ(error_over_bound(1, infinity, 1), infinity);
  EXPECT_EQ(error_over_bound(1, infinity, infinity), infinity);  // an infinite bound accepts no error
  EXPECT_EQ(error_over_bound(1, 2, infinity), infinity);
}

TEST(ErrorOverBound, ABoundOfZeroOrBelowWantsEquality) {
  EXPECT_EQ(error_over_bound(1, 1, 0), 0);
  EXPECT_EQ(error_over_bound(1, 1 + 1e-15, 0), infinity);
  EXPECT_EQ(error_over_bound(1, 2, -1), infinity);
}

class CompareWrongAnswers : public ::testing::Test {
 protected:
  [[nodiscard]] Comparison compare(const std::vector<double>& got) const {
    Comparison result;
    for (std::size_t i = 0; i < got.size(); ++i)
      result.add(error_over_bound(got[i], expected_[i], bound_[i]), static_cast<std::int64_t>(i));
    return result;
  }
  std::vector<double> expected_{1, -2, 3, -4};
  std::vector<double> bound_{1e-6, 1e-6, 1e-6, 1e-6};
};

TEST_F(CompareWrongAnswers, TheRightAnswerAgrees) {
  const Comparison result = compare(expected_);
  EXPECT_TRUE(result.agree());
  EXPECT_EQ(result.compared, 4);
  EXPECT_EQ(result.worst, 0);
}

TEST_F(CompareWrongAnswers, ANaN) {
  auto got = expected_;
  got[2] = nan_value;
  const Comparison result = compare(got);
  EXPECT_EQ(result.disagreeing, 1);
  EXPECT_EQ(result.worst, infinity);
  EXPECT_EQ(result.worst_index, 2);
}

TEST_F(CompareWrongAnswers, AnInfinity) {
  auto got = expected_;
  got[0] = infinity;
  EXPECT_EQ(compare(got).worst_index, 0);
  EXPECT_FALSE(compare(got).agree());
}

TEST_F(CompareWrongAnswers, AFlippedSign) {
  auto got = expected_;
  got[3] = -got[3];
  EXPECT_EQ(compare(got).disagreeing, 1);
}

TEST_F(CompareWrongAnswers, TwoSwappedEntries) {
  auto got = expected_;
  std::swap(got[0], got[1]);
  EXPECT_EQ(compare(got).disagreeing, 2);
}

TEST_F(CompareWrongAnswers, AllZero) { EXPECT_EQ(compare(std::vector<double>(4, 0.0)).disagreeing, 4); }

TEST(BoundText, IsTheNumberAsOneWritesIt) {
  EXPECT_EQ(bound_text(30), "30");
  EXPECT_EQ(bound_text(1.01), "1.01");
  EXPECT_EQ(bound_text(0.5), "0.5");
  EXPECT_EQ(bound_text(0x1p-22), "2^-22");
  EXPECT_EQ(bound_text(0x1p-53), "2^-53");
  EXPECT_EQ(bound_text(0x3p-24), "1.788139343e-07");
}

TEST(Comparison, MergeKeepsTheWorst) {
  Comparison a, b;
  a.add(0.5, 7);
  b.add(0.9, 8);
  b.add(nan_value, 9);
  a.merge(b);
  EXPECT_EQ(a.compared, 3);
  EXPECT_EQ(a.disagreeing, 1);
  EXPECT_EQ(a.worst_index, 9);
  EXPECT_EQ(a.worst, infinity);
}

}  // namespace
}  // namespace smallbatch
