// Batches with systems of different sizes, over all backends and methods. Only the leading block of each matrix counts,
// whatever lies beyond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

class SpdSolverSizes : public SpdSolverTest {};

/// Systems of these sizes, each in a separate block, and all in one block of `shape` with `rubbish` beyond their sizes.
template <class T>
struct Mixed {
  std::vector<SpdBlock<T>> alone;
  SpdBlock<T> together;

  Mixed(SpdShape shape, const std::vector<std::int32_t>& sizes, T rubbish) {
    shape.has_sizes = true;
    together.resize(shape, static_cast<std::int64_t>(sizes.size()));
    std::fill(together.a.begin(), together.a.end(), rubbish);
    std::fill(together.b.begin(), together.b.end(), rubbish);
    std::fill(together.x.begin(), together.x.end(), T(4711));
    std::copy(sizes.begin(), sizes.end(), together.sizes.begin());
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      SpdShape own = shape;
      own.n = std::clamp(sizes[k], 1, shape.n);
      own.has_sizes = false;
      alone.push_back(generated_block<T>(SpdFamily::random, own, 1, 100, k));
      if (sizes[k] <= shape.n) place(k);
    }
  }
  /// Copies system k of `alone` into `together`.
  void place(std::size_t k) {
    SpdBlock<T>& one = alone[k];
    const auto system = static_cast<std::int64_t>(k);
    const int size = together.sizes[k];
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j < (one.shape.storage == Storage::packed_lower ? i + 1 : size); ++j)
        element(together, system, i, j) = element(one, 0, i, j);
      for (int c = 0; c < one.shape.nrhs; ++c)
        together.b[system * together.shape.rhs_size() + i * one.shape.nrhs + c] = one.b[i * one.shape.nrhs + c];
    }
  }
  /// Returns a copy of block k of `alone`, with the results that system k has in `together`. Expects that x is 0 beyond
  /// the size of system k.
  SpdBlock<T> answer(std::int64_t k) const {
    SpdBlock<T> one = alone[static_cast<std::size_t>(k)];
    const SpdShape& shape = together.shape;
    const int size = together.sizes[k], columns = shape.wants_inverse() ? shape.n : shape.nrhs;
    const int used = shape.wants_inverse() ? size : columns;
    for (int i = 0; i < shape.n && !shape.determinant_only; ++i)
      for (int c = 0; c < columns; ++c) {
        const T value = together.x[k * shape.solution_size() + i * columns + c];
        if (i < size && c < used)
          one.x[i * used + c] = value;
        else
          EXPECT_EQ(value, 0) << "system " << k << ", row " << i << ", column " << c;
      }
    one.info[0] = together.info[k];
    for_each_spd_number<T>([&](const auto& number) {
      if (number.is_of(shape)) (one.*number.in_block)[0] = (together.*number.in_block)[k];
    });
    return one;
  }
};

std::vector<std::int32_t> sizes_up_to(int n) {
  std::vector<std::int32_t> sizes{n, 0, 1};
  for (int k = 0; k < 40; ++k) sizes.push_back(k * 7 % (n + 1));
  return sizes;
}

TEST_P(SpdSolverSizes, EachIsItsLeadingBlock) {
  for (const Storage storage : all_storages)
    for (const int n : sizes_under_test({1, 4, 7, 16, 19, 32, 40, 64}))
      for (const auto& [nrhs, determinant_only] : spd_questions) {
        const SpdShape shape{n, nrhs, storage, determinant_only};
        SCOPED_TRACE(shape_name(shape));
        const auto check = [&]<class T>(T) {
          Mixed<T> mixed(shape, sizes_up_to(n), static_cast<T>(nan_value));
          SpdBlock<T>& together = mixed.together;
          solve(*solver_, together);
          for (std::int64_t k = 0; k < together.count; ++k) {
            SCOPED_TRACE("system " + std::to_string(k) + " of size " + std::to_string(together.sizes[k]));
            ASSERT_EQ(together.info[k], 0);
            const SpdBlock<T> answer = mixed.answer(k);
            if (together.sizes[k] > 0) {
              ASSERT_LE(spd_error_over_bound(answer, 0, 0), 1);
              continue;
            }
            if (!determinant_only) {
              EXPECT_EQ(together.backward_error[k], 0);
            }
            EXPECT_EQ(together.rcond[k], 1);
            EXPECT_EQ(together.smallest_pivot[k], 1);
            EXPECT_EQ(together.log_determinant[k], 0);
            EXPECT_EQ(together.repaired[k], 0);
            EXPECT_EQ(together.perturbation[k], 0);
          }
        };
        check(float{});
        check(double{});
        if (HasFatalFailure()) return;
      }
}

