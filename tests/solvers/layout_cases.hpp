// Layouts that callers use, with their index arithmetic written out, and the expected results of copies. The tests of
// host copies and the tests of device copies share them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "solvers/layouts.hpp"

namespace smallbatch::testing {

/// Many matrices in one piece of memory of `size` numbers.
struct Layout {
  std::string name;
  std::int64_t size;
  std::int64_t origin, stride, row_step, column_step;  ///< members of the MatrixArray
  std::vector<std::int64_t> pointers;                  ///< pointers of the MatrixArray, as offsets in the memory
  std::function<std::int64_t(std::int64_t k, std::int64_t i, std::int64_t j)> index;  ///< in the memory

  /// Makes a MatrixArray on memory `base`. Stores the pointers in `room`. The MatrixArray refers to them at `at`, which
  /// is `room` or its copy on a device.
  template <class M>
  [[nodiscard]] MatrixArray<M> array(M* base, M** room, M* const* at) const {
    for (std::size_t k = 0; k < pointers.size(); ++k) room[k] = base + pointers[k];
    return {pointers.empty() ? base + origin : nullptr, pointers.empty() ? nullptr : at, stride, row_step, column_step};
  }
};

/// Offsets of matrices in an unusual order. Neighbouring offsets differ by `step`.
inline std::vector<std::int64_t> shuffled_offsets(std::int64_t count, std::int64_t step) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) offsets[static_cast<std::size_t>(k)] = (count - 1 - k) * step + 3;
  if (count > 2) std::swap(offsets[0], offsets[2]);
  return offsets;
}

/// Layouts of `count` matrices with n rows and m columns.
inline std::vector<Layout> layouts_of(std::int64_t n, std::int64_t m, std::int64_t count) {
  const std::vector<std::int64_t> shuffled = shuffled_offsets(count, n * m + 4);
  return {
      {"by rows", count * n * m, 0, n * m, m, 1, {}, [=](auto k, auto i, auto j) { return (k * n + i) * m + j; }},
      {"by columns", count * n * m, 0, n * m, 1, n, {}, [=](auto k, auto i, auto j) { return (k * m + j) * n + i; }},
      {"leading dimension by rows",
       count * (n * (m + 3) + 5),
       0,
       n * (m + 3) + 5,
       m + 3,
       1,
       {},
       [=](auto k, auto i, auto j) { return k * (n * (m + 3) + 5) + i * (m + 3) + j; }},
      {"leading dimension by columns",
       count * m * (n + 2),
       0,
       m * (n + 2),
       1,
       n + 2,
       {},
       [=](auto k, auto i, auto j) { return (k * m + j) * (n + 2) + i; }},
      {"batch last",
       count * n * m,
       0,
       1,
       m * count,
       count,
       {},
       [=](auto k, auto i, auto j) { return (i * m + j) * count + k; }},
      {"batch last by columns",
       count * n * m,
       0,
       1,
       count,
       n * count,
       {},
       [=](auto k, auto i, auto j) { return (j * n + i) * count + k; }},
      {"batch between",
       count * n * m,
       0,
       m,
       count * m,
       1,
       {},
       [=](auto k, auto i, auto j) { return (i * count + k) * m + j; }},
      {"backwards",
       count * n * m,
       count * n * m - 1,
       -n * m,
       -m,
       -1,
       {},
       [=](auto k, auto i, auto j) { return ((count - 1 - k) * n + n - 1 - i) * m + m - 1 - j; }},
      {"every other number",
       2 * count * n * m,
       1,
       2 * n * m,
       2 * m,
       2,
       {},
       [=](auto k, auto i, auto j) { return 2 * ((k * n + i) * m + j) + 1; }},
      {"pointers by rows", count * (n * m + 4) + 3, 0, 0, m, 1, shuffled,
       [=](auto k, auto i, auto j) { return shuffled[static_cast<std::size_t>(k)] + i * m + j; }},
      {"pointers by columns", count * (n * m + 4) + 3, 0, 0, 1, n, shuffled,
       [=](auto k, auto i, auto j) { return shuffled[static_cast<std::size_t>(k)] + j * n + i; }}};
}

/// Layouts of packed triangles of order n, by LAPACK's formulas with indices from 1. For 'U', AP(i + j (j - 1) / 2) is
/// A(i, j), i <= j. For 'L', AP(i + (j - 1) (2 n - j) / 2) is A(i, j), i >= j. Triangle::packed_lower is by rows, so it
/// equals 'U', which is by columns.
inline std::vector<Layout> packed_layouts_of(std::int64_t n, std::int64_t count, Triangle triangle) {
  const std::int64_t size = n * (n + 1) / 2;
  const auto in_matrix = [=](std::int64_t i, std::int64_t j) {
    const std::int64_t low = std::min(i, j) + 1, high = std::max(i, j) + 1;
    return triangle == Triangle::packed_lower ? low + high * (high - 1) / 2 - 1
                                              : high + (low - 1) * (2 * n - low) / 2 - 1;
  };
  const std::vector<std::int64_t> shuffled = shuffled_offsets(count, size + 4);
  return {
      {"packed", count * size, 0, size, 0, 0, {}, [=](auto k, auto i, auto j) { return k * size + in_matrix(i, j); }},
      {"packed with gaps",
       count * (size + 7),
       0,
       size + 7,
       0,
       0,
       {},
       [=](auto k, auto i, auto j) { return k * (size + 7) + in_matrix(i, j); }},
      {"packed, pointers", count * (size + 4) + 3, 0, 0, 0, 0, shuffled,
       [=](auto k, auto i, auto j) { return shuffled[static_cast<std::size_t>(k)] + in_matrix(i, j); }}};
}

