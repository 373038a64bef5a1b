// Factors, and solutions with them, over all backends. They are checked against A in long double, closed forms, and the
// referee.
//
// One file, because all tests use one struct of factors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/error.hpp"
#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

/// The factors of a block's systems, with info and numbers.
template <class T>
struct Factored {
  std::vector<T> factors, smallest_pivot;
  std::vector<std::int32_t> info;
  std::vector<double> log_determinant;
  std::int64_t size;  // numbers of one system's factors

  explicit Factored(const SpdBlock<T>& block)
      : factors(block.count * block.shape.n * (block.shape.n + 1) / 2, T(-7)),
        smallest_pivot(block.count, T(-7)),
        info(block.count, 77),
        log_determinant(block.count, -7),
        size(std::int64_t{block.shape.n} * (block.shape.n + 1) / 2) {}
  [[nodiscard]] SpdFactors<T> arrays() {
    return {factors.data(), info.data(), smallest_pivot.data(), log_determinant.data()};
  }
  /// Returns L_ij, i > j, or d_i, of system k.
  [[nodiscard]] T operator()(std::int64_t k, int i, int j) const {
    return factors[k * size + std::int64_t{i} * (i + 1) / 2 + j];
  }
  [[nodiscard]] SpdFactoredBatch<T> batch(const SpdBlock<T>& block) const {
    return {block.shape.n, block.shape.nrhs, block.count, factors.data(), info.data(), block.b.data()};
  }
};

class SpdSolverFactored : public SpdSolverTest {
 protected:
  template <class T>
  Factored<T> factored(const SpdBlock<T>& block) {
    Factored<T> found(block);
    solver_->factor(block.batch(), found.arrays());
    return found;
  }
  /// Factors the systems of the block, and solves them by the factors. Stores x and info in the block, and returns the
  /// factors.
  template <class T>
  Factored<T> solve_by_factors(SpdBlock<T>& block) {
    Factored<T> found = factored(block);
    std::fill(block.x.begin(), block.x.end(), T(-7));
    std::fill(block.info.begin(), block.info.end(), 77);
    solver_->solve_factored(found.batch(block), {block.x.data(), block.info.data()});
    return found;
  }
  template <class T>
  static void expect_nan(const T* numbers, std::int64_t count) {
    for (std::int64_t e = 0; e < count; ++e) ASSERT_TRUE(std::isnan(numbers[e])) << e;
  }
  /// Expects that system k has the status `info`, and neither factors nor a solution.
  template <class T>
  static void expect_not_factored(const Factored<T>& found, const SpdBlock<T>& block, std::int64_t k,
                                  std::int32_t info) {
    SCOPED_TRACE("system " + std::to_string(k));
    EXPECT_EQ(found.info[k], info);
    EXPECT_EQ(block.info[k], info);
    expect_nan(found.factors.data() + k * found.size, found.size);
    expect_nan(&found.smallest_pivot[k], 1);
    expect_nan(&found.log_determinant[k], 1);
    expect_nan(block.x.data() + k * block.shape.rhs_size(), block.shape.rhs_size());
  }
};

/// Expects L D L^T = A up to roundings: |A - L D L^T| <= c n u |L| D |L|^T in every element. (Source: Higham, theorem
/// 10.3, for Cholesky.)
template <class T>
void expect_factors_of(SpdBlock<T>& block, std::int64_t k, const Factored<T>& found) {
  const int n = block.shape.n;
  long double log_determinant = 0;
  T smallest = std::numeric_limits<T>::infinity();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      long double sum = 0, magnitude = 0;
      for (int c = 0; c <= j; ++c) {
        const long double left = c == i ? 1 : found(k, i, c), right = c == j ? 1 : found(k, j, c);
        sum += left * found(k, c, c) * right;
        magnitude += std::abs(left * found(k, c, c) * right);
      }
      ASSERT_LE(
          std::abs(sum - block.a[k * block.shape.matrix_size() +
                                 (block.shape.storage == Storage::packed_lower ? i * (i + 1) / 2 + j : i * n + j)]),
          (2.0L * n + 10) * unit_roundoff<T> * magnitude)
          << "system " << k << ", " << i << ", " << j;
    }
    log_determinant += std::log(static_cast<long double>(found(k, i, i)));
    smallest = std::min(smallest, found(k, i, i));
  }
  // Both numbers may be computed from pivots of a higher precision than T.
  ASSERT_NEAR(found.log_determinant[k], static_cast<double>(log_determinant),
              4 * n * unit_roundoff<T> + 1e-13 * std::abs(found.log_determinant[k]));
  ASSERT_NEAR(found.smallest_pivot[k], smallest, 2 * unit_roundoff<T> * smallest);
}

