// One source over the three backends: what SpdSolver promises, against truths that come from outside the solvers.
#include "solvers/spd_solver.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.hpp"
#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver_backends.hpp"
#include "tests/backends.hpp"
#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

const std::vector<int> sizes{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32};
const std::vector<int> rhs_counts{1, 2, 4, 5, 0};
const std::vector<Storage> storages{Storage::dense, Storage::packed_lower};

template <class T>
constexpr double unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

class SpdSolverTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!IsSkipped()) solver_ = make_spd_solver(backend_);
  }
  /// Calls check(T{}, shape) for both types, all sizes, all storages and the given nrhs.
  template <class Check>
  void for_all_shapes(const std::vector<int>& all_nrhs, Check check) {
    for (const Storage storage : storages)
      for (const int n : sizes)
        for (const int nrhs : all_nrhs) {
          const SpdShape shape{n, nrhs, storage};
          SCOPED_TRACE("n = " + std::to_string(n) + ", nrhs = " + std::to_string(nrhs) +
                       (storage == Storage::dense ? ", dense" : ", packed"));
          check(float{}, shape);
          check(double{}, shape);
        }
  }
  std::unique_ptr<SpdSolver> solver_;
};

template <class T>
void expect_failed(const SpdBlock<T>& block, std::int64_t k, std::int32_t info) {
  EXPECT_EQ(block.info[k], info) << "system " << k;
  EXPECT_TRUE(std::isnan(block.backward_error[k]));
  for (std::int64_t e = 0; e < block.shape.solution_size(); ++e)
    ASSERT_TRUE(std::isnan(block.x[k * block.shape.solution_size() + e])) << "system " << k << ", x[" << e << "]";
}

template <class T>
void expect_judged_right(const SpdBlock<T>& block, double limit = spd_ratio_limit) {
  for (std::int64_t k = 0; k < block.count; ++k) {
    ASSERT_EQ(block.info[k], 0) << "system " << k;
    const SpdJudgement judgement = judge_spd_solution(block.shape, block.a.data() + k * block.shape.matrix_size(),
                                                      block.b.data() + k * block.shape.rhs_size(),
                                                      block.x.data() + k * block.shape.solution_size(), block.info[k]);
    ASSERT_EQ(judgement.info, 0) << "system " << k;
    ASSERT_LT(judgement.residual_ratio, limit) << "system " << k;
    ASSERT_LT(judgement.forward_ratio, limit) << "system " << k;
  }
}

TEST_P(SpdSolverTest, SolvesASystemThatCanBeCheckedByHand) {
  // A = [4 2; 2 5], x = (1, 2): b = (8, 12). A^-1 = [5 -2; -2 4] / 16.
  const std::vector<float> a{4, 2, 2, 5}, b{8, 12};
  std::vector<float> x(4), error(1);
  std::vector<std::int32_t> info(1, 77);
  solver_->solve({{2, 1, Storage::dense}, 1, a.data(), b.data()}, {x.data(), info.data(), error.data()});
  EXPECT_EQ(info[0], 0);
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[1], 2);
  EXPECT_EQ(error[0], 0);
  solver_->solve({{2, 0, Storage::dense}, 1, a.data(), nullptr}, {x.data(), info.data(), error.data()});
  EXPECT_EQ(x, (std::vector<float>{5.0F / 16, -2.0F / 16, -2.0F / 16, 4.0F / 16}));
  EXPECT_EQ(error[0], 0);

  // Packed [4; 2 5; 0 2 2], x = (1, -1, 3): b = (2, 3, 4).
  const std::vector<double> packed{4, 2, 5, 0, 2, 2}, right{2, 3, 4};
  std::vector<double> y(3), packed_error(1);
  solver_->solve({{3, 1, Storage::packed_lower}, 1, packed.data(), right.data()},
                 {y.data(), info.data(), packed_error.data()});
  EXPECT_EQ(info[0], 0);
  EXPECT_NEAR(y[0], 1, 1e-14);
  EXPECT_NEAR(y[1], -1, 1e-14);
  EXPECT_NEAR(y[2], 3, 1e-14);
}

