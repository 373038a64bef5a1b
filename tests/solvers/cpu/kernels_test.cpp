// The cpu kernels, with each instruction set forced by name. All other tests of this room use only the best
// instruction set. One file, because all tests force instruction sets in the same way.
#include "solvers/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver_backends.hpp"
#include "tests/solvers/small_stack.hpp"
#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {
namespace {

constexpr SpdMethod methods[] = {SpdMethod::automatic, SpdMethod::gauss_jordan, SpdMethod::ldlt};
constexpr Storage every_storage[] = {Storage::dense, Storage::dense_lower, Storage::packed_lower};

template <class T>
constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();

/// Calls check(solver) for every instruction set and method, on one thread.
template <class Check>
void for_all_solvers(Check check, double pivot_floor = 0) {
  for (const LdltKernels& kernels : usable_ldlt_kernels())
    for (const SpdMethod method : methods) {
      const auto solver = make_cpu_spd_solver(1, kernels, {method, pivot_floor});
      SCOPED_TRACE(solver->description());
      check(*solver);
    }
}

/// Fills one system's matrix with value(i, j) in the lower triangle. The upper triangle gets the same values, or a NaN
/// if the storage does not permit reading it.
template <class T, class Value>
void fill(T* a, const SpdShape& shape, Value value) {
  for (int i = 0; i < shape.n; ++i)
    for (int j = 0; j <= i; ++j) {
      if (shape.storage == Storage::packed_lower) {
        a[i * (i + 1) / 2 + j] = static_cast<T>(value(i, j));
        continue;
      }
      a[j * shape.n + i] = shape.storage == Storage::dense ? static_cast<T>(value(i, j)) : nan_of<T>;
      a[i * shape.n + j] = static_cast<T>(value(i, j));
    }
}

TEST(Ldlt, BaselineIsAlwaysUsableAndTheBestComesFirst) {
  const std::vector<LdltKernels> usable = usable_ldlt_kernels();
  ASSERT_FALSE(usable.empty());
  EXPECT_STREQ(usable.back().name, "baseline");
  for (std::size_t i = 1; i < usable.size(); ++i) {
    EXPECT_GE(usable[i - 1].float32.lanes, usable[i].float32.lanes);
    EXPECT_GE(usable[i - 1].float64.lanes, usable[i].float64.lanes);
  }
}

TEST(Ldlt, DescriptionNamesMethodAndInstructionSet) {
  for (const LdltKernels& kernels : usable_ldlt_kernels()) {
    const auto description = [&](SpdMethod method) {
      return make_cpu_spd_solver(1, kernels, {method, 0})->description();
    };
    EXPECT_EQ(description(SpdMethod::automatic), std::string("cpu ldlt ") + kernels.name);
    EXPECT_EQ(description(SpdMethod::ldlt), std::string("cpu ldlt ") + kernels.name);
    EXPECT_EQ(description(SpdMethod::gauss_jordan), std::string("cpu gauss_jordan ") + kernels.name);
  }
}

TEST(Ldlt, IsWhatIsChosenAutomatically) {
  for (const LdltKernels& kernels : usable_ldlt_kernels())
    for (const int nrhs : {0, 3}) {
      SpdBlock<double> block = generated_block<double>(SpdFamily::random_log_uniform, {17, nrhs, Storage::dense}, 21);
      SpdBlock<double> same = block;
      solve(*make_cpu_spd_solver(1, kernels, {SpdMethod::automatic, 0}), block);
      solve(*make_cpu_spd_solver(1, kernels, {SpdMethod::ldlt, 0}), same);
      for (std::int64_t k = 0; k < 21; ++k) ASSERT_TRUE(same_bits(block, k, same, k)) << "system " << k;
    }
}

TEST(Ldlt, EveryInstructionSetAndMethodSolvesEveryShape) {
  for_all_solvers([](SpdSolver& solver) {
    for (const Storage storage : {Storage::dense, Storage::packed_lower})
      for (const int n : {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,  14,  15,
                          16, 17, 18, 23, 28, 33, 38, 43, 48, 53, 58, 63, 128, 193, 256})
        for (const int nrhs : {0, 1, 3, 6}) {
          if (n > 64 && nrhs != (n == 256 ? 1 : 3)) continue;
          SCOPED_TRACE("n = " + std::to_string(n) + ", nrhs = " + std::to_string(nrhs));
          const SpdShape shape{n, nrhs, storage};
          const auto check = [&]<class T>(T) {
            SpdBlock<T> block =
                repeated(generated_block<T>(SpdFamily::random_log_uniform, shape, n > 128 ? 2 : 21), 21);
            element(block, 20, 0, 0) = 0;  // system 20 fails; it is in the last, incomplete group of lanes
            solve(solver, block);
            EXPECT_EQ(block.info[20], 1);
            for (std::int64_t k = 0; k < 20; ++k) {
              ASSERT_EQ(block.info[k], 0);
              if (n > 128 && k > 1) {
                ASSERT_TRUE(same_bits(block, k, block, k % 2));
                continue;
              }
              const SpdJudgement judgement = judge_spd_solution(shape, block.a.data() + k * shape.matrix_size(),
                                                                block.b.data() + k * shape.rhs_size(),
                                                                block.x.data() + k * shape.solution_size(), 0);
              ASSERT_LT(judgement.residual_ratio, spd_ratio_limit);
              ASSERT_LT(judgement.forward_ratio, spd_ratio_limit);
            }
          };
          check(float{});
          check(double{});
        }
  });
}

TEST(Ldlt, ClosedFormsOfTheNumbersAboutA) {
  // Three matrices. For min(i,j), all pivots are 1, det = 1, and the norms of A and A^-1 are n(n+1)/2 and 4 (n > 2).
  // For r^|i-j|, det = (1 - r^2)^(n-1), the last pivots are 1 - r^2, and ||A|| ||A^-1|| tends to ((1 + r)/(1 - r))^2.
  // For diag(4^i), all numbers are known.
  for_all_solvers([](SpdSolver& solver) {
    for (const Storage storage : every_storage)
      for (const int n : {3, 4, 13, 32, 64})
        for (const bool determinant_only : {false, true}) {
          SCOPED_TRACE("n = " + std::to_string(n));
          const auto check = [&]<class T>(T) {
            const SpdShape shape{n, 0, storage, determinant_only};
            SpdBlock<T> block;
            block.resize(shape, 3);
            const double r = 0.5;
            const std::int64_t size = shape.matrix_size();
            fill(block.a.data(), shape, [](int, int j) { return j + 1; });
            fill(block.a.data() + size, shape, [r](int i, int j) { return std::pow(r, i - j); });
            // 4^i from 4^-32 on, for n = 64
            fill(block.a.data() + 2 * size, shape,
                 [n](int i, int j) { return i == j ? std::ldexp(1.0, 2 * i - n) : 0; });
            solve(solver, block);
            for (int k = 0; k < 3; ++k) ASSERT_EQ(block.info[k], 0);
            const double u = std::numeric_limits<T>::epsilon();
            EXPECT_EQ(block.log_determinant[0], 0);
            EXPECT_EQ(block.smallest_pivot[0], 1);
            EXPECT_NEAR(block.rcond[0], 1 / (4 * (n * (n + 1) / 2.0)), 8 * u / (n * n));
            EXPECT_NEAR(block.log_determinant[1], (n - 1) * std::log(1 - r * r), n * u);
            EXPECT_EQ(block.smallest_pivot[1], static_cast<T>(1 - r * r));
            if (n >= 32) {
              EXPECT_NEAR(block.rcond[1], 1.0 / 9, 1e-4);
            }
            EXPECT_NEAR(block.log_determinant[2], (n * (n - 1.0) - 1.0 * n * n) * std::log(2.0), 1e-12);
            EXPECT_EQ(block.smallest_pivot[2], std::ldexp(T(1), -n));
            EXPECT_EQ(block.rcond[2], std::ldexp(T(1), -2 * (n - 1)));
            for (int k = 0; k < 3; ++k) EXPECT_EQ(block.repaired[k], 0);
          };
          check(float{});
          check(double{});
        }
  });
}

TEST(Ldlt, ARepairedPivotIsTheFloor) {
  // A = L D L^T, where L has ones, so A_ij is the number of k <= min(i,j) with D_k = 1. The elimination finds exactly 0
  // for the pivot D_p = 0, and replaces it by floor * a_pp. The determinant is then floor * a_pp.
  constexpr double floor = 0x1p-10;
  for_all_solvers(
      [](SpdSolver& solver) {
        for (const int n : {5, 8, 33})
          for (const int nrhs : {0, 1}) {
            const auto check = [&]<class T>(T) {
              const SpdShape shape{n, nrhs, Storage::dense};
              SpdBlock<T> block;
              block.resize(shape, 3 * n);
              std::fill(block.b.begin(), block.b.end(), T(1));
              const auto repaired = [n](int k) { return k % 3 == 0 ? 1 + k / 3 % (n - 1) : 0; };  // 0: no pivot
              for (int k = 0; k < 3 * n; ++k)
                fill(block.a.data() + k * shape.matrix_size(), shape,
                     [p = repaired(k)](int, int j) { return p > 0 && j >= p ? j : j + 1; });
              block.a[shape.matrix_size()] = nan_of<T>;
              solve(solver, block);
              for (int k = 0; k < 3 * n; ++k) {
                if (k == 1) {
                  EXPECT_EQ(block.info[k], info_matrix_not_finite);
                  EXPECT_EQ(block.repaired[k], 0);
                  continue;
                }
                const int p = repaired(k);
                ASSERT_EQ(block.info[k], 0);
                ASSERT_EQ(block.repaired[k], p > 0 ? 1 : 0) << "system " << k;
                // The column below pivot p is zero, too, so no later pivot changes.
                const double pivot = p > 0 ? floor * p : 1;
                ASSERT_NEAR(block.log_determinant[k], std::log(pivot), 1e-14 * n) << "system " << k;
                ASSERT_EQ(block.smallest_pivot[k], static_cast<T>(std::min(pivot, 1.0)));
              }
            };
            check(float{});
            check(double{});
          }
      },
      floor);
}

TEST(Ldlt, WhatIsNotAskedForIsNotWrittenAndStridesLeaveGapsAlone) {
  for_all_solvers([](SpdSolver& solver) {
    for (const Storage storage : every_storage)
      for (const int nrhs : {0, 1, 3}) {
        const auto check = [&]<class T>(T) {
          constexpr int n = 13;
          constexpr std::int64_t count = 19;
          const SpdShape shape{n, nrhs, storage};
          SpdBlock<T> close = generated_block<T>(SpdFamily::random, shape, count);
          solve(solver, close);
          const std::int64_t a_stride = shape.matrix_size() + 3, b_stride = shape.rhs_size() + 5,
                             x_stride = shape.solution_size() + 2;
          std::vector<T> a(count * a_stride, nan_of<T>), b(count * b_stride, nan_of<T>), x(count * x_stride, T(77));
          for (std::int64_t k = 0; k < count; ++k) {
            std::copy_n(close.a.data() + k * shape.matrix_size(), shape.matrix_size(), a.data() + k * a_stride);
            if (nrhs > 0) std::copy_n(close.b.data() + k * shape.rhs_size(), shape.rhs_size(), b.data() + k * b_stride);
          }
          std::vector<std::int32_t> info(count, 77);
          SpdBatch<T> batch{shape, count, a.data(), b.data(), a_stride, b_stride};
          SpdSolution<T> alone{};
          alone.x = x.data();
          alone.info = info.data();
          alone.x_stride = x_stride;
          solver.solve(batch, alone);
          for (std::int64_t k = 0; k < count; ++k) {
            ASSERT_EQ(info[k], 0);
            ASSERT_EQ(std::memcmp(x.data() + k * x_stride, close.x.data() + k * shape.solution_size(),
                                  shape.solution_size() * sizeof(T)),
                      0)
                << "system " << k;
            for (std::int64_t e = shape.solution_size(); e < x_stride; ++e) ASSERT_EQ(x[k * x_stride + e], 77);
          }
          // Solves with each number alone.
          std::vector<T> number(count, T(77));
          for (T* SpdSolution<T>::*member :
               {&SpdSolution<T>::backward_error, &SpdSolution<T>::rcond, &SpdSolution<T>::smallest_pivot}) {
            SpdSolution<T> one = alone;
            one.*member = number.data();
            solver.solve(batch, one);
            ASSERT_EQ(std::memcmp(number.data(), close.solution().*member, count * sizeof(T)), 0);
          }
        };
        check(float{});
        check(double{});
      }
  });
}

TEST(Ldlt, TheUpperTriangleDecidesOnlyWhereItIsCompared) {
  // In each system one element above the diagonal differs from its mirror image: in its last bit, by 0.5, or because it
  // is NaN. If only the last bit differs, the lower triangle decides. Every element is tested, so every vector and tail
  // of the comparison is reached.
  for (const LdltKernels& kernels : usable_ldlt_kernels()) {
    const auto solver = make_cpu_spd_solver(1, kernels, {});
    for (const int n : {2, 3, 5, 8, 11, 18}) {
      const auto check = [&]<class T>(T) {
        const std::int64_t pairs = n * (n - 1) / 2;
        const SpdShape shape{n, 1, Storage::dense};
        const SpdBlock<T> one = generated_block<T>(SpdFamily::gram, shape, 1);
        SpdBlock<T> block = selected(one, std::vector<std::int64_t>(3 * pairs + 1, 0));
        std::int64_t k = 0;
        for (int i = 0; i < n; ++i)
          for (int j = i + 1; j < n; ++j) {
            T& last_bit = element(block, k++, i, j);
            last_bit = std::nextafter(last_bit, T(1));
            element(block, k++, i, j) += T(0.5);
            element(block, k++, i, j) = nan_of<T>;
          }
        solve(*solver, block);
        for (std::int64_t p = 0; p < pairs; ++p) {
          ASSERT_EQ(block.info[3 * p], 0);
          ASSERT_EQ(std::memcmp(&block.x[3 * p * n], &block.x[3 * pairs * n], sizeof(T) * n), 0);
          ASSERT_EQ(block.info[3 * p + 1], info_matrix_not_symmetric) << p;
          ASSERT_EQ(block.info[3 * p + 2], info_matrix_not_finite) << p;
        }
      };
      check(float{});
      check(double{});
    }
  }
}

TEST(Ldlt, NeitherLaneNorNeighbourDecidesABit) {
  for_all_solvers([](SpdSolver& solver) {
    for (const int nrhs : {0, 1, 5}) {
      const auto check = [&]<class T>(T) {
        const SpdShape shape{21, nrhs, Storage::dense};
        SpdBlock<T> block = generated_block<T>(SpdFamily::gaussian_kernel, shape, 61, 1e5);
        for (std::int64_t e = 0; e < shape.matrix_size(); ++e) block.a[17 * shape.matrix_size() + e] *= T(0x1p+100);
        element(block, 30, 4, 7) = nan_of<T>;                                       // fails
        element(block, 41, 4, 7) = std::nextafter(element(block, 41, 4, 7), T(2));  // differs, but is solved
        element(block, 52, 20, 20) = -1;
        std::vector<std::int64_t> reversed(61);
        std::iota(reversed.rbegin(), reversed.rend(), 0);
        SpdBlock<T> backwards = selected(block, reversed);
        solve(solver, block);
        solve(solver, backwards);
        for (std::int64_t k = 0; k < 61; ++k) {
          ASSERT_TRUE(same_bits(block, k, backwards, 60 - k)) << "system " << k;
          SpdBlock<T> alone = selected(block, {k});
          solve(solver, alone);
          ASSERT_TRUE(same_bits(block, k, alone, 0)) << "system " << k;
        }
      };
      check(float{});
      check(double{});
    }
  });
}

TEST(Ldlt, APowerOfTwoTimesAChangesNoBitOfTheAnswer) {
  // Only exponents change, so residuals are as exact for large and small A as for A near 1. With the last exponent, a
  // kernel scales A before the elimination, together with the systems in the neighbouring lanes.
  for_all_solvers([](SpdSolver& solver) {
    for (const int n : {8, 13, 32})
      for (const int nrhs : {0, 1, 3}) {
        SCOPED_TRACE("n = " + std::to_string(n) + ", nrhs = " + std::to_string(nrhs));
        const auto check = [&]<class T>(T, std::vector<int> exponents) {
          const SpdShape shape{n, nrhs, Storage::dense};
          SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 37);
          solve(solver, block);
          for (; !exponents.empty(); exponents.pop_back()) {
            const auto exponent = [&](std::int64_t k) { return exponents[k % exponents.size()]; };
            SpdBlock<T> other = block;
            for (std::int64_t k = 0; k < block.count; ++k)
              for (std::int64_t e = 0; e < shape.matrix_size(); ++e) {
                T& number = other.a[k * shape.matrix_size() + e];
                number = std::ldexp(number, exponent(k));
              }
            solve(solver, other);
            for (std::int64_t k = 0; k < block.count; ++k) {
              ASSERT_EQ(other.info[k], 0);
              ASSERT_EQ(other.backward_error[k], block.backward_error[k]) << "system " << k << ", 2^" << exponent(k);
              for (std::int64_t e = k * shape.solution_size(); e < (k + 1) * shape.solution_size(); ++e)
                ASSERT_EQ(std::ldexp(other.x[e], exponent(k)), block.x[e]) << "system " << k << ", 2^" << exponent(k);
            }
          }
        };
        check(float{}, {0, 10, -16, 60});
        check(double{}, {0, 20, -100, 10, 300});
      }
  });
}

