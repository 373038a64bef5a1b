// The referee must not accept wrong answers, and must find the right ones right.
#include "solvers/spd_referee.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
class SpdReferee : public ::testing::Test {
 public:
  /// A = diag-dominant integers of size n, x = 1, 2, 3, ...: exact in float.
  void make(int n, int nrhs) {
    shape_ = {n, nrhs, Storage::dense};
    a_.assign(n * n, 1);
    for (int i = 0; i < n; ++i) a_[i * n + i] = static_cast<T>(n + 1);
    b_.assign(n * nrhs, 0);
    x_.assign(n * nrhs, 0);
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < nrhs; ++c) {
        x_[i * nrhs + c] = static_cast<T>(1 + i + 2 * c);
        for (int j = 0; j < n; ++j) b_[i * nrhs + c] += a_[i * n + j] * static_cast<T>(1 + j + 2 * c);
      }
  }
  SpdJudgement judge(std::int32_t info = 0) {
    return judge_spd_solution(shape_, a_.data(), b_.data(), x_.data(), info);
  }
  void expect_refused(const char* what) {
    const SpdJudgement judgement = judge();
    EXPECT_EQ(judgement.info, 0) << what;
    EXPECT_FALSE(judgement.residual_ratio < spd_ratio_limit) << what;
    EXPECT_FALSE(judgement.forward_ratio < spd_ratio_limit) << what;
  }
  static constexpr double u = std::numeric_limits<T>::epsilon() / 2;
  SpdShape shape_;
  std::vector<T> a_, b_, x_;
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpdReferee, Scalars);

TYPED_TEST(SpdReferee, AcceptsTheExactAnswer) {
  for (const int n : {1, 5, 32}) {
    this->make(n, 3);
    const SpdJudgement judgement = this->judge();
    EXPECT_EQ(judgement.info, 0);
    EXPECT_EQ(judgement.residual_ratio, 0);
    EXPECT_LT(judgement.forward_ratio, 1);
    // A = n I + J: ||A||_1 = 2n; A^-1 = (I - J/(2n)) / n: ||A^-1||_1 = (1 - 1/(2n) + (n-1)/(2n)) / n.
    const double inverse_norm = (1 - 1.0 / (2 * n) + (n - 1.0) / (2 * n)) / n;
    EXPECT_NEAR(judgement.rcond, 1 / (2 * n * inverse_norm), 1e-12);
  }
}

TYPED_TEST(SpdReferee, RatiosFollowTheirFormulas) {
  // A = 2 I (n = 4), b = (2, 2, 2, 2), x = (1, 1, 1, 1 + d): residual 2d, ||A||_1 = 2, ||x||_1 = 4 + d, rcond 1.
  using T = TypeParam;
  this->shape_ = {4, 1, Storage::dense};
  this->a_ = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2};
  this->b_ = {2, 2, 2, 2};
  const double d = 64 * this->u;
  this->x_ = {1, 1, 1, static_cast<T>(1 + d)};
  const SpdJudgement judgement = this->judge();
  EXPECT_NEAR(judgement.residual_ratio, 2 * 64 / (2.0 * (4 + d)), 1e-9);
  EXPECT_NEAR(judgement.forward_ratio, 64, 1e-9);
  EXPECT_NEAR(judgement.rcond, 1, 1e-15);
  // Inverse: X = I/2 with one element off by d/2: ||I - AX||_1 = d, n ||A||_1 ||X||_1 = 4 * 2 * (1 + d)/2.
  this->shape_.nrhs = 0;
  this->x_.assign(16, 0);
  for (int i = 0; i < 4; ++i) this->x_[5 * i] = T(0.5);
  this->x_[10] = static_cast<T>(0.5 + d / 2);
  EXPECT_NEAR(this->judge().residual_ratio, 64 / (4 * (1 + d)), 1e-9);
  EXPECT_NEAR(this->judge().forward_ratio, 64, 1e-9);
}

TYPED_TEST(SpdReferee, RefusesWrongAnswers) {
  using T = TypeParam;
  for (const int n : {3, 32}) {
    const auto wrong = [&](const char* what, auto spoil) {
      this->make(n, 2);
      spoil(this->x_);
      this->expect_refused(what);
    };
    wrong("a NaN", [](auto& x) { x[4] = static_cast<T>(nan_value); });
    wrong("all NaN", [](auto& x) { x.assign(x.size(), static_cast<T>(nan_value)); });
    wrong("an infinity", [](auto& x) { x[1] = static_cast<T>(infinity); });
    wrong("a negative infinity", [](auto& x) { x[2] = static_cast<T>(-infinity); });
    wrong("a flipped sign", [](auto& x) { x[3] = -x[3]; });
    wrong("swapped entries", [](auto& x) { std::swap(x[0], x[2]); });
    wrong("zeros", [](auto& x) { x.assign(x.size(), 0); });
    wrong("every entry 2000 u too large", [this](auto& x) {
      for (T& value : x) value *= static_cast<T>(1 + 2000 * this->u);
    });
    wrong("the largest number", [](auto& x) { x[0] = std::numeric_limits<T>::max(); });
  }
}

