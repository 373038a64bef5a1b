// Eliminations of one group of symmetric matrices, one per SIMD lane. The method L D L^T computes
//
// - A = L D L^T: c_ij = a_ij - sum_{k<j} c_ik l_jk, l_ij = c_ij / d_j, d_i = a_ii - sum_{k<i} c_ik l_ik;
// - L z = b, y = D^-1 z, L^T x = y; A^-1 = L^-T D^-1 L^-1.
//
// Other methods are Gauss-Jordan elimination and the symmetric sweep. No lane ever depends on another. This is one
// file, because all methods share the layout in panels.
//
// The lower triangle lies in panels of four rows: element (i, j) is vector panel_begin(i / 4) + 4 j + i % 4. A panel is
// eliminated at once, in tiles of its four rows by `Columns` columns. The sums of a tile stay in registers, so each
// loaded vector feeds several multiply-adds. A panel first holds c_ij. When its diagonal block is reached, l_ij
// replaces c_ij. Rows from n to the end of the last panel exist and are zero. Vectors above the diagonal of a
// diagonal block are never used.
//
// Every sum has its terms in the same order for all tile shapes, so tiles do not change any bit. (The index k ascends;
// in L^-T it descends.)
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/systems.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

constexpr int panel_rows = 4;
constexpr int panel_count(int n) { return (n + panel_rows - 1) / panel_rows; }
constexpr int padded(int n) { return panel_rows * panel_count(n); }
constexpr std::int64_t panel_begin(std::int64_t panel) { return panel_rows * panel_rows * (panel * (panel + 1) / 2); }
constexpr std::int64_t lower_place(int i, int j) {
  return panel_begin(i / panel_rows) + panel_rows * std::int64_t{j} + i % panel_rows;
}
constexpr int padded_max = padded(max_system_size);

/// Calls visit(panel) for the panels of n rows, without a loop if the compiler knows n.
template <class Visit>
__attribute__((always_inline)) inline void for_panels(int n, Visit visit) {
  for (int panel = 0; panel < panel_count(n); ++panel) visit(panel);
}
template <int Rows, class Visit>
__attribute__((always_inline)) inline void for_panels(std::integral_constant<int, Rows>, Visit visit) {
  for_indices(visit, typename FirstIndices<panel_count(Rows)>::Type{});
}

/// Pivots of an elimination, and the first bad one.
template <class L>
struct Pivots {
  typename L::Vector d[padded_max];
  typename L::Vector reciprocal[padded_max];  ///< 1 / d; 0 from index n on
  typename L::Mask first_bad;                 ///< 1 + index of the first pivot that is not positive and finite, or 0

  void begin(int n) {
    for (int k = n; k < padded(n); ++k) d[k] = reciprocal[k] = typename L::Vector{};
  }
  /// Stores pivot k, and returns its reciprocal.
  typename L::Vector store(int k, typename L::Vector pivot) {
    d[k] = pivot;
    reciprocal[k] = 1 / pivot;
    return reciprocal[k];
  }
  /// Sets first_bad, after all pivots are stored. The bits of positive finite numbers, as integers, lie between 1 and
  /// the bits of `largest`.
  void end(int n) {
    using Mask = typename L::Mask;
    const Mask limit = (Mask)(typename L::Vector{} + L::largest);
    Mask lowest = (Mask)d[0], highest = lowest;
    for (int k = 1; k < n; ++k) {
      lowest = smaller(lowest, (Mask)d[k]);
      highest = larger(highest, (Mask)d[k]);
    }
    first_bad = Mask{};
    if (!any((lowest <= 0) | (highest > limit))) return;
    for (int k = n - 1; k >= 0; --k) first_bad = (d[k] > 0) & (d[k] <= L::largest) ? first_bad : Mask{} + (k + 1);
  }
};

template <class T, int W, int Columns>
struct Elimination {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;

  /// Computes c_ij of M rows for j in [j0, j0 + Columns), from the same rows of a, and from the rows j of l.
  template <int M>
  __attribute__((always_inline)) static void eliminate_tile(const Vector* a, Vector* c, const Vector* l,
                                                            std::int64_t j0) {
    Vector sum[Columns][M];
    Vector* const tile = c + panel_rows * j0;
    a += panel_rows * j0;
    const Vector* const end = l + panel_rows * j0;
#pragma GCC unroll 4
    for (int t = 0; t < Columns; ++t)
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) sum[t][m] = a[panel_rows * t + m];
    for (; l != end; l += panel_rows, c += panel_rows) {
      Vector left[M];
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) left[m] = c[m];
#pragma GCC unroll 4
      for (int t = 0; t < Columns; ++t) {
        const Vector right = l[t];
#pragma GCC unroll 4
        for (int m = 0; m < M; ++m) sum[t][m] -= left[m] * right;
      }
    }
