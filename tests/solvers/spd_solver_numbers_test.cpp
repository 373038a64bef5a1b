// The numbers about A (rcond, smallest_pivot, log_determinant, repaired) against closed forms and long double, over all
// backends and methods. One file, because all tests compute them with a solution, with the inverse, and alone.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

class SpdSolverNumbers : public SpdSolverTest {
 protected:
  /// Calls check(T{}, shape) for a solution, the inverse and the determinant alone.
  template <class Check>
  void for_all_questions(Check check) {
    for_all_shapes({1, 0}, check);
    for_all_shapes({0}, [&]<class T>(T, SpdShape shape) {
      shape.determinant_only = true;
      SCOPED_TRACE("determinant only");
      check(T{}, shape);
    });
  }
  void expect_rcond(double found, double rcond, double tolerance, const SpdShape& shape) const;
};

/// Expects that `found` is `rcond`. For large n, cuda estimates rcond unless it computes the inverse. An estimate is
/// not too small, and for these matrices at most three times too large.
void SpdSolverNumbers::expect_rcond(double found, double rcond, double tolerance, const SpdShape& shape) const {
  const bool estimated =
      backend_.kind == BackendKind::cuda && shape.n > spd_rcond_is_exact_up_to && !shape.wants_inverse();
  EXPECT_GE(found, rcond - tolerance);
  EXPECT_LE(found, (estimated ? 3 : 1) * rcond + tolerance);
}

TEST_P(SpdSolverNumbers, OfMinIjAreKnown) {
  // Pivots are 1, and det is 1. ||A||_1 = n(n+1)/2. A^-1 is tridiagonal (-1, 2, -1) with 1 in the last place.
  for_all_questions([this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, 3);
    poison_upper(block, static_cast<T>(nan_value));
    solve(*solver_, block);
    const double rcond = 1 / (0.5 * n * (n + 1) * (n == 1 ? 1 : n == 2 ? 3 : 4));
    const double rounding = takes_square_roots() ? 1e-12 : 0;
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_NEAR(block.smallest_pivot[k], 1, rounding);
      ASSERT_NEAR(block.log_determinant[k], 0, rounding);
      expect_rcond(block.rcond[k], rcond, 4 * unit_roundoff<T> * rcond + rounding, shape);
      ASSERT_EQ(block.repaired[k], 0);
    }
  });
}

TEST_P(SpdSolverNumbers, OfTwoRowsThatNearlyAgreeAreKnown) {
  // A is the identity except for two rows, which have r = 1 - 2^-6 off the diagonal. So ||A||_1 = 1 + r, and
  // ||A^-1||_1 = 1 / (1 - r). An estimate finds this norm only by a vector that is not zero in these rows.
  for_all_questions([this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    if (n < 4) return;
    constexpr double r = 1 - 0x1p-6;
    SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, n - 2);
    for (std::int64_t k = 0; k < block.count; ++k)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
          set_symmetric(block, k, i, j, static_cast<T>(i == j ? 1 : i == k + 2 && j == k ? r : 0));
    poison_upper(block, static_cast<T>(nan_value));
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      expect_rcond(block.rcond[k] * (1 + r) / (1 - r), 1, 64 * unit_roundoff<T>, shape);
    }
  });
}

TEST_P(SpdSolverNumbers, OfKacMurdockSzegoAreKnown) {
  // r^|i-j| with r = 1/2 (condition number 9), exact in both types. Pivots are 1, 1-r^2, 1-r^2, ... The inverse is
  // tridiagonal with columns of 1-norm (1+r)/(1-r) = 3 inside. The largest column of A is the middle one, a geometric
  // sum.
  for_all_questions([this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    SpdBlock<T> block = generated_block<T>(SpdFamily::kac_murdock_szego, shape, 2, 9);
    poison_upper(block, static_cast<T>(nan_value));
    solve(*solver_, block);
    const int before = (n - 1) / 2, after = n - 1 - before;
    const double norm = 3 - std::ldexp(1.0, -before) - std::ldexp(1.0, -after);
    const double inverse_norm = n == 1 ? 1 : n == 2 ? 2 : 3;
    const double u = unit_roundoff<T>;
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_NEAR(block.smallest_pivot[k], n == 1 ? 1 : 0.75, 8 * u);
      ASSERT_NEAR(block.log_determinant[k], (n - 1) * std::log(0.75), 4 * n * u);
      expect_rcond(block.rcond[k], 1 / (norm * inverse_norm), 4 * n * u / (norm * inverse_norm), shape);
    }
  });
}

