// Matrices that are singular to working precision, with a pivot floor, over all backends and methods. Every answer
// solves a nearby system, which is the same for all backends. The referee tells wrong answers from right ones.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/larger_or_nan.hpp"
#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

class SpdSolverRepair : public SpdSolverTest {
 protected:
  /// Returns systems of the families that lose definiteness to rounding; `condition` is far beyond 1/u.
  template <class T>
  static std::vector<SpdBlock<T>> nearly_singular(const SpdShape& shape, std::int64_t count) {
    const double condition = sizeof(T) == 4 ? 1e9 : 1e18;
    std::vector<SpdBlock<T>> blocks;
    for (const SpdFamily family : {SpdFamily::gaussian_kernel, SpdFamily::shifted_hilbert, SpdFamily::random,
                                   SpdFamily::random_one_small, SpdFamily::random_log_uniform, SpdFamily::moler})
      blocks.push_back(generated_block<T>(family, shape, count, condition));
    // A kernel matrix in which each point occurs twice.
    SpdBlock<T> twins = blocks.front();
    for (std::int64_t k = 0; k < count; ++k)
      for (int i = 0; i < shape.n; ++i)
        for (int j = 0; j <= i; ++j) {
          const double shift = 10.0 * static_cast<double>(k);
          const double distance = std::sin(i / 2 + shift) - std::sin(j / 2 + shift);
          set_symmetric<T>(twins, k, i, j, static_cast<T>(std::exp(-4 * distance * distance)));
        }
    blocks.push_back(std::move(twins));
    return blocks;
  }
  /// Returns the sizes that are worth testing. On the host these are few, because repairs have the same code for all
  /// sizes.
  [[nodiscard]] std::vector<int> sizes_raised_here(const std::vector<int>& sizes) const {
    return every_nth_size(sizes, backend_.kind == BackendKind::cuda ? 1 : 3);
  }
  /// Calls check(block, floor) for all families, both types and several floors.
  template <class Check>
  void for_all_kernels(const std::vector<int>& sizes, Check check) {
    for (const Storage storage : all_storages)
      for (const int n : sizes_raised_here(sizes))
        for (const auto& [nrhs, determinant_only] : spd_questions) {
          const SpdShape shape{n, nrhs, storage, determinant_only};
          SCOPED_TRACE(shape_name(shape));
          const auto of_type = [&]<class T>(T, const std::vector<double>& floors) {
            for (const SpdBlock<T>& block : nearly_singular<T>(shape, 8))
              for (const double floor : floors) {
                SCOPED_TRACE(floor);
                check(block, floor);
              }
          };
          of_type(float{}, {1e-30, 1e-5, 1e-3});
          of_type(double{}, {1e-30, 1e-10, 1e-3});
        }
  }
};

template <class T>
Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> matrix_of(const SpdBlock<T>& block, std::int64_t k) {
  const int n = block.shape.n;
  Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> a(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)
      a(i, j) = a(j, i) = element(const_cast<SpdBlock<T>&>(block), k, std::max(i, j), std::min(i, j));
  return a;
}

