// The referee must reject wrong answers and accept right ones. One file, because each rule is tested from both sides.
#include "solvers/spd_referee.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/not_finite.hpp"
#include "solvers/spd_families.hpp"
#include "solvers/spd_solver.hpp"
#include "tests/solvers/small_stack.hpp"

namespace smallbatch::testing {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

template <class T>
class SpdReferee : public ::testing::Test {
 public:
  /// Makes a diagonally dominant A of integers with size n, and x = 1, 2, 3, ...: exact in float.
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

TYPED_TEST(SpdReferee, ItsSentenceSaysWhereItsVerdictTurns) {
  using T = TypeParam;
  SpdBlock<T> block;  // the system of RatiosFollowTheirFormulas: forward ratio 64, and smaller other ratios
  block.resize({4, 1, Storage::dense}, 1);
  block.a = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2};
  block.b = {2, 2, 2, 2};
  block.x = {1, 1, 1, static_cast<T>(1 + 64 * this->u)};
  block.info = block.repaired = {0};
  block.perturbation = {0};
  block.backward_error = {static_cast<T>(
      judge_spd_solution(block.shape, block.a.data(), block.b.data(), block.x.data(), 0).backward_error)};
  block.rcond = {1};
  block.smallest_pivot = {2};
  block.log_determinant = {4 * std::log(2.0)};
  const std::string sentence = spd_criterion(block.shape, scalar_type_of<T>);
  const double limit = std::stod(sentence.substr(sentence.rfind("<= ") + 3));
  EXPECT_NEAR(spd_error_over_bound(block, 0, 0) * limit, 64, 1e-9);
  const int exponent = std::stoi(sentence.substr(sentence.rfind("u = 2^") + 6));
  EXPECT_EQ(std::ldexp(1, exponent), this->u);
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
    this->x_.assign(16, T(-1) / 32);  // A^-1 = (I - J/8) / 4
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

TYPED_TEST(SpdReferee, EitherStatusIsRightOnlyWhereRoundingDecidesOnSymmetry) {
  const auto type = scalar_type_of<TypeParam>;
  using T = TypeParam;
  // [3 1; 1 + k eps 3]: the allowed difference is n eps sqrt(3 3) = 6 eps.
  for (const int k : {0, 5, 6, 7, 100}) {
    this->shape_ = {2, 1, Storage::dense};
    this->a_ = {3, 1, static_cast<T>(1 + 2 * k * this->u), 3};
    this->b_ = {1, 1};
    this->x_ = {0.25, 0.25};
    EXPECT_EQ(same_status(0, this->judge(0), type, 2), k <= 6) << k << " eps";
    EXPECT_EQ(same_status(info_matrix_not_symmetric, this->judge(info_matrix_not_symmetric), type, 2), k >= 6)
        << k << " eps";
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

TYPED_TEST(SpdReferee, NoUnderflowIsMadeUpOfAnUncertainSolution) {
  // The matrices are [1 1; 1 1 + 2 u] and [1 1; 1 1], without and with a floor. No digit of a solution is certain, but
  // the solution is at least ||b|| / ||A||. So the status "underflowed" is right only if b is tiny.
  using T = TypeParam;
  constexpr ScalarType type = scalar_type_of<T>;
  const auto is_accepted = [&](const SpdShape& shape, double corner, double b_scale, double floor = 0) {
    const std::vector<T> a{1, 1, 1, static_cast<T>(corner)}, b{static_cast<T>(b_scale), 0};
    const std::vector<T> x(4, static_cast<T>(nan_value));
    const std::int32_t info = info_result_underflowed;
    return same_status(info, judge_spd_solution(shape, a.data(), b.data(), x.data(), info, floor), type, 2);
  };
  const SpdShape solution{2, 1, Storage::dense}, inverse{2, 0, Storage::dense}, determinant{2, 0, Storage::dense, true};
  const double least = std::numeric_limits<T>::denorm_min();
  for (const double floor : {0.0, this->u, 0x1p-7})
    for (const double corner : {1.0, 1 + 2 * this->u}) {
      SCOPED_TRACE(std::to_string(floor) + " " + std::to_string(corner));
      for (const double b : {1.0, 1e-30, 1e20, 0.0}) EXPECT_FALSE(is_accepted(solution, corner, b, floor)) << b;
      EXPECT_FALSE(is_accepted(inverse, corner, 0, floor));
      EXPECT_FALSE(is_accepted(determinant, corner, 0, floor));
    }
  for (const double corner : {1.0, 1 + 2 * this->u}) EXPECT_TRUE(is_accepted(solution, corner, 5 * least));
}

/// Returns a matrix of a family in the given storage.
template <class T>
std::vector<T> family_matrix(SpdFamily family, const SpdShape& shape, double condition = 100) {
  std::vector<T> a(static_cast<std::size_t>(shape.matrix_size()));
  generate_spd(family, shape, condition, 1, 0, 1, a.data(), static_cast<T*>(nullptr));
  return a;
}
template <class T>
SpdJudgement judge_numbers(const SpdShape& shape, const std::vector<T>& a, double pivot_floor = 0) {
  return judge_spd_solution<T>(shape, a.data(), nullptr, nullptr, 0, pivot_floor);
}

/// Expects that the true number lies within the bound, and that the bound is not too large.
void expect_truth(double found, double truth, double bound, double largest_bound, const char* what) {
  EXPECT_LE(std::abs(found - truth), bound) << what;
  EXPECT_GT(bound, 0) << what;
  EXPECT_LT(bound, largest_bound) << what;
}

TYPED_TEST(SpdReferee, NumbersOfMatricesWithClosedForms) {
  using T = TypeParam;
  for (const int n : {3, 31, 32, 33, 64, 128, 129, 256})
    for (const Storage storage : {Storage::dense, Storage::dense_lower, Storage::packed_lower}) {
      SCOPED_TRACE(n);
      const SpdShape shape{n, 0, storage, true};
      // min(i,j) = L L^T with ones below the diagonal; its inverse is tridiagonal, (-1, 2, -1), with a 1 in the corner.
      const SpdJudgement ones = judge_numbers(shape, family_matrix<T>(SpdFamily::min_ij, shape));
      EXPECT_EQ(ones.info, 0);
      expect_truth(ones.smallest_pivot, 1, ones.bounds.smallest_pivot, 1e6 * this->u, "min(i,j): pivot");
      // Nearly all of the bound is 30 u sum_k (sqrt(k) + sqrt(k - 1))^2, which is below 60 u n^2.
      expect_truth(ones.log_determinant, 0, ones.bounds.log_determinant, 61.0 * n * n * this->u,
                   "min(i,j): determinant");
      EXPECT_NEAR(ones.rcond, 1 / (4 * 0.5 * n * (n + 1)), 1e-13);
      EXPECT_LT(ones.bounds.rcond, 32 * this->u);
      EXPECT_EQ(ones.repaired, 0);
      EXPECT_FALSE(ones.undecided);
      // Lehmer's matrix: d_k = (2k - 1) / k^2, because det A_n = (2n)! / (2^n (n!)^3).
      const SpdJudgement lehmer = judge_numbers(shape, family_matrix<T>(SpdFamily::lehmer, shape));
      double log_determinant = 0;
      for (int k = 1; k <= n; ++k) log_determinant += std::log((2.0 * k - 1) / (1.0 * k * k));
      expect_truth(lehmer.smallest_pivot, (2.0 * n - 1) / (1.0 * n * n), lehmer.bounds.smallest_pivot, 1e6 * this->u,
                   "Lehmer: pivot");
      expect_truth(lehmer.log_determinant, log_determinant, lehmer.bounds.log_determinant, 3e6 * this->u,
                   "Lehmer: determinant");
    }
}

TYPED_TEST(SpdReferee, TheTruthIsAcceptedWhereItsOwnSolutionIsNot) {
  // Moler's matrix of size 50 has a condition number of about 4^50, so no program in double precision finds x = (1, 1,
  // ...). The referee must accept this x.
  const int n = 50;
  this->shape_ = {n, 1, Storage::dense};
  this->a_ = family_matrix<TypeParam>(SpdFamily::moler, {n, 0, Storage::dense});
  this->x_.assign(n, 1);
  this->b_.assign(n, 0);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) this->b_[i] += this->a_[i * n + j];
  EXPECT_LT(this->judge().rcond, this->u);
  EXPECT_EQ(this->judge().residual_ratio, 0);
  EXPECT_EQ(this->judge().forward_ratio, 0);
  this->x_[7] = static_cast<TypeParam>(nan_value);
  EXPECT_TRUE(std::isnan(this->judge().residual_ratio));
  EXPECT_TRUE(std::isnan(this->judge().forward_ratio));
  this->x_[7] = 1.5;
  EXPECT_GT(this->judge().residual_ratio, spd_ratio_limit);
}

TYPED_TEST(SpdReferee, NumbersFarFromOneAreRight) {
  // A = diag(s, 1 / s) with a large power of two s, so det A is 1. In float64, rcond = s^-2 underflows to 0.
  using T = TypeParam;
  const int e = std::numeric_limits<T>::max_exponent - 10;
  const std::vector<T> a{std::ldexp(T(1), e), 0, 0, std::ldexp(T(1), -e)};
  const SpdJudgement judgement = judge_numbers({2, 0, Storage::dense, true}, a);
  EXPECT_EQ(judgement.smallest_pivot, std::ldexp(1.0, -e));
  EXPECT_NEAR(judgement.log_determinant, 0, 1e-9);
  EXPECT_DOUBLE_EQ(judgement.rcond, std::ldexp(1.0, -2 * e));
}

TYPED_TEST(SpdReferee, BoundsHoldForEveryMatrixWithinRounding) {
  // The numbers of A + dA must lie within the bounds for A, if |dA_ij| = 30 u sqrt(a_ii a_jj). The numbers are computed
  // in double precision. Kernel matrices have a floor, which raises most of their pivots; all other matrices have none.
  // With a floor, u is that of double precision.
  using T = TypeParam;
  constexpr double first_order = 1.01;
  for (const int n : {2, 8, 32, 64, 97})
    for (const SpdFamily family :
         {SpdFamily::random, SpdFamily::graded, SpdFamily::kac_murdock_szego, SpdFamily::gaussian_kernel})
      for (const int sign : {-1, 1}) {
        SCOPED_TRACE(std::string(spd_family_name(family)) + " " + std::to_string(n));
        const SpdShape shape{n, 0, Storage::dense, true};
        const double floor = family == SpdFamily::gaussian_kernel ? 1e-3 : 0;
        // Large enough that dA is visible in double precision.
        const double size = floor > 0 ? 0x1p-50 : std::is_same_v<T, float> ? 0x1p-24 : 0x1p-44;
        const double scale = first_order * size / (floor > 0 ? 0x1p-53 : this->u);
        const std::vector<T> a = family_matrix<T>(family, shape, floor > 0 ? 1e8 : 100);
        std::vector<double> moved(a.begin(), a.end());
        for (int i = 0; i < n; ++i)
          for (int j = 0; j <= i; ++j) {
            const double root = std::sqrt(static_cast<double>(a[i * n + i]) * static_cast<double>(a[j * n + j]));
            moved[j * n + i] += ((i + j) % 3 == 0 ? -sign : sign) * 30 * size * root;
            moved[i * n + j] = moved[j * n + i];
          }
        const SpdJudgement bounds = judge_numbers(shape, a, floor), numbers = judge_numbers(shape, moved, floor);
        // The norm of dA may be larger than 30 u ||A||.
        double norm = 0, change = 0;
        for (int j = 0; j < n; ++j) {
          double column = 0, column_change = 0;
          for (int i = 0; i < n; ++i) {
            column += std::abs(static_cast<double>(a[i * n + j]));
            column_change += std::abs(moved[i * n + j] - static_cast<double>(a[i * n + j]));
          }
          norm = std::max(norm, column);
          change = std::max(change, column_change);
        }
        const double norm_scale = std::max(1.0, change / (30 * size * norm)) * scale;
        EXPECT_EQ(numbers.repaired > n / 2, floor > 0 && n >= 32);
        EXPECT_FALSE(bounds.undecided);
        EXPECT_EQ(numbers.repaired, bounds.repaired);
        EXPECT_LE(std::abs(numbers.perturbation - bounds.perturbation), scale * bounds.bounds.perturbation);
        EXPECT_LE(std::abs(numbers.rcond - bounds.rcond), norm_scale * bounds.bounds.rcond);
        EXPECT_LE(std::abs(numbers.smallest_pivot - bounds.smallest_pivot), scale * bounds.bounds.smallest_pivot);
        EXPECT_LE(std::abs(numbers.log_determinant - bounds.log_determinant), scale * bounds.bounds.log_determinant);
      }
}

TYPED_TEST(SpdReferee, BoundsAreNearlyReached) {
  // A + 30 u diag(A) is the farthest that A may move: ln det moves by 30 n u, and all pivots by 30 u of themselves.
  using T = TypeParam;
  const int n = 16;
  std::vector<T> a(n * n, 0);
  for (int i = 0; i < n; ++i) a[i * n + i] = static_cast<T>(i + 1);
  const SpdJudgement judgement = judge_numbers({n, 0, Storage::dense, true}, a);
  EXPECT_NEAR(judgement.bounds.log_determinant, 30 * n * this->u + (n + 3) * 0x1p-53 * std::lgamma(n + 1), this->u);
  EXPECT_NEAR(judgement.bounds.smallest_pivot, 30 * this->u, 0.01 * this->u);
  EXPECT_NEAR(judgement.bounds.rcond, (30 + (30 + n) / 16.0) * this->u, 0.01 * this->u);
}

TYPED_TEST(SpdReferee, RepairsWhatLiesBelowTheFloor) {
  // [1 1; 1 1]: d_2 = 0 becomes f, and x solves [1 1; 1 1+f] x = b. So b = (2, 2+f) gives (1, 1), with residual (0, f)
  // for A as given.
  using T = TypeParam;
  const double f = 0x1p-7;
  const SpdShape shape{2, 1, Storage::dense};
  std::vector<T> a{1, 1, 1, 1}, b{2, static_cast<T>(2 + f)}, x{1, 1};
  SpdJudgement judgement = judge_spd_solution(shape, a.data(), b.data(), x.data(), 0, f);
  EXPECT_EQ(judgement.info, 0);
  EXPECT_EQ(judgement.repaired, 1);
  EXPECT_FALSE(judgement.undecided);
  EXPECT_EQ(judgement.perturbation, f);
  EXPECT_LT(judgement.bounds.perturbation, 3 * this->u * f + 0x1p-40);
  EXPECT_EQ(judgement.residual_ratio, 0);
  EXPECT_LT(judgement.forward_ratio, 1);
  EXPECT_EQ(judgement.backward_error, f / (2 * 2));
  EXPECT_NEAR(judgement.smallest_pivot, f, 1e-15);
  EXPECT_LT(judgement.bounds.smallest_pivot, 31 * this->u * f);  // the pivot is the floor
  EXPECT_NEAR(judgement.log_determinant, std::log(f), 1e-13);
  EXPECT_NEAR(judgement.rcond, f / ((2 + f) * (2 + f)), 1e-15);
  // Without a floor the matrix is singular. With another floor this solution is wrong.
  EXPECT_EQ(judge_spd_solution(shape, a.data(), b.data(), x.data(), 0).info, 2);
  judgement = judge_spd_solution(shape, a.data(), b.data(), x.data(), 0, f / 2);
  EXPECT_GT(judgement.forward_ratio, spd_ratio_limit);
  // The floor f / 2 allows the nearby matrix that x solves. The floor f / 16 does not.
  EXPECT_EQ(judgement.residual_ratio, 0);
  judgement = judge_spd_solution(shape, a.data(), b.data(), x.data(), 0, f / 16);
  EXPECT_GT(judgement.residual_ratio, spd_ratio_limit);
  // If there is a nearby matrix, the status of a failure is wrong, too.
  judgement = judge_spd_solution(shape, a.data(), b.data(), x.data(), 2, f);
  EXPECT_FALSE(same_status(2, judgement, scalar_type_of<T>, 2));

  // [1 2; 2 1]: d_2 = -3, too far below the floor for a nearby matrix.
  a = {1, 2, 2, 1};
  EXPECT_EQ(judge_numbers({2, 0, Storage::dense, true}, a, f).info, 2);
  // d_2 = f: rounding decides.
  a = {1, 1, 1, static_cast<T>(1 + f)};
  EXPECT_TRUE(judge_numbers({2, 0, Storage::dense, true}, a, f / (1 + f)).undecided);
  // A pivot far above the floor is left alone.
  EXPECT_EQ(judge_numbers({2, 0, Storage::dense, true}, a, f / 2).repaired, 0);
  EXPECT_FALSE(judge_numbers({2, 0, Storage::dense, true}, a, f / 2).undecided);
  // A diagonal element that is not positive cannot be repaired.
  for (const T corner : {T(0), T(-1)}) {
    a = {1, 0, 0, corner};
    EXPECT_EQ(judge_numbers({2, 0, Storage::dense, true}, a, 0.5).info, 2);
  }
}

TYPED_TEST(SpdReferee, ADisputeLeavesTheConditionNumberAlone) {
  // [1 r; r 1], r = 3/4: eigenvalues 1 - r and 1 + r, ||A||_1 = 1 + r, ||A^-1||_1 = 1 / (1 - r).
  using T = TypeParam;
  const std::vector<T> a{1, T(0.75), T(0.75), 1};
  const SpdShape shape{2, 0, Storage::dense, true};
  const SpdJudgement agreed = judge_numbers(shape, a);
  EXPECT_NEAR(agreed.rcond, 1 / 7.0, 1e-15);
  EXPECT_TRUE(std::isnan(agreed.disputed_rcond));
  const SpdJudgement first = judge_spd_solution<T>(shape, a.data(), nullptr, nullptr, 1);
  EXPECT_NEAR(first.rcond, 1 / 7.0, 1e-15);
  EXPECT_EQ(first.disputed_rcond, 1);
  const SpdJudgement second = judge_spd_solution<T>(shape, a.data(), nullptr, nullptr, 2);
  EXPECT_NEAR(second.rcond, 1 / 7.0, 1e-15);
  EXPECT_NEAR(second.disputed_rcond, 1 / 7.0, 1e-15);
  // No failure is right if the pivot must be raised, however near A is to a singular matrix.
  const std::vector<T> ones{1, 1, 1, 1};
  EXPECT_TRUE(std::isnan(judge_spd_solution<T>(shape, ones.data(), nullptr, nullptr, 2, 0x1p-7).disputed_rcond));
}

TYPED_TEST(SpdReferee, ThereAreNoNumbersWithoutPivots) {
  using T = TypeParam;
  const std::vector<T> a{1, 2, 2, 1};
  const SpdJudgement judgement = judge_numbers({2, 0, Storage::dense, true}, a);
  EXPECT_EQ(judgement.info, 2);
  for (const double number :
       {judgement.rcond, judgement.smallest_pivot, judgement.log_determinant, judgement.bounds.rcond,
        judgement.bounds.smallest_pivot, judgement.bounds.log_determinant})
    EXPECT_TRUE(std::isnan(number));
  // [1 2; 2 1] has the eigenvalues -1 and 3.
  EXPECT_NEAR(judgement.disputed_rcond, -1 / 3.0, 1e-15);
}

TYPED_TEST(SpdReferee, AsABackendReadsTheLowerTriangleAndStridesAlone) {
  // Two systems `4 I + J` with x = (1, 1) and (2, 2). The second begins 9 elements after the first. All elements above
  // the diagonals and between the systems are NaN.
  using T = TypeParam;
  const T nan = static_cast<T>(nan_value);
  const std::vector<T> a{5, nan, 1, 5, nan, nan, nan, nan, nan, 5, nan, 1, 5};
  const std::vector<T> b{6, 6, nan, 12, 12};
  std::vector<T> x(6, -7), backward_error(2, -7), rcond(2, -7), smallest_pivot(2, -7);
  std::vector<double> log_determinant(2, -7);
  std::vector<std::int32_t> info(2, -7), repaired(2, -7);
  const SpdBatch<T> batch{{2, 1, Storage::dense_lower}, 2, a.data(), b.data(), 9, 3};
  const auto solver = make_spd_solver({BackendKind::reference});
  SpdSolution<T> solution{x.data(),       info.data(),           backward_error.data(),
                          rcond.data(),   smallest_pivot.data(), log_determinant.data(),
                          repaired.data()};
  solution.x_stride = 4;
  solver->solve(batch, solution);
  EXPECT_EQ(info, (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(x, (std::vector<T>{1, 1, -7, -7, 2, 2}));
  EXPECT_EQ(backward_error, (std::vector<T>{0, 0}));
  for (const std::size_t k : {0, 1}) {
    EXPECT_NEAR(rcond[k], 24 / 36.0, 4 * this->u);  // A^-1 = [5 -1; -1 5] / 24
    EXPECT_NEAR(smallest_pivot[k], 24 / 5.0, 8 * this->u);
    EXPECT_NEAR(log_determinant[k], std::log(24), 1e-14);
    EXPECT_EQ(repaired[k], 0);
  }
  // Numbers that are not wanted are not written. The determinant alone needs neither b nor x.
  info.assign(2, -7);
  solver->solve({{2, 0, Storage::dense_lower, true}, 2, a.data(), nullptr, 9},
                {nullptr, info.data(), nullptr, nullptr, nullptr, log_determinant.data()});
  EXPECT_EQ(info, (std::vector<std::int32_t>{0, 0}));
  EXPECT_NEAR(log_determinant[1], std::log(24), 1e-14);
}

TYPED_TEST(SpdReferee, TheLargestSystemsFindRoomOnASmallStack) {
  using T = TypeParam;
  SpdBlock<T> block;
  block.resize({max_system_size, 1, Storage::dense}, 17);
  generate_spd(SpdFamily::random_log_uniform, block.shape, 100, 1, 0, 17, block.a.data(), block.b.data());
  on_a_small_stack(1 << 20, [&] {
    const auto solver = make_spd_solver({BackendKind::reference, 0, 1});
    solver->solve(block.batch(), block.solution());
    const SpdJudgement judgement =
        judge_spd_solution(block.shape, block.a.data(), block.b.data(), block.x.data(), block.info[0]);
    EXPECT_LT(judgement.forward_ratio, 1);
    const std::vector<std::int64_t> systems{0, 5, 16};
    std::vector<double> errors(3, 7);
    spd_errors_over_bounds<T>(block, 0, systems, errors);
    for (const double error : errors) EXPECT_LE(error, 1);
  });
}

}  // namespace
}  // namespace smallbatch::testing
