// Which systems are refused, and with which status, over all backends and methods. A refused system does not change the
// results of its neighbours.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

class SpdSolverStatus : public SpdSolverTest {};

TEST_P(SpdSolverStatus, AZeroedRowAndColumnIsThatPivot) {
  // LAPACK's PO types 3 to 5: info is the index of the row.
  for_all_shapes({1, 0}, [this]<class T>(T, const SpdShape& shape) {
    const auto check = [&](SpdFamily family, int index) {
      SpdBlock<T> block = generated_block<T>(family, shape, 5, 2);
      poison_upper(block, static_cast<T>(nan_value));
      solve(*solver_, block);
      for (std::int64_t k = 0; k < block.count; ++k) expect_failed(block, k, index);
    };
    check(SpdFamily::zero_first, 1);
    check(SpdFamily::zero_middle, shape.n / 2 + 1);
    check(SpdFamily::zero_last, shape.n);
  });
}

TEST_P(SpdSolverStatus, APlantedNegativePivotIsThatPivot) {
  // A = L D L^T with small integers. L is a unit lower triangle of ones, so A_ij is the sum of D over k <= min(i,j);
  // D_p = -1.
  for_all_shapes({1, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block;
    block.resize(shape, shape.n);
    std::fill(block.b.begin(), block.b.end(), T(1));
    for (int p = 0; p < shape.n; ++p)
      for (int i = 0; i < shape.n; ++i)
        for (int j = 0; j <= i; ++j) set_symmetric<T>(block, p, i, j, static_cast<T>(j < p ? j + 1 : j - 1));
    poison_upper(block, static_cast<T>(infinity));
    solve(*solver_, block);
    for (int p = 0; p < shape.n; ++p) expect_failed(block, p, p + 1);
  });
}

TEST_P(SpdSolverStatus, APivotOfExactlyZeroIsNotPositive) {
  // A = L D L^T, where L is a unit lower triangle of ones, and D_p = 0. So A is singular and positive semidefinite.
  for_all_shapes({1, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block;
    block.resize(shape, shape.n);
    std::fill(block.b.begin(), block.b.end(), T(1));
    for (int p = 0; p < shape.n; ++p)
      for (int i = 0; i < shape.n; ++i)
        for (int j = 0; j <= i; ++j) set_symmetric<T>(block, p, i, j, static_cast<T>(j < p ? j + 1 : j));
    solve(*solver_, block);
    for (int p = 0; p < shape.n; ++p) expect_singular(block, p, p + 1, takes_square_roots());
  });
}