TEST_P(SpdSolverRepair, EveryAnswerIsThatOfANearbyMatrix) {
  for_all_kernels({2, 5, 16, 17, 32, 64}, [this]<class T>(SpdBlock<T> block, double floor) {
    const SpdShape& shape = block.shape;
    const int n = shape.n;
    poison_upper(block, static_cast<T>(nan_value));
    solve(*with_floor(floor), block);
    const double used = std::max(floor, n * unit_roundoff<T>);
    for (std::int64_t k = 0; k < block.count; ++k) {
      SCOPED_TRACE("system " + std::to_string(k));
      const auto a = matrix_of(block, k);
      const Eigen::Matrix<long double, Eigen::Dynamic, 1> d = a.diagonal().cwiseSqrt().cwiseInverse();
      const Eigen::MatrixXd scaled = (d.asDiagonal() * a * d.asDiagonal()).template cast<double>();
      const Eigen::VectorXd eigenvalues =
          Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(scaled, Eigen::EigenvaluesOnly).eigenvalues();
      const SpdJudgement judgement = judge(block, k, floor);
      if (block.info[k] != 0) {
        // Rounding errors are equally large in all rows. Compared with small rows, they are so large that no
        // semidefinite matrix is near.
        ASSERT_LT(eigenvalues(0), -2 * used);
        expect_failed(block, k, judgement.info);
        continue;
      }
      // The first limit of the perturbation is the documented one. These families keep a closer limit, too.
      const auto smallest_a = static_cast<double>(a.diagonal().minCoeff());
      const double rounding = n * unit_roundoff<T> * static_cast<double>(a.diagonal().maxCoeff()) / smallest_a;
      ASSERT_EQ(block.repaired[k] == 0, block.perturbation[k] == 0);
      ASSERT_LE(block.perturbation[k], 8 * std::max(used, rounding));
      ASSERT_LE(block.perturbation[k], used + 2 * rounding);
      // `repaired` is the number of pivots below the floor, and nearly the number of eigenvalues below it. Pivots and
      // eigenvalues differ by factors of up to n, and by the growth in the elimination, which is below 20 here.
      ASSERT_GE(block.repaired[k], (eigenvalues.array() < used / (20 * n)).count());
      ASSERT_LE(block.repaired[k], (eigenvalues.array() < used * n).count());
      if (shape.nrhs > 0) {
        double largest_b = 0, largest_x = 0;
        for (std::int64_t e = 0; e < shape.rhs_size(); ++e) {
          largest_b = std::max(largest_b, std::abs(static_cast<double>(block.b[k * shape.rhs_size() + e])));
          largest_x = larger_or_nan(largest_x, std::abs(static_cast<double>(block.x[k * shape.rhs_size() + e])));
        }
        ASSERT_LE(largest_x, 2 * n * largest_b / (used * smallest_a));
      }
      ASSERT_EQ(judgement.info, 0);
      if (!judgement.undecided) {
        ASSERT_EQ(block.repaired[k], judgement.repaired);
        ASSERT_LE(std::abs(block.perturbation[k] - judgement.perturbation), judgement.bounds.perturbation);
        ASSERT_GE(block.rcond[k], judgement.rcond - judgement.bounds.rcond);
        ASSERT_LE(block.rcond[k], spd_rcond_overestimate * judgement.rcond + judgement.bounds.rcond);
        ASSERT_LE(std::abs(block.smallest_pivot[k] - judgement.smallest_pivot), judgement.bounds.smallest_pivot);
        ASSERT_LE(std::abs(block.log_determinant[k] - judgement.log_determinant), judgement.bounds.log_determinant);
      }
      // Gauss-Jordan elimination is not backward stable without repairs.
      if (shape.determinant_only || (GetParam().method == SpdMethod::gauss_jordan && block.repaired[k] == 0)) continue;
      ASSERT_LT(judgement.residual_ratio, spd_ratio_limit);
      ASSERT_LT(judgement.forward_ratio, spd_ratio_limit);
      ASSERT_NEAR(block.backward_error[k], judgement.backward_error, 0.003 * judgement.backward_error + n * 0x1p-53);
    }
  });
}

TEST_P(SpdSolverRepair, TheLargestSystemsAreRepaired) {
  for (const int n : {129, max_system_size})
    for (const int nrhs : {1, 0}) {
      const SpdShape shape{n, nrhs, n == 129 ? Storage::packed_lower : Storage::dense};
      SCOPED_TRACE(shape_name(shape));
      const auto check = [&]<class T>(T, double condition, double floor) {
        SpdBlock<T> block = generated_block<T>(SpdFamily::gaussian_kernel, shape, 1, condition);
        solve(*with_floor(floor), block);
        const SpdJudgement judgement = judge(block, 0, floor);
        ASSERT_EQ(block.info[0], 0);
        ASSERT_EQ(judgement.info, 0);
        ASSERT_GT(block.repaired[0], n / 2);
        ASSERT_LE(block.perturbation[0], 8 * floor);
        if (!judgement.undecided) {
          ASSERT_EQ(block.repaired[0], judgement.repaired);
        }
        ASSERT_LT(judgement.residual_ratio, spd_ratio_limit);
        ASSERT_LT(judgement.forward_ratio, spd_ratio_limit);
        ASSERT_NEAR(block.backward_error[0], judgement.backward_error, 0.003 * judgement.backward_error + n * 0x1p-53);
      };
      check(float{}, 1e9, 1e-4);
      check(double{}, 1e18, 1e-9);
    }
}