TEST_P(SpdSolverNumbers, OfDiagonalMatricesAreTheDiagonal) {
  // The elements are far from 1, so scaling must be undone. Not all are powers of two.
  for_all_questions([this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n, range = sizeof(T) == 4 ? 55 : 450;
    SpdBlock<T> block;
    block.resize(shape, 4);
    std::fill(block.a.begin(), block.a.end(), T(0));
    std::fill(block.b.begin(), block.b.end(), T(1));
    const auto diagonal = [&](std::int64_t k, int i) {
      const int exponent = k == 0 ? 0 : k == 1 ? range : k == 2 ? -range : i * 29 % 11 * range / 5 - range;
      return static_cast<T>(std::ldexp(1 + i * 13 % 7, exponent));
    };
    for (std::int64_t k = 0; k < block.count; ++k)
      for (int i = 0; i < n; ++i) element(block, k, i, i) = diagonal(k, i);
    poison_upper(block, static_cast<T>(infinity));
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      SCOPED_TRACE("system " + std::to_string(k));
      ASSERT_EQ(block.info[k], 0);
      double smallest = infinity, largest = 0, sum = 0, terms = 0;
      for (int i = 0; i < n; ++i) {
        const double d = static_cast<double>(diagonal(k, i));
        smallest = std::min(smallest, d);
        largest = std::max(largest, d);
        sum += std::log(d);
        terms += std::abs(std::log(d));
      }
      ASSERT_NEAR(block.smallest_pivot[k], smallest, takes_square_roots() ? 1e-15 * smallest : 0);
      ASSERT_NEAR(block.log_determinant[k], sum, 1e-14 * (1 + terms));
      expect_rcond(block.rcond[k] / (smallest / largest), 1, 4 * unit_roundoff<T>, shape);
    }
  });
}

TEST_P(SpdSolverNumbers, RcondIsANumberWhereverAIsOne) {
  // rcond has no unit: s A has the rcond of A, even if A^-1 or a sum of A's elements leaves the range.
  for_all_questions([this]<class T>(T, const SpdShape& shape) {
    if (shape.wants_inverse()) return;  // the inverse itself may overflow
    const int n = shape.n, range = std::numeric_limits<T>::max_exponent;
    SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, 5), reference = block;
    const double factors[] = {1, std::ldexp(1.0, 2 - range), static_cast<double>(std::numeric_limits<T>::denorm_min()),
                              std::ldexp(1.0, range - 8), static_cast<double>(std::numeric_limits<T>::max()) / (2 * n)};
    for (std::int64_t k = 0; k < block.count; ++k) {
      for (std::int64_t e = 0; e < shape.matrix_size(); ++e) {
        T& value = block.a[k * shape.matrix_size() + e];
        value = static_cast<T>(value * factors[k]);
      }
      std::fill_n(block.b.begin() + k * shape.rhs_size(), shape.rhs_size(), static_cast<T>(factors[k]));
    }
    poison_upper(block, static_cast<T>(nan_value));
    solve(*solver_, block);
    solve(*solver_, reference);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0) << "system " << k;
      ASSERT_NEAR(block.rcond[k] / reference.rcond[0], 1, 8 * n * unit_roundoff<T>) << "system " << k;
    }
  });
}

TEST_P(SpdSolverNumbers, OfChosenPivotsAreThosePivots) {
  // A = L D L^T, with a unit lower triangle L of ones: A_ij is the sum of D over k <= min(i,j). D has powers of two, so
  // all steps are exact.
  for_all_questions([this]<class T>(T, const SpdShape& shape) {
    constexpr std::array<int, 5> exponents{1, -2, 0, 3, -1};
    SpdBlock<T> block;
    block.resize(shape, 5);
    std::fill(block.b.begin(), block.b.end(), T(1));
    const auto exponent = [&](std::int64_t k, int i) { return exponents[(static_cast<std::size_t>(k) + i) % 5]; };
    for (std::int64_t k = 0; k < block.count; ++k) {
      double sum = 0;
      for (int j = 0; j < shape.n; ++j) {
        sum += std::ldexp(1.0, exponent(k, j));
        for (int i = j; i < shape.n; ++i) set_symmetric<T>(block, k, i, j, static_cast<T>(sum));
      }
    }
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      int smallest = 99, sum = 0;
      for (int i = 0; i < shape.n; ++i) {
        smallest = std::min(smallest, exponent(k, i));
        sum += exponent(k, i);
      }
      const double rounding = takes_square_roots() ? 1e-12 : 0;
      ASSERT_NEAR(block.smallest_pivot[k], std::ldexp(1.0, smallest), rounding) << "system " << k;
      ASSERT_NEAR(block.log_determinant[k], sum * std::log(2.0), 1e-14 * shape.n + rounding) << "system " << k;
    }
  });
}