TEST(Ldlt, InstructionSetsWithFusedMultiplyAddAgreeBitForBit) {
  for (const SpdMethod method : methods)
    for (const SpdShape& shape :
         {SpdShape{8, 1, Storage::dense}, SpdShape{30, 1, Storage::dense}, SpdShape{30, 2, Storage::dense},
          SpdShape{32, 1, Storage::dense}, SpdShape{32, 0, Storage::dense}}) {
      std::vector<SpdBlock<float>> results;
      for (const LdltKernels& kernels : usable_ldlt_kernels()) {
        if (std::string(kernels.name) == "baseline") continue;
        results.push_back(generated_block<float>(SpdFamily::random, shape, 50));
        solve(*make_cpu_spd_solver(2, kernels, {method, 0}), results.back());
      }
      for (std::size_t r = 1; r < results.size(); ++r)
        for (std::int64_t k = 0; k < 50; ++k) ASSERT_TRUE(same_bits(results[0], k, results[r], k)) << "system " << k;
    }
}

TEST(Ldlt, WhatTheCompilerKnowsOfAShapeDecidesNoBit) {
  // There is special code for eight rows and one right-hand side. With two copies of the right-hand side, the general
  // code runs. Both must give the same bits.
  for_all_solvers([](SpdSolver& solver) {
    const auto check = [&]<class T>(T) {
      constexpr int n = 8;
      constexpr std::int64_t count = 61;
      SpdBlock<T> one = generated_block<T>(SpdFamily::random_log_uniform, {n, 1, Storage::dense}, count), two;
      for (std::int64_t e = 0; e < n * n; ++e) one.a[17 * n * n + e] *= T(0x1p+100);
      element(one, 30, 4, 7) = nan_of<T>;
      element(one, 41, 4, 7) = std::nextafter(element(one, 41, 4, 7), T(2));
      element(one, 42, 2, 3) = std::nextafter(element(one, 42, 2, 3), T(2));  // within a block of four rows
      element(one, 52, 7, 7) = -1;
      element(one, 53, 2, 2) = 0;
      two.resize({n, 2, Storage::dense}, count);
      two.a = one.a;
      for (std::int64_t e = 0; e < n * count; ++e) two.b[2 * e] = two.b[2 * e + 1] = one.b[e];
      solve(solver, one);
      solve(solver, two);
      EXPECT_EQ(one.info[30], info_matrix_not_finite);
      EXPECT_EQ(one.info[52], 8);
      EXPECT_EQ(one.info[53], 3);
      SpdBlock<T> first = one;  // the results of `two`, first column
      first.info = two.info;
      for (std::int64_t e = 0; e < n * count; ++e) first.x[e] = two.x[2 * e];
      for_each_spd_number<T>([&](const auto& number) { first.*number.in_block = two.*number.in_block; });
      for (std::int64_t k = 0; k < count; ++k) ASSERT_TRUE(same_bits(one, k, first, k)) << "system " << k;
    };
    check(float{});
    check(double{});
  });
}

