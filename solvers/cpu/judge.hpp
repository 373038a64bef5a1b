// Status, backward error and rcond of a group's answer.
//
// Sums are in double precision. If T is double, A and x are multiplied by factors that bring their largest elements
// next to 1. If T is float, no factors are needed, because norms and products stay in the range of double.
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
#include "solvers/cpu/system_residual.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

template <class Work>
struct Judge {
  using T = typename Work::Scalar;
  static constexpr int W = Work::lanes;
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using Wide = typename L::Wide;
  using X = Exponents<L>;
  using P = Parts<T, W>;
  using A = WidePanels<T, W>;

  const Work& work;
  const Input<Work>& input;
  const Scaling<Work>& scaling;
  const Pivots<L>& pivots;

  /// Returns the status after x was computed. A and b are searched for defects only if loading, elimination or scaling
  /// found a reason.
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

  /// Computes the backward errors for A = A^T.
  void backward_errors(T* of_lane) const {
    if constexpr (L::fuses && sizeof(T) == sizeof(double))
      if (work.judges_by_system) {
        P::put(backward_error_by_system(), 0, of_lane);
        return;
      }
    const MatrixNorm norm = norm_of_matrix();
    if (work.columns == 1) {
      constexpr int at_once = sizeof(Vector) == 64 ? L::parts : 1;  // as many as registers allow
      for (int part = 0; part < L::parts; part += at_once) put_errors_of_column<at_once>(part, norm, of_lane);
    } else {
      for (int part = 0; part < L::parts; ++part) P::put(backward_error(part, wide(norm, part)), part, of_lane);
    }
  }
  /// Returns the backward error of a lane with an A that is symmetric only up to rounding. Every element is read as it
  /// is stored.
  double stored_backward_error(int lane) const {
    return backward_error_of(SpdShape{work.n, work.task.nrhs, work.task.storage}, input.first_a + lane * input.a_step,
                             input.first_b + lane * input.b_step, (const T*)work.x + lane, W);
  }

  /// Computes 1 / (||A||_1 ||A^-1||_1) from the inverse of the scaled system.
  void rconds(T* of_lane) const {
    const MatrixNorm norm = norm_of_matrix();
    for (int part = 0; part < L::parts; ++part) P::put(rcond(part, wide(norm, part)), part, of_lane);
  }

 private:
  struct MatrixNorm {
    Vector factor, norm;  // norm of A; if A is scaled, of A times factor
  };
  MatrixNorm norm_of_matrix() const {
    const Vector factor = scaling.matrix_factor;
    // If A needs no scaling, the norm that was summed while A was loaded is used. Its sums stay in range, so a factor
    // that is a power of two would not change their mantissas.
    if (input.has_norm && !scaling.scaled && !any(input.differing)) return {factor, input.norm};
    if (scaling.scaled) return {factor, A::template norm_of_matrix<true>(work.n, work.a, factor)};
    return {factor, A::template norm_of_matrix<false>(work.n, work.a, factor)};
  }
  /// The factor that multiplies A in residuals, and the norm of A times this factor. In single precision the factor is
  /// 1.
  struct WideNorm {
    Wide factor, norm;
  };
  WideNorm wide(const MatrixNorm& of_lanes, int part) const {
    const Wide factor = P::widen(of_lanes.factor, part), norm = P::widen(of_lanes.norm, part);
    if constexpr (sizeof(T) == sizeof(float))
      return {Wide{} + 1, scaling.scaled ? norm / factor : norm};
    else
      return {factor, scaling.scaled ? norm : norm * factor};
  }

  /// Whether A and x are multiplied by factors. Only double precision needs factors to keep sums in range.
  static constexpr bool has_factors = sizeof(T) == sizeof(double);
  /// Returns the factor that brings the largest element of columns [first, last) of x next to 1.
  Vector solution_factor(int first, int last) const {
    Vector largest{};
    if constexpr (!has_factors) return largest + 1;
    for (int i = 0; i < work.n; ++i)
      for (int c = first; c < last; ++c) largest = larger_magnitude(largest, work.x[i * work.columns + c]);
    return X::normalizer(largest);
  }