#pragma GCC unroll 4
    for (int t = 1; t < Columns; ++t)
#pragma GCC unroll 4
      for (int u = 0; u < t; ++u) {
        const Vector right = l[panel_rows * u + t];
#pragma GCC unroll 4
        for (int m = 0; m < M; ++m) sum[t][m] -= sum[u][m] * right;
      }
#pragma GCC unroll 4
    for (int t = 0; t < Columns; ++t)
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) tile[panel_rows * t + m] = sum[t][m];
  }

  /// Replaces c_ij by l_ij left of the diagonal block of M rows, and factors the block.
  template <int M>
  __attribute__((always_inline)) static void factor_diagonal(const Vector* a, Vector* c, std::int64_t row0,
                                                             Pivots<L>& pivots) {
    Vector sum[M][M];
    Vector* const block = c + panel_rows * row0;
    a += panel_rows * row0;
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int t = 0; t <= m; ++t) sum[m][t] = a[panel_rows * t + m];
    const Vector* reciprocal_of = pivots.reciprocal;
    for (Vector* column = c; column != block; column += panel_rows, ++reciprocal_of) {
      Vector old[M];
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) old[m] = column[m];
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) {
        const Vector multiplier = old[m] * *reciprocal_of;
        column[m] = multiplier;
#pragma GCC unroll 4
        for (int t = 0; t <= m; ++t) sum[m][t] -= old[t] * multiplier;
      }
    }
