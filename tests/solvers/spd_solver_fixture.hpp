// Shared parts of the tests of SpdSolver. The fixture runs one test over every backend and method. Two functions check
// that a system is solved, or that it has failed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver.hpp"
#include "tests/backends.hpp"
#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {

inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct SolverChoice {
  BackendKind kind;
  SpdMethod method;
};
inline std::string solver_choice_name(const SolverChoice& choice) {
  if (choice.kind == BackendKind::reference) return "reference";
  return (choice.kind == BackendKind::cpu ? "cpu_" : "cuda_") + std::string(spd_method_name(choice.method));
}
inline void PrintTo(const SolverChoice& choice, std::ostream* out) { *out << solver_choice_name(choice); }

/// Every backend with every method. The reference solves in the same way for all methods, so it is listed once. For
/// cpu, `automatic` is missing, because it means ldlt (cpu/kernels_test.cpp).
inline const std::vector<SolverChoice> all_solver_choices{{BackendKind::reference, SpdMethod::automatic},
                                                          {BackendKind::cpu, SpdMethod::gauss_jordan},
                                                          {BackendKind::cpu, SpdMethod::ldlt},
                                                          {BackendKind::cuda, SpdMethod::automatic},
                                                          {BackendKind::cuda, SpdMethod::gauss_jordan},
                                                          {BackendKind::cuda, SpdMethod::ldlt}};

inline std::string solver_test_name(const ::testing::TestParamInfo<SolverChoice>& info) {
  return solver_choice_name(info.param);
}

/// All that a solver can compute, as (nrhs, determinant_only): one solution, several solutions, the inverse, or the
/// determinant alone.
inline const std::vector<std::pair<int, bool>> spd_questions{{1, false}, {3, false}, {0, false}, {0, true}};

/// Returns every `step`-th of these sizes, counted back from the last one.
inline std::vector<int> every_nth_size(const std::vector<int>& sizes, std::size_t step) {
  std::vector<int> some;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if ((sizes.size() - 1 - i) % step == 0) some.push_back(sizes[i]);
  return some;
}

/// Returns the sizes to test: all, or every N-th if SMALLBATCH_EVERY_NTH_SIZE is N. Some runs would take too long with
/// all sizes.
inline std::vector<int> sizes_under_test(const std::vector<int>& sizes) {
  const char* const named = std::getenv("SMALLBATCH_EVERY_NTH_SIZE");
  return every_nth_size(sizes, named == nullptr ? 1 : std::max<std::size_t>(1, std::stoul(named)));
}

/// Sizes at which some kernel changes its lanes, its rows per lane or its padding, with their neighbours.
inline const std::vector<int> spd_sizes = sizes_under_test({1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65, 97});
/// Large sizes, with and without a remainder in every tile. They take long, so few systems have them.
inline const std::vector<int> large_spd_sizes{129, 200, max_system_size};
inline const std::vector<Storage> all_storages{Storage::dense, Storage::dense_lower, Storage::packed_lower};

inline std::string shape_name(const SpdShape& shape) {
  return "n = " + std::to_string(shape.n) + ", nrhs = " + std::to_string(shape.nrhs) +
         (shape.storage == Storage::dense         ? ", dense"
          : shape.storage == Storage::dense_lower ? ", dense_lower"
                                                  : ", packed_lower");
}

class SpdSolverTest : public ::testing::TestWithParam<SolverChoice> {
 protected:
  void SetUp() override {
    backend_ = backend_under_test(GetParam().kind);
    if (const std::string why = why_absent(backend_.kind); !why.empty()) GTEST_SKIP() << why;
    solver_ = with_floor(0);
  }
  /// Returns the solver under test with a pivot floor.
  [[nodiscard]] std::unique_ptr<SpdSolver> with_floor(double pivot_floor) const {
    return make_spd_solver(backend_, {GetParam().method, pivot_floor});
  }
  /// Returns whether the backend factors with square roots. They round where an elimination without them is exact.
  [[nodiscard]] bool takes_square_roots() const { return backend_.kind == BackendKind::reference; }
  /// Returns whether a separate kernel solves the systems that must be scaled. It rounds differently from the kernel
  /// that solves all other systems.
  template <class T>
  [[nodiscard]] bool is_solved_by_two_kernels(const SpdShape& shape) const {
    return backend_.kind == BackendKind::cuda && sizeof(T) == 8 && shape.n > 32 && shape.n <= 64 &&
           !shape.wants_inverse();
  }

