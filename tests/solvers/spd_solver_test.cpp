// The promises of the SpdSolver interface about arguments and results, with one source over all backends and methods.
// Status, accuracy, properties and the numbers about A are tested in files beside this one.
#include "solvers/spd_solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "solvers/spd_solver_backends.hpp"
#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

TEST_P(SpdSolverTest, SolvesASystemThatCanBeCheckedByHand) {
  // A = [4 2; 2 5], x = (1, 2): b = (8, 12). A^-1 = [5 -2; -2 4] / 16; pivots 4 and 4; ||A||_1 ||A^-1||_1 = 7 * 7/16.
  const std::vector<float> a{4, 2, 2, 5}, b{8, 12};
  std::vector<float> x(4), error(1), rcond(1), smallest_pivot(1);
  std::vector<double> log_determinant(1);
  std::vector<std::int32_t> info(1, 77), repaired(1, 77);
  const auto solution = [&]() -> SpdSolution<float> {
    return {x.data(),       info.data(), error.data(), rcond.data(), smallest_pivot.data(), log_determinant.data(),
            repaired.data()};
  };
  const auto expect_numbers_of_a = [&] {
    EXPECT_EQ(info[0], 0);
    EXPECT_EQ(error[0], 0);
    EXPECT_EQ(repaired[0], 0);
    EXPECT_NEAR(rcond[0], 16.0 / 49, 2 * unit_roundoff<float>);
    EXPECT_EQ(smallest_pivot[0], 4);
    EXPECT_NEAR(log_determinant[0], std::log(16.0), 1e-14);
  };
  solver_->solve({{2, 1, Storage::dense}, 1, a.data(), b.data()}, solution());
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[1], 2);
  expect_numbers_of_a();
  solver_->solve({{2, 0, Storage::dense}, 1, a.data(), nullptr}, solution());
  EXPECT_EQ(x, (std::vector<float>{5.0F / 16, -2.0F / 16, -2.0F / 16, 4.0F / 16}));
  expect_numbers_of_a();

  // Lower triangle [4; 2 5; 0 2 2], x = (1, -1, 3): b = (2, 3, 4). Pivots 4, 4, 1.
  const std::vector<double> packed{4, 2, 5, 0, 2, 2}, right{2, 3, 4};
  std::vector<double> y(3), y_error(1), y_rcond(1), y_pivot(1);
  solver_->solve(
      {{3, 1, Storage::packed_lower}, 1, packed.data(), right.data()},
      {y.data(), info.data(), y_error.data(), y_rcond.data(), y_pivot.data(), log_determinant.data(), repaired.data()});
  EXPECT_EQ(info[0], 0);
  EXPECT_NEAR(y[0], 1, 1e-14);
  EXPECT_NEAR(y[1], -1, 1e-14);
  EXPECT_NEAR(y[2], 3, 1e-14);
  EXPECT_NEAR(y_pivot[0], 1, 1e-14);
  EXPECT_NEAR(log_determinant[0], std::log(16.0), 1e-14);
}