TEST_P(SpdSolverTest, IntegersComeOutExactly) {
  // All pivots of min(i,j) are 1 and all its multipliers are 1, so an elimination in floating point is exact; the
  // inverse is tridiagonal: 2 on the diagonal (1 in the last place), -1 beside it.
  for_all_shapes(rhs_counts, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, 3);
    const auto chosen = [](std::int64_t k, int i, int c) { return static_cast<T>((7 * k + 3 * i + 5 * c) % 9 - 4); };
    for (std::int64_t k = 0; k < block.count; ++k)
      for (int i = 0; i < shape.n; ++i)
        for (int c = 0; c < shape.nrhs; ++c) {
          T sum = 0;
          for (int j = 0; j < shape.n; ++j) sum += static_cast<T>(std::min(i, j) + 1) * chosen(k, j, c);
          block.b[(k * shape.n + i) * shape.nrhs + c] = sum;
        }
    solve(*solver_, block);
    const int columns = shape.wants_inverse() ? shape.n : shape.nrhs;
    // The reference's Cholesky factorization takes square roots.
    const double rounding = backend_.kind == BackendKind::reference ? 1e-12 : 0;
    for (std::int64_t k = 0; k < block.count; ++k) {
      EXPECT_EQ(block.info[k], 0);
      EXPECT_LE(block.backward_error[k], rounding);
      for (int i = 0; i < shape.n; ++i)
        for (int c = 0; c < columns; ++c) {
          const T tridiagonal = i == c ? (i + 1 == shape.n ? 1 : 2) : std::abs(i - c) == 1 ? -1 : 0;
          ASSERT_NEAR(block.x[(k * shape.n + i) * columns + c], shape.wants_inverse() ? tridiagonal : chosen(k, i, c),
                      rounding)
              << "system " << k << ", row " << i << ", column " << c;
        }
    }
  });
}

TEST_P(SpdSolverTest, RandomSystemsPassLapacksRatios) {
  for_all_shapes(rhs_counts, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 37);
    solve(*solver_, block);
    expect_judged_right(block);
  });
}

TEST_P(SpdSolverTest, ABatchOfManySystemsPassesLapacksRatios) {
  const std::int64_t count = backend_.kind == BackendKind::reference ? 1 << 12 : 1 << 16;
  SpdBlock<float> block = generated_block<float>(SpdFamily::gram, {32, 1, Storage::dense}, count);
  solve(*solver_, block);
  for (std::int64_t k = 0; k < count; ++k) {
    ASSERT_EQ(block.info[k], 0) << "system " << k;
    ASSERT_LT(block.backward_error[k], spd_ratio_limit * unit_roundoff<float>) << "system " << k;
  }
  std::vector<std::int64_t> some;
  for (std::int64_t k = 0; k < count; k += 61) some.push_back(k);
  SpdBlock<float> sample = selected(block, some);
  for (std::size_t s = 0; s < some.size(); ++s) {
    std::copy_n(block.x.data() + some[s] * 32, 32, sample.x.data() + s * 32);
    sample.info[s] = 0;
  }
  expect_judged_right(sample);
}

TEST_P(SpdSolverTest, BackwardErrorIsTheRatioThatTheRefereeComputes) {
  for_all_shapes({1, 4, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random_log_uniform, shape, 19, 1e3);
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      const SpdJudgement judgement =
          judge_spd_solution(shape, block.a.data() + k * shape.matrix_size(), block.b.data() + k * shape.rhs_size(),
                             block.x.data() + k * shape.solution_size(), 0);
      const double expected = judgement.residual_ratio * unit_roundoff<T> * (shape.wants_inverse() ? shape.n : 1);
      // The residual in double precision has a rounding error of its own, which matters for double input alone.
      const double slack = sizeof(T) == 4 ? 1e-6 * expected : 2 * shape.n * unit_roundoff<T>;
      ASSERT_NEAR(block.backward_error[k], expected, slack);
    }
  });
}

TEST_P(SpdSolverTest, ZeroedRowAndColumnIsThatPivot) {
  for_all_shapes({1, 0}, [this]<class T>(T, const SpdShape& shape) {
    const std::vector<int> places{0, shape.n / 2, shape.n - 1};
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 3 * 5);
    for (std::int64_t k = 0; k < block.count; ++k)
      for (int j = 0; j < shape.n; ++j) set_symmetric<T>(block, k, places[k % 3], j, 0);
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) expect_failed(block, k, places[k % 3] + 1);
  });
}