  /// Returns the sizes that are worth testing. The reference is by far the slowest, and has the same code for all
  /// sizes.
  [[nodiscard]] std::vector<int> sizes_here(const std::vector<int>& sizes) const {
    return every_nth_size(sizes, backend_.kind == BackendKind::reference ? 3 : 1);
  }

  /// Calls check(T{}, shape) for both types, all sizes and storages, and the given nrhs.
  template <class Check>
  void for_all_shapes(const std::vector<int>& all_nrhs, Check check) {
    for (const Storage storage : all_storages)
      for (const int n : sizes_here(spd_sizes))
        for (const int nrhs : all_nrhs) {
          const SpdShape shape{n, nrhs, storage};
          SCOPED_TRACE(shape_name(shape));
          check(float{}, shape);
          check(double{}, shape);
          if (HasFatalFailure()) return;
        }
  }

  Backend backend_;
  std::unique_ptr<SpdSolver> solver_;
};

template <class T>
SpdJudgement judge(const SpdBlock<T>& block, std::int64_t k, double pivot_floor = 0) {
  return judge_spd_solution(block.shape, block.a.data() + k * block.shape.matrix_size(),
                            block.b.data() + k * block.shape.rhs_size(),
                            block.x.data() + k * block.shape.solution_size(), block.info[k], pivot_floor);
}

/// Expects that system k has status `info` and no number that could be taken for an answer.
template <class T>
void expect_failed(const SpdBlock<T>& block, std::int64_t k, std::int32_t info) {
  EXPECT_EQ(block.info[k], info) << "system " << k;
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    if (!number.is_of(block.shape)) return;
    const V value = (block.*number.in_block)[k];
    EXPECT_TRUE(std::is_integral_v<V> ? value == 0 : std::isnan(value)) << "system " << k << ", " << number.name;
  });
  for (std::int64_t e = 0; e < block.shape.solution_size(); ++e)
    ASSERT_TRUE(std::isnan(block.x[k * block.shape.solution_size() + e])) << "system " << k << ", x[" << e << "]";
}

/// Expects that system k has failed at pivot `info`, which is zero in exact arithmetic and in an elimination without
/// square roots. Square roots may round the zero away. Then a later pivot fails, or rcond says that rounding decided.
template <class T>
void expect_singular(const SpdBlock<T>& block, std::int64_t k, std::int32_t info, bool takes_square_roots) {
  if (takes_square_roots && block.info[k] == 0)
    EXPECT_LT(block.rcond[k], block.shape.n * unit_roundoff<T>) << "system " << k;
  else
    expect_failed(block, k, takes_square_roots ? std::max(info, block.info[k]) : info);
}

/// Expects that every system is solved, the referee agrees, and both of LAPACK's ratios are below the limit.
template <class T>
void expect_judged_right(const SpdBlock<T>& block) {
  for (std::int64_t k = 0; k < block.count; ++k) {
    ASSERT_EQ(block.info[k], 0) << "system " << k;
    const SpdJudgement judgement = judge(block, k);
    ASSERT_EQ(judgement.info, 0) << "system " << k;
    ASSERT_LT(judgement.residual_ratio, spd_ratio_limit) << "system " << k;
    ASSERT_LT(judgement.forward_ratio, spd_ratio_limit) << "system " << k;
  }
}

/// Expects that the backward error of system k is u times the referee's residual ratio, or n u times for an inverse.
/// The solver and the referee compute residuals in twice the precision of T.
template <class T>
void expect_backward_error(const SpdBlock<T>& block, std::int64_t k) {
  const int n = block.shape.n;
  const double expected = judge(block, k).residual_ratio * unit_roundoff<T> * (block.shape.wants_inverse() ? n : 1);
  const double slack = sizeof(T) == 4 ? 1e-6 * expected : 0.003 * expected + 0x1p-60;
  ASSERT_NEAR(block.backward_error[k], expected, slack) << "system " << k;
}

}  // namespace smallbatch::testing
