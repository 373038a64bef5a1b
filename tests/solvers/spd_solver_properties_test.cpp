// Changes of a system that must not change the answer, or must change it in a known way, over all backends and methods.
// Examples are another place in the batch, powers of two, permutations, and inverting twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

class SpdSolverProperties : public SpdSolverTest {};

TEST_P(SpdSolverProperties, ASystemGetsTheSameBitsAtAnyPlaceInAnyBatch) {
  for_all_shapes({1, 4, 5, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 67);
    // A solver scales the first system, and does not scale its neighbours.
    for (std::int64_t e = 0; e < shape.matrix_size(); ++e) block.a[e] *= static_cast<T>(0x1p+100);
    std::vector<std::int64_t> reversed(67);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    SpdBlock<T> backwards = selected(block, reversed), again = block;
    solve(*solver_, block);
    solve(*solver_, backwards);
    solve(*solver_, again);
    for (std::int64_t k = 0; k < 67; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_TRUE(same_bits(block, k, backwards, 66 - k)) << "system " << k;
      ASSERT_TRUE(same_bits(block, k, again, k)) << "system " << k << ", second run";
    }
    for (const std::int64_t count : {1, 2, 3, 31}) {
      SpdBlock<T> few = selected(block, {reversed.end() - count, reversed.end()});
      solve(*solver_, few);
      for (std::int64_t k = 0; k < count; ++k)
        ASSERT_TRUE(same_bits(few, k, block, count - 1 - k)) << "system " << k << " of " << count;
    }
  });
}