TEST_P(SpdSolverFactored, TheFactorsAreThoseOfTheMatrix) {
  for_all_shapes({2}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random_log_uniform, shape, 35, 1000);
    // Powers of two give the diagonal of system 3 many different exponents.
    for (int i = 0; i < shape.n; ++i)
      for (int j = 0; j <= i; ++j)
        set_symmetric(block, 3, i, j, std::ldexp(element(block, 3, i, j), (i * 7) % 61 + (j * 7) % 61 - 60));
    poison_upper(block, static_cast<T>(nan_value));
    const Factored<T> found = factored(block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(found.info[k], 0) << "system " << k;
      expect_factors_of(block, k, found);
    }
  });
}

TEST_P(SpdSolverFactored, MinIjHasOnesAlone) {
  for_all_shapes({1}, [this]<class T>(T, const SpdShape& shape) {
    const SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, 5);
    const Factored<T> found = factored(block);
    for (std::int64_t k = 0; k < 5; ++k) {
      ASSERT_EQ(found.info[k], 0);
      for (int i = 0; i < shape.n; ++i)
        for (int j = 0; j <= i; ++j) ASSERT_NEAR(found(k, i, j), 1, takes_square_roots() ? 64 * 0x1p-23 : 0);
      ASSERT_NEAR(found.log_determinant[k], 0, takes_square_roots() ? 1e-12 : 0);
    }
  });
}

TEST_P(SpdSolverFactored, EveryFamilyIsSolvedAsWellAsBySolve) {
  int turn = 0;
  for (const SpdFamilyDescription& family : spd_families())
    for (const int n : {1, 2, 5, 8, 9, 16, 17, 31, 32, 33, 48, 64, 65, 128, 129, 256})
      for (const int nrhs : {1, 3}) {
        if (n > 128 && nrhs != (n == 256 ? 1 : 3)) continue;
        const SpdShape shape{n, nrhs, all_storages[turn++ % all_storages.size()]};
        const auto check = [&]<class T>(T) {
          // The condition number of Moler's matrix is about 4^n.
          if (family.family == SpdFamily::moler && n > (sizeof(T) == 4 ? 12 : 26)) return;
          for (const double condition : {2.0, 0.1 / unit_roundoff<T>}) {
            SCOPED_TRACE(std::string(family.name) + ", condition " + std::to_string(condition) + ", " +
                         shape_name(shape) + (sizeof(T) == 4 ? ", float32" : ", float64"));
            // Small eigenvalues would be subnormal numbers.
            if (family.family == SpdFamily::near_underflow && condition > 2) continue;
            SpdBlock<T> block = generated_block<T>(family.family, shape, n > 128 ? 1 : 3, condition);
            solve_by_factors(block);
            for (std::int64_t k = 0; k < block.count; ++k) {
              const SpdJudgement judgement = judge(block, k);
              ASSERT_TRUE(same_status(block.info[k], judgement, scalar_type_of<T>, n))
                  << "status " << block.info[k] << ", referee " << judgement.info;
              if (block.info[k] != 0) {
                expect_nan(block.x.data() + k * shape.rhs_size(), shape.rhs_size());
                continue;
              }
              ASSERT_LT(judgement.residual_ratio, spd_ratio_limit / 3) << "system " << k;
              ASSERT_LT(judgement.forward_ratio, spd_ratio_limit) << "system " << k;
            }
          }
        };
        check(float{});
        check(double{});
      }
}

TEST_P(SpdSolverFactored, RowsAndColumnsMayBeFarFromOne) {
  // D is a diagonal matrix of powers of two. D A D y = D b has the solution y = D^-1 x. The referee judges A and x = D
  // y.
  for_all_shapes({1, 2}, [this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n, range = sizeof(T) == 4 ? 40 : 400;
    SpdBlock<T> plain = generated_block<T>(SpdFamily::random, shape, 9), far = plain;
    const auto exponent = [&](int i) { return (i * 37 + 11) % (2 * range) - range; };
    for (std::int64_t k = 0; k < 9; k += 2)
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j)
          set_symmetric(far, k, i, j, std::ldexp(element(plain, k, i, j), exponent(i) + exponent(j)));
        for (int c = 0; c < shape.nrhs; ++c) {
          T& b = far.b[k * shape.rhs_size() + i * shape.nrhs + c];
          b = std::ldexp(b, exponent(i));
        }
      }
    solve_by_factors(far);
    for (std::int64_t k = 0; k < 9; ++k) {
      ASSERT_EQ(far.info[k], 0) << "system " << k;
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < shape.nrhs; ++c) {
          const std::int64_t e = k * shape.rhs_size() + i * shape.nrhs + c;
          plain.x[e] = std::ldexp(far.x[e], k % 2 == 0 ? exponent(i) : 0);
        }
      plain.info[k] = 0;
      const SpdJudgement judgement = judge(plain, k);
      ASSERT_LT(judgement.residual_ratio, spd_ratio_limit) << "system " << k;
      ASSERT_LT(judgement.forward_ratio, spd_ratio_limit) << "system " << k;
    }
  });
}

