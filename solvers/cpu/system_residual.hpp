// The residual and the norm of A of one system after the other, from a dense A of double precision where the caller has
// it: it was loaded a moment ago and is in the cache, and a copy of it, kept while it is factored, would drive the
// factors out. Lanes are rows, and row j of a symmetric A is its column j. Every sum has the terms and the order of
// WidePanels, so the bits are the same.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "solvers/cpu/residual.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

template <int W>
struct SystemResidual {
  using Vector = typename Lanes<double, W>::Vector;
  using Sum = WideSum<double, W>;

  const int n;  // a multiple of W
  const double* const a;
  const double* const x;
  const double factor;  // of A, where it has one

  /// residual -= factor A x and column_sums = sum |factor a_ij|, vector by vector.
  template <bool has_factor>
  void subtract_product(Vector* residual, Vector* column_sums) const {
    int k = 0;
    for (; k + 4 <= n / W; k += 4) subtract<4, has_factor>(k, residual, column_sums);
    for (; k < n / W; ++k) subtract<1, has_factor>(k, residual, column_sums);
  }

 private:
  template <int Vectors, bool has_factor>
  void subtract(int first, Vector* residual, Vector* column_sums) const {
    Sum sums[Vectors];
    Vector magnitudes[Vectors]{};
#pragma GCC unroll 4
    for (int k = 0; k < Vectors; ++k) sums[k] = Sum::of(residual[first + k]);
    const double* row = a + first * W;
    for (int j = 0; j < n; ++j, row += n) {
      const Vector right = Vector{} + x[j];
#pragma GCC unroll 4
      for (int k = 0; k < Vectors; ++k) {
        Vector column;
        __builtin_memcpy(&column, row + k * W, sizeof(column));
        if constexpr (has_factor) column *= factor;
        magnitudes[k] += absolute(column);
        sums[k].subtract(column, right);
      }
    }
#pragma GCC unroll 4
    for (int k = 0; k < Vectors; ++k) {
      residual[first + k] = sums[k].value();
      column_sums[first + k] = magnitudes[k];
    }
  }
};

}  // namespace
}  // namespace smallbatch