  /// Returns the number `b` of a right-hand side times both factors, for a residual. If the product of the factors is a
  /// normal number, b is multiplied by the product. Otherwise b is multiplied by one factor after the other, as in
  /// with_factors() of solvers/scaled_residual.hpp.
  static Wide with_factors(Wide b, Wide a_factor, Wide x_factor) {
    const Wide product = a_factor * x_factor;
    const auto normal = (product >= 0x1p-1022) & (product <= 0x1p1023);
    return b * (normal ? product : a_factor) * (normal ? Wide{} + 1 : x_factor);
  }

  /// Returns number (i, c) of b, or of the identity, in a residual.
  Wide right_side(int i, int c, int part, Wide a_factor, Wide x_factor) const {
    const Wide right = work.wants_inverse ? Wide{} + (i == c ? 1 : 0) : P::widen(work.b[i * work.columns + c], part);
    return has_factors ? with_factors(right, a_factor, x_factor) : right;
  }

  /// Largest norms over the columns of x.
  struct Norms {
    Wide error{}, residual{}, x{};

    void add(Wide norm_r, Wide norm_x, Wide norm_a, bool of_inverse) {
      residual = larger(residual, norm_r);
      x = larger(x, norm_x);
      if (!of_inverse) error = larger(error, norm_r == 0 ? Wide{} : norm_r / (norm_a * norm_x));
    }
    Wide backward_error(Wide norm_a, bool of_inverse) const { return of_inverse ? residual / (norm_a * x) : error; }
  };
  /// Returns whether x is multiplied by the factor of A, too, so that A needs no multiplication. This is exact, and
  /// saves time. It is not possible if A is scaled, because the elements of A may then have any size. It is not
  /// possible without fused multiply-adds either, because WideSum then splits A and x into halves. Both must then be
  /// near 1.
  [[nodiscard]] bool x_has_both_factors() const { return has_factors && L::fuses && !scaling.scaled; }
  /// Memory for residuals: `Count` elements of type V a row, after `before` numbers a row for others. It is on the
  /// stack if the compiler knows n, and otherwise in the workspace, because the stack of a caller's thread may be
  /// small.
  template <class V, int Count, int before = 0>
  struct Rows {
    static_assert(before + Count * sizeof(V) / sizeof(Wide) <= Work::wide_per_row);
    V own[Work::is_known ? Count * padded(Work::most_rows) : 1];
    __attribute__((always_inline)) V* begin(const Work& work) {
      if constexpr (Work::is_known)
        return own;
      else
        return (V*)(work.of_residuals + before * padded(work.n));
    }
  };
  /// Adds column c of the residual in `Count` parts, for A = A^T: every element of the triangle is read once.
  template <int Count>
  __attribute__((always_inline)) void add_column(int c, int part, const WideNorm* a, const Wide* x_factors,
                                                 Norms* worst) const {
    using Sum = typename A::Sum;
    const int n = work.n;
    Rows<Wide, Count> rows_of_x;
    Rows<Sum, Count, Count> rows_of_sums;
    Wide *const x = rows_of_x.begin(work), norm_x[Count]{}, norm_r[Count]{};
    Sum* const sums = rows_of_sums.begin(work);
    for (int i = 0; i < n; ++i)
#pragma GCC unroll 2
      for (int p = 0; p < Count; ++p) {
        Wide value = P::widen(work.x[i * work.columns + c], part + p);
        if constexpr (has_factors) value *= x_factors[p];
        norm_x[p] += absolute(value);
        x[i * Count + p] = x_has_both_factors() ? value * a[p].factor : value;
      }
    for (int i = 0; i < n; ++i)
#pragma GCC unroll 2
      for (int p = 0; p < Count; ++p)
        sums[i * Count + p] = Sum::of(right_side(i, c, part + p, a[p].factor, x_factors[p]));
    for (int e = n * Count; e < padded(n) * Count; ++e) x[e] = Wide{}, sums[e] = Sum::of(Wide{});
    if (has_factors && !x_has_both_factors())
      A::template subtract_product<Count, has_factors>(work.n, work.a, a->factor, part, x, sums);
    else
      A::template subtract_product<Count, false>(work.n, work.a, a->factor, part, x, sums);
    for (int i = 0; i < n; ++i)
#pragma GCC unroll 2
      for (int p = 0; p < Count; ++p) norm_r[p] += absolute(sums[i * Count + p].value());
#pragma GCC unroll 2
    for (int p = 0; p < Count; ++p) worst[p].add(norm_r[p], norm_x[p], a[p].norm, work.wants_inverse);
  }
  /// Stores the backward errors of one column, in `Count` parts.
  template <int Count>
  __attribute__((always_inline)) void put_errors_of_column(int part, const MatrixNorm& norm, T* of_lane) const {
    const Vector x_factor = solution_factor(0, 1);
    WideNorm a[Count];
    Wide x_factors[Count];
    Norms norms[Count];
#pragma GCC unroll 2
    for (int p = 0; p < Count; ++p) a[p] = wide(norm, part + p), x_factors[p] = P::widen(x_factor, part + p);
    add_column<Count>(0, part, a, x_factors, norms);
#pragma GCC unroll 2
    for (int p = 0; p < Count; ++p) P::put(norms[p].backward_error(a[p].norm, work.wants_inverse), part + p, of_lane);
  }