TEST_P(SpdSolverFactored, WhatIsWrongWithAIsSaidTwiceAndNeighboursKeepTheirBits) {
  for_all_shapes({1, 3}, [this]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    SpdBlock<T> good = generated_block<T>(SpdFamily::random, shape, 37), block = good;
    std::vector<std::int32_t> expected(37, 0);
    element(block, 2, n - 1, 0) = static_cast<T>(nan_value);
    element(block, 3, 0, 0) = static_cast<T>(infinity);
    expected[2] = expected[3] = info_matrix_not_finite;
    if (n > 1 && shape.storage == Storage::dense) {
      element(block, 5, 0, n - 1) += 1;
      expected[5] = info_matrix_not_symmetric;
    }
    element(block, 11, n - 1, n - 1) = -1;
    expected[11] = n;
    element(block, 36, 0, 0) = 0;
    expected[36] = 1;
    block.b[36 * shape.rhs_size()] = static_cast<T>(nan_value);  // the status of the factorization takes precedence
    const Factored<T> found = solve_by_factors(block), all_good = solve_by_factors(good);
    for (std::int64_t k = 0; k < 37; ++k) {
      if (expected[k] != 0) {
        expect_not_factored(found, block, k, expected[k]);
        continue;
      }
      ASSERT_EQ(block.info[k], 0);
      ASSERT_EQ(std::memcmp(&found.factors[k * found.size], &all_good.factors[k * found.size], found.size * sizeof(T)),
                0);
      ASSERT_EQ(
          std::memcmp(&block.x[k * shape.rhs_size()], &good.x[k * shape.rhs_size()], shape.rhs_size() * sizeof(T)), 0);
    }
    // solve() gives the same statuses.
    block.b = good.b;
    solve(*solver_, block);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), block.info.begin()));
  });
}

TEST_P(SpdSolverFactored, WhatIsWrongWithBIsSaidOfThatSystem) {
  for_all_shapes({1, 3}, [this]<class T>(T, const SpdShape& shape) {
    const std::int64_t size = shape.rhs_size();
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 19);
    block.b[4 * size + size - 1] = static_cast<T>(nan_value);
    block.b[18 * size] = -static_cast<T>(infinity);
    // The eigenvalues of A lie between 1/100 and 1, so these solutions leave the range of T.
    const T largest = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::denorm_min();
    for (int i = 0; i < shape.n; ++i)
      for (int j = 0; j <= i; ++j) {
        set_symmetric(block, 7, i, j, i == j ? T(0.25) : T(0));
        set_symmetric(block, 9, i, j, i == j ? T(4) : T(0));
      }
    for (std::int64_t e = 0; e < size; ++e) {
      block.b[7 * size + e] = largest / 2;
      block.b[9 * size + e] = 3 * least;
    }
    solve_by_factors(block);
    for (std::int64_t k = 0; k < 19; ++k) {
      const std::int32_t expected = k == 4 || k == 18 ? info_rhs_not_finite
                                    : k == 7          ? info_result_not_finite
                                    : k == 9          ? info_result_underflowed
                                                      : 0;
      ASSERT_EQ(block.info[k], expected) << "system " << k;
      if (expected != 0) expect_nan(block.x.data() + k * size, size);
    }
  });
}

