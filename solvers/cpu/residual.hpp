// Norms of A, and products A x for residuals in twice the precision of T. A is given by its lower triangle in panels.
// The lanes of a vector are processed in parts (Lanes::parts).
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>
#include <type_traits>

#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

/// The residual `b - sum a x` of single precision numbers, in double precision: every product is exact.
template <class T, int W>
struct WideSum {
  using Wide = typename Lanes<T, W>::Wide;
  Wide sum;

  static WideSum of(Wide b) { return {b}; }
  __attribute__((always_inline)) void subtract(Wide a, Wide x) { sum -= a * x; }
  Wide value() const { return sum; }
};

/// The residual `b - sum a x` of double precision numbers with |a|, |x| <= 2 and sums below 2^10. The large part of the
/// sum lies on a grid of 2^-41. The rest of a product, which does not lie on the grid, is exact, too. Rests are added
/// up separately. A residual in double precision is therefore as exact as one in single precision, relative to its
/// type.
template <int W>
struct WideSum<double, W> {
  using Wide = typename Lanes<double, W>::Wide;
  static constexpr double origin = 0x1.8p11;
  Wide sum, rest;

  static WideSum of(Wide b) {
    const Wide sum = b + origin;
    return {sum, b - (sum - origin)};
  }
  __attribute__((always_inline)) void subtract(Wide a, Wide x) {
    if constexpr (Lanes<double, W>::fuses) {
      const Wide next = sum - a * x;
      rest -= a * x + (next - sum);
      sum = next;
    } else {  // products of 20-bit halves lie on the grid
      const Wide a_high = rounded(a), x_high = rounded(x);
      sum -= a_high * x_high;
      rest -= (a - a_high) * x;
      rest -= a_high * (x - x_high);
    }
  }
  Wide value() const { return (sum - origin) + rest; }

 private:
  /// Rounds to a multiple of 2^-20.
  static Wide rounded(Wide v) { return (v + 0x1.8p32) - 0x1.8p32; }
};

template <class T, int W>
struct WidePanels {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Wide = typename L::Wide;
  using Sum = WideSum<T, W>;

