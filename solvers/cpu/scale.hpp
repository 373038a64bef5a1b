// Systems whose numbers are far from 1 are scaled by powers of two: D' A D' y = 2^t D' b, x = 2^-t D' y. That is exact,
// so it changes no bit of any result that would not have left the range of T.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

/// How a group is scaled, and what scaling back made of its x.
template <class T, int W>
struct Scaling {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using X = Exponents<L>;
  using Work = Workspace<T, W>;

  bool scaled;            // whether A of any lane is
  Mask half[padded_max];  // exponents of D', if scaled; those of t are work.rhs_shift
  Mask unusable;          // x is not finite
  Mask vanished;          // x has underflowed

  void scale_matrix(const Work& work) {
    find_exponents(work);
    Vector* const l = work.l;
    for (int i = 0; i < work.n && scaled; ++i)
      for (int j = 0; j <= i; ++j)
        l[lower_place(i, j)] = l[lower_place(i, j)] * X::power_of_two(half[i]) * X::power_of_two(half[j]);
  }

  /// Factors of A, in place of A, become those of D' A D': D'^-1 L D' has a unit diagonal again. D' brings the pivots
  /// next to 1, and so L is not large either.
  void scale_factors(const Work& work) {
    find_exponents(work);
    Vector* const l = work.l;
    for (int i = 0; i < work.n && scaled; ++i) {
      for (int j = 0; j < i; ++j)
        l[lower_place(i, j)] = l[lower_place(i, j)] * X::power_of_two(half[i]) * X::power_of_two(-half[j]);
      l[lower_place(i, i)] = l[lower_place(i, i)] * X::power_of_two(half[i]) * X::power_of_two(half[i]);
    }
  }

  /// D' where the diagonal is far from 1.
  void find_exponents(const Work& work) {
    const int n = work.n;
    const Vector* const l = work.l;
    Mask far{};
    for (int i = 0; i < n; ++i) {
      const Vector diagonal = l[lower_place(i, i)];
      far |= (diagonal > 0) & X::outside(X::of(diagonal), L::diagonal_window);
    }
    scaled = any(far);
    if (!scaled) return;
    for (int i = 0; i < padded(n); ++i) {
      half[i] = Mask{};
      if (i >= n) continue;
      const Vector diagonal = l[lower_place(i, i)];
      half[i] = far & (diagonal > 0) ? -(X::of(diagonal) >> 1) : Mask{};
    }
  }

  /// The right-hand sides, from b to x.
  void scale_rhs(const Work& work) {
    const int n = work.n, columns = work.columns;
    for (int c = 0; c < columns; ++c) {
      constexpr int lowest = -4 * L::exponent_bias;
      Mask top = Mask{} + lowest;
      for (int i = 0; i < n; ++i) {
        const Vector value = work.b[i * columns + c];
        top = larger(top, value != 0 ? X::of(value) + half_of(i) : Mask{} + lowest);
      }
      work.rhs_shift[c] = (top != lowest) & X::outside(top, L::rhs_window) ? -top : Mask{};
      const bool shifted = scaled || any(work.rhs_shift[c]);
      for (int i = 0; i < n; ++i) {
        const Vector value = work.b[i * columns + c];
        work.x[i * columns + c] = shifted ? X::scale(value, half_of(i) + work.rhs_shift[c]) : value;
      }
      for (int i = n; i < padded(n); ++i) work.x[i * columns + c] = Vector{};
    }
  }

  /// x from the solution of the scaled system. An inverse has x = D' y D'.
  void scale_back(const Work& work) {
    const int n = work.n, columns = work.columns;
    const bool inverse = work.task.inverse;
    Mask bad{};
    vanished = Mask{};
    for (int c = 0; c < columns && !inverse; ++c)
      if (scaled || any(work.rhs_shift[c])) vanished |= underflows(work, c);
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < columns; ++c) {
        Vector& value = work.x[i * columns + c];
        if (inverse) {
          if (scaled) value = X::scale(value, half[i] + half[c]);
        } else if (scaled || any(work.rhs_shift[c])) {
          value = X::scale(value, half_of(i) - work.rhs_shift[c]);
        }
        bad |= value - value != 0;
      }
    unusable = bad;
  }

 private:
  Mask half_of(int i) const { return scaled ? half[i] : Mask{}; }

  /// Where column c of x is about to lose more than a few roundings because T has no numbers that small.
  Mask underflows(const Work& work, int c) const {
    const int n = work.n, columns = work.columns;
    constexpr int lowest = -8 * L::exponent_bias;
    Mask top = Mask{} + lowest;  // the exponent of the largest
    for (int i = 0; i < n; ++i) {
      const Vector y = work.x[i * columns + c];
      top = larger(top, y != 0 ? X::of(y) + half_of(i) - work.rhs_shift[c] : Mask{} + lowest);
    }
    if (!any((top > lowest) & (top < L::mantissa_bits - L::exponent_bias))) return Mask{};
    Vector lost{}, norm{};
    for (int i = 0; i < n; ++i) {
      const Mask exponent = half_of(i) - work.rhs_shift[c];
      const Vector y = work.x[i * columns + c], exact = X::scale(y, exponent - top);
      lost += absolute(exact - X::scale(X::scale(y, exponent), -top));
      norm += absolute(exact);
    }
    return lost > 4 * L::eps * norm;
  }
};

}  // namespace
}  // namespace smallbatch