TEST_P(SpdSolverProperties, OneSystemAThousandTimesIsOneAnswer) {
  // The system is ill-conditioned, so methods that solve difficult systems a second time do so here.
  for (const int n : sizes_here({1, 4, 13, 16, 32, 33, 64, 97}))
    for (const int nrhs : {1, 3, 0}) {
      const SpdShape shape{n, nrhs, Storage::packed_lower};
      SCOPED_TRACE(shape_name(shape));
      const auto check = [&]<class T>(T) {
        SpdBlock<T> alone = generated_block<T>(SpdFamily::random_one_small, shape, 1, 1e4);
        SpdBlock<T> block = selected(alone, std::vector<std::int64_t>(1000, 0));
        solve(*solver_, alone);
        solve(*solver_, block);
        ASSERT_EQ(alone.info[0], 0);
        for (std::int64_t k = 0; k < 1000; ++k) ASSERT_TRUE(same_bits(block, k, alone, 0)) << "system " << k;
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverProperties, PowersOfTwoScaleTheSolutionAndNothingElse) {
  for_all_shapes({1, 2, 0}, [this]<class T>(T, const SpdShape& shape) {
    std::vector<int> a_exponents{0, 1, -9, 30, -55, 75, -80}, b_exponents{0, 3, 50, -70, 45, 0, -60};
    if (sizeof(T) == 8) {
      a_exponents.insert(a_exponents.end(), {400, -399, 801});
      b_exponents.insert(b_exponents.end(), {700, -500, 0});
    }
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
      SCOPED_TRACE("system " + std::to_string(k));
      ASSERT_EQ(block.info[k], 0);
      const bool rounds = is_solved_by_two_kernels<T>(shape);
      ASSERT_NEAR(block.backward_error[k], block.backward_error[0], rounds ? 4 * unit_roundoff<T> : 0);
      ASSERT_GE(block.rcond[k], block.rcond[0] * (rounds ? 1 - 1e-9 : 1));
      ASSERT_LE(block.rcond[k], block.rcond[0] * (rounds ? 3 : 1));
      ASSERT_NEAR(block.smallest_pivot[k] / std::ldexp(block.smallest_pivot[0], a_exponents[k]), 1, rounds ? 1e-9 : 0);
      const double expected = block.log_determinant[0] + shape.n * a_exponents[k] * std::log(2.0);
      ASSERT_NEAR(block.log_determinant[k], expected, 1e-14 * (shape.n + std::abs(expected)));
      const int exponent = (shape.wants_inverse() ? 0 : b_exponents[k]) - a_exponents[k];
      for (std::int64_t e = 0; e < shape.solution_size(); ++e)
        ASSERT_NEAR(std::ldexp(block.x[k * shape.solution_size() + e], -exponent), block.x[e],
                    rounds ? 1e-9 * std::abs(block.x[e]) + 1e-12 : 0)
            << "x[" << e << "]";
    }
  });
}

TEST_P(SpdSolverProperties, PowersOfTwoOnRowsAndColumnsScaleTheSolution) {
  // D A D (D^-1 x) = D b with D = diag(2^e): the elimination takes the same steps, so every digit stays.
  for_all_shapes({1, 2, 0}, [this]<class T>(T, const SpdShape& shape) {
    const SpdBlock<T> one = generated_block<T>(SpdFamily::gram, shape, 2);
    const int range = sizeof(T) == 4 ? 50 : 450;
    for (const int reach : {3, range / 3, range}) {
      SCOPED_TRACE("exponents up to " + std::to_string(reach));
      SpdBlock<T> plain = one, block = one;
      const auto exponent = [&](int i) {
        return shape.n == 1 ? reach : (i * 37 % shape.n * 2 * reach) / (shape.n - 1) - reach;
      };
      for (std::int64_t k = 0; k < 2; ++k)
        for (int i = 0; i < shape.n; ++i) {
          for (int j = 0; j <= i; ++j) {
            const T value = std::ldexp(element(plain, k, i, j), exponent(i) + exponent(j));
            set_symmetric<T>(block, k, i, j, value);
          }
          for (int c = 0; c < shape.nrhs; ++c) {
            T& value = block.b[(k * shape.n + i) * shape.nrhs + c];
            value = std::ldexp(value, exponent(i));
          }
        }
      solve(*solver_, plain);
      solve(*solver_, block);
      const int columns = shape.wants_inverse() ? shape.n : shape.nrhs;
      for (std::int64_t k = 0; k < 2; ++k) {
        ASSERT_EQ(block.info[k], 0) << "system " << k;
        double sum = 0;
        for (int i = 0; i < shape.n; ++i) sum += 2 * exponent(i) * std::log(2.0);
        ASSERT_NEAR(block.log_determinant[k], plain.log_determinant[k] + sum,
                    1e-14 * (shape.n + shape.n * reach + std::abs(sum)));
        for (int i = 0; i < shape.n; ++i)
          for (int c = 0; c < columns; ++c) {
            const int shift = exponent(i) + (shape.wants_inverse() ? exponent(c) : 0);
            const std::int64_t e = (k * shape.n + i) * columns + c;
            ASSERT_NEAR(std::ldexp(block.x[e], shift), plain.x[e],
                        is_solved_by_two_kernels<T>(shape) ? 1e-9 * std::abs(plain.x[e]) + 1e-12 : 0)
                << "system " << k << ", x(" << i << ", " << c << ")";
          }
      }
    }
  });
}

TEST_P(SpdSolverProperties, MatricesNearTheEndsOfTheRange) {
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

TEST_P(SpdSolverProperties, SumsOnTheWayMayLeaveTheRange) {
  // A = [4 3; 3 4], b = (m, -m): x = b, but substitution computes -m - 3/4 m, beyond the largest number.
  const auto check = [this]<class T>(T) {
    constexpr T m = std::numeric_limits<T>::max() / 8 * 7;
    SpdBlock<T> block;
    block.resize({2, 1, Storage::dense}, 1);
    block.a = {4, 3, 3, 4};
    block.b = {m, -m};
    solve(*solver_, block);
    EXPECT_EQ(block.info[0], 0);
    EXPECT_NEAR(block.x[0] / m, 1, 8 * unit_roundoff<T>);
    EXPECT_NEAR(block.x[1] / m, -1, 8 * unit_roundoff<T>);
    EXPECT_LE(block.backward_error[0], 4 * unit_roundoff<T>);
  };
  check(float{});
  check(double{});
}

/// Returns two systems with the matrix min(i,j). Their solutions are (i % 5 - 2 + c) `unit`.
template <class T>
SpdBlock<T> integer_systems(const SpdShape& shape, T unit) {
  SpdBlock<T> block = generated_block<T>(SpdFamily::min_ij, shape, 2);
  for (std::int64_t k = 0; k < 2; ++k)
    for (int i = 0; i < shape.n; ++i)
      for (int c = 0; c < shape.nrhs; ++c) {
        int sum = 0;
        for (int j = 0; j < shape.n; ++j) sum += (std::min(i, j) + 1) * (j % 5 - 2 + c);
        block.b[(k * shape.n + i) * shape.nrhs + c] = static_cast<T>(sum) * unit;
      }
  return block;
}

TEST_P(SpdSolverProperties, IntegersTimesTheSmallestNumberComeOutExactly) {
  // min(i,j) times the smallest subnormal number: the reciprocal of every pivot is out of range.
  for_all_shapes({1, 4}, [this]<class T>(T, const SpdShape& shape) {
    constexpr T unit = std::numeric_limits<T>::denorm_min();
    SpdBlock<T> block = integer_systems<T>(shape, unit);
    for (T& value : block.a) value *= unit;
    solve(*solver_, block);
    for (std::int64_t k = 0; k < 2; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_EQ(block.smallest_pivot[k], unit);
      ASSERT_NEAR(block.log_determinant[k], shape.n * std::log(static_cast<double>(unit)), 1e-13 * shape.n * 745);
      for (int i = 0; i < shape.n; ++i)
        for (int c = 0; c < shape.nrhs; ++c)
          ASSERT_NEAR(block.x[(k * shape.n + i) * shape.nrhs + c], i % 5 - 2 + c, takes_square_roots() ? 1e-12 : 0);
    }
  });
}

TEST_P(SpdSolverProperties, IntegerSolutionsTimesTheSmallestNumberComeOutExactly) {
  for_all_shapes({1, 4}, [this]<class T>(T, const SpdShape& shape) {
    constexpr T unit = std::numeric_limits<T>::denorm_min();
    SpdBlock<T> block = integer_systems<T>(shape, unit);
    solve(*solver_, block);
    for (std::int64_t k = 0; k < 2; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_EQ(block.backward_error[k], 0);
      for (int i = 0; i < shape.n; ++i)
        for (int c = 0; c < shape.nrhs; ++c)
          ASSERT_EQ(block.x[(k * shape.n + i) * shape.nrhs + c], static_cast<T>(i % 5 - 2 + c) * unit);
    }
  });
}

TEST_P(SpdSolverProperties, DiagonalsAcrossTheWholeRange) {
  // A = diag(s) K diag(s), where K has ones on the diagonal and 1/8 beside it. The scales s go from the smallest to the
  // largest number that can be squared. Without the scales the system is well conditioned. b is chosen so that the
  // solution of K y = b / s is y = 1. Then x = y / s.
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

TEST_P(SpdSolverProperties, PermutedSystemsHaveThePermutedSolution) {
  // P A P^T (P x) = P b. After the permutation is undone, x must be right for the original system.
  std::mt19937 random(7);
  for_all_shapes({1, 3, 0}, [&]<class T>(T, const SpdShape& shape) {
    const int n = shape.n, columns = shape.wants_inverse() ? n : shape.nrhs;
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 4), permuted = block;
    std::vector<int> place(n);
    std::iota(place.begin(), place.end(), 0);
    std::shuffle(place.begin(), place.end(), random);
    for (std::int64_t k = 0; k < block.count; ++k)
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) set_symmetric<T>(permuted, k, place[i], place[j], element(block, k, i, j));
        for (int c = 0; c < shape.nrhs; ++c)
          permuted.b[(k * n + place[i]) * columns + c] = block.b[(k * n + i) * columns + c];
      }
    solve(*solver_, block);
    solve(*solver_, permuted);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_NEAR(permuted.log_determinant[k], block.log_determinant[k], 4 * n * 100 * unit_roundoff<T>);
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < columns; ++c)
          block.x[(k * n + i) * columns + c] =
              permuted.x[(k * n + place[i]) * columns + (shape.wants_inverse() ? place[c] : c)];
      block.info[k] = permuted.info[k];
    }
    expect_judged_right(block);
  });
}