TEST_P(SpdSolverTest, PlantedNegativePivotIsThatPivot) {
  // A = L D L^T with small integers: L unit lower of ones, so A_ij = sum of D over k <= min(i,j), and D_p = -1.
  for_all_shapes({1, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block;
    block.resize(shape, shape.n);
    std::fill(block.b.begin(), block.b.end(), T(1));
    for (int p = 0; p < shape.n; ++p)
      for (int i = 0; i < shape.n; ++i)
        for (int j = 0; j <= i; ++j) set_symmetric<T>(block, p, i, j, static_cast<T>(j < p ? j + 1 : j - 1));
    solve(*solver_, block);
    for (int p = 0; p < shape.n; ++p) expect_failed(block, p, p + 1);
  });
}

TEST_P(SpdSolverTest, NotFiniteInputIsFoundInEveryPlace) {
  for (const Storage storage : storages)
    for (const int n : {1, 7, 8, 17, 32}) {
      const SpdShape shape{n, 2, storage};
      const std::int64_t matrix_size = shape.matrix_size(), places = matrix_size + shape.rhs_size();
      const auto check = [&]<class T>(T) {
        SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, places);
        for (std::int64_t k = 0; k < places; ++k) {
          const T bad = static_cast<T>(k % 3 == 0 ? nan_value : k % 3 == 1 ? infinity : -infinity);
          (k < matrix_size ? block.a[k * matrix_size + k] : block.b[k * shape.rhs_size() + k - matrix_size]) = bad;
        }
        solve(*solver_, block);
        for (std::int64_t k = 0; k < places; ++k)
          expect_failed(block, k, k < matrix_size ? info_matrix_not_finite : info_rhs_not_finite);
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverTest, InputIsJudgedInTheDocumentedOrder) {
  SpdBlock<double> block = generated_block<double>(SpdFamily::random, {9, 1, Storage::dense}, 3);
  for (std::int64_t k = 0; k < 3; ++k) {
    element(block, k, 0, 0) = -1;  // a pivot that is not positive, last in order
    block.b[k * 9 + 4] = nan_value;
    if (k < 2) element(block, k, 8, 2) += 1;
    if (k < 1) element(block, k, 1, 7) = infinity;
  }
  solve(*solver_, block);
  expect_failed(block, 0, info_matrix_not_finite);
  expect_failed(block, 1, info_matrix_not_symmetric);
  expect_failed(block, 2, info_rhs_not_finite);
}

TEST_P(SpdSolverTest, AsymmetryWithinRoundingIsSolvedAndBeyondItRefused) {
  for (const int n : {2, 8, 13, 32}) {
    const auto check = [&]<class T>(T) {
      SpdBlock<T> block = generated_block<T>(SpdFamily::gram, {n, 1, Storage::dense}, 4);
      for (std::int64_t k = 0; k < 4; ++k) {
        // Either triangle; the allowance is n eps sqrt(a_ii a_jj).
        const int i = k % 2 == 0 ? n - 1 : 0, j = k % 2 == 0 ? 0 : n - 1;
        set_symmetric<T>(block, k, i, j, 0);
        const double allowed = n * 2 * unit_roundoff<T> *
                               std::sqrt(static_cast<double>(element(block, k, i, i)) * element(block, k, j, j));
        element(block, k, i, j) = static_cast<T>((k < 2 ? 0.99 : 1.01) * allowed);
      }
      solve(*solver_, block);
      EXPECT_EQ(block.info[0], 0);
      EXPECT_EQ(block.info[1], 0);
      expect_failed(block, 2, info_matrix_not_symmetric);
      expect_failed(block, 3, info_matrix_not_symmetric);
    };
    check(float{});
    check(double{});
  }
}

TEST_P(SpdSolverTest, SolutionThatOverflowsSaysSo) {
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

TEST_P(SpdSolverTest, BadSystemsLeaveTheirNeighboursAlone) {
  for_all_shapes({1, 5, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> good = generated_block<T>(SpdFamily::random, shape, 41), mixed = good;
    for (std::int64_t k = 2; k < 41; k += 3) {
      if (k % 2 == 0)
        element(mixed, k, shape.n - 1, shape.n - 1) = static_cast<T>(nan_value);
      else
        element(mixed, k, 0, 0) = -5;
    }
    solve(*solver_, good);
    solve(*solver_, mixed);
    for (std::int64_t k = 0; k < 41; ++k) {
      if (k % 3 == 2)
        expect_failed(mixed, k, k % 2 == 0 ? info_matrix_not_finite : 1);
      else
        ASSERT_TRUE(same_bits(good, k, mixed, k)) << "system " << k;
    }
  });
}

TEST_P(SpdSolverTest, ASystemGetsTheSameBitsAtAnyPlaceInAnyBatch) {
  for_all_shapes({1, 4, 5, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 67);
    // One that is scaled on its way, among others that are not.
    for (std::int64_t e = 0; e < shape.matrix_size(); ++e) block.a[e] *= static_cast<T>(0x1p+100);
    std::vector<std::int64_t> reversed(67);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    SpdBlock<T> backwards = selected(block, reversed), alone = selected(block, {13}),
                scaled_alone = selected(block, {0});
    solve(*solver_, block);
    solve(*solver_, backwards);
    solve(*solver_, alone);
    solve(*solver_, scaled_alone);
    for (std::int64_t k = 0; k < 67; ++k) ASSERT_TRUE(same_bits(block, k, backwards, 66 - k)) << "system " << k;
    EXPECT_TRUE(same_bits(block, 13, alone, 0));
    EXPECT_TRUE(same_bits(block, 0, scaled_alone, 0));
  });
}

TEST_P(SpdSolverTest, PowersOfTwoScaleTheSolutionAndNothingElse) {
  for_all_shapes({1, 2, 0}, [this]<class T>(T, const SpdShape& shape) {
    const std::vector<int> a_exponents{0, 1, -9, 30, -55, 75, -80}, b_exponents{0, 3, 50, -70, 45, 0, -60};
    const auto systems = static_cast<std::int64_t>(a_exponents.size());
    const SpdBlock<T> one = generated_block<T>(SpdFamily::random, shape, 1);
    SpdBlock<T> block = selected(one, std::vector<std::int64_t>(a_exponents.size(), 0));
    for (std::int64_t k = 0; k < systems; ++k) {
      for (std::int64_t e = 0; e < shape.matrix_size(); ++e)
        block.a[k * shape.matrix_size() + e] = std::ldexp(block.a[k * shape.matrix_size() + e], a_exponents[k]);
      for (std::int64_t e = 0; e < shape.rhs_size(); ++e)
        block.b[k * shape.rhs_size() + e] = std::ldexp(block.b[k * shape.rhs_size() + e], b_exponents[k]);
    }
    solve(*solver_, block);
    for (std::int64_t k = 0; k < systems; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_EQ(block.backward_error[k], block.backward_error[0]) << "system " << k;
      const int exponent = (shape.wants_inverse() ? 0 : b_exponents[k]) - a_exponents[k];
      for (std::int64_t e = 0; e < shape.solution_size(); ++e)
        ASSERT_EQ(block.x[k * shape.solution_size() + e], std::ldexp(block.x[e], exponent))
            << "system " << k << ", x[" << e << "]";
    }
  });
}

TEST_P(SpdSolverTest, MatricesNearTheEndsOfTheRange) {
  for_all_shapes({1, 4, 0}, [this]<class T>(T, const SpdShape& shape) {
    const double tiny = sizeof(T) == 4 ? 1e-37 : 1e-300, huge = sizeof(T) == 4 ? 1e37 : 1e300;
    SpdBlock<T> block = generated_block<T>(SpdFamily::gram, shape, 5);
    for (std::int64_t k = 0; k < 5; ++k)
      for (std::int64_t e = 0; e < std::max(shape.matrix_size(), shape.rhs_size()); ++e) {
        const double factor = k == 1 ? tiny : k == 2 ? huge : 1;
        if (e < shape.matrix_size()) {
          T& value = block.a[k * shape.matrix_size() + e];
          value = static_cast<T>(value * factor);
        }
        if (e < shape.rhs_size()) {
          T& value = block.b[k * shape.rhs_size() + e];
          value = static_cast<T>(value * (k == 3 ? tiny : k == 4 ? huge / 10 : factor));
        }
      }
    solve(*solver_, block);
    expect_judged_right(block);
  });
}

TEST_P(SpdSolverTest, IntegersTimesTheSmallestNumberComeOutExactly) {
  // min(i,j) times the smallest subnormal number: the reciprocal of every pivot is beyond the range.
  for_all_shapes({1, 4}, [this]<class T>(T, const SpdShape& shape) {
    constexpr T unit = std::numeric_limits<T>::denorm_min();
    SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, 2);
    for (T& value : block.a) value *= unit;
    for (std::int64_t k = 0; k < 2; ++k)
      for (int i = 0; i < shape.n; ++i)
        for (int c = 0; c < shape.nrhs; ++c) {
          int sum = 0;
          for (int j = 0; j < shape.n; ++j) sum += (std::min(i, j) + 1) * (j % 5 - 2 + c);
          block.b[(k * shape.n + i) * shape.nrhs + c] = static_cast<T>(sum) * unit;
        }
    solve(*solver_, block);
    for (std::int64_t k = 0; k < 2; ++k) {
      ASSERT_EQ(block.info[k], 0);
      for (int i = 0; i < shape.n; ++i)
        for (int c = 0; c < shape.nrhs; ++c)
          ASSERT_NEAR(block.x[(k * shape.n + i) * shape.nrhs + c], i % 5 - 2 + c,
                      backend_.kind == BackendKind::reference ? 1e-12 : 0);
    }
  });
}