TEST_P(SpdSolverRepair, AllMethodsRaiseTheSamePivots) {
  const auto reference = make_spd_solver({BackendKind::reference}, {SpdMethod::automatic, 1e-5});
  for (const int n : sizes_under_test({5, 16, 32, 33, 64, 97}))
    for (const auto& [nrhs, determinant_only] : spd_questions) {
      const SpdShape shape{n, nrhs, Storage::dense, determinant_only};
      SCOPED_TRACE(shape_name(shape));
      for (SpdBlock<float> block : nearly_singular<float>(shape, 8)) {
        SpdBlock<float> expected = block;
        solve(*with_floor(1e-5), block);
        solve(*reference, expected);
        EXPECT_EQ(block.info, expected.info);
        EXPECT_EQ(block.repaired, expected.repaired);
        for (std::int64_t k = 0; k < block.count; ++k)
          EXPECT_NEAR(block.perturbation[k], expected.perturbation[k], 1e-6 * expected.perturbation[k]);
      }
    }
}

TEST_P(SpdSolverRepair, APivotEqualToTheFloorIsNotBelowIt) {
  // [s s; s s(1 + 2^-10)] has the pivots s and s 2^-10, which is 2^-10 / (1 + 2^-10) of the diagonal element.
  const auto check = [this]<class T>(T) {
    for (const int exponent : {0, 40, -40}) {
      SpdBlock<T> block;
      block.resize({2, 1, Storage::dense}, 1);
      const T s = std::ldexp(T(1), exponent);
      block.a = {s, s, s, s + s / 1024};
      block.b = {s, s};
      const double share = 0x1p-10 / (1 + 0x1p-10);
      solve(*with_floor(share), block);
      EXPECT_EQ(block.info[0], 0);
      EXPECT_EQ(block.repaired[0], 0);
      solve(*with_floor(std::nextafter(share, 1.0)), block);
      EXPECT_EQ(block.repaired[0], 1);
    }
  };
  check(float{});
  check(double{});
}

TEST_P(SpdSolverRepair, FloorsThatTheTypeDoesNotHoldMeanWhatTheySay) {
  // One floor is below the smallest float, the other becomes 1 when rounded to float.
  SpdBlock<float> block = generated_block<float>(SpdFamily::random, {6, 1, Storage::dense}, 4, 10), plain = block;
  solve(*solver_, plain);
  solve(*with_floor(1e-60), block);
  for (std::int64_t k = 0; k < 4; ++k) EXPECT_TRUE(same_bits(block, k, plain, k));
  solve(*with_floor(1 - 1e-12), block);
  for (std::int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(block.info[k], 0);
    EXPECT_EQ(block.repaired[k], 5);  // all pivots except the first, which is its own diagonal element
    EXPECT_LE(block.perturbation[k], 1);
  }
}

TEST_P(SpdSolverRepair, InputThatIsNotFiniteIsFoundWithAFloorToo) {
  for (const Storage storage : all_storages)
    for (const int n : sizes_raised_here({1, 7, 16, 32, 33, 64, 97}))
      for (const auto& [nrhs, determinant_only] : spd_questions) {
        const SpdShape shape{n, nrhs, storage, determinant_only};
        SCOPED_TRACE(shape_name(shape));
        const auto check = [&]<class T>(T) {
          const std::int64_t step = n > 32 ? 37 : 1, size = shape.matrix_size(), systems = (size + step - 1) / step;
          SpdBlock<T> block = repeated(generated_block<T>(SpdFamily::random, shape, 17, 10), systems);
          for (std::int64_t k = 0; k < systems; ++k)
            block.a[k * size + k * step] = static_cast<T>(k % 3 == 0 ? nan_value : k % 3 == 1 ? infinity : -infinity);
          solve(*with_floor(1e-3), block);
          for (std::int64_t k = 0; k < systems; ++k) {
            const bool counts = storage != Storage::dense_lower || k * step % n <= k * step / n;
            if (counts)
              expect_failed(block, k, info_matrix_not_finite);
            else
              EXPECT_EQ(block.info[k], 0);
          }
        };
        check(float{});
        check(double{});
      }
}