#pragma GCC unroll 4
    for (int k = 0; k < M; ++k) {
      const Vector reciprocal = pivots.store(static_cast<int>(row0) + k, sum[k][k]);
#pragma GCC unroll 4
      for (int m = k + 1; m < M; ++m) {
        const Vector multiplier = sum[m][k] * reciprocal;
        block[panel_rows * k + m] = multiplier;
#pragma GCC unroll 4
        for (int t = k + 1; t <= m; ++t) sum[m][t] -= sum[t][k] * multiplier;
      }
    }
  }

  template <int M, class BeforeTile>
  __attribute__((always_inline)) static void factor_panel(const Vector* a, Vector* l, std::int64_t panel,
                                                          Pivots<L>& pivots, BeforeTile&& before_tile) {
    a += panel_begin(panel);
    Vector* const c = l + panel_begin(panel);
    for (std::int64_t before = 0; before < panel; ++before)
      for (int t = 0; t < panel_rows; t += Columns) {
        before_tile();
        eliminate_tile<M>(a, c, l + panel_begin(before) + t, panel_rows * before + t);
      }
    before_tile();
    factor_diagonal<M>(a, c, panel_rows * panel, pivots);
  }

  static constexpr int tile_count(int n) {
    return panel_count(n) + panel_count(n) * (panel_count(n) - 1) / 2 * (panel_rows / Columns);
  }
  /// Computes L from the lower triangle of A, possibly in place. Calls before_tile() tile_count(n) times on the way.
  template <class Rows, class BeforeTile>
  __attribute__((always_inline)) static void factor(Rows n, const Vector* a, Vector* l, Pivots<L>& pivots,
                                                    BeforeTile&& before_tile) {
    pivots.begin(n);
    const auto with_panel = [&](int panel) __attribute__((always_inline)) {
      switch (n - panel_rows * panel) {
        case 1:
          factor_panel<1>(a, l, panel, pivots, before_tile);
          break;
        case 2:
          factor_panel<2>(a, l, panel, pivots, before_tile);
          break;
        case 3:
          factor_panel<3>(a, l, panel, pivots, before_tile);
          break;
        default:
          factor_panel<4>(a, l, panel, pivots, before_tile);
      }
    };
    for_panels(n, with_panel);
    pivots.end(n);
  }

  /// Solves A x = b in place for R columns. Row i begins at vector i * stride. Rows from n to padded(n) must be zero.
  template <int R, class Rows>
  __attribute__((always_inline)) static void substitute(Rows n, const Vector* l, const Pivots<L>& pivots, Vector* x,
                                                        std::int64_t stride) {
    const int panels = panel_count(n);
    const auto forward = [&](int panel) __attribute__((always_inline)) {
      const int row0 = panel_rows * panel;
      Vector z[panel_rows][R];
      load_rows<R>(x + row0 * stride, stride, z);
      const Vector* const block = l + panel_begin(panel) + panel_rows * row0;
#pragma GCC unroll 4
      for (int t = 1; t < panel_rows; ++t)
#pragma GCC unroll 4
        for (int u = 0; u < t; ++u)
#pragma GCC unroll 4
          for (int r = 0; r < R; ++r) z[t][r] -= z[u][r] * block[panel_rows * u + t];
      for (int below = panel + 1; below < panels; ++below) {
        const Vector* const rows = l + panel_begin(below) + panel_rows * row0;
        Vector* const to = x + panel_rows * below * stride;
        Vector sum[panel_rows][R];
        load_rows<R>(to, stride, sum);
#pragma GCC unroll 4
        for (int u = 0; u < panel_rows; ++u)
#pragma GCC unroll 4
          for (int t = 0; t < panel_rows; ++t)
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) sum[t][r] -= z[u][r] * rows[panel_rows * u + t];
        store_rows<R>(sum, to, stride);
      }
#pragma GCC unroll 4
      for (int t = 0; t < panel_rows; ++t)
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) z[t][r] *= pivots.reciprocal[row0 + t];
      store_rows<R>(z, x + row0 * stride, stride);
    };
    for_panels(n, forward);
    const auto backward = [&](int above) __attribute__((always_inline)) {
      const int panel = panels - 1 - above;
      const int row0 = panel_rows * panel;
      const Vector* const rows = l + panel_begin(panel);
      Vector y[panel_rows][R];
      load_rows<R>(x + row0 * stride, stride, y);
#pragma GCC unroll 4
      for (int t = panel_rows - 2; t >= 0; --t)
#pragma GCC unroll 4
        for (int u = panel_rows - 1; u > t; --u)
#pragma GCC unroll 4
          for (int r = 0; r < R; ++r) y[t][r] -= y[u][r] * rows[panel_rows * (row0 + t) + u];
      store_rows<R>(y, x + row0 * stride, stride);
      for (int k = 0; k < row0; k += panel_rows) {
        Vector sum[panel_rows][R];
        load_rows<R>(x + k * stride, stride, sum);
#pragma GCC unroll 4
        for (int u = panel_rows - 1; u >= 0; --u)
#pragma GCC unroll 4
          for (int t = 0; t < panel_rows; ++t)
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) sum[t][r] -= y[u][r] * rows[panel_rows * (k + t) + u];
        store_rows<R>(sum, x + k * stride, stride);
      }
    };
    for_panels(n, backward);
  }
  template <class Rows>
  __attribute__((always_inline)) static void substitute_all(Rows n, const Vector* l, const Pivots<L>& pivots, Vector* x,
                                                            int columns) {
    int c = 0;
    for (; c + 4 <= columns; c += 4) substitute<4>(n, l, pivots, x + c, columns);
    for (; c < columns; ++c) substitute<1>(n, l, pivots, x + c, columns);
  }

  /// Computes y_ij for four rows i from i0 on and `Columns` columns j from j0 on. Y is L^-T. All rows of Y below these
  /// four rows are known.
  static void invert_tile(int i0, int j0, const Vector* l, Vector* y, int width) {
    Vector sum[Columns][panel_rows];
#pragma GCC unroll 4
    for (int t = 0; t < Columns; ++t)
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) sum[t][m] = Vector{} + (i0 + m == j0 + t ? T(1) : T(0));
    for (int panel = j0 / panel_rows; panel > i0 / panel_rows; --panel) {
      const Vector* const left = l + panel_begin(panel) + panel_rows * i0;
      const Vector* const below = y + panel_rows * (width * panel + j0);
#pragma GCC unroll 4
      for (int k = panel_rows - 1; k >= 0; --k)
#pragma GCC unroll 4
        for (int t = 0; t < Columns; ++t)
#pragma GCC unroll 4
          for (int m = 0; m < panel_rows; ++m) sum[t][m] -= left[panel_rows * m + k] * below[panel_rows * t + k];
    }
    const Vector* const block = l + panel_begin(i0 / panel_rows) + panel_rows * i0;
#pragma GCC unroll 4
    for (int k = panel_rows - 1; k > 0; --k)
#pragma GCC unroll 4
      for (int m = 0; m < k; ++m)
#pragma GCC unroll 4
        for (int t = 0; t < Columns; ++t) sum[t][m] -= block[panel_rows * m + k] * sum[t][k];
    Vector* const to = y + width * i0 + panel_rows * j0;
