// What is said of a group's answer: its status, its backward error and rcond.
//
// Sums are taken in double precision, of A and x with factors that bring their largest elements next to 1; of single
// precision, whose norms and products stay in double's range, as they are.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/backward_error.hpp"
#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/load.hpp"
#include "solvers/cpu/residual.hpp"
#include "solvers/cpu/scale.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

template <class T, int W>
struct Judge {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using Wide = typename L::Wide;
  using X = Exponents<L>;
  using P = Parts<T, W>;
  using A = WidePanels<T, W>;

  const Workspace<T, W>& work;
  const Input<T, W>& input;
  const Scaling<T, W>& scaling;
  const Pivots<L>& pivots;

  /// Once x is there. What is wrong with A or b is asked only where the elimination met something odd.
  Mask status() const {
    Mask info{};
    const auto fail = [&info](Mask where, std::int32_t reason) { info = (info == 0) & where ? Mask{} + reason : info; };
    if (any(input.not_finite | input.not_symmetric | pivots.first_bad | scaling.unusable | scaling.vanished)) {
      fail(input.not_finite | input.lower_not_finite(work), info_matrix_not_finite);
      fail(input.not_symmetric, info_matrix_not_symmetric);
      fail(input.rhs_not_finite(work), info_rhs_not_finite);
      info = info == 0 ? pivots.first_bad : info;
      fail(scaling.unusable, info_result_not_finite);
      fail(scaling.vanished, info_result_underflowed);
    }
    return info;
  }

  /// The backward errors for A = A^T.
  void backward_errors(T* of_lane) const {
    for (int part = 0; part < L::parts; ++part) P::put(backward_error(part), part, of_lane);
  }
  /// That of one lane whose A is symmetric up to rounding only: every element is read as it is stored.
  double stored_backward_error(int lane) const {
    return backward_error_of(SpdShape{work.n, work.task.nrhs, work.task.storage}, input.first_a + lane * input.a_step,
                             input.first_b + lane * input.b_step, (const T*)work.x + lane, W);
  }

  /// 1 / (||A||_1 ||A^-1||_1), from the inverse of the scaled system.
  void rconds(T* of_lane) const {
    for (int part = 0; part < L::parts; ++part) P::put(rcond(part), part, of_lane);
  }

 private:
  /// 2^-exponent(v) as a factor; double precision input alone can leave the range of the sums below.
  static Wide normalizer(const Vector& v) {
    if constexpr (sizeof(T) == sizeof(float))
      return Wide{} + 1;
    else
      return X::normalizer(v);
  }
  /// What brings the largest element of A next to 1.
  Wide matrix_factor() const {
    Vector largest{};
    for (int i = 0; i < work.n && sizeof(T) == 8; ++i)
      for (int j = 0; j <= i; ++j) largest = larger(largest, absolute(work.a[lower_place(i, j)]));
    return normalizer(largest);
  }

  /// The residual of column c times a_factor x_factor, for A = A^T; its norm and that of x times x_factor.
  struct Norms {
    Wide residual, x;
  };
  Norms residual_of(int c, int part, Wide a_factor, Wide x_factor, Wide* residual) const {
    const int n = work.n, columns = work.columns;
    Wide scaled_x[padded_max], norm_x{}, norm_r{};
    // Of b: both at once where they can be, as with_factors() of solvers/scaled_residual.hpp has them.
    const Wide product = a_factor * x_factor;
    const auto normal = (product >= 0x1p-1022) & (product <= 0x1p1023);
    const Wide first = normal ? product : a_factor, second = normal ? Wide{} + 1 : x_factor;
    for (int i = 0; i < n; ++i) {
      scaled_x[i] = P::widen(work.x[i * columns + c], part) * x_factor;
      norm_x += absolute(scaled_x[i]);
      const Wide right = work.task.inverse ? Wide{} + (i == c ? 1 : 0) : P::widen(work.b[i * columns + c], part);
      residual[i] = right * first * second;
    }
    for (int i = n; i < padded(n); ++i) scaled_x[i] = residual[i] = Wide{};
    if constexpr (sizeof(T) == sizeof(double))
      A::subtract_product_exactly(n, work.a, a_factor, part, scaled_x, residual);
    else
      A::subtract_product(n, work.a, a_factor, part, scaled_x, residual);
    for (int i = 0; i < n; ++i) norm_r += absolute(residual[i]);
    return {norm_r, norm_x};
  }
  /// What brings the largest element of column c of x next to 1; of all columns for the inverse.
  Wide solution_factor(int c) const {
    const int columns = work.columns;
    const bool inverse = work.task.inverse;
    Vector largest{};
    for (int i = 0; i < work.n && sizeof(T) == 8; ++i)
      for (int k = inverse ? 0 : c; k < (inverse ? columns : c + 1); ++k)
        largest = larger(largest, absolute(work.x[i * columns + k]));
    return normalizer(largest);
  }

  /// The backward errors of the lanes of one part, for A = A^T.
  Wide backward_error(int part) const {
    const Wide a_factor = matrix_factor(), norm_a = A::norm_of_matrix(work.n, work.a, a_factor, part);
    Wide x_factor = solution_factor(0), residual[padded_max];
    Wide worst{}, worst_residual{}, norm_inverse{};
    for (int c = 0; c < work.columns; ++c) {
      if (!work.task.inverse) x_factor = solution_factor(c);
      const Norms norms = residual_of(c, part, a_factor, x_factor, residual);
      worst = larger(worst, norms.residual == 0 ? Wide{} : norms.residual / (norm_a * norms.x));
      worst_residual = larger(worst_residual, norms.residual);
      norm_inverse = larger(norm_inverse, norms.x);
    }
    return work.task.inverse ? worst_residual / (norm_a * norm_inverse) : worst;
  }

  /// 1 / (||A||_1 ||A^-1||_1) of one part's lanes, from the inverse of the scaled system.
  Wide rcond(int part) const {
    const int n = work.n;
    const Wide a_factor = matrix_factor();
    Wide norm{};
    for (int j = 0; j < n; ++j) {
      Wide sum{};
      for (int i = 0; i < n; ++i) {
        Wide value = absolute(P::widen(work.inverse[i * n + j], part));
        // The inverse of A a_factor; in this order every product stays in range.
        if (scaling.scaled) value *= P::widen(X::power_of_two(scaling.half[i]), part);
        if (sizeof(T) == sizeof(double)) value /= a_factor;
        if (scaling.scaled) value *= P::widen(X::power_of_two(scaling.half[j]), part);
        sum += value;
      }
      norm = larger(norm, sum);
    }
    return 1 / (A::norm_of_matrix(work.n, work.a, a_factor, part) * norm);
  }
};

}  // namespace
}  // namespace smallbatch