  /// Returns ||A||_1, for A times `factor` if has_factor. Every sum adds pairs of terms, from the last pair to the
  /// first. load.hpp does so, too, so both norms have the same bits.
  template <bool has_factor, class Rows>
  static Vector norm_of_matrix(Rows n, const Vector* a, [[maybe_unused]] Vector factor) {
    const auto magnitude = [&](const Vector& v) __attribute__((always_inline)) {
      if constexpr (has_factor)
        return absolute(v * factor);
      else
        return absolute(v);
    };
    Vector sum[padded_max], norm{};
    for (int i = 0; i < padded(n); ++i) sum[i] = Vector{};
    const auto with_panel = [&](int above) __attribute__((always_inline)) {
      const int panel = panel_count(n) - 1 - above, i0 = panel_rows * panel;
      const Vector* const rows = a + panel_begin(panel);
      Vector row[panel_rows], block[panel_rows][panel_rows];
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m)
#pragma GCC unroll 4
        for (int t = 0; t <= m; ++t) block[m][t] = block[t][m] = magnitude(rows[panel_rows * (i0 + t) + m]);
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) {
        row[m] = sum[i0 + m];
#pragma GCC unroll 4
        for (int t = panel_rows - 2; t >= 0; t -= 2) row[m] += block[m][t + 1] + block[m][t];
      }
      for (int j = i0 - 2; j >= 0; j -= 2) {
        Vector left = sum[j], right = sum[j + 1];
#pragma GCC unroll 4
        for (int m = panel_rows - 2; m >= 0; m -= 2) {
          const Vector* const pair = rows + panel_rows * j + m;
          const Vector upper_left = magnitude(pair[0]), upper_right = magnitude(pair[panel_rows]);
          const Vector lower_left = magnitude(pair[1]), lower_right = magnitude(pair[panel_rows + 1]);
          row[m] += upper_right + upper_left;
          row[m + 1] += lower_right + lower_left;
          left += lower_left + upper_left;
          right += lower_right + upper_right;
        }
        sum[j] = left;
        sum[j + 1] = right;
      }
#pragma GCC unroll 4
      for (const Vector& of_row : row) norm = larger(norm, of_row);
    };
    for_panels(n, with_panel);
    return norm;
  }

  /// Computes sums -= factor A x for one column, in `Count` parts from `part` on. Number (i, p) of x and of the sums is
  /// at i * Count + p. Both are padded.
  template <int Count, bool has_factor, class Rows>
  __attribute__((always_inline)) static void subtract_product(Rows n, const Vector* a, Wide factor, int part,
                                                              const Wide* x, Sum* sums) {
    const auto with_panel = [&](int panel) __attribute__((always_inline)) {
      const int i0 = panel_rows * panel;
      const Vector* const rows = a + panel_begin(panel);
      Sum row[panel_rows][Count];
      Wide right[panel_rows][Count];
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m)
#pragma GCC unroll 2
        for (int p = 0; p < Count; ++p) row[m][p] = sums[(i0 + m) * Count + p], right[m][p] = x[(i0 + m) * Count + p];
      for (int j = 0; j < i0; ++j) {
        Sum column[Count];
        Wide left[Count];
#pragma GCC unroll 2
        for (int p = 0; p < Count; ++p) column[p] = sums[j * Count + p], left[p] = x[j * Count + p];
#pragma GCC unroll 4
        for (int m = 0; m < panel_rows; ++m)
#pragma GCC unroll 2
          for (int p = 0; p < Count; ++p) {
            const Wide value = widen_scaled<has_factor>(rows[panel_rows * j + m], part + p, factor);
            row[m][p].subtract(value, left[p]);
            column[p].subtract(value, right[m][p]);
          }
#pragma GCC unroll 2
        for (int p = 0; p < Count; ++p) sums[j * Count + p] = column[p];
      }
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) {
#pragma GCC unroll 4
        for (int t = 0; t < m; ++t)
#pragma GCC unroll 2
          for (int p = 0; p < Count; ++p) {
            const Wide value = widen_scaled<has_factor>(rows[panel_rows * (i0 + t) + m], part + p, factor);
            row[m][p].subtract(value, right[t][p]);
            row[t][p].subtract(value, right[m][p]);
          }
#pragma GCC unroll 2
        for (int p = 0; p < Count; ++p)
          row[m][p].subtract(widen_scaled<has_factor>(rows[panel_rows * (i0 + m) + m], part + p, factor), right[m][p]);
      }
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m)
#pragma GCC unroll 2
        for (int p = 0; p < Count; ++p) sums[(i0 + m) * Count + p] = row[m][p];
    };
    for_panels(n, with_panel);
  }

  /// Computes `b - factor A x` for several columns, one tile after the other. Element (i, c) of x is at index
  /// `i * Columns + c`, and that of b is right(i, c). The function take(c, number) receives the residual, each column
  /// from top to bottom. All columns are padded. A is given as stored in panels, or as converted by widen_matrix().
  template <int Columns, bool has_factor, class Element, class Right, class Take>
  __attribute__((always_inline)) static void residuals(int n, const Element* a, Wide factor, int part, const Wide* x,
                                                       Right right, Take take) {
    for (int panel = 0; panel < panel_count(n); ++panel) {
      const int i0 = panel_rows * panel;
      Sum tile[panel_rows][Columns];
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m)
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) tile[m][c] = Sum::of(right(i0 + m, c));
      // Subtracts column j of A times row j of x. The distance between elements of the column is `distance` vectors.
      const auto subtract = [&](const Element* column, int distance, int j) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int m = 0; m < panel_rows; ++m) {
          const Wide value = wide_element<has_factor>(column[distance * m], part, factor);
#pragma GCC unroll 4
          for (int c = 0; c < Columns; ++c) tile[m][c].subtract(value, x[j * Columns + c]);
        }
      };
      const Element* const rows = a + panel_begin(panel);
      for (int j = 0; j < i0; ++j) subtract(rows + panel_rows * j, 1, j);
#pragma GCC unroll 4
      for (int t = 0; t < panel_rows; ++t) {
        Element column[panel_rows];
#pragma GCC unroll 4
        for (int m = 0; m < panel_rows; ++m) column[m] = rows[panel_rows * (i0 + (t < m ? t : m)) + (t < m ? m : t)];
        subtract(column, 1, i0 + t);
      }
      for (int under = panel + 1; under < panel_count(n); ++under) {
        const Element* const below = a + panel_begin(under) + panel_rows * i0;
        for (int t = 0; t < panel_rows; ++t) subtract(below + t, panel_rows, panel_rows * under + t);
      }
#pragma GCC unroll 4
      for (const auto& of_row : tile)
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) take(c, of_row[c].value());
    }
  }

  /// Converts the lanes of one part of A once, for many products.
  static void widen_matrix(int n, const Vector* a, int part, Wide* to) {
    for (std::int64_t e = 0; e < panel_begin(panel_count(n)); ++e) to[e] = Parts<T, W>::widen(a[e], part);
  }

 private:
  /// Returns an element of A, times `factor` if has_factor.
  template <bool has_factor>
  static Wide widen_scaled(const Vector& v, int part, [[maybe_unused]] Wide factor) {
    if constexpr (has_factor)
      return Parts<T, W>::widen(v, part) * factor;
    else
      return Parts<T, W>::widen(v, part);
  }
  template <bool has_factor, class Element>
  static Wide wide_element(const Element& v, int part, Wide factor) {
    if constexpr (std::is_same_v<Element, Wide> && !std::is_same_v<Vector, Wide>)
      return v;
    else
      return widen_scaled<has_factor>(v, part, factor);
  }
};

}  // namespace
}  // namespace smallbatch