TEST_P(SpdSolverTest, DiagonalsAcrossTheWholeRange) {
  // diag(s) K diag(s) for K with ones on the diagonal and 1/8 beside it, s from the smallest to the largest number that
  // can be squared: well conditioned once the scales are taken out. x is chosen as K y = 1, x = y / s.
  const auto check = [this]<class T>(T) {
    constexpr int n = 12;
    SpdBlock<T> block;
    block.resize({n, 1, Storage::dense}, 1);
    const int range = sizeof(T) == 4 ? 60 : 500;
    const auto exponent = [range](int i) { return -range + 2 * range * ((5 * i) % n) / (n - 1); };
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j)
        block.a[i * n + j] = std::ldexp(static_cast<T>(i == j                 ? 1
                                                       : std::abs(i - j) == 1 ? 0.125
                                                                              : 0),
                                        exponent(i) + exponent(j));
      // y = 1: b_i = s_i (1 + 1/8 per neighbour)
      block.b[i] = std::ldexp(static_cast<T>(1 + 0.125 * ((i > 0) + (i + 1 < n))), exponent(i));
    }
    solve(*solver_, block);
    ASSERT_EQ(block.info[0], 0);
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(std::ldexp(block.x[i], exponent(i)), 1, 8 * unit_roundoff<T>) << "row " << i;
  };
  check(float{});
  check(double{});
}

