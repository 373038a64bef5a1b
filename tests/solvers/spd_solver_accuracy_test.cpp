// LAPACK's ratios for every family, over all backends and methods. The limit is 30 (solvers/spd_referee.hpp).
//
// Gauss-Jordan elimination is not backward stable (Higham, "Accuracy and Stability of Numerical Algorithms", section
// 14.4). Its residual ratio grows with the condition number. For this method the residual must keep the limit only at
// small condition numbers. At larger ones, its backward error must say how large the residual is. The worst ratios are
// recorded as properties of the test (--gtest_output=xml), and docs/numerics.md shows them.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "tests/larger_or_nan.hpp"
#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

class SpdSolverAccuracy : public SpdSolverTest {
 protected:
  [[nodiscard]] bool backward_stable() const { return GetParam().method != SpdMethod::gauss_jordan; }

  /// Solves and judges `count` systems of a family with condition numbers from 2 to 0.1/u.
  template <class T>
  void check_family(const SpdFamilyDescription& family, const SpdShape& shape, std::int64_t count,
                    bool only_hardest = false);
};

bool has_condition(SpdFamily family) {
  using enum SpdFamily;
  return family != gram && family != lehmer && family != min_ij && family != moler;
}
bool is_singular(SpdFamily family) {
  using enum SpdFamily;
  return family == zero_first || family == zero_middle || family == zero_last;
}
/// Returns the largest n at which the condition number of a family is still below about 1/u of T.
template <class T>
int largest_size(SpdFamily family) {
  if (family != SpdFamily::moler) return max_system_size;
  return sizeof(T) == 4 ? 12 : 26;  // for a condition number of 4^n
}

/// The largest ratios of several systems. A NaN stays.
struct WorstRatios {
  double residual = 0, forward = 0;
  void add(double residual_ratio, double forward_ratio) {
    residual = larger_or_nan(residual, residual_ratio);
    forward = larger_or_nan(forward, forward_ratio);
  }
};

TEST(WorstRatios, ANaNStaysAndFails) {
  for (const std::array<double, 3>& ratios :
       {std::array{nan_value, 1.0, 2.0}, {1.0, nan_value, 2.0}, {2.0, nan_value, 1.0}, {1.0, 2.0, nan_value}}) {
    WorstRatios of_residuals, of_solutions;
    for (const double ratio : ratios) {
      of_residuals.add(ratio, 1);
      of_solutions.add(1, ratio);
    }
    EXPECT_NONFATAL_FAILURE(EXPECT_LT(of_residuals.residual, spd_ratio_limit), "nan");
    EXPECT_NONFATAL_FAILURE(EXPECT_LT(of_solutions.forward, spd_ratio_limit), "nan");
    EXPECT_EQ(of_residuals.forward, 1);
    EXPECT_EQ(of_solutions.residual, 1);
  }
}

TEST(WorstRatios, AreTheLargest) {
  WorstRatios worst;
  for (const double ratio : {3.0, 5.0, 4.0}) worst.add(ratio, 10 - ratio);
  EXPECT_EQ(worst.residual, 5);
  EXPECT_EQ(worst.forward, 7);
}

/// Judges every system, and adds its ratios to `worst`. Expects that statuses and backward errors are right.
template <class T>
void judge_block(const SpdBlock<T>& block, bool must_be_solved, WorstRatios& worst) {
  for (std::int64_t k = 0; k < block.count; ++k) {
    const SpdJudgement judgement = judge(block, k);
    ASSERT_TRUE(same_status(block.info[k], judgement, scalar_type_of<T>, block.shape.n))
        << "system " << k << ": status " << block.info[k] << ", referee " << judgement.info;
    if (must_be_solved) {
      ASSERT_EQ(block.info[k], 0) << "system " << k;
    }
    if (block.info[k] != 0) {
      expect_failed(block, k, block.info[k]);
      continue;
    }
    worst.add(judgement.residual_ratio, judgement.forward_ratio);
    const double expected =
        judgement.residual_ratio * unit_roundoff<T> * (block.shape.wants_inverse() ? block.shape.n : 1);
    const double slack = sizeof(T) == 4 ? 1e-6 * expected : 2 * block.shape.n * unit_roundoff<T> + 1e-6 * expected;
    ASSERT_NEAR(block.backward_error[k], expected, slack) << "system " << k;
  }
}

