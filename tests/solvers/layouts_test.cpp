// Layouts in host memory: copies checked against index arithmetic that is written out, and layouts that need no copy.
#include "solvers/layouts.hpp"

#include "core/error.hpp"
#include "solvers/spd_families.hpp"
#include "solvers/spd_solver.hpp"
#include "tests/solvers/layout_cases.hpp"
#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {
namespace {

template <class T>
LayoutCopies<T> host_copies(unsigned threads) {
  const auto with = [](const Layout& layout, auto* memory, const auto& copy) {
    using M = std::remove_pointer_t<decltype(memory)>;
    std::vector<M*> pointers(layout.pointers.size());
    copy(layout.array<M>(memory, pointers.data(), pointers.data()));
  };
  LayoutCopies<T> copies;
  copies.gather_matrices = [=](int n, std::int64_t count, const Layout& layout, Triangle triangle,
                               std::vector<T>& memory, std::vector<T>& canonical) {
    with(layout, std::as_const(memory).data(),
         [&](const auto& from) { gather_spd_matrices(n, count, from, triangle, canonical.data(), threads); });
  };
  copies.scatter_inverses = [=](int n, std::int64_t count, const Layout& layout, Triangle triangle,
                                std::vector<T>& memory, std::vector<T>& canonical) {
    with(layout, memory.data(), [&](const auto& to) {
      scatter_spd_inverses(n, count, std::as_const(canonical).data(), to, triangle, threads);
    });
  };
  copies.gather_rhs = [=](int n, int nrhs, std::int64_t count, const Layout& layout, std::vector<T>& memory,
                          std::vector<T>& canonical) {
    with(layout, std::as_const(memory).data(),
         [&](const auto& from) { gather_spd_rhs(n, nrhs, count, from, canonical.data(), threads); });
  };
  copies.scatter_solutions = [=](int n, int nrhs, std::int64_t count, const Layout& layout, std::vector<T>& memory,
                                 std::vector<T>& canonical) {
    with(layout, memory.data(),
         [&](const auto& to) { scatter_spd_solutions(n, nrhs, count, std::as_const(canonical).data(), to, threads); });
  };
  return copies;
}

TEST(Layouts, MatricesAreGathered) {
  expect_matrices_gathered(host_copies<float>(1));
  expect_matrices_gathered(host_copies<double>(3));
}

TEST(Layouts, RightHandSidesAreGatheredAndSolutionsScattered) {
  expect_right_hand_sides_gathered_and_solutions_scattered(host_copies<float>(3));
  expect_right_hand_sides_gathered_and_solutions_scattered(host_copies<double>(1));
}

TEST(Layouts, InversesAreScattered) {
  expect_inverses_scattered(host_copies<float>(1));
  expect_inverses_scattered(host_copies<double>(3));
}

TEST(Layouts, OneMatrixForAllIsRead) {
  const std::vector<float> matrix{1, 2, 3, 4};
  std::vector<float> to(12, -1);
  const MatrixArray<const float> shared{matrix.data(), nullptr, 0, 1, 2};
  EXPECT_TRUE(shared.is_shared());
  gather_spd_matrices(2, 3, shared, Triangle::both, to.data());
  EXPECT_EQ(to, (std::vector<float>{1, 3, 2, 4, 1, 3, 2, 4, 1, 3, 2, 4}));
}

TEST(Layouts, WhatIsNotInATriangleIsNotLookedAt) {
  // Elements outside the triangle are NaN.
  constexpr int n = 5;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    std::vector<double> memory(n * n), to(n * (n + 1) / 2, -1);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        memory[i * n + j] = is_in(triangle, i, j) ? 10 * std::max(i, j) + std::min(i, j) : std::nan("");
    gather_spd_matrices<double>(n, 1, {memory.data(), nullptr, n * n, n, 1}, triangle, to.data());
    for (int i = 0, e = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) EXPECT_EQ(to[e++], 10 * i + j);
  }
}

