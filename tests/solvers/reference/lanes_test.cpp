// Verdicts about many systems at once, with the lanes of every instruction set of this machine. A right answer is
// accepted and a wrong answer is rejected, whatever lies in the neighbouring lanes. The errors follow the formulas of
// solvers/spd_referee.hpp, on both sides of the limit beyond which RefereeSystem must judge a system.
//
// One file, because all tests are about the verdicts of the same lanes.
#include "solvers/reference/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "solvers/spd_families.hpp"
#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver.hpp"
#include "tests/larger_or_nan.hpp"
#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

template <class T>
std::vector<double> errors_of(const RefereeLanes& lanes, const SpdBlock<T>& block) {
  std::vector<std::int64_t> systems(static_cast<std::size_t>(block.count));
  std::iota(systems.begin(), systems.end(), 0);
  std::vector<double> errors(systems.size(), -1);
  spd_errors_over_bounds<T>(lanes, block, 0, systems, errors);
  return errors;
}

/// Calls check(errors_of(lanes, block)) for every instruction set.
template <class T, class Check>
void for_all_lanes(const SpdBlock<T>& block, Check check) {
  for (const RefereeLanes& lanes : usable_referee_lanes()) {
    SCOPED_TRACE(lanes.name);
    check(errors_of(lanes, block));
  }
}

/// Calls check(judgement) for the judgement of the block's one system in each lane of every instruction set.
template <class T, class Check>
void for_each_lane(const SpdBlock<T>& block, Check check) {
  for (const RefereeLanes& lanes : usable_referee_lanes()) {
    SCOPED_TRACE(lanes.name);
    const auto& [count, judge] = lanes.of<T>();
    const std::vector<std::int64_t> systems(count, 0);
    std::vector<LaneJudgement> judgements(count);
    judge({block.shape, block.a.data(), block.b.data(), block.x.data()}, systems, judgements.data());
    for (const LaneJudgement& found : judgements) {
      EXPECT_TRUE(found.is_certain);  // there is a judgement
      check(found.judgement);
    }
  }
}

/// Returns `count` copies of the system A = n I + J with x = (1, 2, ..., n), and the true numbers.
template <class T>
SpdBlock<T> integers(int n, std::int64_t count, Storage storage = Storage::dense) {
  SpdBlock<T> block;
  block.resize({n, 1, storage}, count);
  for (std::int64_t k = 0; k < count; ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) element(block, k, i, j) = static_cast<T>(i == j ? n + 1 : 1);
      block.x[k * n + i] = static_cast<T>(i + 1);
      block.b[k * n + i] = static_cast<T>(n * (i + 1) + n * (n + 1) / 2);
    }
    // A^-1 = (I - J / 2n) / n, and d_k = n (n + k) / (n + k - 1).
    block.rcond[k] = static_cast<T>(1 / (2 * (1 - 1.0 / (2 * n) + (n - 1.0) / (2 * n))));
    block.smallest_pivot[k] = static_cast<T>(n * 2.0 * n / (2 * n - 1));
    block.log_determinant[k] = n * std::log(n) + std::log(2);
    block.info[k] = block.repaired[k] = 0;
    block.backward_error[k] = block.perturbation[k] = 0;
  }
  return block;
}

/// Returns systems that the cpu backend has solved.
template <class T>
SpdBlock<T> solved(SpdFamily family, const SpdShape& shape, std::int64_t count) {
  SpdBlock<T> block = generated_block<T>(family, shape, count);
  poison_upper(block, not_a_number<T>);
  make_spd_solver({BackendKind::cpu})->solve(block.batch(), block.solution());
  return block;
}

TEST(RefereeLanes, BaselineIsLastAndTheBestComesFirst) {
  const std::vector<RefereeLanes> usable = usable_referee_lanes();
  ASSERT_FALSE(usable.empty());
  EXPECT_STREQ(usable.back().name, "baseline");
  for (std::size_t i = 1; i < usable.size(); ++i) {
    EXPECT_STRNE(usable[i - 1].name, usable[i].name);
    EXPECT_GE(usable[i - 1].float32.lanes, usable[i].float32.lanes);
    EXPECT_GE(usable[i - 1].float64.lanes, usable[i].float64.lanes);
  }
}