TEST_P(SpdSolverStatus, NotFiniteInputIsFoundInEveryPlaceThatCounts) {
  for (const Storage storage : all_storages)
    for (const int n : sizes_here(sizes_under_test({1, 7, 8, 17, 32, 33, 64, 128}))) {
      const SpdShape shape{n, 2, storage};
      SCOPED_TRACE(shape_name(shape));
      // In system k, element `k * step` is not finite, counted through A and then through b. The step is 5 for n > 32
      // and 17 for n > 64, which saves systems. Every row and every column still has such an element.
      std::int64_t step = 1;
      if (n > 32) step = n > 64 ? 17 : 5;
      const std::int64_t matrix_size = shape.matrix_size(),
                         systems = (matrix_size + shape.rhs_size() + step - 1) / step;
      const auto check = [&]<class T>(T) {
        SpdBlock<T> good = generated_block<T>(SpdFamily::random, shape, 17, 10), block = repeated(good, systems);
        for (std::int64_t k = 0; k < systems; ++k) {
          const std::int64_t place = k * step;
          const T bad = static_cast<T>(k % 3 == 0 ? nan_value : k % 3 == 1 ? infinity : -infinity);
          (place < matrix_size ? block.a[k * matrix_size + place]
                               : block.b[k * shape.rhs_size() + place - matrix_size]) = bad;
        }
        solve(*solver_, good);
        solve(*solver_, block);
        for (std::int64_t k = 0; k < systems; ++k) {
          const std::int64_t place = k * step;
          if (storage == Storage::dense_lower && place < matrix_size && place % n > place / n)
            ASSERT_TRUE(same_bits(block, k, good, k % good.count)) << "system " << k;
          else
            expect_failed(block, k, place < matrix_size ? info_matrix_not_finite : info_rhs_not_finite);
        }
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverStatus, InputIsJudgedInTheDocumentedOrder) {
  SpdBlock<double> block = generated_block<double>(SpdFamily::random, {9, 1, Storage::dense}, 3);
  for (std::int64_t k = 0; k < 3; ++k) {
    element(block, k, 0, 0) = -1;  // a pivot that is not positive comes last in the order
    block.b[k * 9 + 4] = nan_value;
    if (k < 2) element(block, k, 8, 2) += 1;
    if (k < 1) element(block, k, 1, 7) = infinity;
  }
  solve(*solver_, block);
  expect_failed(block, 0, info_matrix_not_finite);
  expect_failed(block, 1, info_matrix_not_symmetric);
  expect_failed(block, 2, info_rhs_not_finite);
}

TEST_P(SpdSolverStatus, AsymmetryIsRefusedAtEveryPlaceHoweverLittleIsAsked) {
  for (const int n : sizes_under_test({8, 16, 32, 33, 64})) {
    const SpdShape shape{n, 1, Storage::dense};
    SCOPED_TRACE(shape_name(shape));
    const auto check = [&]<class T>(T) {
      // One system for each element of A. The element is wrong unless it is on the diagonal.
      const std::int64_t systems = shape.matrix_size();
      const SpdBlock<T> clean = [&] {
        SpdBlock<T> block = repeated(generated_block<T>(SpdFamily::random, shape, 17, 10), systems);
        for (std::int64_t k = 0; k < systems; ++k)
          if (k / n != k % n) element(block, k, static_cast<int>(k / n), static_cast<int>(k % n)) += 1;
        return block;
      }();
      for (const bool judged : {false, true}) {
        SpdBlock<T> block = clean;
        SpdSolution<T> solution;
        solution.x = block.x.data();
        solution.info = block.info.data();
        if (judged) solution.backward_error = block.backward_error.data();
        solver_->solve(block.batch(), solution);
        for (std::int64_t k = 0; k < systems; ++k)
          ASSERT_EQ(block.info[k], k / n == k % n ? 0 : info_matrix_not_symmetric)
              << "row " << k / n << ", column " << k % n << (judged ? ", judged" : "");
      }
    };
    check(float{});
    check(double{});
  }
}

TEST_P(SpdSolverStatus, AsymmetryWithinRoundingIsSolvedAndBeyondItRefused) {
  for_all_shapes({1, 0}, [this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    if (n == 1 || shape.storage != Storage::dense) return;  // no two elements that could differ
    {
      // Powers of two scale the matrices, and the allowed difference must scale with them.
      for (const int exponent : {0, -50, 60}) {
        SpdBlock<T> block = generated_block<T>(SpdFamily::gram, shape, 8);
        for (T& value : block.a) value = std::ldexp(value, exponent);
        for (std::int64_t k = 0; k < 8; ++k) {
          // The element that differs is in either triangle and has either sign. It belongs to the first two rows, or to
          // the first and the last row. The allowed difference is n eps sqrt(a_ii a_jj).
          const int far = k % 4 < 2 ? n - 1 : 1, i = k % 2 == 0 ? far : 0, j = k % 2 == 0 ? 0 : far;
          set_symmetric<T>(block, k, i, j, 0);
          const double allowed =
              n * 2 * unit_roundoff<T> *
              std::sqrt(static_cast<double>(element(block, k, i, i)) * static_cast<double>(element(block, k, j, j)));
          element(block, k, i, j) = static_cast<T>((k < 4 ? 0.99 : 1.01) * (k % 2 == 0 ? allowed : -allowed));
        }
        solve(*solver_, block);
        for (std::int64_t k = 0; k < 4; ++k) {
          EXPECT_EQ(block.info[k], 0) << "system " << k;
          // The backward error is for A as stored, with both triangles.
          expect_backward_error(block, k);
        }
        for (std::int64_t k = 4; k < 8; ++k) expect_failed(block, k, info_matrix_not_symmetric);
      }
    }
  });
}

TEST_P(SpdSolverStatus, TrianglesThatDifferByAnUlpAreJudgedAsTheyAreStored) {
  // The triangles of a Gram product may differ by an ulp, because they are rounded separately.
  for_all_shapes({1, 3, 0}, [this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    if (shape.storage != Storage::dense) return;
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 12, 1e3);
    for (std::int64_t k = 0; k < block.count; ++k)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j)
          if ((i + j + k) % 3 == 0) {
            T& upper = element(block, k, j, i);
            upper = std::nextafter(upper, (i * j + k) % 2 == 0 ? T(9) : T(-9));
          }
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      expect_backward_error(block, k);
      if (GetParam().method != SpdMethod::gauss_jordan) {  // Gauss-Jordan elimination is not backward stable
        ASSERT_LT(judge(block, k).residual_ratio, spd_ratio_limit);
      }
    }
  });
}