  /// Adds columns first .. first + Columns - 1 of the residual, for A = A^T.
  template <int Columns>
  __attribute__((always_inline)) void add_columns(int first, int part, const WideNorm& a, const Wide* x_factors,
                                                  Norms& worst) const {
    const int n = work.n, columns = work.columns;
    Rows<Wide, Columns> rows;
    Wide* const x = rows.begin(work);
    Norms of[Columns];
    for (int i = 0; i < n; ++i)
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        Wide value = P::widen(work.x[i * columns + first + c], part);
        if constexpr (has_factors) value *= x_factors[c];
        of[c].x += absolute(value);
        x[i * Columns + c] = x_has_both_factors() ? value * a.factor : value;
      }
    for (int e = n * Columns; e < padded(n) * Columns; ++e) x[e] = Wide{};
    const auto right = [&](int i, int c) __attribute__((always_inline)) {
      return i < n ? right_side(i, first + c, part, a.factor, x_factors[c]) : Wide{};
    };
    const auto take = [&](int c, Wide residual) __attribute__((always_inline)) {
      of[c].residual += absolute(residual);
    };
    if (work.wide_a != nullptr)
      A::template residuals<Columns, false>(n, work.wide_a, a.factor, part, x, right, take);
    else if (has_factors && !x_has_both_factors())
      A::template residuals<Columns, has_factors>(n, work.a, a.factor, part, x, right, take);
    else
      A::template residuals<Columns, false>(n, work.a, a.factor, part, x, right, take);
    for (int c = 0; c < Columns; ++c) worst.add(of[c].residual, of[c].x, a.norm, work.wants_inverse);
  }
  /// Returns the backward errors of the lanes of one part, for A = A^T.
  __attribute__((always_inline)) Wide backward_error(int part, const WideNorm& a) const {
    constexpr int at_once = (sizeof(T) == sizeof(float) ? 4 : 2) / (sizeof(Vector) == 64 ? 1 : 2);
    const int columns = work.columns;
    const bool inverse = work.wants_inverse;
    Wide x_factors[at_once]{};
    const auto take_factors = [&](int first, int count) {
      for (int c = 0; c < count; ++c) x_factors[c] = P::widen(solution_factor(first + c, first + c + 1), part);
    };
    if (inverse)
      for (Wide& factor : x_factors) factor = P::widen(solution_factor(0, columns), part);
    if (work.wide_a != nullptr) A::widen_matrix(work.n, work.a, part, work.wide_a);
    Norms worst;
    int c = 0;
    if constexpr (at_once > 1)
      for (; c + at_once <= columns; c += at_once) {
        if (!inverse) take_factors(c, at_once);
        add_columns<at_once>(c, part, a, x_factors, worst);
      }
    for (; c < columns; ++c) {
      if (!inverse) take_factors(c, 1);
      add_column<1>(c, part, &a, x_factors, &worst);
    }
    return worst.backward_error(a.norm, inverse);
  }

  /// Returns the backward errors of one right-hand side in double precision, with A read from the caller's memory.
  Wide backward_error_by_system() const {
    using Memory = Transposition<double, W>;
    const int n = work.n, vectors = n / W;
    const Wide a_factor = scaling.matrix_factor, x_factor = solution_factor(0, 1);
    double* const x_of = (double*)work.of_residuals;  // n numbers of each lane
    Wide* const residual_of = work.of_residuals + n;  // the same as vectors
    Wide norm_of[W], norm_x{}, norm_r{};
    Wide x[W], right[W], turned[W];
    for (int k = 0; k < vectors; ++k) {
#pragma GCC unroll 8
      for (int t = 0; t < W; ++t) {
        x[t] = work.x[k * W + t] * x_factor;
        norm_x += absolute(x[t]);
        if (!scaling.scaled) x[t] *= a_factor;
        right[t] = with_factors(work.b[k * W + t], a_factor, x_factor);
      }
      Memory::load_chunk((const double*)x, W, turned);
      for (int lane = 0; lane < W; ++lane) __builtin_memcpy(x_of + lane * n + k * W, &turned[lane], sizeof(Wide));
      Memory::load_chunk((const double*)right, W, turned);
      for (int lane = 0; lane < W; ++lane) residual_of[lane * vectors + k] = turned[lane];
    }
    for (int lane = 0; lane < W; ++lane) {
      const SystemResidual<W> system{n, input.first_a + lane * input.a_step, x_of + lane * n, a_factor[lane]};
      if (scaling.scaled)
        system.template subtract_product<true>(residual_of + lane * vectors);
      else
        system.template subtract_product<false>(residual_of + lane * vectors);
      if (scaling.scaled) norm_of[lane] = system.largest_sums();
    }
    for (int k = 0; k < vectors; ++k) {
      Memory::load_chunk((const double*)(residual_of + k), n, turned);
#pragma GCC unroll 8
      for (int t = 0; t < W; ++t) norm_r += absolute(turned[t]);
    }
    Wide norm_a = input.norm * a_factor;
    if (scaling.scaled) {
      Memory::load_chunk((const double*)norm_of, W, turned);
      norm_a = turned[0];
      for (int t = 1; t < W; ++t) norm_a = larger(norm_a, turned[t]);
    }
    return norm_r == 0 ? Wide{} : norm_r / (norm_a * norm_x);
  }

  /// Returns 1 / (||A||_1 ||A^-1||_1) for one part's lanes, from the inverse of the scaled system.
  Wide rcond(int part, const WideNorm& a) const {
    const int n = work.n;
    Wide norm{};
    for (int j = 0; j < n; ++j) {
      Wide sum{};
      for (int i = 0; i < n; ++i) {
        Wide value = absolute(P::widen(work.inverse[i * n + j], part));
        // This makes it an element of (a.factor A)^-1. In this order every product stays in range.
        if (scaling.scaled) value *= P::widen(X::power_of_two(scaling.half[i]), part);
        if (sizeof(T) == sizeof(double)) value /= a.factor;
        if (scaling.scaled) value *= P::widen(X::power_of_two(scaling.half[j]), part);
        sum += value;
      }
      norm = larger(norm, sum);
    }
    return 1 / (a.norm * norm);
  }
};

}  // namespace
}  // namespace smallbatch