template <class T>
class SpdLanes : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpdLanes, Scalars);

TYPED_TEST(SpdLanes, NumbersOfMatricesWithClosedForms) {
  // min(i,j) = L L^T with ones below the diagonal; its inverse is tridiagonal, (-1, 2, -1), with a 1 in the corner.
  using T = TypeParam;
  for (const int n : {3, 4, 31, 32, 63, 129, max_system_size})
    for (const Storage storage : {Storage::dense, Storage::dense_lower, Storage::packed_lower}) {
      SCOPED_TRACE(n);
      const SpdBlock<T> block = solved<T>(SpdFamily::min_ij, {n, 3, storage}, 1);
      for_each_lane(block, [&](const SpdJudgement& judgement) {
        EXPECT_EQ(judgement.info, 0);
        EXPECT_NEAR(judgement.rcond, 1 / (4 * 0.5 * n * (n + 1)), 1e-13);
        EXPECT_NEAR(judgement.smallest_pivot, 1, 1e-12);
        EXPECT_NEAR(judgement.log_determinant, 0, 1e-12);
        EXPECT_NEAR(judgement.backward_error, static_cast<double>(block.backward_error[0]),
                    0.01 * judgement.backward_error + 0x1p-59);
        EXPECT_LT(judgement.residual_ratio, spd_ratio_limit);
        EXPECT_LT(judgement.forward_ratio, spd_ratio_limit);
      });
    }
}

/// Expects that the lanes' backward error of the block's one system is the one in long double.
template <class T>
void expect_twice_the_digits(SpdBlock<T>& block) {
  const int n = block.shape.n, nrhs = block.shape.nrhs;
  long double norm = 0, expected = 0;
  for (int i = 0; i < n; ++i) {
    long double sum = 0;
    for (int j = 0; j < n; ++j) sum += std::abs(element(block, 0, i, j));
    norm = std::max(norm, sum);
  }
  for (int c = 0; c < nrhs; ++c) {
    long double residual = 0, norm_of_x = 0;
    for (int i = 0; i < n; ++i) {
      long double r = block.b[i * nrhs + c];
      for (int j = 0; j < n; ++j) r -= static_cast<long double>(element(block, 0, i, j)) * block.x[j * nrhs + c];
      residual += std::abs(r);
      norm_of_x += std::abs(static_cast<long double>(block.x[i * nrhs + c]));
    }
    expected = larger_or_nan(expected, residual / (norm * norm_of_x));
  }
  ASSERT_GT(expected, 0);
  for_each_lane(block, [&](const SpdJudgement& judgement) {
    EXPECT_NEAR(judgement.backward_error, static_cast<double>(expected), unit_roundoff<T> / 64) << n << ' ' << nrhs;
  });
}

TYPED_TEST(SpdLanes, ResidualsHaveTwiceTheDigits) {
  // The answers have residuals that are only rounding errors. They are compared with residuals in long double.
  using T = TypeParam;
  for (const int n : {5, 31, 32, 63, 129, 200, max_system_size})
    for (const int nrhs : {1, 2, 7}) {
      SpdBlock<T> block = solved<T>(SpdFamily::random, {n, nrhs, Storage::dense}, 1);
      expect_twice_the_digits(block);
    }
}

TYPED_TEST(SpdLanes, TheLargestSumsHaveTwiceTheDigits) {
  // The sums of A x are nearly as large as the largest n and the exponents of A and x permit.
  using T = TypeParam;
  for (const int n : {64, 128, 192, max_system_size}) {
    SpdBlock<T> block = nearly_twos<T>({n, 2, Storage::dense}, 1);
    expect_twice_the_digits(block);
  }
}