TEST_P(SpdSolverAccuracy, RandomSystemsPassAtEveryShape) {
  for_all_shapes({1, 2, 4, 5, 16, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 9, 10);
    poison_upper(block, static_cast<T>(nan_value));
    solve(*solver_, block);
    expect_judged_right(block);
  });
}

TEST_P(SpdSolverAccuracy, ABatchOfManySystemsPasses) {
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

TEST_P(SpdSolverAccuracy, LapacksMatrixTypesPass) {
  // The nine PO types of DLATB4, without the types that have zeros. spd_solver_status_test.cpp checks the status of
  // types with zeros.
  struct Type {
    int number;
    SpdFamily family;
    double condition_times_u;  // 0: the condition number is 2
    double power;
  };
  const std::vector<Type> types{{1, SpdFamily::diagonal, 0, 1},       {2, SpdFamily::random, 0, 1},
                                {6, SpdFamily::random, 0.1, 0.5},     {7, SpdFamily::random, 0.1, 1},
                                {8, SpdFamily::near_underflow, 0, 1}, {9, SpdFamily::near_overflow, 0, 1}};
  for (const Type& type : types)
    for_all_shapes({1, 3, 0}, [&]<class T>(T, const SpdShape& shape) {
      SCOPED_TRACE("PO type " + std::to_string(type.number));
      const double condition =
          type.condition_times_u == 0 ? 2 : std::pow(type.condition_times_u / unit_roundoff<T>, type.power);
      SpdBlock<T> block = generated_block<T>(type.family, shape, 2, condition);
      solve(*solver_, block);
      WorstRatios worst;
      judge_block(block, type.number != 7, worst);
      if (backward_stable() || type.condition_times_u == 0) {
        ASSERT_LT(worst.residual, spd_ratio_limit);
      }
      ASSERT_LT(worst.forward, spd_ratio_limit);
    });
}

template <class T>
void SpdSolverAccuracy::check_family(const SpdFamilyDescription& family, const SpdShape& shape, std::int64_t count,
                                     bool only_hardest) {
  if (shape.n > largest_size<T>(family.family)) return;
  const double hardest = 0.1 / unit_roundoff<T>;
  for (const double condition : {2.0, std::sqrt(hardest), hardest}) {
    if (has_condition(family.family) ? only_hardest && condition < hardest : condition > 2) continue;
    SCOPED_TRACE(std::string(family.name) + ", condition " + std::to_string(condition) + ", " + shape_name(shape) +
                 (sizeof(T) == 4 ? ", float32" : ", float64"));
    // With a scale near underflow, small eigenvalues would be subnormal numbers.
    if (family.family == SpdFamily::near_underflow && condition == hardest) continue;
    SpdBlock<T> block = generated_block<T>(family.family, shape, count, condition);
    solve(*solver_, block);
    WorstRatios worst;
    judge_block(block, condition < hardest, worst);
    if (backward_stable() || (condition == 2 && family.family != SpdFamily::moler)) {
      ASSERT_LT(worst.residual, spd_ratio_limit);
    }
    ASSERT_LT(worst.forward, spd_ratio_limit);
  }
}

TEST_P(SpdSolverAccuracy, EveryFamilyPassesAtEverySize) {
  int turn = 0;  // the storages take turns
  for (const SpdFamilyDescription& family : spd_families()) {
    if (is_singular(family.family)) continue;
    for (const int n : sizes_under_test({1, 2, 5, 8, 9, 16, 17, 31, 32, 33, 48, 64, 65, 97}))
      for (const int nrhs : {1, 3, 0}) {
        const SpdShape shape{n, nrhs, all_storages[turn++ % all_storages.size()]};
        check_family<float>(family, shape, 3);
        check_family<double>(family, shape, 3);
      }
  }
}

TEST_P(SpdSolverAccuracy, EveryFamilyPassesAtTheLargestSizes) {
  constexpr std::array<int, 3> all_nrhs{1, 3, 0};
  std::size_t turn = 0;  // the sizes, storages and right-hand sides take turns
  for (const SpdFamilyDescription& family : spd_families()) {
    if (is_singular(family.family)) continue;
    for (const int nrhs : all_nrhs) {
      const int n = large_spd_sizes[turn++ % large_spd_sizes.size()];
      const SpdShape shape{n, nrhs, all_storages[turn / 2 % all_storages.size()]};
      check_family<float>(family, shape, 1, true);
      check_family<double>(family, shape, 1, true);
    }
    ++turn;
  }
}

TEST_P(SpdSolverAccuracy, BackwardErrorsOfTheLargestSumsAreRight) {
  // The sums of A x are nearly as large as the largest n and the exponents of A and x permit.
  for (const int n : {64, 128, max_system_size})
    for (const int nrhs : {1, 3}) {
      const auto check = [&]<class T>(T) {
        const SpdShape shape{n, nrhs, n % 3 == 1 ? Storage::packed_lower : Storage::dense};
        SCOPED_TRACE(shape_name(shape));
        SpdBlock<T> block = nearly_twos<T>(shape, 3);
        solve(*solver_, block);
        for (std::int64_t k = 0; k < block.count; ++k) {
          ASSERT_EQ(block.info[k], 0);
          for (std::int64_t e = 0; e < shape.rhs_size(); ++e) ASSERT_NEAR(block.x[k * shape.rhs_size() + e], 2, 0.2);
          const double expected = judge(block, k).residual_ratio * unit_roundoff<T>;
          ASSERT_NEAR(block.backward_error[k], expected, 0.003 * expected + 0x1p-60);
        }
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverAccuracy, WorstRatiosOfManySystemsOfEveryFamily) {
  using enum SpdFamily;
  constexpr int n = 32;
  for (const SpdFamilyDescription& family : spd_families()) {
    if (is_singular(family.family) || family.family == moler) continue;
    // These families are `random` times a power of two, so their ratios are those of `random`.
    if (family.family == near_underflow || family.family == near_overflow) continue;
    for (const int nrhs : {1, 0}) {
      const auto check = [&]<class T>(T, std::array<double, 3> conditions) {
        for (const double condition : conditions) {
          if (condition > conditions[0] && !has_condition(family.family)) continue;
          std::array<char, 80> name{};
          std::snprintf(name.data(), name.size(), "%s_%s_%s_%.0e", nrhs == 0 ? "inverse" : "solution",
                        sizeof(T) == 4 ? "float32" : "float64", std::string(family.name).c_str(), condition);
          SCOPED_TRACE(name.data());
          SpdBlock<T> block = generated_block<T>(family.family, {n, nrhs, Storage::dense}, 120, condition, 2);
          solve(*solver_, block);
          WorstRatios worst;
          judge_block(block, condition < conditions[2], worst);
          RecordProperty(name.data(), std::to_string(worst.residual));
          if (backward_stable()) {
            EXPECT_LT(worst.residual, spd_ratio_limit);
          }
          EXPECT_LT(worst.forward, spd_ratio_limit);
        }
      };
      check(float{}, {1e2, 1e4, 0.1 / unit_roundoff<float>});
      check(double{}, {1e4, 1e9, 0.1 / unit_roundoff<double>});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, SpdSolverAccuracy, ::testing::ValuesIn(all_solver_choices), solver_test_name);

}  // namespace
}  // namespace smallbatch::testing