TEST_P(SpdSolverFactored, FactorsOutOfRangeSaySo) {
  const auto check = [this]<class T>(T) {
    constexpr bool single = sizeof(T) == 4;
    for (const Storage storage : all_storages) {
      SpdBlock<T> block = generated_block<T>(SpdFamily::random, {2, 1, storage}, 4);
      const auto set = [&](std::int64_t k, double a, double b, double c) {
        element(block, k, 0, 0) = static_cast<T>(a);
        set_symmetric(block, k, 1, 0, static_cast<T>(b));
        element(block, k, 1, 1) = static_cast<T>(c);
      };
      if (single) {
        set(1, 0x1p-140, 0x1p-7, 0x1p127);  // l = 2^133
        set(2, 1, 0x1p-75, 3 * 0x1p-149);   // d is 2.5 times the smallest number
      } else {
        set(1, 0x1p-1070, 0x1p-36, 0x1p1000);  // l = 2^1034
        set(2, 2, 0x1p-537, 3 * 0x1p-1074);
      }
      const Factored<T> found = solve_by_factors(block);
      EXPECT_EQ(found.info[0], 0);
      EXPECT_EQ(found.info[3], 0);
      expect_not_factored(found, block, 1, info_result_not_finite);
      expect_not_factored(found, block, 2, info_result_underflowed);
    }
  };
  check(float{});
  check(double{});
}

TEST_P(SpdSolverFactored, OneFactorSolvesForManyRightHandSides) {
  for_all_shapes({1, 3}, [this]<class T>(T, const SpdShape& shape) {
    constexpr std::int64_t count = 41;
    SpdBlock<T> one = generated_block<T>(SpdFamily::random, shape, 1);
    SpdBlock<T> many = generated_block<T>(SpdFamily::random, shape, count, 100, 5);  // used for its right-hand sides
    SpdBlock<T> block = selected(one, std::vector<std::int64_t>(count, 0));
    block.b = many.b;
    const Factored<T> each = solve_by_factors(block), shared = factored(one);
    std::vector<T> x(count * shape.rhs_size());
    std::vector<std::int32_t> info(count, 77);
    SpdFactoredBatch<T> batch{shape.n, shape.nrhs, count, shared.factors.data(), shared.info.data(), block.b.data(), 0};
    solver_->solve_factored(batch, {x.data(), info.data()});
    for (std::int64_t k = 0; k < count; ++k) ASSERT_EQ(info[k], 0);
    ASSERT_EQ(std::memcmp(x.data(), block.x.data(), x.size() * sizeof(T)), 0);
    for (std::int64_t k = 0; k < count; ++k) ASSERT_LT(judge(block, k).residual_ratio, spd_ratio_limit);
    // All systems share one right-hand side.
    batch = each.batch(block);
    batch.b_stride = 0;
    solver_->solve_factored(batch, {x.data(), info.data()});
    for (std::int64_t k = 0; k < count; ++k)
      ASSERT_EQ(std::memcmp(x.data() + k * shape.rhs_size(), block.x.data(), shape.rhs_size() * sizeof(T)), 0);
    // All systems share a factorization that failed.
    const std::int32_t failed = 3;
    batch.factors_stride = 0;
    batch.factors_info = &failed;
    solver_->solve_factored(batch, {x.data(), info.data()});
    for (std::int64_t k = 0; k < count; ++k) ASSERT_EQ(info[k], 3);
    expect_nan(x.data(), count * shape.rhs_size());
  });
}

TEST_P(SpdSolverFactored, StridesLeaveWhatLiesBetweenAlone) {
  for_all_shapes({1, 3}, [this]<class T>(T, const SpdShape& shape) {
    constexpr std::int64_t count = 21, gap = 3;
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, count);
    const Factored<T> expected = solve_by_factors(block);
    const std::int64_t size = expected.size, rhs = shape.rhs_size();
    const auto spread = [&](const auto& from, std::int64_t each) {
      std::vector<T> to(count * (each + gap), T(-7));
      for (std::int64_t k = 0; k < count; ++k)
        std::copy_n(from.begin() + k * each, each, to.begin() + k * (each + gap));
      return to;
    };
    std::vector<T> factors(count * (size + gap), T(-7)), in_place = spread(block.b, rhs);
    std::vector<std::int32_t> factors_info(count, 77), info(count, 77);
    SpdBatch<T> batch = block.batch();
    const std::vector<T> a = spread(block.a, shape.matrix_size());
    batch.a = a.data();
    batch.a_stride = shape.matrix_size() + gap;
    batch.b = nullptr;  // b is not read
    solver_->factor(batch, {factors.data(), factors_info.data(), nullptr, nullptr, size + gap});
    EXPECT_EQ(factors, spread(expected.factors, size));
    EXPECT_EQ(factors_info, expected.info);
    // Solutions in place of right-hand sides.
    SpdSolution<T> solution{in_place.data(), info.data()};
    solution.x_stride = rhs + gap;
    solver_->solve_factored(
        {shape.n, shape.nrhs, count, factors.data(), factors_info.data(), in_place.data(), size + gap, rhs + gap},
        solution);
    EXPECT_EQ(in_place, spread(block.x, rhs));
    EXPECT_EQ(info, expected.info);
  });
}