TYPED_TEST(SpdReferee, RefusesWrongInverses) {
  using T = TypeParam;
  const auto right = [this] {
    this->make(4, 0);
    this->x_.assign(16, T(-1) / 32);  // (I - J/8) / 4
    for (int i = 0; i < 4; ++i) this->x_[5 * i] += T(1) / 4;
  };
  right();
  EXPECT_LT(this->judge().residual_ratio, 1);
  EXPECT_LT(this->judge().forward_ratio, 1);
  this->x_[7] = static_cast<T>(nan_value);
  this->expect_refused("a NaN");
  right();
  this->x_[7] = -this->x_[7];
  this->expect_refused("a flipped sign");
  this->x_.assign(16, 0);
  this->expect_refused("zeros");
}

TYPED_TEST(SpdReferee, HasItsOwnStatus) {
  using T = TypeParam;
  this->make(6, 1);
  this->a_[2 * 6 + 5] = static_cast<T>(nan_value);  // the upper triangle, which Eigen's LLT does not read
  EXPECT_EQ(this->judge().info, info_matrix_not_finite);
  EXPECT_TRUE(std::isnan(this->judge().residual_ratio));
  this->make(6, 1);
  this->a_[2 * 6 + 5] += T(0.01);
  EXPECT_EQ(this->judge().info, info_matrix_not_symmetric);
  this->make(6, 1);
  this->b_[5] = static_cast<T>(infinity);
  EXPECT_EQ(this->judge().info, info_rhs_not_finite);
  for (int k = 0; k < 6; ++k) {
    this->make(6, 1);
    this->a_[k * 6 + k] = -1;
    EXPECT_EQ(this->judge().info, k + 1);
  }
}

TYPED_TEST(SpdReferee, StatusMayDifferOnlyWhereRoundingDecides) {
  using T = TypeParam;
  constexpr ScalarType type = scalar_type_of<T>;
  this->make(6, 1);
  EXPECT_TRUE(same_status(0, this->judge(0), type, 6));
  EXPECT_FALSE(same_status(3, this->judge(3), type, 6)) << "a made-up failure";
  EXPECT_FALSE(same_status(info_matrix_not_finite, this->judge(info_matrix_not_finite), type, 6));
  EXPECT_FALSE(same_status(info_result_not_finite, this->judge(info_result_not_finite), type, 6));
  EXPECT_FALSE(same_status(99, this->judge(99), type, 6));
  this->a_[3 * 6 + 3] = -1;
  EXPECT_TRUE(same_status(4, this->judge(4), type, 6));
  EXPECT_FALSE(same_status(0, this->judge(0), type, 6)) << "a missed failure";
  EXPECT_FALSE(same_status(5, this->judge(5), type, 6)) << "the wrong pivot";

  // [1 1; 1 1 + delta]: the second pivot is delta.
  for (const double delta : {0.0, -2.0, 100.0, -100.0}) {
    this->shape_ = {2, 1, Storage::dense};
    this->a_ = {1, 1, 1, static_cast<T>(1 + delta * 2 * this->u)};
    this->b_ = {1, 1};
    this->x_ = {1, 0};
    const bool close = std::abs(delta) < 5;
    const std::int32_t truth = delta > 0 ? 0 : 2;
    EXPECT_EQ(this->judge().info, truth);
    EXPECT_TRUE(same_status(truth, this->judge(truth), type, 2));
    EXPECT_EQ(same_status(2 - truth, this->judge(2 - truth), type, 2), close) << "delta " << delta;
  }
}

TEST(SpdRefereeOverflow, AnOverflowThatIsRealIsAccepted) {
  const SpdShape shape{1, 1, Storage::dense};
  const float a = 1e-30F, b = 1e30F, x = static_cast<float>(nan_value);
  const SpdJudgement judgement = judge_spd_solution(shape, &a, &b, &x, info_result_not_finite);
  EXPECT_TRUE(same_status(info_result_not_finite, judgement, ScalarType::float32, 1));
  const float small = 1;
  EXPECT_FALSE(same_status(info_result_not_finite, judge_spd_solution(shape, &a, &small, &x, info_result_not_finite),
                           ScalarType::float32, 1));
}

}  // namespace
}  // namespace smallbatch::testing
