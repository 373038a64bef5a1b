// Scaling of systems with numbers far from 1: D' A D' y = 2^t D' b, x = 2^-t D' y. D' is a diagonal matrix of powers of
// two. Each right-hand side has its own t. Scaling is exact. A result that stays in the range of T without scaling has
// the same bits with scaling.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

/// The scaling of a group, and the lanes in which x leaves the range of T when it is scaled back.
template <class Work>
struct Scaling {
  using T = typename Work::Scalar;
  static constexpr int W = Work::lanes;
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using X = Exponents<L>;

  bool scaled;            ///< whether A of any lane is scaled
  Vector matrix_factor;   ///< brings the largest diagonal element, and thus all of a positive definite A, next to 1
  Mask half[padded_max];  ///< exponents of D', if scaled; the exponents t are work.rhs_shift
  Mask unusable;          ///< x is not finite
  Mask vanished;          ///< x has underflowed

  /// Scales A into work.l, if it needs scaling.
  void scale_matrix(const Work& work) {
    find_exponents(work);
    for (int i = 0; i < work.n && scaled; ++i)
      for (int j = 0; j <= i; ++j)
        work.l[lower_place(i, j)] = work.a[lower_place(i, j)] * X::power_of_two(half[i]) * X::power_of_two(half[j]);
  }

  /// Replaces the factors of A by the factors of D' A D'. D' L D'^-1 has a unit diagonal again. D' brings the pivots
  /// next to 1, so L is not large either.
  void scale_factors(const Work& work) {
    find_exponents(work);
    Vector* const l = work.l;
    for (int i = 0; i < work.n && scaled; ++i) {
      for (int j = 0; j < i; ++j)
        l[lower_place(i, j)] = l[lower_place(i, j)] * X::power_of_two(half[i]) * X::power_of_two(-half[j]);
      l[lower_place(i, i)] = l[lower_place(i, i)] * X::power_of_two(half[i]) * X::power_of_two(half[i]);
    }
  }

  /// Finds D', if the diagonal is far from 1.
  void find_exponents(const Work& work) {
    const int n = work.n;
    const Vector* const a = work.a;
    Vector least = a[0], largest = a[0];
    for (int i = 1; i < n; ++i) {
      const Vector diagonal = a[lower_place(i, i)];
      least = smaller(least, diagonal);
      largest = larger(largest, diagonal);
    }
    matrix_factor = X::normalizer(largest);
    scaled = false;
    if (!any(outside_window(least) | outside_window(largest))) return;
    Mask far{};
    for (int i = 0; i < n; ++i) {
      const Vector diagonal = a[lower_place(i, i)];
      far |= (diagonal > 0) & outside_window(diagonal);
    }
    scaled = any(far);
    if (!scaled) return;
    for (int i = 0; i < padded(n); ++i) {
      half[i] = Mask{};
      if (i >= n) continue;
      const Vector diagonal = a[lower_place(i, i)];
      half[i] = far & (diagonal > 0) ? -(X::of(diagonal) >> 1) : Mask{};
    }
  }

  /// Scales the right-hand sides, from b to x.
  void scale_rhs(const Work& work) {
    const int n = work.n, columns = work.columns;
    for (int c = 0; c < columns; ++c) {
      const Mask top = exponent_of_rhs(work, c);
      work.rhs_shift[c] = (top != no_exponent) & X::outside(top, L::rhs_window) ? -top : Mask{};
      const bool shifted = scaled || any(work.rhs_shift[c]);
      for (int i = 0; i < n; ++i) {
        const Vector value = work.b[i * columns + c];
        work.x[i * columns + c] = shifted ? X::scale(value, half_of(i) + work.rhs_shift[c]) : value;
      }
      for (int i = n; i < padded(n); ++i) work.x[i * columns + c] = Vector{};
    }
  }

  /// Computes x from the solution of the scaled system. For an inverse, x = D' y D'.
  void scale_back(const Work& work) {
    const int n = work.n, columns = work.columns;
    const bool inverse = work.wants_inverse;
    Mask bad{};
    vanished = Mask{};
    for (int c = 0; c < columns && !inverse; ++c) {
      if (!scaled && !any(work.rhs_shift[c])) continue;
      vanished |= underflows(work, c);
      for (int i = 0; i < n; ++i) {
        Vector& value = work.x[i * columns + c];
        value = X::scale(value, half_of(i) - work.rhs_shift[c]);
      }
    }
    for (int i = 0; i < n && inverse && scaled; ++i)
      for (int c = 0; c < columns; ++c) {
        Vector& value = work.x[i * columns + c];
        value = X::scale(value, half[i] + half[c]);
      }
    for (std::int64_t e = 0; e < work.solution_size; ++e) bad |= (Mask)(work.x[e] - work.x[e]);  // 0 if finite
    unusable = bad != 0;
  }

 private:
  static constexpr int no_exponent = -4 * L::exponent_bias;
  static Mask outside_window(Vector diagonal) { return X::outside(X::of(diagonal), L::diagonal_window); }
  /// Returns the exponent of the largest number in column c of D' b.
  Mask exponent_of_rhs(const Work& work, int c) const {
    const Vector* const b = work.b + c;
    if (!scaled) {
      Vector largest{};
      for (int i = 0; i < work.n; ++i) largest = larger_magnitude(largest, b[i * work.columns]);
      return largest != 0 ? X::of(largest) : Mask{} + no_exponent;
    }
    Mask top = Mask{} + no_exponent;
    for (int i = 0; i < work.n; ++i) {
      const Vector value = b[i * work.columns];
      top = larger(top, value != 0 ? X::of(value) + half[i] : Mask{} + no_exponent);
    }
    return top;
  }
  Mask half_of(int i) const { return scaled ? half[i] : Mask{}; }

  /// Returns the lanes in which underflow would change column c of x by more than a few roundings.
  Mask underflows(const Work& work, int c) const {
    const int n = work.n, columns = work.columns;
    constexpr int lowest = -8 * L::exponent_bias;
    Mask top = Mask{} + lowest;  // exponent of the largest number of x
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