TEST_P(SpdSolverTest, IntegersComeOutExactly) {
  // All pivots and multipliers of min(i,j) are 1, so an elimination in floating point is exact. The inverse is
  // tridiagonal: 2 on the diagonal (1 in the last place), -1 beside it.
  for_all_shapes({1, 2, 4, 5, 17, 0}, [this]<class T>(T, const SpdShape& shape) {
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
    const double rounding = takes_square_roots() ? 1e-12 : 0;
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      ASSERT_LE(block.backward_error[k], rounding);
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

TEST_P(SpdSolverTest, BackwardErrorIsTheRatioThatTheRefereeComputes) {
  for_all_shapes({1, 4, 0}, [this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random_log_uniform, shape, 19, 1e3);
    solve(*solver_, block);
    for (std::int64_t k = 0; k < block.count; ++k) {
      ASSERT_EQ(block.info[k], 0);
      expect_backward_error(block, k);
    }
  });
}

TEST_P(SpdSolverTest, OnlyTheLowerTriangleIsLookedAtWhereThatIsPromised) {
  for (const int n : spd_sizes)
    for (const int nrhs : {1, 3, 0}) {
      const SpdShape shape{n, nrhs, Storage::dense_lower};
      SCOPED_TRACE(shape_name(shape));
      const auto check = [&]<class T>(T) {
        const SpdBlock<T> clean = generated_block<T>(SpdFamily::random, shape, 9);
        SpdBlock<T> mirrored = clean;
        solve(*solver_, mirrored);
        expect_judged_right(mirrored);
        for (const double poison : {nan_value, infinity, -7.0, 0.0}) {
          SpdBlock<T> block = clean;
          poison_upper(block, static_cast<T>(poison));
          solve(*solver_, block);
          for (std::int64_t k = 0; k < block.count; ++k)
            ASSERT_TRUE(same_bits(block, k, mirrored, k)) << "system " << k << ", poison " << poison;
        }
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverTest, StridesArePassedOverAndPaddingIsNeitherReadNorWritten) {
  for_all_shapes({1, 3, 0}, [this]<class T>(T, const SpdShape& shape) {
    constexpr std::int64_t count = 11;
    SpdBlock<T> close = generated_block<T>(SpdFamily::random, shape, count), padded = close;
    element(close, 4, 0, 0) = -1;  // one failure: its NaN must stay in its own x
    element(padded, 4, 0, 0) = -1;
    solve(*solver_, close);
    // The first system starts one number into its array, and the strides are odd: nothing is aligned to more than T.
    const std::int64_t a_step = shape.matrix_size() + 3, b_step = shape.rhs_size() + 5,
                       x_step = shape.solution_size() + 7;
    std::vector<T> a(1 + count * a_step, static_cast<T>(nan_value)), b(1 + count * b_step, static_cast<T>(nan_value));
    const T sentinel = 4711;
    std::vector<T> x(1 + count * x_step, sentinel);
    for (std::int64_t k = 0; k < count; ++k) {
      std::copy_n(padded.a.data() + k * shape.matrix_size(), shape.matrix_size(), a.data() + 1 + k * a_step);
      std::copy_n(padded.b.data() + k * shape.rhs_size(), shape.rhs_size(), b.data() + 1 + k * b_step);
    }
    SpdSolution<T> solution = padded.solution();
    solution.x = x.data() + 1;
    solution.x_stride = x_step;
    solver_->solve({shape, count, a.data() + 1, b.data() + 1, a_step, b_step}, solution);
    for (std::int64_t k = 0; k < count; ++k)
      std::copy_n(x.data() + 1 + k * x_step, shape.solution_size(), padded.x.data() + k * shape.solution_size());
    for (std::int64_t k = 0; k < count; ++k) ASSERT_TRUE(same_bits(padded, k, close, k)) << "system " << k;
    ASSERT_EQ(x[0], sentinel);
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t e = shape.solution_size(); e < x_step; ++e)
        ASSERT_EQ(x[1 + k * x_step + e], sentinel) << "after system " << k << ", number " << e;
  });
}

TEST_P(SpdSolverTest, ANumberThatIsNotWantedChangesNoOther) {
  for (const int n : sizes_under_test({1, 5, 14, 16, 18, 23, 27, 31, 32, 33, 36, 39, 51, 60, 63, 64, 97}))
    for (const int nrhs : {1, 3, 0}) {
      const SpdShape shape{n, nrhs, Storage::dense};
      SCOPED_TRACE(shape_name(shape));
      const auto check = [&]<class T>(T) {
        SpdBlock<T> all = generated_block<T>(SpdFamily::random, shape, 11, 1e4);
        element(all, 3, n - 1, n - 1) = -1;
        // The triangles of system 5 differ by a rounding. Its backward error must be for A as stored.
        if (n > 1) element(all, 5, n - 1, 0) *= 1 + std::numeric_limits<T>::epsilon();
        const SpdBlock<T> clean = all;
        solve(*solver_, all);
        // Bit p of `wanted` asks for number p. The choices are no number, one, all but one, and all. Numbers that are
        // not wanted must keep their sentinels.
        constexpr unsigned everything = (1U << spd_number_count<T>)-1;
        std::vector<unsigned> choices{0, everything};
        for (std::size_t p = 0; p < spd_number_count<T>; ++p) {
          choices.push_back(1U << p);
          choices.push_back(everything & ~(1U << p));
        }
        for (const unsigned wanted : choices) {
          SpdBlock<T> block = clean, expected = all;
          SpdSolution<T> solution = block.solution();
          int p = 0;
          for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
            AlignedVector<V>& values = block.*number.in_block;
            std::fill(values.begin(), values.end(), V(4711));
            if ((wanted >> p++ & 1U) != 0) return;
            solution.*number.in_solution = nullptr;
            expected.*number.in_block = values;
          });
          solver_->solve(block.batch(), solution);
          for (std::int64_t k = 0; k < block.count; ++k)
            ASSERT_TRUE(same_bits(block, k, expected, k)) << "system " << k << ", wanted " << wanted;
        }
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverTest, NothingIsLeftFromTheBatchBefore) {
  for (const int n : sizes_under_test({5, 8, 16, 32, 64, 97}))
    for (const Storage storage : {Storage::dense, Storage::packed_lower}) {
      const SpdShape shape{n, 1, storage};
      SCOPED_TRACE(shape_name(shape));
      const auto check = [&]<class T>(T) {
        // Before, the solver gets a batch of the same shape in which all systems fail. Memory that the next call does
        // not write still holds NaN.
        SpdBlock<T> block = generated_block<T>(SpdFamily::random_log_uniform, shape, 300, 1e3), failing = block;
        for (std::int64_t k = 0; k < failing.count; ++k) element(failing, k, n - 1, n - 1) = -1;
        solve(*solver_, failing);
        SpdSolution<T> solution = block.solution();
        for_each_spd_number<T>([&](const auto& number) {
          if (!number.is_about_x) solution.*number.in_solution = nullptr;
        });
        solver_->solve(block.batch(), solution);
        for (std::int64_t k = 0; k < block.count; ++k) {
          ASSERT_EQ(failing.info[k], n);
          ASSERT_EQ(block.info[k], 0);
          expect_backward_error(block, k);
        }
      };
      check(float{});
      check(double{});
    }
}

TEST_P(SpdSolverTest, SolutionsMayTakeThePlaceOfRightHandSides) {
  for (const double floor : {0.0, 1e-3})
    for_all_shapes({1, 3}, [&]<class T>(T, const SpdShape& shape) {
      SpdBlock<T> apart = generated_block<T>(SpdFamily::random, shape, 40), in_place = apart;
      for (SpdBlock<T>* block : {&apart, &in_place}) {
        element(*block, 4, 0, 0) = -1;
        for (int j = 0; j < shape.n; ++j) set_symmetric<T>(*block, 7, shape.n / 2, j, T(shape.n == 1 ? 0 : 1));
      }
      const auto solver = with_floor(floor);
      solve(*solver, apart);
      SpdSolution<T> solution = in_place.solution();
      solution.x = in_place.b.data();
      solver->solve(in_place.batch(), solution);
      std::copy(in_place.b.begin(), in_place.b.end(), in_place.x.begin());
      for (std::int64_t k = 0; k < apart.count; ++k) ASSERT_TRUE(same_bits(in_place, k, apart, k)) << "system " << k;
    });
}

TEST_P(SpdSolverTest, AStrideOfZeroIsOneMatrixOrOneSetOfRightHandSidesForAll) {
  for_all_shapes({1, 3, 0}, [this]<class T>(T, const SpdShape& shape) {
    constexpr std::int64_t count = 37;
    const SpdBlock<T> one = generated_block<T>(SpdFamily::random, shape, count);
    SpdBlock<T> shared_a = one, shared_b = one, expected_a = one, expected_b = one;
    for (std::int64_t k = 1; k < count; ++k) {
      std::copy_n(one.a.begin(), shape.matrix_size(), expected_a.a.begin() + k * shape.matrix_size());
      std::copy_n(one.b.begin(), shape.rhs_size(), expected_b.b.begin() + k * shape.rhs_size());
    }
    solve(*solver_, expected_a);
    solve(*solver_, expected_b);
    solver_->solve({shape, count, one.a.data(), one.b.data(), 0, tight}, shared_a.solution());
    solver_->solve({shape, count, one.a.data(), one.b.data(), tight, 0}, shared_b.solution());
    for (std::int64_t k = 0; k < count; ++k) {
      ASSERT_TRUE(same_bits(shared_a, k, expected_a, k)) << "system " << k;
      ASSERT_TRUE(same_bits(shared_b, k, expected_b, k)) << "system " << k;
    }
  });
}

TEST_P(SpdSolverTest, SystemsMayLieAsRecordsOfMatrixRightHandSideAndSolution) {
  const SpdShape shape{5, 2, Storage::dense};
  SpdBlock<double> apart = generated_block<double>(SpdFamily::random, shape, 9), records = apart;
  solve(*solver_, apart);
  const std::int64_t step = shape.matrix_size() + shape.rhs_size() + shape.solution_size();
  std::vector<double> memory(static_cast<std::size_t>(9 * step));
  double *a = memory.data(), *b = a + shape.matrix_size(), *x = b + shape.rhs_size();
  for (std::int64_t k = 0; k < 9; ++k) {
    std::copy_n(apart.a.data() + k * shape.matrix_size(), shape.matrix_size(), a + k * step);
    std::copy_n(apart.b.data() + k * shape.rhs_size(), shape.rhs_size(), b + k * step);
  }
  SpdSolution<double> solution = records.solution();
  solution.x = x;
  solution.x_stride = step;
  solver_->solve({shape, 9, a, b, step, step}, solution);
  for (std::int64_t k = 0; k < 9; ++k)
    for (std::int64_t e = 0; e < shape.solution_size(); ++e)
      ASSERT_EQ(x[k * step + e], apart.x[k * shape.solution_size() + e]);
}

TEST_P(SpdSolverTest, AnEmptyBatchDoesNothing) {
  std::int32_t info = 77;
  solver_->solve(SpdBatch<float>{{32, 1, Storage::dense}, 0, nullptr, nullptr}, {nullptr, &info, nullptr});
  solver_->solve(SpdBatch<double>{{5, 0, Storage::packed_lower}, 0, nullptr, nullptr}, {nullptr, &info, nullptr});
  EXPECT_EQ(info, 77);
}

TEST_P(SpdSolverTest, ArgumentsThatMakeNoSenseThrow) {
  const auto thrown = [this](const SpdBatch<float>& batch, const SpdSolution<float>& solution = {}) {
    try {
      solver_->solve(batch, solution);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return std::string(error.what());
    }
    return std::string();
  };
  const auto shaped = [](int n, int nrhs, std::int64_t count = 1) {
    return SpdBatch<float>{{n, nrhs, Storage::dense}, count};
  };
  EXPECT_NE(thrown(shaped(0, 1)).find("n = 0"), std::string::npos);
  EXPECT_NE(thrown(shaped(257, 1)).find("n = 257"), std::string::npos);
  EXPECT_NE(thrown(shaped(4, -1)).find("nrhs = -1"), std::string::npos);
  EXPECT_NE(thrown(shaped(4, 1 << 23)).find("nrhs = 8388608"), std::string::npos);  // 256 times this is 2^31
  EXPECT_NE(thrown(shaped(4, 1, -1)).find("-1 systems"), std::string::npos);
  EXPECT_NE(thrown({{4, 2, Storage::dense, true}, 1}).find("nrhs = 2"), std::string::npos);
  EXPECT_NE(thrown({{4, 1, Storage::dense}, 1, nullptr, nullptr, 15}).find("stride of A is 15"), std::string::npos);
  EXPECT_NE(thrown({{4, 1, Storage::packed_lower}, 1, nullptr, nullptr, 9}).find("stride of A is 9"),
            std::string::npos);
  EXPECT_NE(thrown({{4, 2, Storage::dense}, 1, nullptr, nullptr, tight, 7}).find("stride of b is 7"),
            std::string::npos);
  std::vector<float> memory(256, 1);
  std::int32_t status[2] = {};
  float *const a = memory.data(), *const b = a + 64, *const x = a + 128;
  const auto of = [&](std::int64_t a_stride, std::int64_t b_stride) {
    return SpdBatch<float>{{4, 1, Storage::dense}, 2, a, b, a_stride, b_stride};
  };
  EXPECT_EQ(thrown(of(tight, tight), {x, status}), "");
  EXPECT_NE(thrown(of(-2, tight), {x, status}).find("stride of A is -2"), std::string::npos);
  EXPECT_NE(thrown({{4, 1, Storage::dense}, 1, nullptr, b}, {x, status}).find("no array for A"), std::string::npos);
  EXPECT_NE(thrown({{4, 1, Storage::dense}, 1, a, nullptr}, {x, status}).find("no array for b"), std::string::npos);
  EXPECT_NE(thrown(of(tight, tight), {nullptr, status}).find("no array for x"), std::string::npos);
  EXPECT_NE(thrown(of(tight, tight), {x, nullptr}).find("no array for info"), std::string::npos);
  // These are refused because the input would change while it is read.
  EXPECT_NE(thrown(of(tight, tight), {a + 31, status}).find("memory of A"), std::string::npos);
  EXPECT_NE(thrown(of(tight, tight), {b + 1, status}).find("memory of b"), std::string::npos);
  EXPECT_NE(thrown(of(tight, 5), {b, status}).find("memory of b"), std::string::npos);
  EXPECT_NE(thrown({{4, 0, Storage::dense}, 2, a}, {a, status}).find("memory of A"), std::string::npos);
  EXPECT_EQ(thrown({{4, 0, Storage::dense}, 2, a}, {a + 32, status}), "");
  SpdSolution<float> solution{x, status};
  solution.x_stride = 0;
  EXPECT_NE(thrown(of(tight, tight), solution).find("stride of x is 0"), std::string::npos);
  solution.x_stride = 15;
  EXPECT_NE(thrown(shaped(4, 0), solution).find("stride of x is 15"), std::string::npos);
}

TEST_P(SpdSolverTest, AFloorIsAFractionOfTheDiagonal) {
  for (const double floor : {-0.1, 1.0, 2.0, nan_value, infinity}) {
    try {
      const auto solver = with_floor(floor);
      ADD_FAILURE() << "no exception for " << floor;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("pivot floor"), std::string::npos);
    }
  }
  EXPECT_NE(with_floor(0.5), nullptr);
}

TEST_P(SpdSolverTest, DescriptionNamesBackendAndMethod) {
  const std::string method(spd_method_name(GetParam().method)), description = solver_->description();
  if (backend_.kind == BackendKind::reference) {
    EXPECT_EQ(description, "reference eigen llt");
  } else if (backend_.kind == BackendKind::cuda) {
    EXPECT_EQ(description, "cuda:0 " + method);
  } else {
    const std::string set(backend_.instruction_set == InstructionSet::best
                              ? usable_ldlt_kernels().front().name
                              : instruction_set_name(backend_.instruction_set));
    EXPECT_EQ(description, "cpu " + method + " " + set);
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, SpdSolverTest, ::testing::ValuesIn(all_solver_choices), solver_test_name);

TEST(SpdSolver, ADeviceThatIsNotThereIsRefusedByName) {
  try {
    make_spd_solver({BackendKind::cuda, 4711, 0});
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_device);
    EXPECT_NE(std::string(error.what()).find("cuda:4711"), std::string::npos);
  }
}

TEST(SpdSolver, MethodsHaveNamesThatParseBack) {
  using enum SpdMethod;
  const std::vector<std::pair<SpdMethod, std::string_view>> names{
      {automatic, "auto"}, {gauss_jordan, "gauss_jordan"}, {ldlt, "ldlt"}};
  for (const auto& [method, name] : names) {
    EXPECT_EQ(spd_method_name(method), name);
    EXPECT_EQ(parse_spd_method(name), method);
  }
  EXPECT_EQ(parse_spd_method("cholesky"), std::nullopt);
  EXPECT_EQ(parse_spd_method(""), std::nullopt);
}

}  // namespace
}  // namespace smallbatch::testing