TYPED_TEST(SpdLanes, EveryColumnCountsInTheNorms) {
  // Column 0 has the largest sums of both matrices: A = D [n -1; -1 I] D, A^-1 = D^-1 [1 1; 1 I+J] D^-1 with D =
  // diag(1/8, 1, ..., 1). The pivots are d_0 = n / 64 and d_k = (n - k) / (n - k + 1).
  using T = TypeParam;
  for (const int n : {5, 31, 32, 63}) {
    SpdBlock<T> block = integers<T>(n, 1);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) element(block, 0, i, j) = static_cast<T>(i == j ? 1 : i * j == 0 ? -0.125 : 0);
    element(block, 0, 0, 0) = static_cast<T>(n / 64.0);
    block.shape = {n, 0, Storage::dense, true};
    for_each_lane(block, [&](const SpdJudgement& judgement) {
      EXPECT_NEAR(judgement.rcond, 1 / (std::max(n / 64.0 + (n - 1) / 8.0, 1.125) * (64 + 8 * (n - 1))), 1e-14);
      EXPECT_NEAR(judgement.smallest_pivot, std::min(n / 64.0, 0.5), 1e-13);
      EXPECT_NEAR(judgement.log_determinant, -6 * std::log(2), 1e-12);
    });
  }
}

TYPED_TEST(SpdLanes, TheForwardErrorIsThatOfItsFormula) {
  // A = 2 I, b = (2, ..., 2), x = (1, ..., 1, 1 + 2 k u): rcond is 1, and so is ||x*||_inf.
  using T = TypeParam;
  constexpr double u = unit_roundoff<T>;
  for (const int n : {1, 4, 5, 32, 63})
    for (const Storage storage : {Storage::dense, Storage::dense_lower, Storage::packed_lower}) {
      SpdBlock<T> block = integers<T>(n, 25, storage);
      for (int k = 0; k < block.count; ++k) {
        for (int i = 0; i < n; ++i) {
          for (int j = 0; j < n; ++j) element(block, k, i, j) = i == j ? T(2) : T(0);
          block.b[k * n + i] = 2;
          block.x[k * n + i] = i == n - 1 ? static_cast<T>(1 + 2 * k * u) : T(1);
        }
        block.backward_error[k] = static_cast<T>(2 * k * u / (n + 2 * k * u));
        block.rcond[k] = 1;
        block.smallest_pivot[k] = 2;
        block.log_determinant[k] = n * std::log(2);
      }
      poison_upper(block, not_a_number<T>);
      for_all_lanes(block, [&](const std::vector<double>& errors) {
        for (int k = 0; k < block.count; ++k)
          EXPECT_NEAR(errors[k], 2 * k / spd_ratio_limit, 1e-9) << "n " << n << ", " << k;
      });
    }
}

TYPED_TEST(SpdLanes, NumbersAreWrongByAsMuchAsTheyAreOff) {
  using T = TypeParam;
  constexpr double u = unit_roundoff<T>;
  const std::vector<double> shares{0, -0.1, 0.2, -0.3, 0.45, -0.55, 0.7, -0.8, 1.2, -2, 1e4};
  constexpr double tolerance = std::is_same_v<T, float> ? 0.04 : 0.15;  // effect of roundings in T and in the referee
  const auto count = static_cast<std::int64_t>(shares.size());
  const auto expect = [&](const SpdBlock<T>& block, const char* what, bool may_be_more = false) {
    for_all_lanes(block, [&](const std::vector<double>& errors) {
      for (std::size_t k = 0; k < shares.size(); ++k) {
        const double share = may_be_more && shares[k] > 0 ? 0 : std::abs(shares[k]);
        EXPECT_NEAR(errors[k], share, tolerance + 1e-4 * share) << what << ", " << shares[k];
      }
    });
  };
  for (const int n : {3, 31, 32, 64, 97}) {
    SpdBlock<T> block = integers<T>(n, count);
    const double rcond = static_cast<double>(block.rcond[0]);
    for (std::int64_t k = 0; k < count; ++k)
      block.rcond[k] = static_cast<T>(rcond + shares[k] * u * (30 * (1 + rcond) + n * rcond));
    // A backend may estimate rcond of larger systems, so values that are too large are accepted for them.
    expect(block, "rcond", n > spd_rcond_is_exact_up_to);
    // A = diag(1, 2, ..., n). The bound of its smallest pivot, 1, is 30 u.
    block = integers<T>(n, count);
    for (std::int64_t k = 0; k < count; ++k) {
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) element(block, k, i, j) = static_cast<T>(i == j ? i + 1 : 0);
      for (int i = 0; i < n; ++i) block.b[k * n + i] = static_cast<T>((i + 1) * (i + 1));
      block.rcond[k] = static_cast<T>(1.0 / n);
      block.smallest_pivot[k] = 1;
      block.log_determinant[k] = std::lgamma(n + 1);
    }
    SpdBlock<T> off = block;
    for (std::int64_t k = 0; k < count; ++k) off.smallest_pivot[k] = static_cast<T>(1 + shares[k] * 30 * u);
    expect(off, "smallest pivot");
    off = block;
    for (std::int64_t k = 0; k < count; ++k)
      off.log_determinant[k] += shares[k] * (30 * n * u + (n + 3) * 0x1p-53 * std::lgamma(n + 1));
    expect(off, "ln det A");
  }
}