TEST_P(SpdSolverNumbers, AgreeWithLongDouble) {
  // First-order bounds with growth n: the inverse and every pivot have a relative error of n u times the condition
  // number.
  using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  constexpr double condition = 1e3;
  for (const SpdFamily family : {SpdFamily::random, SpdFamily::random_one_small, SpdFamily::gaussian_kernel,
                                 SpdFamily::shifted_hilbert, SpdFamily::near_underflow, SpdFamily::near_overflow})
    for (const int n : sizes_under_test({1, 2, 8, 17, 32, 33, 64, 97}))
      for (const int question : {1, 0, -1}) {
        const SpdShape shape{n, std::max(question, 0), Storage::dense, question < 0};
        SCOPED_TRACE(std::string(spd_family_name(family)) + ", " + shape_name(shape));
        const auto check = [&]<class T>(T) {
          SpdBlock<T> block = generated_block<T>(family, shape, 5, condition);
          solve(*solver_, block);
          for (std::int64_t k = 0; k < block.count; ++k) {
            Wide a(n, n);
            for (int i = 0; i < n; ++i)
              for (int j = 0; j < n; ++j) a(i, j) = element(block, k, i, j);
            const Eigen::LLT<Wide> llt(a);
            const auto roots = llt.matrixLLT().diagonal().array();
            const auto norm = [](const Wide& m) { return m.cwiseAbs().colwise().sum().maxCoeff(); };
            const auto rcond = static_cast<double>(1 / (norm(a) * norm(llt.solve(Wide::Identity(n, n)))));
            const auto smallest = static_cast<double>((roots * roots).minCoeff());
            const auto log_determinant = static_cast<double>(2 * roots.log().sum());
            ASSERT_EQ(block.info[k], 0);
            const double relative = n * unit_roundoff<T> / rcond;
            expect_rcond(block.rcond[k] / rcond, 1, relative + 4 * unit_roundoff<T>, shape);
            ASSERT_NEAR(block.smallest_pivot[k] / smallest, 1, relative + 4 * unit_roundoff<T>);
            ASSERT_NEAR(block.log_determinant[k], log_determinant, relative + 1e-14 * (1 + std::abs(log_determinant)));
          }
        };
        check(float{});
        check(double{});
      }
}

/// Fills system k: A_ij is the sum of D_m over m <= min(i,j), with D_m = 1, except D_p = 0 for p in `zeros`. The pivots
/// are D.
/// Column p of the Schur complement is zero, so a replacement of pivot p changes no other pivot.
template <class T>
void fill_singular(SpdBlock<T>& block, std::int64_t k, const std::vector<int>& zeros) {
  T sum = 0;
  for (int j = 0; j < block.shape.n; ++j) {
    if (std::find(zeros.begin(), zeros.end(), j) == zeros.end()) sum += 1;
    for (int i = j; i < block.shape.n; ++i) set_symmetric<T>(block, k, i, j, sum);
  }
}