TEST_P(SpdSolverSizes, SmallAndLargeOnesStandSideBySide) {
  const auto check = [&]<class T>(T) {
    Mixed<T> mixed({max_system_size, 1, Storage::dense}, {max_system_size, 3, 129, 64, 200, 255},
                   static_cast<T>(nan_value));
    solve(*solver_, mixed.together);
    for (std::int64_t k = 0; k < mixed.together.count; ++k) {
      ASSERT_EQ(mixed.together.info[k], 0);
      ASSERT_LE(spd_error_over_bound(mixed.answer(k), 0, 0), 1) << "system " << k;
    }
  };
  check(float{});
  check(double{});
}

TEST_P(SpdSolverSizes, NoLaneKnowsItsNeighboursSizes) {
  if (backend_.kind == BackendKind::cuda) GTEST_SKIP() << "kernels of other sizes may round in another order";
  for (const auto& [nrhs, determinant_only] : spd_questions) {
    const SpdShape shape{19, nrhs, Storage::dense, determinant_only};
    SCOPED_TRACE(shape_name(shape));
    const auto check = [&]<class T>(T) {
      Mixed<T> mixed(shape, sizes_up_to(19), T(3));
      solve(*solver_, mixed.together);
      for (std::int64_t k = 0; k < mixed.together.count; ++k) {
        if (mixed.together.sizes[k] == 0) continue;
        const SpdBlock<T> answer = mixed.answer(k);
        SpdBlock<T>& alone = mixed.alone[static_cast<std::size_t>(k)];
        solve(*solver_, alone);
        ASSERT_TRUE(same_bits(alone, 0, answer, 0)) << "system " << k;
      }
    };
    check(float{});
    check(double{});
  }
}

TEST_P(SpdSolverSizes, EqualSizesGiveTheBitsOfAUniformSet) {
  for_all_shapes({1, 3, 0}, [this]<class T>(T, SpdShape shape) {
    SpdBlock<T> uniform = generated_block<T>(SpdFamily::random, shape, 35);
    shape.has_sizes = true;
    SpdBlock<T> sized = generated_block<T>(SpdFamily::random, shape, 35);
    std::fill(sized.sizes.begin(), sized.sizes.end(), shape.n);
    solve(*solver_, uniform);
    solve(*solver_, sized);
    for (std::int64_t k = 0; k < 35; ++k) ASSERT_TRUE(same_bits(uniform, k, sized, k)) << "system " << k;
  });
}