TYPED_TEST(SpdLanes, BackwardErrorsAreRightToOnePercent) {
  // A = 2 I, x = (1, 1, 1, 1 + 8 u): the backward error is 16 u / (2 (4 + 8 u)).
  using T = TypeParam;
  constexpr double u = unit_roundoff<T>;
  SpdBlock<T> block = integers<T>(4, 5);
  const double backward_error = 16 * u / (2 * (4 + 8 * u));
  for (std::int64_t k = 0; k < block.count; ++k) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) element(block, k, i, j) = i == j ? T(2) : T(0);
      block.b[k * 4 + i] = 2;
      block.x[k * 4 + i] = i == 3 ? static_cast<T>(1 + 8 * u) : T(1);
    }
    block.rcond[k] = 1;
    block.smallest_pivot[k] = 2;
    block.log_determinant[k] = 4 * std::log(2);
    const double factor = std::vector<double>{1, 1.004, 0.992, 1.05, 0}[static_cast<std::size_t>(k)];
    block.backward_error[k] = static_cast<T>(factor * backward_error);
  }
  for_all_lanes(block, [](const std::vector<double>& errors) {
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(errors[k], 8 / spd_ratio_limit, 1e-9);
    EXPECT_EQ(errors[3], infinity);
    EXPECT_EQ(errors[4], infinity);
  });
}