TEST(Ldlt, TheLayoutDecidesNoBit) {
  // The layout decides where a kernel reads A for norms and residuals: while loading A, in a copy of A, or in the
  // caller's memory. The bits must be the same.
  for_all_solvers([](SpdSolver& solver) {
    for (const int n : {7, 8, 12, 16, 32, 40, 136, 256})
      for (const int nrhs : {0, 1, 3})
        for (const int exponent : {0, 30}) {  // with the second exponent, A is scaled before the elimination
          if (n > 40 && nrhs != 1) continue;
          SCOPED_TRACE("n = " + std::to_string(n) + ", nrhs = " + std::to_string(nrhs));
          const auto check = [&]<class T>(T) {
            constexpr std::int64_t count = 35;
            const SpdShape shape{n, nrhs, Storage::dense};
            SpdBlock<T> dense = repeated(generated_block<T>(SpdFamily::random, shape, n > 40 ? 3 : count), count),
                        packed;
            for (T& number : dense.a) number = std::ldexp(number, exponent * static_cast<int>(sizeof(T)) * 2);
            packed.resize({n, nrhs, Storage::packed_lower}, count);
            packed.b = dense.b;
            auto to = packed.a.begin();
            for (std::int64_t k = 0; k < count; ++k)
              for (int i = 0; i < n; ++i)
                for (int j = 0; j <= i; ++j) *to++ = element(dense, k, i, j);
            solve(solver, dense);
            solve(solver, packed);
            for (std::int64_t k = 0; k < count; ++k) ASSERT_TRUE(same_bits(dense, k, packed, k)) << "system " << k;
          };
          check(float{});
          check(double{});
        }
  });
}