TEST_P(SpdSolverNumbers, PivotsBelowTheFloorAreReplacedAndCounted) {
  constexpr double floor = 0x1p-10;
  for_all_questions([&]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    if (n == 1) return;  // its only pivot is its diagonal element, which is never below a fraction of itself
    SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, 5), plain;
    const std::vector<std::vector<int>> zeros{{}, {n - 1}, {1}, {1, n / 2, n - 1}, {}};
    for (std::int64_t k = 0; k < block.count; ++k) fill_singular(block, k, zeros[k]);
    poison_upper(block, static_cast<T>(nan_value));
    plain = block;
    solve(*solver_, plain);
    solve(*with_floor(floor), block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      SCOPED_TRACE("system " + std::to_string(k));
      std::vector<int> replaced = zeros[k];
      std::sort(replaced.begin(), replaced.end());
      replaced.erase(std::unique(replaced.begin(), replaced.end()), replaced.end());
      if (replaced.empty()) {
        ASSERT_EQ(block.info[k], 0);
        ASSERT_TRUE(same_bits(block, k, plain, k));
        continue;
      }
      expect_singular(plain, k, replaced.front() + 1, takes_square_roots());
      ASSERT_EQ(block.info[k], 0);
      ASSERT_EQ(block.repaired[k], static_cast<std::int32_t>(replaced.size()));
      double log_determinant = 0, smallest = 1;
      for (const int p : replaced) {
        const double pivot = floor * static_cast<double>(element(block, k, p, p));
        log_determinant += std::log(pivot);
        smallest = std::min(smallest, pivot);
      }
      // With symmetric pivoting, the elimination of integers is not exact.
      ASSERT_NEAR(block.log_determinant[k], log_determinant, 32 * n * unit_roundoff<T>);
      ASSERT_NEAR(block.perturbation[k], floor, 2 * unit_roundoff<T> * floor + 32 * n * 0x1p-53);
      ASSERT_NEAR(block.smallest_pivot[k], smallest, 4 * unit_roundoff<T> * smallest);
      if (shape.determinant_only) continue;
      // x solves a nearby system: the floor, times a_pp, is added to the diagonal element of each replaced pivot p. The
      // referee judges x for that system.
      SpdBlock<T> nearby = selected(block, {k});
      nearby.info[0] = 0;
      std::copy_n(block.x.data() + k * shape.solution_size(), shape.solution_size(), nearby.x.data());
      for (const int p : replaced) element(nearby, 0, p, p) += static_cast<T>(floor) * element(block, k, p, p);
      const SpdJudgement judgement = judge(nearby, 0);
      ASSERT_EQ(judgement.info, 0);
      ASSERT_LT(judgement.residual_ratio, spd_ratio_limit);
      ASSERT_LT(judgement.forward_ratio, spd_ratio_limit);
      // The stored backward error is for the given A, not for the nearby system.
      SpdBlock<T> given = selected(block, {k});
      given.info[0] = 0;
      given.x = nearby.x;
      const double ratio = judge(given, 0).residual_ratio * unit_roundoff<T> * (shape.wants_inverse() ? n : 1);
      ASSERT_NEAR(block.backward_error[k], ratio, sizeof(T) == 4 ? 1e-6 * ratio : 2 * n * unit_roundoff<T>);
    }
  });
}

TEST_P(SpdSolverNumbers, AFloorThatNoPivotFallsBelowChangesNoBit) {
  for_all_shapes({1, 3, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 9, 100), floored = block;
    solve(*solver_, block);
    solve(*with_floor(1e-3), floored);  // a pivot is at least the smallest eigenvalue, which is 1/100 of the largest
                                        // element
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_TRUE(same_bits(block, k, floored, k)) << "system " << k;
    }
    // The bits of x are also the same if only x is wanted, without any number that the floor affects.
    std::fill(floored.x.begin(), floored.x.end(), static_cast<T>(nan_value));
    with_floor(1e-3)->solve(floored.batch(), {floored.x.data(), floored.info.data()});
    std::fill(block.x.begin(), block.x.end(), static_cast<T>(nan_value));
    solver_->solve(block.batch(), {block.x.data(), block.info.data()});
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_FALSE(std::isnan(block.x[k * shape.solution_size()]));
      ASSERT_TRUE(same_bits(block, k, floored, k)) << "system " << k;
    }
  });
}