TEST_P(SpdSolverRepair, WhereNothingIsRepairedRcondIsTheSame) {
  // No pivot of A = 2^-130 I is raised, so rcond is that of A: 1. The diagonal of A^-1 is 2^130, which float cannot
  // hold.
  for (const auto& [nrhs, determinant_only] : spd_questions) {
    if (nrhs == 0 && !determinant_only) continue;
    const SpdShape shape{3, nrhs, Storage::dense, determinant_only};
    SCOPED_TRACE(shape_name(shape));
    SpdBlock<float> block;
    block.resize(shape, 1);
    std::fill(block.a.begin(), block.a.end(), 0.0F);
    for (int i = 0; i < 3; ++i) element(block, 0, i, i) = 0x1p-130F;
    std::fill(block.b.begin(), block.b.end(), 0x1p-135F);
    solve(*with_floor(1e-5), block);
    EXPECT_EQ(block.info[0], 0);
    EXPECT_EQ(block.rcond[0], takes_square_roots() ? block.rcond[0] : 1);
    EXPECT_NEAR(block.rcond[0], 1, 1e-6);
  }
}

TEST_P(SpdSolverRepair, WrongAnswersAreNotTakenForRepairedOnes) {
  // Nearly all of these 200 systems are repaired. An error planted in one of them must be noticed.
  const SpdShape shape{16, 1, Storage::dense};
  constexpr double floor = 1e-5;
  SpdBlock<float> block = generated_block<float>(SpdFamily::gaussian_kernel, shape, 200, 1e9);
  solve(*with_floor(floor), block);
  std::mt19937 random(1);
  const std::vector<std::pair<const char*, std::function<float(float, int)>>> plants{
      {"the negative", [](float x, int) { return -x; }},
      {"ones", [](float, int) { return 1.0F; }},
      {"zeros", [](float, int) { return 0.0F; }},
      {"twice", [](float x, int) { return 2 * x; }},
      {"one part in a thousand", [](float x, int) { return 1.001F * x; }},
      {"one element", [](float x, int i) { return i == 5 ? x + 0.01F : x; }},
      {"noise", [&](float x, int) { return x * std::uniform_real_distribution<float>(0.9F, 1.1F)(random); }},
      {"huge", [](float x, int) { return 1e20F * x; }}};
  const auto is_right = [&](const SpdBlock<float>& answers, std::int64_t k) {
    const SpdJudgement judgement = judge(answers, k, floor);
    return same_status(0, judgement, ScalarType::float32, 16) && judgement.residual_ratio <= spd_ratio_limit &&
           judgement.forward_ratio <= spd_ratio_limit;
  };
  std::int64_t repaired = 0;
  for (std::int64_t k = 0; k < block.count; ++k) {
    ASSERT_EQ(block.info[k], 0);
    ASSERT_TRUE(is_right(block, k)) << "system " << k;
    if (block.repaired[k] == 0) continue;
    ++repaired;
    for (const auto& [name, plant] : plants) {
      SpdBlock<float> wrong = selected(block, {k});
      wrong.info[0] = 0;
      for (int i = 0; i < 16; ++i) wrong.x[i] = plant(block.x[k * 16 + i], i);
      EXPECT_FALSE(is_right(wrong, 0)) << name << " of system " << k;
    }
  }
  EXPECT_GT(repaired, 190);
}

INSTANTIATE_TEST_SUITE_P(Solvers, SpdSolverRepair, ::testing::ValuesIn(all_solver_choices), solver_test_name);

}  // namespace
}  // namespace smallbatch::testing