#pragma GCC unroll 4
    for (int t = 0; t < Columns; ++t)
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) to[panel_rows * t + m] = sum[t][m];
  }

  /// Computes the inverse, n x n by rows and exactly symmetric, from the factors. z has room for padded(n)^2 vectors.
  ///
  /// The inverse is X = Y D^-1 Y^T. Y is computed from L^T Y = I, not from Y L^T = I. Because A X = L D (L^T Y) D^-1
  /// Y^T, L^T Y must be near the identity. If only Y L^T were near the identity, the error would grow by another square
  /// root of the condition number. (Source: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapter
  /// 14.)
  static void invert(int n, const Vector* l, const Pivots<L>& pivots, Vector* z, Vector* inverse) {
    const int width = padded(n);
    for (int i0 = width - panel_rows; i0 >= 0; i0 -= panel_rows)
      for (int j0 = i0; j0 < width; j0 += Columns) invert_tile(i0, j0, l, z, width);
    for (int i0 = 0; i0 < n; i0 += panel_rows)
      for (int j0 = 0; j0 <= i0; j0 += panel_rows)
        for (int t = 0; t < panel_rows; t += Columns) {
          const Vector* const zi = z + width * i0;
          const Vector* const zj = z + width * j0 + t;
          Vector sum[panel_rows][Columns] = {};
          for (int k = i0; k < width; ++k) {
#pragma GCC unroll 4
            for (int m = 0; m < panel_rows; ++m) {
              const Vector y = zi[panel_rows * k + m] * pivots.reciprocal[k];
#pragma GCC unroll 4
              for (int u = 0; u < Columns; ++u) sum[m][u] += y * zj[panel_rows * k + u];
            }
          }
#pragma GCC unroll 4
          for (int m = 0; m < panel_rows; ++m)
#pragma GCC unroll 4
            for (int u = 0; u < Columns; ++u) {
              const int i = i0 + m, j = j0 + t + u;
              if (i < n && j <= i) inverse[i * n + j] = inverse[j * n + i] = sum[m][u];
            }
        }
  }

  /// Eliminates [A | b] by Gauss-Jordan. Element (i, j), j > i, of the reduced matrix is stored as element (j, i) of
  /// the lower triangle. Below and right of the pivot, the matrix is still symmetric, so elements (i, j) and (j, i) are
  /// equal there. Pivot rows are not scaled.
  static void gauss_jordan(int n, Vector* a, Pivots<L>& pivots, Vector* x, int columns) {
    pivots.begin(n);
    Vector multiplier[padded_max], row[padded_max];
    for (int k = 0; k < n; ++k) {
      const Vector reciprocal = pivots.store(k, a[lower_place(k, k)]);
      for (int i = 0; i < n; ++i)
        multiplier[i] = i == k ? Vector{} : a[i < k ? lower_place(k, i) : lower_place(i, k)] * reciprocal;
      for (int j = k + 1; j < n; ++j) row[j] = a[lower_place(j, k)];
      for (int j = k + 1; j < n; ++j) {
        Vector* const to = a + lower_place(j, 0);
        for (int i = 0; i <= j; ++i) to[panel_rows * i] -= multiplier[i] * row[j];
      }
      for (int c = 0; c < columns; ++c) {
        const Vector right = x[k * columns + c];
        for (int i = 0; i < n; ++i) x[i * columns + c] -= multiplier[i] * right;
      }
    }
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < columns; ++c) x[i * columns + c] /= pivots.d[i];
    pivots.end(n);
  }

  /// Computes the inverse, n x n by rows and exactly symmetric, by n symmetric sweeps. They leave -A^-1 in place of the
  /// lower triangle.
  static void sweep(int n, Vector* a, Pivots<L>& pivots, Vector* inverse) {
    pivots.begin(n);
    Vector multiplier[padded_max], row[padded_max];
    for (int k = 0; k < n; ++k) {
      const Vector reciprocal = pivots.store(k, a[lower_place(k, k)]);
      for (int i = 0; i < n; ++i) {
        row[i] = i == k ? Vector{} : a[i < k ? lower_place(k, i) : lower_place(i, k)];
        multiplier[i] = row[i] * reciprocal;
      }
      for (int j = 0; j < n; ++j) {
        Vector* const to = a + lower_place(j, 0);
        for (int i = 0; i <= j; ++i) to[panel_rows * i] -= multiplier[i] * row[j];
      }
      for (int i = 0; i < k; ++i) a[lower_place(k, i)] = multiplier[i];
      for (int i = k + 1; i < n; ++i) a[lower_place(i, k)] = multiplier[i];
      a[lower_place(k, k)] = -reciprocal;
    }
    pivots.end(n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) inverse[i * n + j] = inverse[j * n + i] = -a[lower_place(i, j)];
  }

 private:
  template <int R>
  static void load_rows(const Vector* from, std::int64_t stride, Vector (&rows)[panel_rows][R]) {
#pragma GCC unroll 4
    for (int t = 0; t < panel_rows; ++t)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) rows[t][r] = from[t * stride + r];
  }
  template <int R>
  static void store_rows(const Vector (&rows)[panel_rows][R], Vector* to, std::int64_t stride) {
#pragma GCC unroll 4
    for (int t = 0; t < panel_rows; ++t)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) to[t * stride + r] = rows[t][r];
  }
};

}  // namespace
}  // namespace smallbatch