TEST_P(SpdSolverNumbers, RankDeficientGramMatricesAreRepairedAsOftenAsRankLacks) {
  // A = G G^T with G = [I; B] and integers in B: elimination is exact, and leaves zero after r = rank pivots.
  for (const Storage storage : all_storages)
    for (const int n : sizes_under_test({2, 5, 9, 16, 17, 32, 33, 64, 97}))
      for (const int nrhs : {1, 0}) {
        const SpdShape shape{n, nrhs, storage};
        SCOPED_TRACE(shape_name(shape));
        const auto check = [&]<class T>(T) {
          const std::vector<int> ranks{1, (n + 1) / 2, n - 1};
          SpdBlock<T> block;
          block.resize(shape, 3);
          std::fill(block.b.begin(), block.b.end(), T(1));
          for (std::int64_t k = 0; k < 3; ++k) {
            const int r = ranks[k];
            const auto g = [r](int i, int c) { return i < r ? i == c : c == 0 ? 1 : (5 * i + 3 * c) % 7 % 3 - 1; };
            for (int i = 0; i < n; ++i)
              for (int j = 0; j <= i; ++j) {
                int sum = 0;
                for (int c = 0; c < r; ++c) sum += g(i, c) * g(j, c);
                set_symmetric<T>(block, k, i, j, static_cast<T>(sum));
              }
          }
          SpdBlock<T> plain = block;
          solve(*solver_, plain);
          solve(*with_floor(1e-3), block);
          for (std::int64_t k = 0; k < 3; ++k) {
            expect_singular(plain, k, ranks[k] + 1, takes_square_roots());
            ASSERT_EQ(block.info[k], 0) << "rank " << ranks[k];
            ASSERT_EQ(block.repaired[k], n - ranks[k]) << "rank " << ranks[k];
            for (std::int64_t e = 0; e < shape.solution_size(); ++e)
              ASSERT_TRUE(std::isfinite(block.x[k * shape.solution_size() + e]));
          }
        };
        check(float{});
        check(double{});
      }
}

TEST_P(SpdSolverNumbers, TheFloorIsRelativeToTheDiagonalElement) {
  // [[s, s], [s, s + s/1024]]: the second pivot is s/1024 for every s.
  const auto check = [this]<class T>(T) {
    for (const int exponent : {0, 30, -70, 60}) {
      SpdBlock<T> block;
      block.resize({2, 1, Storage::dense}, 1);
      const T s = std::ldexp(T(1), exponent);
      block.a = {s, s, s, s + s / 1024};
      block.b = {s, s};
      SpdBlock<T> below = block;
      solve(*with_floor(0x1p-11), block);
      EXPECT_EQ(block.info[0], 0);
      EXPECT_EQ(block.repaired[0], 0);
      EXPECT_NEAR(block.smallest_pivot[0] / s, 0x1p-10, takes_square_roots() ? 1e-15 : 0);
      solve(*with_floor(0x1p-9), below);
      EXPECT_EQ(below.info[0], 0);
      EXPECT_EQ(below.repaired[0], 1);
      EXPECT_NEAR(below.smallest_pivot[0] / s, 0x1p-9 * (1 + 0x1p-10), 2 * unit_roundoff<T> * 0x1p-9);
    }
  };
  check(float{});
  check(double{});
}

TEST_P(SpdSolverNumbers, SlightlyNegativePivotsAreRepairedTooButNotIndefiniteMatrices) {
  constexpr double floor = 0x1p-10;
  for_all_shapes({1, 0}, [this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    if (n < 3) return;
    SpdBlock<T> block;
    block.resize(shape, 6);
    std::fill(block.b.begin(), block.b.end(), T(1));
    for (std::int64_t k = 0; k < 6; ++k) fill_singular(block, k, {});
    // Sets a_nn so that the last pivot is `pivot` * floor * a_nn. In min(i,j) the last two rows differ only in a_nn =
    // n, and the last pivot is 1. With another a_nn it is a_nn - (n - 1).
    const auto last_pivot = [&](std::int64_t k, double pivot) {
      element(block, k, n - 1, n - 1) = static_cast<T>((n - 1) / (1 - pivot * floor));
    };
    last_pivot(0, -2);
    last_pivot(1, -9);
    element(block, 2, n - 1, n - 1) = static_cast<T>(n - 2);  // the last pivot is then -1
    element(block, 3, n - 1, n - 1) = -1;
    for (int j = 0; j < n; ++j) set_symmetric<T>(block, 4, n / 2, j, 0);
    solve(*with_floor(floor), block);
    EXPECT_EQ(block.info[0], 0);
    EXPECT_EQ(block.repaired[0], 1);
    EXPECT_NEAR(block.perturbation[0], 3 * floor, 4 * n * unit_roundoff<T>);
    expect_failed(block, 1, n);
    expect_failed(block, 2, n);
    expect_failed(block, 3, n);
    expect_failed(block, 4, n / 2 + 1);
    EXPECT_EQ(block.info[5], 0);
    EXPECT_EQ(block.repaired[5], 0);
    EXPECT_EQ(block.perturbation[5], 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Solvers, SpdSolverNumbers, ::testing::ValuesIn(all_solver_choices), solver_test_name);

}  // namespace
}  // namespace smallbatch::testing
