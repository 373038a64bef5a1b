// A in double precision, from its lower triangle in panels: its norm, and products with it for residuals. The lanes of
// a vector are taken in the parts of Lanes.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

template <class T, int W>
struct WidePanels {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Wide = typename L::Wide;

  /// ||A||_1 times `factor`, for the lower triangle in panels.
  static Wide norm_of_matrix(int n, const Vector* a, Wide factor, int part) {
    Wide sum[padded_max]{}, norm{};
    for (int i0 = 0; i0 < n; i0 += panel_rows) {
      const Vector* const rows = a + panel_begin(i0 / panel_rows);
      Wide row[panel_rows]{};
      for (int j = 0; j < i0; ++j)
#pragma GCC unroll 4
        for (int m = 0; m < panel_rows; ++m) {
          const Wide value = absolute(widen_scaled(rows[panel_rows * j + m], part, factor));
          row[m] += value;
          sum[j] += value;
        }
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) sum[i0 + m] += row[m];
      for (int i = i0; i < i0 + panel_rows && i < n; ++i) {
        for (int j = i0; j < i; ++j) {
          const Wide value = absolute(widen_scaled(a[lower_place(i, j)], part, factor));
          sum[i] += value;
          sum[j] += value;
        }
        sum[i] += absolute(widen_scaled(a[lower_place(i, i)], part, factor));
      }
    }
    for (int i = 0; i < n; ++i) norm = larger(norm, sum[i]);
    return norm;
  }
  /// residual -= factor A v, for the lower triangle in panels; v and residual are padded.
  static void subtract_product(int n, const Vector* a, Wide factor, int part, const Wide* v, Wide* residual) {
    for (int i0 = 0; i0 < n; i0 += panel_rows) {
      const Vector* const rows = a + panel_begin(i0 / panel_rows);
      Wide row[panel_rows]{}, right[panel_rows];
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) right[m] = v[i0 + m];
      for (int j = 0; j < i0; ++j) {
        Wide sum = residual[j];
#pragma GCC unroll 4
        for (int m = 0; m < panel_rows; ++m) {
          const Wide value = widen_scaled(rows[panel_rows * j + m], part, factor);
          row[m] -= value * v[j];
          sum -= value * right[m];
        }
        residual[j] = sum;
      }
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) residual[i0 + m] += row[m];
      for (int i = i0; i < i0 + panel_rows && i < n; ++i) {
        for (int j = i0; j < i; ++j) {
          const Wide value = widen_scaled(a[lower_place(i, j)], part, factor);
          residual[i] -= value * v[j];
          residual[j] -= value * v[i];
        }
        residual[i] -= widen_scaled(a[lower_place(i, i)], part, factor) * v[i];
      }
    }
  }

  /// residual - factor A v, for the lower triangle in panels, elements and v of at most 2 in magnitude, and residuals
  /// below 2^9. Products of 21-bit halves add up without rounding, and what the rest rounds is 2^-21 as much: the
  /// residual of a solution in double precision is as exact as that of one in single precision.
  static void subtract_product_exactly(int n, const Vector* a, Wide factor, int part, const Wide* v, Wide* residual) {
    constexpr int bits = 21;
    Wide v_high[padded_max], v_low[padded_max], rest[padded_max];
    for (int i = 0; i < padded(n); ++i) {
      const Halves of_v = halved<bits>(v[i]), of_residual = halved<2 * bits>(residual[i]);
      v_high[i] = of_v.high, v_low[i] = of_v.low;
      residual[i] = of_residual.high, rest[i] = of_residual.low;
    }
    const auto subtract = [&](const Halves& value, int j, Wide& high, Wide& low) __attribute__((always_inline)) {
      high -= value.high * v_high[j];
      low -= value.low * v[j];
      low -= value.high * v_low[j];
    };
    for (int i0 = 0; i0 < n; i0 += panel_rows) {
      const Vector* const rows = a + panel_begin(i0 / panel_rows);
      Wide row[panel_rows]{}, row_rest[panel_rows]{};
      for (int j = 0; j < i0; ++j) {
        Wide sum = residual[j], sum_rest = rest[j];
#pragma GCC unroll 4
        for (int m = 0; m < panel_rows; ++m) {
          const Halves value = halved<bits>(widen_scaled(rows[panel_rows * j + m], part, factor));
          subtract(value, j, row[m], row_rest[m]);
          subtract(value, i0 + m, sum, sum_rest);
        }
        residual[j] = sum;
        rest[j] = sum_rest;
      }
#pragma GCC unroll 4
      for (int m = 0; m < panel_rows; ++m) {
        residual[i0 + m] += row[m];
        rest[i0 + m] += row_rest[m];
      }
      for (int i = i0; i < i0 + panel_rows && i < n; ++i)
        for (int j = i0; j <= i; ++j) {
          const Halves value = halved<bits>(widen_scaled(a[lower_place(i, j)], part, factor));
          subtract(value, j, residual[i], rest[i]);
          if (j < i) subtract(value, i, residual[j], rest[j]);
        }
    }
    for (int i = 0; i < n; ++i) residual[i] += rest[i];
  }

 private:
  /// An element of A with `factor`; single precision needs none (judge.hpp).
  static Wide widen_scaled(const Vector& v, int part, [[maybe_unused]] Wide factor) {
    if constexpr (sizeof(T) == sizeof(float))
      return Parts<T, W>::widen(v, part);
    else
      return Parts<T, W>::widen(v, part) * factor;
  }

  /// v = high + low, high a multiple of 2^-bits; |v| < 2^(51 - bits).
  struct Halves {
    Wide high, low;
  };
  template <int bits>
  static Halves halved(Wide v) {
    constexpr double c = 1.5 * static_cast<double>(std::int64_t{1} << (52 - bits));
    const Wide high = (v + c) - c;
    return {high, v - high};
  }
};

}  // namespace
}  // namespace smallbatch