/// Returns element (i, j) as a solver reads it (core/systems.hpp). If only the lower triangle is stored, element (j, i)
/// stands for an element above the diagonal.
template <class T>
T canonical_element(const CanonicalMatrices<T>& matrices, int n, std::int64_t k, int i, int j) {
  const T* const a = matrices.data + k * (matrices.stride == tight ? 0 : matrices.stride);
  if (matrices.storage == Storage::dense) return a[i * n + j];
  const int row = std::max(i, j), column = std::min(i, j);
  return matrices.storage == Storage::dense_lower ? a[row * n + column] : a[row * (row + 1) / 2 + column];
}

TEST(Layouts, CanonicalOnesAreTheSameSymmetricMatrices) {
  int found = 0;
  for (const int n : layout_sizes)
    for (const std::int64_t count : layout_counts)
      for (const Triangle triangle : all_triangles)
        for (const Layout& layout : layouts_of(n, count, triangle)) {
          SCOPED_TRACE(layout.name + ", n = " + std::to_string(n) + ", triangle " +
                       std::to_string(static_cast<int>(triangle)) + ", " + std::to_string(count));
          const auto value = [n](std::int64_t k, int i, int j) {
            return static_cast<float>(k * n * n + std::max(i, j) * n + std::min(i, j));
          };
          std::vector<float> memory(layout.size, std::nanf(""));
          for (std::int64_t k = 0; k < count; ++k)
            for (int i = 0; i < n; ++i)
              for (int j = 0; j < n; ++j)
                if (is_in(triangle, i, j)) memory[layout.index(k, i, j)] = value(k, i, j);
          std::vector<const float*> pointers(layout.pointers.size());
          const auto canonical = canonical_spd_matrices(
              n, count, layout.array<const float>(memory.data(), pointers.data(), pointers.data()), triangle);
          if (!canonical) continue;
          ++found;
          for (std::int64_t k = 0; k < count; ++k)
            for (int i = 0; i < n; ++i)
              for (int j = 0; j < n; ++j) ASSERT_EQ(canonical_element(*canonical, n, k, i, j), value(k, i, j));
        }
  EXPECT_GT(found, 100);
}