TEST_P(SpdSolverProperties, TheInverseIsExactlySymmetricAndInvertsBack) {
  constexpr double condition = 100;
  for_all_shapes({0}, [&]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 5, condition);
    solve(*solver_, block);
    SpdBlock<T> back;
    back.resize({n, 0, Storage::dense}, block.count);
    back.a = block.x;
    for (std::int64_t k = 0; k < block.count; ++k)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) ASSERT_EQ(element(back, k, i, j), element(back, k, j, i));
    solve(*solver_, back);
    // Each inversion has a relative error of a few n u times the condition number; ||A||_2 is 1.
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(back.info[k], 0);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
          ASSERT_NEAR(back.x[(k * n + i) * n + j], element(block, k, i, j), 4 * n * condition * unit_roundoff<T>);
    }
  });
}

TEST_P(SpdSolverProperties, TheInverseTimesBIsTheSolution) {
  constexpr double condition = 100;
  for_all_shapes({2}, [&]<class T>(T, const SpdShape& shape) {
    const int n = shape.n;
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 5, condition);
    SpdBlock<T> inverse;
    inverse.resize({n, 0, shape.storage}, block.count);
    inverse.a = block.a;
    solve(*solver_, block);
    solve(*solver_, inverse);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_EQ(inverse.info[k], 0);
      for (int c = 0; c < 2; ++c)
        for (int i = 0; i < n; ++i) {
          double sum = 0;
          for (int j = 0; j < n; ++j)
            sum += static_cast<double>(inverse.x[(k * n + i) * n + j]) * block.b[(k * n + j) * 2 + c];
          // |x| < 1, ||b||_2 <= ||x||_2 <= sqrt(n)
          ASSERT_NEAR(block.x[(k * n + i) * 2 + c], sum, 4 * n * condition * unit_roundoff<T>);
        }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Solvers, SpdSolverProperties, ::testing::ValuesIn(all_solver_choices), solver_test_name);

}  // namespace
}  // namespace smallbatch::testing