TEST_P(SpdSolverFactored, ASystemGetsTheSameBitsAtAnyPlaceInAnyBatch) {
  for_all_shapes({1, 4}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 67);
    for (std::int64_t e = 0; e < shape.matrix_size(); ++e) block.a[e] *= static_cast<T>(0x1p+100);
    const auto size = static_cast<std::size_t>(std::int64_t{shape.n} * (shape.n + 1) / 2);
    std::vector<std::int64_t> reversed(67);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    const Factored<T> found = solve_by_factors(block);
    for (const std::int64_t count : {1, 3, 31, 67}) {
      SpdBlock<T> few = selected(block, {reversed.end() - count, reversed.end()});
      const Factored<T> of_few = solve_by_factors(few);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t there = count - 1 - k;
        ASSERT_EQ(std::memcmp(&of_few.factors[k * size], &found.factors[there * size], size * sizeof(T)), 0);
        ASSERT_EQ(of_few.info[k], found.info[there]);
        ASSERT_EQ(
            std::memcmp(&few.x[k * shape.rhs_size()], &block.x[there * shape.rhs_size()], shape.rhs_size() * sizeof(T)),
            0);
      }
    }
  });
}

TEST_P(SpdSolverFactored, CallsThatMakeNoSenseAreRefused) {
  SpdBlock<float> block = generated_block<float>(SpdFamily::random, {4, 2, Storage::dense}, 3);
  Factored<float> found = factored(block);
  const auto expect_refused = [](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    }
  };
  const auto refuse_factor = [&](const auto& change) {
    SpdBatch<float> batch = block.batch();
    SpdFactors<float> factors = found.arrays();
    change(batch, factors);
    expect_refused([&] { solver_->factor(batch, factors); });
  };
  refuse_factor([](auto& batch, auto&) { batch.shape.n = 257; });
  refuse_factor([](auto& batch, auto&) { batch.count = -1; });
  refuse_factor([](auto& batch, auto&) { batch.a = nullptr; });
  refuse_factor([](auto& batch, auto&) { batch.a_stride = 15; });
  refuse_factor([](auto&, auto& factors) { factors.factors = nullptr; });
  refuse_factor([](auto&, auto& factors) { factors.info = nullptr; });
  refuse_factor([](auto&, auto& factors) { factors.factors_stride = 9; });
  refuse_factor([](auto&, auto& factors) { factors.factors_stride = 0; });
  refuse_factor([&](auto&, auto& factors) { factors.factors = block.a.data() + 40; });
  const auto refuse_solve = [&](const auto& change) {
    SpdFactoredBatch<float> batch = found.batch(block);
    SpdSolution<float> solution{block.x.data(), block.info.data()};
    change(batch, solution);
    expect_refused([&] { solver_->solve_factored(batch, solution); });
  };
  refuse_solve([](auto& batch, auto&) { batch.n = 0; });
  refuse_solve([](auto& batch, auto&) { batch.nrhs = 0; });
  refuse_solve([](auto& batch, auto&) { batch.factors = nullptr; });
  refuse_solve([](auto& batch, auto&) { batch.factors_info = nullptr; });
  refuse_solve([](auto& batch, auto&) { batch.b = nullptr; });
  refuse_solve([](auto& batch, auto&) { batch.factors_stride = 9; });
  refuse_solve([](auto&, auto& solution) { solution.x_stride = 0; });
  refuse_solve([](auto&, auto& solution) { solution.info = nullptr; });
  refuse_solve([&](auto&, auto& solution) { solution.x = found.factors.data() + 5; });
  refuse_solve([&](auto&, auto& solution) { solution.x = block.b.data() + 1; });
  refuse_solve([&](auto&, auto& solution) { solution.info = found.info.data() + 1; });
  refuse_solve([&](auto&, auto& solution) { solution.rcond = found.smallest_pivot.data(); });
  // Calls without systems are accepted.
  SpdFactoredBatch<float> none{4, 1};
  solver_->solve_factored(none, {});
  solver_->factor(SpdBatch<float>{{4, 0, Storage::dense}}, {});
}

const std::vector<SolverChoice> factoring_choices{{BackendKind::reference, SpdMethod::automatic},
                                                  {BackendKind::cpu, SpdMethod::ldlt},
                                                  {BackendKind::cuda, SpdMethod::automatic}};
INSTANTIATE_TEST_SUITE_P(Solvers, SpdSolverFactored, ::testing::ValuesIn(factoring_choices), solver_test_name);

}  // namespace
}  // namespace smallbatch::testing