TEST(Layouts, ThoseThatNeedNoCopyAreKnown) {
  const float memory[1] = {};
  const float* const pointer = memory;
  const auto storage_of = [&](MatrixArray<const float> array, Triangle triangle, int n = 4, std::int64_t count = 9) {
    array.data = memory;
    const auto found = canonical_spd_matrices(n, count, array, triangle);
    return found ? static_cast<int>(found->storage) : -1;
  };
  constexpr int dense = static_cast<int>(Storage::dense), dense_lower = static_cast<int>(Storage::dense_lower),
                packed = static_cast<int>(Storage::packed_lower), none = -1;
  EXPECT_EQ(storage_of({nullptr, nullptr, 16, 4, 1}, Triangle::both), dense);
  EXPECT_EQ(storage_of({nullptr, nullptr, 16, 1, 4}, Triangle::both), dense);  // by columns, but A is symmetric
  EXPECT_EQ(storage_of({nullptr, nullptr, 0, 1, 4}, Triangle::both), dense);
  EXPECT_EQ(storage_of({nullptr, nullptr, 16, 4, 1}, Triangle::lower), dense_lower);
  EXPECT_EQ(storage_of({nullptr, nullptr, 20, 1, 4}, Triangle::upper), dense_lower);  // LAPACK's 'U'
  EXPECT_EQ(storage_of({nullptr, nullptr, 16, 4, 1}, Triangle::upper), none);
  EXPECT_EQ(storage_of({nullptr, nullptr, 16, 1, 4}, Triangle::lower), none);
  EXPECT_EQ(storage_of({nullptr, nullptr, 40, 8, 1}, Triangle::both), none);  // with a leading dimension
  EXPECT_EQ(storage_of({nullptr, nullptr, 1, 36, 9}, Triangle::both), none);  // the batch is the fastest axis
  EXPECT_EQ(storage_of({nullptr, nullptr, 15, 4, 1}, Triangle::both), none);  // the matrices overlap
  EXPECT_EQ(storage_of({nullptr, nullptr, -16, 4, 1}, Triangle::both), none);
  EXPECT_EQ(storage_of({nullptr, nullptr, -16, 4, 1}, Triangle::both, 4, 1), dense);  // there is only one matrix
  EXPECT_EQ(storage_of({nullptr, &pointer, 16, 4, 1}, Triangle::both), none);
  EXPECT_EQ(storage_of({nullptr, nullptr, 10, 0, 0}, Triangle::packed_lower), packed);
  EXPECT_EQ(storage_of({nullptr, nullptr, 10, 0, 0}, Triangle::packed_upper), none);
  EXPECT_EQ(storage_of({nullptr, nullptr, 3, 0, 0}, Triangle::packed_upper, 2), packed);
  EXPECT_EQ(storage_of({nullptr, nullptr, 1, 9, 9}, Triangle::both, 1), dense);

  const auto stride_of = [&](int n, int nrhs, MatrixArray<const float> array) {
    array.data = memory;
    const auto found = canonical_spd_rhs(n, nrhs, 9, array);
    return found && found->data == memory ? found->stride : -7;
  };
  EXPECT_EQ(stride_of(4, 3, {nullptr, nullptr, 12, 3, 1}), 12);
  EXPECT_EQ(stride_of(4, 3, {nullptr, nullptr, 0, 3, 1}), 0);
  EXPECT_EQ(stride_of(4, 3, {nullptr, nullptr, 12, 1, 4}), -7);
  EXPECT_EQ(stride_of(4, 1, {nullptr, nullptr, 4, 1, 4}), 4);  // one right-hand side by columns
  EXPECT_EQ(stride_of(4, 1, {nullptr, nullptr, 4, 1, 99}), 4);
  EXPECT_EQ(stride_of(4, 1, {nullptr, nullptr, 1, 9, 1}), -7);
  EXPECT_EQ(stride_of(1, 3, {nullptr, nullptr, 3, 99, 1}), 3);
  EXPECT_EQ(stride_of(4, 3, {nullptr, &pointer, 12, 3, 1}), -7);
}

TEST(Layouts, CallsThatMakeNoSenseAreRefused) {
  std::vector<float> memory(1000), to(1000);
  const auto expect_refused = [](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    }
  };
  const MatrixArray<const float> from{memory.data(), nullptr, 16, 4, 1};
  expect_refused([&] { gather_spd_matrices(0, 1, from, Triangle::both, to.data()); });
  expect_refused([&] { gather_spd_matrices(257, 1, from, Triangle::both, to.data()); });
  expect_refused([&] { gather_spd_matrices(4, -1, from, Triangle::both, to.data()); });
  expect_refused([&] { gather_spd_rhs(4, -1, 1, from, to.data()); });
  expect_refused([&] { gather_spd_matrices<float>(4, 1, from, Triangle::both, nullptr); });
  expect_refused([&] { gather_spd_matrices<float>(4, 1, {}, Triangle::both, to.data()); });
  const auto scatter = [&](std::int64_t stride, std::int64_t row_step, std::int64_t column_step, Triangle triangle) {
    scatter_spd_inverses<float>(4, 3, memory.data(), {to.data(), nullptr, stride, row_step, column_step}, triangle);
  };
  expect_refused([&] { scatter(0, 4, 1, Triangle::both); });   // all systems would write to one matrix
  expect_refused([&] { scatter(15, 4, 1, Triangle::both); });  // the matrices overlap
  expect_refused([&] { scatter(16, 3, 1, Triangle::both); });
  expect_refused([&] { scatter(16, 0, 1, Triangle::both); });
  expect_refused([&] { scatter(9, 0, 0, Triangle::packed_lower); });
  scatter(4, 12, 1, Triangle::both);
  scatter(10, 0, 0, Triangle::packed_lower);
  // Calls without systems are accepted.
  gather_spd_matrices<float>(4, 0, {}, Triangle::both, nullptr);
  gather_spd_rhs<float>(4, 0, 7, {}, nullptr);
}

}  // namespace
}  // namespace smallbatch::testing