TEST(Ldlt, TheLargestSystemsFindRoomOnTheSmallestStack) {
  for (const double floor : {0.0, 0.01})
    for_all_solvers(
        [](SpdSolver& solver) {
          for (const int nrhs : {0, 1, 4}) {
            const auto check = [&]<class T>(T) {
              SpdBlock<T> block;
              on_a_small_stack(smallest_stack, [&] {
                block = repeated(generated_block<T>(SpdFamily::gram, {max_system_size, nrhs, Storage::dense}, 1), 3);
                solve(solver, block);
              });
              for (std::int64_t k = 0; k < block.count; ++k) ASSERT_EQ(block.info[k], 0);
            };
            check(float{});
            check(double{});
          }
        },
        floor);
}

TEST(Ldlt, TheNumberOfThreadsChangesNoBit) {
  const LdltKernels kernels = usable_ldlt_kernels().front();
  SpdBlock<double> one = generated_block<double>(SpdFamily::random, {32, 1, Storage::dense}, 1000), three = one;
  solve(*make_cpu_spd_solver(1, kernels, {}), one);
  solve(*make_cpu_spd_solver(3, kernels, {}), three);
  for (std::int64_t k = 0; k < 1000; ++k) ASSERT_TRUE(same_bits(one, k, three, k)) << "system " << k;
}

}  // namespace
}  // namespace smallbatch::testing
