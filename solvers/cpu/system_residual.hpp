// The residual of one system after the other, and the norm of a scaled matrix. Both come from a dense A in double
// precision in the caller's memory. That A was loaded a moment ago and is in the cache. A copy of it, kept during the
// factorization, would drive the factors out of the cache. Lanes are rows, and row j of a symmetric A is its column j.
// Every sum has the terms and the order of WidePanels, so the bits are the same.
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
  const double factor;  // multiplies A, if has_factor

  /// Computes residual -= factor A x, vector by vector.
  template <bool has_factor>
  void subtract_product(Vector* residual) const {
    int k = 0;
    for (; k + 4 <= n / W; k += 4) subtract<4, has_factor>(k, residual);
    for (; k < n / W; ++k) subtract<1, has_factor>(k, residual);
  }
  /// Returns the largest column sum of |factor a_ij| in each lane.
  Vector largest_sums() const {
    Vector largest{};
    for (int k = 0; k < n / W; ++k) {
      Vector sum{};
      for (int j = n - 2; j >= 0; j -= 2) sum += absolute(row(j + 1, k) * factor) + absolute(row(j, k) * factor);
      largest = larger(largest, sum);
    }
    return largest;
  }

 private:
  /// Returns vector k of row j.
  Vector row(int j, int k) const {
    Vector numbers;
    __builtin_memcpy(&numbers, a + std::int64_t{j} * n + k * W, sizeof(numbers));
    return numbers;
  }
  template <int Vectors, bool has_factor>
  void subtract(int first, Vector* residual) const {
    Sum sums[Vectors];
#pragma GCC unroll 4
    for (int k = 0; k < Vectors; ++k) sums[k] = Sum::of(residual[first + k]);
    for (int j = 0; j < n; ++j) {
      const Vector right = Vector{} + x[j];
#pragma GCC unroll 4
      for (int k = 0; k < Vectors; ++k) {
        Vector column = row(j, first + k);
        if constexpr (has_factor) column *= factor;
        sums[k].subtract(column, right);
      }
    }
#pragma GCC unroll 4
    for (int k = 0; k < Vectors; ++k) residual[first + k] = sums[k].value();
  }
};

}  // namespace
}  // namespace smallbatch