/// Returns whether element (i, j) belongs to a triangle. A packed triangle counts as the whole matrix.
inline bool is_in(Triangle triangle, std::int64_t i, std::int64_t j) {
  return triangle == Triangle::lower ? i >= j : triangle == Triangle::upper ? i <= j : true;
}

inline const std::vector<Triangle> all_triangles{Triangle::both, Triangle::lower, Triangle::upper,
                                                 Triangle::packed_lower, Triangle::packed_upper};
inline std::vector<Layout> layouts_of(std::int64_t n, std::int64_t count, Triangle triangle) {
  return triangle == Triangle::packed_lower || triangle == Triangle::packed_upper
             ? packed_layouts_of(n, count, triangle)
             : layouts_of(n, n, count);
}

/// The copies under test. Each function gets the caller's memory and the canonical numbers, and copies between them. It
/// throws if the copy is refused.
template <class T>
struct LayoutCopies {
  std::function<void(int n, std::int64_t count, const Layout&, Triangle, std::vector<T>&memory,
                     std::vector<T>&canonical)>
      gather_matrices, scatter_inverses;
  std::function<void(int n, int nrhs, std::int64_t count, const Layout&, std::vector<T>&memory,
                     std::vector<T>&canonical)>
      gather_rhs, scatter_solutions;
};

/// Returns different numbers, all exact in float.
template <class T>
std::vector<T> different_numbers(std::int64_t count) {
  std::vector<T> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), T(1));
  return numbers;
}

inline const std::vector<int> layout_sizes{1, 2, 3, 8, 17, 32, 65};
inline const std::vector<std::int64_t> layout_counts{1, 5, 70};

template <class T>
void expect_matrices_gathered(const LayoutCopies<T>& copies) {
  for (const int n : layout_sizes)
    for (const std::int64_t count : layout_counts)
      for (const Triangle triangle : all_triangles)
        for (const Layout& layout : layouts_of(n, count, triangle)) {
          SCOPED_TRACE(layout.name + ", n = " + std::to_string(n) + ", triangle " +
                       std::to_string(static_cast<int>(triangle)) + ", " + std::to_string(count));
          const std::vector<T> before = different_numbers<T>(layout.size);
          std::vector<T> memory = before, expected;
          for (std::int64_t k = 0; k < count; ++k)
            for (int i = 0; i < n; ++i)
              for (int j = 0; j < (triangle == Triangle::both ? n : i + 1); ++j)
                expected.push_back(memory[triangle == Triangle::upper ? layout.index(k, j, i) : layout.index(k, i, j)]);
          std::vector<T> canonical(expected.size(), T(-1));
          copies.gather_matrices(n, count, layout, triangle, memory, canonical);
          ASSERT_EQ(canonical, expected);
          ASSERT_EQ(memory, before);
        }
}

template <class T>
void expect_right_hand_sides_gathered_and_solutions_scattered(const LayoutCopies<T>& copies) {
  for (const int n : layout_sizes)
    for (const int nrhs : {1, 2, 5, 33})
      for (const std::int64_t count : layout_counts)
        for (const Layout& layout : layouts_of(n, nrhs, count)) {
          SCOPED_TRACE(layout.name + ", n = " + std::to_string(n) + ", nrhs = " + std::to_string(nrhs) + ", " +
                       std::to_string(count));
          std::vector<T> memory = different_numbers<T>(layout.size), canonical, scattered(memory.size(), T(-1));
          for (std::int64_t k = 0; k < count; ++k)
            for (int i = 0; i < n; ++i)
              for (int j = 0; j < nrhs; ++j) {
                canonical.push_back(memory[layout.index(k, i, j)]);
                scattered[layout.index(k, i, j)] = canonical.back();
              }
          std::vector<T> gathered(canonical.size(), T(-1));
          copies.gather_rhs(n, nrhs, count, layout, memory, gathered);
          ASSERT_EQ(gathered, canonical);
          std::fill(memory.begin(), memory.end(), T(-1));
          copies.scatter_solutions(n, nrhs, count, layout, memory, canonical);
          ASSERT_EQ(memory, scattered);  // and nothing else is written
        }
}

template <class T>
void expect_inverses_scattered(const LayoutCopies<T>& copies) {
  for (const int n : layout_sizes)
    for (const std::int64_t count : layout_counts)
      for (const Triangle triangle : all_triangles)
        for (const Layout& layout : layouts_of(n, count, triangle)) {
          SCOPED_TRACE(layout.name + ", n = " + std::to_string(n) + ", triangle " +
                       std::to_string(static_cast<int>(triangle)) + ", " + std::to_string(count));
          std::vector<T> memory(layout.size, T(-1)), expected = memory, canonical(count * n * n);
          for (std::int64_t k = 0; k < count; ++k)
            for (int i = 0; i < n; ++i)
              for (int j = 0; j < n; ++j) {
                const T value = static_cast<T>(k * n * n + std::max(i, j) * n + std::min(i, j) + 1);
                canonical[(k * n + i) * n + j] = value;
                if (is_in(triangle, i, j)) expected[layout.index(k, i, j)] = value;
              }
          copies.scatter_inverses(n, count, layout, triangle, memory, canonical);
          ASSERT_EQ(memory, expected);
        }
}

}  // namespace smallbatch::testing