TEST_P(SpdSolverTest, PermutedSystemsHaveThePermutedSolution) {
  for (const int n : {5, 16, 32}) {
    const SpdShape shape{n, 1, Storage::dense};
    SpdBlock<double> block = generated_block<double>(SpdFamily::gram, shape, 9), permuted = block;
    const auto place = [n](int i) { return (i + 3) % n; };
    for (std::int64_t k = 0; k < 9; ++k)
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) element(permuted, k, place(i), place(j)) = element(block, k, i, j);
        permuted.b[k * n + place(i)] = block.b[k * n + i];
      }
    solve(*solver_, block);
    solve(*solver_, permuted);
    for (std::int64_t k = 0; k < 9; ++k)
      for (int i = 0; i < n; ++i) ASSERT_NEAR(permuted.x[k * n + place(i)], block.x[k * n + i], 1e-13);
  }
}

TEST_P(SpdSolverTest, TheInverseIsExactlySymmetricAndInvertsBack) {
  SpdBlock<double> block = generated_block<double>(SpdFamily::random, {17, 0, Storage::dense}, 11), back = block;
  solve(*solver_, block);
  for (std::int64_t k = 0; k < 11; ++k)
    for (int i = 0; i < 17; ++i)
      for (int j = 0; j < i; ++j) ASSERT_EQ(block.x[(k * 17 + i) * 17 + j], block.x[(k * 17 + j) * 17 + i]);
  back.a = block.x;
  solve(*solver_, back);
  for (std::size_t e = 0; e < back.x.size(); ++e) ASSERT_NEAR(back.x[e], block.a[e], 1e-11);
}