TEST_P(SpdSolverStatus, ANeighbourFarFromOneLeavesTheJudgementOfAsymmetricSystemsRight) {
  for (const int n : spd_sizes) {
    if (n == 1) continue;
    for (const int nrhs : {1, 3}) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", nrhs = " + std::to_string(nrhs));
      const auto check = [&]<class T>(T) {
        SpdBlock<T> block = generated_block<T>(SpdFamily::gram, {n, nrhs, Storage::dense}, 32);
        const std::int64_t size = block.shape.matrix_size();
        for (std::int64_t k = 0; k < block.count; ++k) {
          if (k % 4 == 1)
            for (std::int64_t e = 0; e < size; ++e)
              block.a[k * size + e] = std::ldexp(block.a[k * size + e], sizeof(T) == 4 ? 60 : 400);
          T& corner = element(block, k, n - 1, 0);
          corner += static_cast<T>(n * unit_roundoff<T>) * std::sqrt(element(block, k, 0, 0)) *
                    std::sqrt(element(block, k, n - 1, n - 1));
        }
        solve(*solver_, block);
        for (std::int64_t k = 0; k < block.count; ++k) {
          ASSERT_EQ(block.info[k], 0) << "system " << k;
          expect_backward_error(block, k);
        }
      };
      check(float{});
      check(double{});
    }
  }
}

TEST_P(SpdSolverStatus, ASolutionThatOverflowsSaysSo) {
  for_all_shapes({1, 4}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::gram, shape, 3);
    const T huge = std::numeric_limits<T>::max() / 4;
    for (std::int64_t e = 0; e < shape.matrix_size(); ++e) block.a[shape.matrix_size() + e] *= static_cast<T>(1e-5);
    for (std::int64_t e = 0; e < shape.rhs_size(); ++e) block.b[shape.rhs_size() + e] = huge;
    solve(*solver_, block);
    EXPECT_EQ(block.info[0], 0);
    expect_failed(block, 1, info_result_not_finite);
    EXPECT_EQ(block.info[2], 0);
  });
}

/// The last two rows of A have pivots d_0 = 2^p and d_1 = 2^s, and the factor l_10 = d_0^-1/2. Only one element of
/// A^-1, 1 / d_0 + 1 / (d_0 d_1), leaves the range.
TEST_P(SpdSolverStatus, AnInverseThatOverflowsSaysSo) {
  for_all_shapes({0}, [this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n, p = sizeof(T) == 4 ? -110 : -1000, s = sizeof(T) == 4 ? -20 : -40;
    if (n < 2) return;
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 3);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) set_symmetric(block, 1, i, j, T(i == j ? 1 : 0));
    set_symmetric(block, 1, n - 2, n - 2, std::ldexp(T(1), p));
    set_symmetric(block, 1, n - 1, n - 2, std::ldexp(T(1), p / 2));
    set_symmetric(block, 1, n - 1, n - 1, 1 + std::ldexp(T(1), s));
    solve(*solver_, block);
    expect_failed(block, 1, info_result_not_finite);
    for (const std::int64_t k : {0, 2}) EXPECT_EQ(block.info[k], 0) << "system " << k;
  });
}