TYPED_TEST(SpdLanes, RightAnswersAreRightAndWrongOnesWrongWhateverLiesBeside) {
  using T = TypeParam;
  constexpr std::int64_t count = 11, spoilt = 4;
  for (const SpdFamily family : {SpdFamily::random, SpdFamily::random_one_small, SpdFamily::gram, SpdFamily::lehmer,
                                 SpdFamily::graded, SpdFamily::near_underflow, SpdFamily::near_overflow})
    for (const int n : {1, 2, 5, 8, 32, 50})
      for (const int nrhs : {1, 3, 11, 0}) {
        const SpdShape shape{n, nrhs, std::vector{Storage::dense, Storage::dense_lower, Storage::packed_lower}[n % 3]};
        SCOPED_TRACE(std::string(spd_family_name(family)) + " " + std::to_string(n) + " " + std::to_string(nrhs));
        const SpdBlock<T> right = solved<T>(family, shape, count);
        for_all_lanes(right, [&](const std::vector<double>& errors) {
          for (std::int64_t k = 0; k < count; ++k) EXPECT_LE(errors[k], 1);
        });
        const auto expect_wrong = [&](const char* what, auto spoil) {
          SpdBlock<T> block = right;
          spoil(block);
          for (const RefereeLanes& lanes : usable_referee_lanes()) {
            SCOPED_TRACE(lanes.name);
            const std::vector<double> errors = errors_of(lanes, right), found = errors_of(lanes, block);
            for (std::int64_t k = 0; k < count; ++k)
              if (k == spoilt)
                EXPECT_FALSE(found[k] <= 1) << what;
              else
                EXPECT_EQ(found[k], errors[k]) << what;
          }
        };
        const auto size = static_cast<std::size_t>(shape.solution_size());
        const auto largest_of_x = [&](SpdBlock<T>& block) -> T& {
          const auto first = block.x.begin() + static_cast<std::ptrdiff_t>(spoilt * size);
          return *std::max_element(first, first + static_cast<std::ptrdiff_t>(size),
                                   [](T a, T b) { return std::abs(a) < std::abs(b); });
        };
        expect_wrong("a flipped sign", [&](auto& block) { largest_of_x(block) *= -1; });
        expect_wrong("one percent", [&](auto& block) { largest_of_x(block) *= T(1.01); });
        expect_wrong("a NaN in x", [&](auto& block) { block.x[spoilt * size + size / 2] = not_a_number<T>; });
        expect_wrong("an infinity in x", [&](auto& block) { block.x[spoilt * size] = static_cast<T>(-infinity); });
        expect_wrong("zeros", [&](auto& block) { std::fill_n(&block.x[spoilt * size], size, T(0)); });
        expect_wrong("a NaN in A", [&](auto& block) { element(block, spoilt, n - 1, n / 2) = not_a_number<T>; });
        expect_wrong("an infinity in A", [&](auto& block) { element(block, spoilt, n / 2, 0) = T(infinity); });
        expect_wrong("a pivot", [&](auto& block) { element(block, spoilt, n / 2, n / 2) *= -1; });
        if (nrhs > 0) {
          const auto last = static_cast<std::size_t>((spoilt + 1) * shape.rhs_size() - 1);
          expect_wrong("a NaN in b", [&](auto& block) { block.b[last] = not_a_number<T>; });
          expect_wrong("an infinity in b", [&](auto& block) { block.b[last] = T(infinity); });
        }
        expect_wrong("a status made up", [&](auto& block) { block.info[spoilt] = 1; });
        expect_wrong("rcond", [&](auto& block) { block.rcond[spoilt] /= 2; });
        expect_wrong("rcond NaN", [&](auto& block) { block.rcond[spoilt] = not_a_number<T>; });
        expect_wrong("pivot", [&](auto& block) { block.smallest_pivot[spoilt] *= T(1.05); });
        expect_wrong("pivot NaN", [&](auto& block) { block.smallest_pivot[spoilt] = not_a_number<T>; });
        expect_wrong("ln det", [&](auto& block) { block.log_determinant[spoilt] += 0.5; });
        expect_wrong("ln det NaN", [&](auto& block) { block.log_determinant[spoilt] = not_a_number<double>; });
        expect_wrong("backward error", [&](auto& block) { block.backward_error[spoilt] += T(0.1); });
        expect_wrong("backward error NaN", [&](auto& block) { block.backward_error[spoilt] = not_a_number<T>; });
        expect_wrong("repaired", [&](auto& block) { block.repaired[spoilt] = 1; });
        expect_wrong("perturbation", [&](auto& block) { block.perturbation[spoilt] = T(0.1); });
      }
}

TYPED_TEST(SpdLanes, AMatrixThatIsNotPositiveDefiniteHasNoSolution) {
  // A = n I + J with one negative diagonal element. x = (1, 2, ..., n) solves this system, too, but must be rejected.
  using T = TypeParam;
  for (const int n : {2, 7, 32}) {
    SpdBlock<T> block = integers<T>(n, n);
    for (int k = 0; k < n; ++k) {
      element(block, k, k, k) = -1;
      block.b[k * n + k] -= static_cast<T>((n + 2) * (k + 1));
    }
    for_all_lanes(block, [](const std::vector<double>& errors) {
      for (const double error : errors) EXPECT_EQ(error, infinity);
    });
  }
}

TYPED_TEST(SpdLanes, OfTheDeterminantAloneEveryElementCounts) {
  using T = TypeParam;
  const int n = 7;
  for (const double value : {not_a_number<double>, infinity, -infinity}) {
    const SpdBlock<T> whole = integers<T>(n, n * n + 1);
    SpdBlock<T> block;
    block.resize({n, 0, Storage::dense, true}, n * n + 1);
    block.a = whole.a;
    block.info = whole.info;
    block.repaired = whole.repaired;
    block.perturbation = whole.perturbation;
    block.rcond = whole.rcond;
    block.smallest_pivot = whole.smallest_pivot;
    block.log_determinant = whole.log_determinant;
    for (int k = 0; k < n * n; ++k) block.a[k * n * n + k] = static_cast<T>(value);
    for_all_lanes(block, [&](const std::vector<double>& errors) {
      for (int k = 0; k < n * n; ++k) EXPECT_EQ(errors[k], infinity) << k;
      EXPECT_LT(errors[n * n], 0.2);
    });
  }
}