TEST_P(SpdSolverTest, EveryFamilyPassesLapacksRatios) {
  for (const SpdFamilyDescription& family : spd_families()) {
    SCOPED_TRACE(family.name);
    if (family.family == SpdFamily::moler) continue;  // as good as singular in floating point at n = 32
    SpdBlock<float> singles = generated_block<float>(family.family, {32, 1, Storage::dense}, 40, 30);
    SpdBlock<double> doubles = generated_block<double>(family.family, {32, 1, Storage::packed_lower}, 40, 30);
    solve(*solver_, singles);
    solve(*solver_, doubles);
    expect_judged_right(singles);
    expect_judged_right(doubles);
  }
}

TEST_P(SpdSolverTest, IllConditionedFamiliesPassLapacksRatios) {
  // The residual of Gauss-Jordan elimination alone grows with the condition number (Higham, "Accuracy and Stability of
  // Numerical Algorithms", section 14.4), far beyond the limit in these families.
  const auto check = [&]<class T>(const SpdShape& shape, SpdFamily family, double condition, T) {
    SpdBlock<T> block = generated_block<T>(family, shape, 40, condition);
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0) << "system " << k;
      const SpdJudgement judgement =
          judge_spd_solution(shape, block.a.data() + k * shape.matrix_size(), block.b.data() + k * shape.rhs_size(),
                             block.x.data() + k * shape.solution_size(), 0);
      ASSERT_LT(judgement.forward_ratio, spd_ratio_limit) << "system " << k;
      ASSERT_LT(judgement.residual_ratio, spd_ratio_limit) << "system " << k;
      const double expected = judgement.residual_ratio * unit_roundoff<T> * (shape.wants_inverse() ? shape.n : 1);
      ASSERT_NEAR(block.backward_error[k], expected, sizeof(T) == 4 ? 1e-6 * expected : 64 * unit_roundoff<T>);
    }
  };
  for (const SpdFamilyDescription& family : spd_families()) {
    SCOPED_TRACE(family.name);
    if (family.family == SpdFamily::moler) continue;
    for (const SpdShape& shape :
         {SpdShape{32, 1, Storage::dense}, SpdShape{27, 3, Storage::packed_lower}, SpdShape{16, 0, Storage::dense}}) {
      SCOPED_TRACE(shape.n);
      check(shape, family.family, 1e4, float{});
      check(shape, family.family, 1e10, double{});
    }
  }
}

TEST_P(SpdSolverTest, AnEmptyBatchDoesNothing) {
  std::int32_t info = 77;
  solver_->solve(SpdBatch<float>{{32, 1, Storage::dense}, 0, nullptr, nullptr}, {nullptr, &info, nullptr});
  solver_->solve(SpdBatch<double>{{5, 0, Storage::packed_lower}, 0, nullptr, nullptr}, {nullptr, &info, nullptr});
  EXPECT_EQ(info, 77);
}

TEST_P(SpdSolverTest, ShapesThatMakeNoSenseThrow) {
  const auto thrown = [this](const SpdShape& shape, std::int64_t count) {
    try {
      solver_->solve(SpdBatch<float>{shape, count, nullptr, nullptr}, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(thrown({0, 1, Storage::dense}, 1).find("n = 0"), std::string::npos);
  EXPECT_NE(thrown({33, 1, Storage::dense}, 1).find("n = 33"), std::string::npos);
  EXPECT_NE(thrown({4, -1, Storage::dense}, 1).find("nrhs = -1"), std::string::npos);
  EXPECT_NE(thrown({4, 1, Storage::dense}, -1).find("-1 systems"), std::string::npos);
}

TEST_P(SpdSolverTest, DescriptionNamesBackendAndMethod) {
  const std::string expected = backend_.kind == BackendKind::reference ? "reference eigen llt"
                               : backend_.kind == BackendKind::cuda
                                   ? "cuda:0 gauss_jordan, ldlt where its backward error is large"
                                   : std::string("cpu ldlt ") + usable_ldlt_kernels().front().name;
  EXPECT_EQ(solver_->description(), expected);
}

INSTANTIATE_TEST_SUITE_P(Backends, SpdSolverTest, all_backends, backend_test_name);

TEST(SpdSolver, ADeviceThatIsNotThereIsRefusedByName) {
  try {
    make_spd_solver({BackendKind::cuda, 4711, 0});
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_device);
    EXPECT_NE(std::string(error.what()).find("cuda:4711"), std::string::npos);
  }
}

}  // namespace
}  // namespace smallbatch::testing