TEST_P(SpdSolverSizes, WhatIsWrongWithinIsTold) {
  for (const auto& [nrhs, determinant_only] : spd_questions)
    for (const Storage storage : all_storages) {
      const SpdShape shape{20, nrhs, storage, determinant_only};
      SCOPED_TRACE(shape_name(shape));
      const auto check = [&]<class T>(T) {
        Mixed<T> mixed(shape, {12, 12, 12, 20, -1, 21, 5, 12}, T(1e30));
        set_symmetric(mixed.alone[0], 0, 11, 3, static_cast<T>(nan_value));
        set_symmetric(mixed.alone[2], 0, 7, 7, T(-1));
        if (storage == Storage::dense) element(mixed.alone[7], 0, 2, 9) += T(1);
        for (const std::size_t k : {0, 2, 7}) mixed.place(k);
        set_symmetric(mixed.together, 6, 5, 5, static_cast<T>(nan_value));  // just beyond its size
        SpdBlock<T>& together = mixed.together;
        solve(*solver_, together);
        for (const std::int64_t k : {1, 3, 6}) ASSERT_LE(spd_error_over_bound(mixed.answer(k), 0, 0), 1) << k;
        expect_failed(mixed.answer(0), 0, info_matrix_not_finite);
        expect_failed(mixed.answer(2), 0, 8);
        if (storage == Storage::dense) expect_failed(mixed.answer(7), 0, info_matrix_not_symmetric);
        expect_failed(together, 4, info_size_out_of_range);
        expect_failed(together, 5, info_size_out_of_range);
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverSizes, OneMatrixAndOneRightHandSideMayBeOfAll) {
  const SpdShape shape{9, 2, Storage::dense};
  const SpdBlock<double> given = generated_block<double>(SpdFamily::random, shape, 1);
  const std::vector<std::int32_t> sizes{9, 4, 0, 1, 7, 4};
  SpdBlock<double> block;
  block.resize(shape, 6);
  SpdBatch<double> batch = given.batch();
  batch.count = 6;
  batch.a_stride = batch.b_stride = 0;
  batch.sizes = sizes.data();
  solver_->solve(batch, block.solution());
  for (std::int64_t k = 0; k < 6; ++k) {
    ASSERT_EQ(block.info[k], 0);
    for (int i = 0; i < 9; ++i)
      for (int c = 0; c < 2; ++c) {
        const double x = block.x[k * 18 + i * 2 + c];
        if (i >= sizes[k]) {
          EXPECT_EQ(x, 0);
          continue;
        }
        double residual = given.b[i * 2 + c];
        for (int j = 0; j < sizes[k]; ++j) residual -= given.a[i * 9 + j] * block.x[k * 18 + j * 2 + c];
        EXPECT_NEAR(residual, 0, 1e-12) << "system " << k << ", row " << i;
      }
  }
}

TEST_P(SpdSolverSizes, SolutionsMayTakeThePlaceOfRightHandSides) {
  Mixed<float> mixed({13, 3, Storage::packed_lower}, sizes_up_to(13), 5.0F);
  SpdBlock<float>& together = mixed.together;
  SpdBlock<float> in_place = together;
  solve(*solver_, together);
  SpdSolution<float> solution = in_place.solution();
  solution.x = in_place.b.data();
  solver_->solve(in_place.batch(), solution);
  EXPECT_EQ(in_place.b, together.x);
  EXPECT_EQ(in_place.info, together.info);
}

TEST_P(SpdSolverSizes, PivotsAreRaisedOfTheLeadingBlock) {
  Mixed<double> mixed({24, 1, Storage::dense}, {10, 24, 3, 0, 17}, nan_value);
  for (const std::size_t k : {0, 4}) {  // all ones: rank 1
    std::fill(mixed.alone[k].a.begin(), mixed.alone[k].a.end(), 1.0);
    std::fill(mixed.alone[k].b.begin(), mixed.alone[k].b.end(), 2.0);
    mixed.place(k);
  }
  const auto solver = with_floor(1e-8);
  solve(*solver, mixed.together);
  EXPECT_EQ(mixed.together.repaired[0], 9);
  EXPECT_EQ(mixed.together.repaired[4], 16);
  for (const std::int64_t k : {0, 1, 2, 4}) {
    EXPECT_EQ(mixed.together.info[k], 0);
    EXPECT_LE(spd_error_over_bound(mixed.answer(k), 1e-8, 0), 1) << "system " << k;
  }
}

TEST_P(SpdSolverSizes, InfoDoesNotTakeTheirPlace) {
  Mixed<float> mixed({4, 1, Storage::dense}, {4, 2}, 0.0F);
  SpdSolution<float> solution = mixed.together.solution();
  solution.info = mixed.together.sizes.data() + 1;
  EXPECT_THROW(solver_->solve(mixed.together.batch(), solution), Error);
}

TEST_P(SpdSolverSizes, AreNotFactoredForLater) {
  const Mixed<float> mixed({4, 1, Storage::dense}, {4, 2}, 0.0F);
  std::vector<float> factors(20);
  std::vector<std::int32_t> info(2);
  EXPECT_THROW(solver_->factor(mixed.together.batch(), {factors.data(), info.data()}), Error);
}

INSTANTIATE_TEST_SUITE_P(Backends, SpdSolverSizes, ::testing::ValuesIn(all_solver_choices), solver_test_name);

TEST(RefereeOfSizes, SeesWhatIsWrong) {
  for (const auto& [nrhs, determinant_only] : spd_questions) {
    Mixed<float> mixed({12, nrhs, Storage::dense, determinant_only}, {12, 5, 0, 8, 99}, NAN);
    SpdBlock<float>& block = mixed.together;
    set_symmetric(mixed.alone[3], 0, 2, 2, -1.0F);
    mixed.place(3);
    solve(*make_spd_solver({BackendKind::cpu}), block);
    const auto error = [&](std::int64_t k) { return spd_error_over_bound(block, 0, k); };
    for (std::int64_t k = 0; k < block.count; ++k) EXPECT_LE(error(k), 1) << "system " << k;
    const auto expect_seen = [&](auto& number, auto wrong, std::int64_t k) {
      const auto right = number;
      number = wrong;
      EXPECT_GT(error(k), 1) << "system " << k;
      number = right;
    };
    for (const std::int64_t k : {1, 2, 3, 4}) {
      expect_seen(block.info[k], block.info[k] + 1, k);
      expect_seen(block.log_determinant[k], 1.0 + (block.info[k] == 0 ? block.log_determinant[k] : 0), k);
    }
    expect_seen(block.sizes[1], 6, 1);
    expect_seen(block.sizes[2], -3, 2);
    if (determinant_only) continue;
    const std::int64_t last = block.shape.solution_size() - 1;
    for (const std::int64_t k : {1, 2, 3}) expect_seen(block.x[k * (last + 1) + last], 1e-30F, k);
    expect_seen(block.x[1 * (last + 1)], 1e6F, 1);
    expect_seen(block.x[3 * (last + 1)], 0.0F, 3);
    expect_seen(block.x[4 * (last + 1)], 0.0F, 4);
  }
}

}  // namespace
}  // namespace smallbatch::testing