TYPED_TEST(SpdLanes, TrianglesMayDifferByRoundings) {
  // Element (0, 1) differs from element (1, 0) by shares[k] times the limit, n eps sqrt(a_ii a_jj).
  using T = TypeParam;
  const int n = 32;
  const std::vector<double> shares{0, 0.2, 0.4, 0.6, 0.9, 1.2, 2, 100};
  SpdBlock<T> block = integers<T>(n, static_cast<std::int64_t>(shares.size()));
  for (std::int64_t k = 0; k < block.count; ++k) {
    const double off = shares[k] * n * 2 * unit_roundoff<T> * (n + 1);
    element(block, k, 0, 1) = static_cast<T>(1 + off);
    const double residual = (static_cast<double>(element(block, k, 0, 1)) - 1) * 2;
    block.backward_error[k] = static_cast<T>(residual / (2 * n * (n * (n + 1) / 2.0)));
  }
  for_all_lanes(block, [&](const std::vector<double>& errors) {
    for (std::size_t k = 0; k < shares.size(); ++k) EXPECT_EQ(errors[k] == infinity, shares[k] > 1) << shares[k];
  });
}

TYPED_TEST(SpdLanes, WhatHasUnderflowedIsNoSolution) {
  // A = diag(16, 2, ..., 2) and x* = (m, 1.5, ..., 1.5) s, where s is the smallest number of T. Rounded to T, 1.5 s
  // becomes 2 s. This loses 15.5 / m of x* in the 1-norm, which is little only if m is large. All ratios are below 30.
  using T = TypeParam;
  const int n = 32, digits = std::numeric_limits<T>::digits;
  SpdBlock<T> block = integers<T>(n, 4);
  constexpr T smallest = std::numeric_limits<T>::denorm_min();
  for (int k = 0; k < block.count; ++k) {
    const double m = std::ldexp(1, k % 2 == 0 ? digits + 3 : digits - 2);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) element(block, k, i, j) = static_cast<T>(i != j ? 0 : i == 0 ? 16 : 2);
      block.x[k * n + i] = static_cast<T>(i == 0 ? m : 2) * smallest;
      block.b[k * n + i] = static_cast<T>(i == 0 ? 16 * m : 3) * smallest;
    }
    block.backward_error[k] = static_cast<T>((n - 1) / (16 * (m + 2 * (n - 1))));
    block.rcond[k] = T(0.125);
    block.smallest_pivot[k] = 2;
    block.log_determinant[k] = (n + 3) * std::log(2);
  }
  for_all_lanes(block, [](const std::vector<double>& errors) {
    for (std::size_t k = 0; k < errors.size(); ++k) EXPECT_EQ(errors[k] <= 1, k % 2 == 0) << k << ": " << errors[k];
  });
}

TYPED_TEST(SpdLanes, AVerdictDoesNotDependOnThoseBeside) {
  using T = TypeParam;
  SpdBlock<T> block = solved<T>(SpdFamily::random, {13, 2, Storage::dense}, 37);
  for (const std::int64_t k : {3, 4, 11, 30}) element(block, k, 5, 5) = -1;  // failures
  make_spd_solver({BackendKind::cpu})->solve(block.batch(), block.solution());
  block.x[9 * 26] = not_a_number<T>;
  std::vector<std::int64_t> systems(37);
  for (std::int64_t i = 0; i < 37; ++i) systems[i] = i * 8 % 37;
  const std::vector<RefereeLanes> usable = usable_referee_lanes();
  for (const RefereeLanes& lanes : usable) {
    SCOPED_TRACE(lanes.name);
    const std::vector<double> errors = errors_of(lanes, block);
    std::vector<double> shuffled(37);
    spd_errors_over_bounds<T>(lanes, block, 0, systems, shuffled);
    for (std::size_t i = 0; i < 37; ++i) {
      EXPECT_EQ(shuffled[i], errors[systems[i]]);
      EXPECT_EQ(errors[i] <= 1, i != 9);
    }
  }
  const std::vector<double> best = errors_of(usable.front(), block);
  for (std::int64_t k = 0; k < 37; ++k) EXPECT_EQ(spd_error_over_bound(block, 0, k), best[k]);
}

}  // namespace
}  // namespace smallbatch::testing