TEST_P(SpdSolverStatus, ASolutionThatUnderflowsSaysSo) {
  for_all_shapes({1, 3}, [this]<class T>(T, const SpdShape& shape) {
    constexpr int lowest = std::numeric_limits<T>::min_exponent;  // least exponent of normal numbers
    const int half = lowest / 2;
    SpdBlock<T> block = generated_block<T>(SpdFamily::gram, shape, 6);
    const auto scale = [&](std::int64_t k, int a_exponent, int b_exponent) {
      T* const a = block.a.data() + k * shape.matrix_size();
      T* const b = block.b.data() + k * shape.rhs_size();
      for (std::int64_t e = 0; e < shape.matrix_size(); ++e) a[e] = std::ldexp(a[e], a_exponent);
      for (std::int64_t e = 0; e < shape.rhs_size(); ++e) b[e] = std::ldexp(b[e], b_exponent);
    };
    scale(1, -half, half - 60);       // below the smallest number
    scale(2, -half, half - 8);        // subnormal, with a few bits left
    scale(3, -half - 20, half + 20);  // normal
    std::fill_n(block.b.begin() + 4 * shape.rhs_size(), shape.rhs_size(), T(0));
    scale(4, -half, 0);  // x = 0, exactly
    // The identity, and small numbers in b: x equals b, to the bit.
    for (int i = 0; i < shape.n; ++i)
      for (int j = 0; j <= i; ++j) set_symmetric<T>(block, 5, i, j, T(i == j ? 1 : 0));
    for (std::int64_t e = 0; e < shape.rhs_size(); ++e)
      block.b[5 * shape.rhs_size() + e] = std::numeric_limits<T>::denorm_min() * static_cast<T>(e % 7);
    solve(*solver_, block);
    EXPECT_EQ(block.info[0], 0);
    expect_failed(block, 1, info_result_underflowed);
    expect_failed(block, 2, info_result_underflowed);
    for (const std::int64_t k : {3, 4, 5}) {
      EXPECT_EQ(block.info[k], 0) << "system " << k;
      EXPECT_LT(judge(block, k).residual_ratio, spd_ratio_limit) << "system " << k;
    }
    for (std::int64_t e = 0; e < shape.rhs_size(); ++e) {
      ASSERT_EQ(block.x[4 * shape.rhs_size() + e], 0);
      ASSERT_EQ(block.x[5 * shape.rhs_size() + e], block.b[5 * shape.rhs_size() + e]);
    }
    // The referee agrees with this status, and with no other status.
    for (const std::int64_t k : {1, 2}) {
      EXPECT_TRUE(same_status(info_result_underflowed, judge(block, k), scalar_type_of<T>, shape.n));
      SpdBlock<T> zero = block;
      zero.info[k] = 0;
      std::fill_n(zero.x.begin() + k * shape.rhs_size(), shape.rhs_size(), T(0));
      EXPECT_FALSE(same_status(0, judge(zero, k), scalar_type_of<T>, shape.n));
    }
    SpdBlock<T> denied = block;
    denied.info[3] = info_result_underflowed;
    EXPECT_FALSE(same_status(info_result_underflowed, judge(denied, 3), scalar_type_of<T>, shape.n));
  });
}

TEST_P(SpdSolverStatus, BadSystemsLeaveTheirNeighboursAlone) {
  for_all_shapes({1, 5, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> good = generated_block<T>(SpdFamily::random, shape, 41), spoiled = good;
    const auto expected = [&](std::int64_t k) -> std::int32_t {
      if (k % 3 != 2) return 0;
      if (k % 2 == 0) return info_matrix_not_finite;
      return k % 4 == 1 || shape.nrhs == 0 ? 1 : info_rhs_not_finite;
    };
    for (std::int64_t k = 0; k < 41; ++k) {
      if (expected(k) == info_matrix_not_finite)
        element(spoiled, k, shape.n - 1, shape.n - 1) = static_cast<T>(nan_value);
      else if (expected(k) == info_rhs_not_finite)
        spoiled.b[k * shape.rhs_size() + shape.rhs_size() / 2] = static_cast<T>(-infinity);
      else if (expected(k) == 1)
        element(spoiled, k, 0, 0) = -5;
    }
    solve(*solver_, good);
    solve(*solver_, spoiled);
    for (std::int64_t k = 0; k < 41; ++k) {
      if (expected(k) != 0) {
        expect_failed(spoiled, k, expected(k));
      } else {
        ASSERT_EQ(good.info[k], 0) << "system " << k;
        ASSERT_TRUE(same_bits(good, k, spoiled, k)) << "system " << k;
      }
    }
  });
}

TEST_P(SpdSolverStatus, TheDeterminantAloneHasTheSameStatus) {
  for (const Storage storage : all_storages)
    for (const int n : spd_sizes) {
      const SpdShape shape{n, 0, storage, true};
      SCOPED_TRACE(shape_name(shape));
      const auto check = [&]<class T>(T) {
        SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 6);
        element(block, 1, n - 1, 0) = static_cast<T>(nan_value);
        for (int j = 0; j < n; ++j) set_symmetric<T>(block, 3, n / 2, j, 0);
        if (n > 1) element(block, 4, n - 1, 0) += static_cast<T>(1);  // every element is below 1
        poison_upper(block, static_cast<T>(infinity));
        solve(*solver_, block);
        EXPECT_EQ(block.info[0], 0);
        expect_failed(block, 1, info_matrix_not_finite);
        EXPECT_EQ(block.info[2], 0);
        expect_failed(block, 3, n / 2 + 1);
        if (storage == Storage::dense && n > 1) expect_failed(block, 4, info_matrix_not_symmetric);
        EXPECT_EQ(block.info[5], 0);
      };
      check(float{});
      check(double{});
    }
}

INSTANTIATE_TEST_SUITE_P(Solvers, SpdSolverStatus, ::testing::ValuesIn(all_solver_choices), solver_test_name);

}  // namespace
}  // namespace smallbatch::testing
