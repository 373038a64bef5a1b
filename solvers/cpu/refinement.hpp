// Mixed precision: A = L D L^T in single precision, then x <- x + (L D L^T)^-1 (b - A x) with residuals in double
// precision, until the backward error is at most 2 u of T or no longer halves (N. J. Higham, "Accuracy and Stability of
// Numerical Algorithms", chapter 12). All of that is done to D' A D' y = 2^t D' b, whose diagonal powers of two have
// brought next to 1: for the range of single precision, and so that the small rows of a graded matrix are refined too.
//
// A system whose backward error is above spd_resolve_above u then, or that single precision cannot factor, is solved by
// L D L^T in T; so is every system of a group that holds such a one, but only that one takes the result, so that no
// system's bits depend on its neighbours.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/group.hpp"
#include "solvers/cpu/residual.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

/// As many systems of T at once as there are single-precision lanes: two groups of doubles, or one of floats.
template <class T, int W, int Columns>
struct Refinement {
  using G = Group<T, W, Columns>;
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Wide = typename L::Wide;
  using WideMask = typename L::WideMask;
  using X = Exponents<L>;
  using P = Parts<T, W>;
  using Doubles = Exponents<Lanes<double, P::lanes>>;
  static constexpr int groups = sizeof(T) == sizeof(float) ? 1 : 2;
  static constexpr int systems = groups * W;
  using Single = Lanes<float, systems>;
  using SingleElimination = Elimination<float, systems, Columns>;
  static constexpr int half_lanes = systems / 2;  // of one Wide
  static constexpr double u = static_cast<double>(L::eps) / 2;

  G group[groups];
  typename Single::Vector *l, *correction;
  Pivots<Single> pivots;
  const int n, columns;
  const bool factors_in_t;  // for the numbers about A

  template <int... Index>
  Refinement(const LdltTask<T>& task, Carver& carver, Indices<Index...>)
      : group{((void)Index, G(task, carver))...},
        l(carver.take<typename Single::Vector>(panel_begin(panel_count(task.n)))),
        correction(carver.take<typename Single::Vector>(padded(task.n))),
        n(task.n),
        columns(task.nrhs),
        factors_in_t(task.wants_numbers_about_a) {
    if (l == nullptr) return;
    for (int e = 0; e < panel_begin(panel_count(n)); ++e) l[e] = typename Single::Vector{};
  }

  /// The two vectors of doubles that hold one number of all systems.
  static typename Single::Vector narrowed(Wide low, Wide high) {
    typedef float Half __attribute__((vector_size(4 * half_lanes)));
    const Half halves[2] = {__builtin_convertvector(low, Half), __builtin_convertvector(high, Half)};
    typename Single::Vector v;
    __builtin_memcpy(&v, halves, sizeof(v));
    return v;
  }
  static Wide widened(const typename Single::Vector& v, int half) {
    typedef float Half __attribute__((vector_size(4 * half_lanes)));
    Half lanes;
    __builtin_memcpy(&lanes, (const float*)&v + half * half_lanes, sizeof(lanes));
    return __builtin_convertvector(lanes, Wide);
  }
  /// Where half `h` of the systems lies.
  const Workspace<T, W>& work_of(int h) const { return group[groups == 2 ? h : 0].work; }
  static constexpr int part_of(int h) { return groups == 2 ? 0 : h; }
  /// To the precision of T.
  static Wide rounded(Wide values) {
    if constexpr (sizeof(T) == sizeof(double)) return values;
    typedef float Half __attribute__((vector_size(4 * half_lanes)));
    return __builtin_convertvector(__builtin_convertvector(values, Half), Wide);
  }
  static void set_part(Vector& v, Wide values, int part) {
    for (int lane = 0; lane < half_lanes; ++lane) v[part * half_lanes + lane] = static_cast<T>(values[lane]);
  }

  typename L::Mask half[groups][padded_max];  // exponents of D'
  Wide norm[2];                               // ||D' A D'||_1

  /// D' A D' of each group into its l, and its factors in single precision.
  void factor() {
    for (int k = 0; k < groups; ++k) {
      const Vector* const a = group[k].work.a;
      for (int i = 0; i < n; ++i) {
        const Vector diagonal = a[lower_place(i, i)];
        half[k][i] = (diagonal > 0) & -(X::of(diagonal) >> 1);
      }
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
          group[k].work.l[lower_place(i, j)] =
              a[lower_place(i, j)] * X::power_of_two(half[k][i]) * X::power_of_two(half[k][j]);
    }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        l[lower_place(i, j)] = narrowed(P::widen(work_of(0).l[lower_place(i, j)], part_of(0)),
                                        P::widen(work_of(1).l[lower_place(i, j)], part_of(1)));
    SingleElimination::factor(n, l, pivots, [] {});
    for (int h = 0; h < 2; ++h) norm[h] = WidePanels<T, W>::norm_of_matrix(n, work_of(h).l, Wide{} + 1, part_of(h));
  }

  /// The exponent of the largest v_i; 0 where all are 0.
  WideMask top_of(const Wide* v) const {
    constexpr std::int64_t lowest = -5000;
    WideMask top = WideMask{} + lowest;
    for (int i = 0; i < n; ++i) top = larger(top, v[i] != 0 ? Doubles::of(v[i]) : WideMask{} + lowest);
    return (top != lowest) & top;
  }

  /// One column of D' A D' y = 2^t D' b; y has the precision of T.
  struct Column {
    typename L::Mask shift[groups];  // t
    Wide right[2][padded_max], y[2][padded_max], best[2][padded_max], residual[2][padded_max];
    Wide error[2];       // the backward error of `best`
    WideMask active[2];  // whether a system still improves
  };

  /// Column c of x, refined.
  void refine(int c) {
    Column column{};
    begin(c, column);
    constexpr int most_steps = 30;  // as in LAPACK's dsposv
    for (int step = 0; step < most_steps && any(column.active[0] | column.active[1]); ++step) improve(column);
    finish(c, column);
  }

  void begin(int c, Column& column) {
    for (int k = 0; k < groups; ++k) {
      constexpr int lowest = -4 * L::exponent_bias;
      const Workspace<T, W>& work = group[k].work;
      typename L::Mask top = typename L::Mask{} + lowest;
      for (int i = 0; i < n; ++i) {
        const Vector value = work.b[i * columns + c];
        top = larger(top, value != 0 ? X::of(value) + half[k][i] : typename L::Mask{} + lowest);
      }
      column.shift[k] = (top != lowest) & -top;
      for (int i = 0; i < n; ++i)
        work.x[i * columns + c] = X::scale(work.b[i * columns + c], half[k][i] + column.shift[k]);
    }
    for (int h = 0; h < 2; ++h) {
      for (int i = 0; i < n; ++i)
        column.residual[h][i] = column.right[h][i] = P::widen(work_of(h).x[i * columns + c], part_of(h));
      column.active[h] = ~WideMask{};
      column.error[h] = Wide{} + __builtin_inf();
    }
  }

  /// y = best + (L D L^T)^-1 residual, which becomes the best where it is better.
  void improve(Column& column) {
    const WideMask top[2] = {top_of(column.residual[0]), top_of(column.residual[1])};
    for (int i = 0; i < padded(n); ++i)
      correction[i] =
          narrowed(Doubles::scale(column.residual[0][i], -top[0]), Doubles::scale(column.residual[1][i], -top[1]));
    SingleElimination::template substitute<1>(n, l, pivots, correction, 1);
    for (int h = 0; h < 2; ++h) {
      Wide* const y = column.y[h];
      Wide* const best = column.best[h];
      Wide* const residual = column.residual[h];
      Wide norm_y{}, norm_r{};
      for (int i = 0; i < n; ++i) {
        y[i] = rounded(best[i] + Doubles::scale(widened(correction[i], h), top[h]));
        norm_y += absolute(y[i]);
        residual[i] = column.right[h][i];
      }
      WidePanels<T, W>::subtract_product(n, work_of(h).l, Wide{} + 1, part_of(h), y, residual);
      for (int i = 0; i < n; ++i) norm_r += absolute(residual[i]);
      const Wide now = norm_r == 0 ? Wide{} : norm_r / (norm[h] * norm_y);
      const WideMask better = column.active[h] & (now < column.error[h]);
      for (int i = 0; i < n; ++i) best[i] = chosen(better, y[i], best[i]);
      column.active[h] = better & (now > 2 * u) & (now <= column.error[h] / 2);
      column.error[h] = chosen(better, now, column.error[h]);
    }
  }

  void finish(int c, const Column& column) {
    for (int i = 0; i < n; ++i) {
      for (int h = 0; h < 2; ++h) set_part(work_of(h).x[i * columns + c], column.best[h][i], part_of(h));
      for (int k = 0; k < groups; ++k) {
        Vector& value = group[k].work.x[i * columns + c];
        value = X::scale(value, half[k][i] - column.shift[k]);
      }
    }
  }

  /// Whether a solution may have underflowed.
  bool is_tiny(const Workspace<T, W>& work, int c, int lane) const {
    constexpr T least = sizeof(T) == sizeof(double) ? static_cast<T>(0x1p-970) : static_cast<T>(0x1p-104F);
    bool none = true, tiny = true;
    for (int i = 0; i < n; ++i) {
      none &= work.b[i * columns + c][lane] == 0;
      tiny &= !(work.x[i * columns + c][lane] >= least || work.x[i * columns + c][lane] <= -least);
    }
    return tiny && !none;
  }

  /// The lanes of group k that keep their refined solution.
  typename L::Mask whole_lanes(int k) const {
    const G& of = group[k];
    T errors[W];
    of.judge().backward_errors(errors);
    typename L::Mask whole{};
    for (int lane = 0; lane < W; ++lane) {
      bool good = of.input.not_finite[lane] == 0 && of.input.not_symmetric[lane] == 0 &&
                  pivots.first_bad[k * W + lane] == 0 && errors[lane] <= spd_resolve_above * u;
      for (std::int64_t e = 0; e < of.work.solution_size && good; ++e)
        good = of.work.x[e][lane] - of.work.x[e][lane] == 0;
      for (int c = 0; c < columns && good; ++c) good = !is_tiny(of.work, c, lane);
      whole[lane] = good ? -1 : 0;
    }
    return whole;
  }

  /// L D L^T in T, for the numbers about A and for the lanes that are not whole.
  void solve_in_t(G& of, typename L::Mask whole) {
    const Workspace<T, W>& work = of.work;
    Prefetch<T> none(nullptr, 0, 0, 1, 1);
    for (std::int64_t e = 0; e < work.solution_size; ++e) work.refined[e] = work.x[e];
    for (std::int64_t e = 0; e < panel_begin(panel_count(n)); ++e) work.l[e] = work.a[e];
    of.solve(none);
    if (!factors_in_t) of.status &= ~whole;
    for (std::int64_t e = 0; e < work.solution_size; ++e) work.x[e] = chosen(whole, work.refined[e], work.x[e]);
  }

  void run(std::int64_t first, int used) {
    for (int k = 0; k < groups; ++k) {
      const int in_group = used - k * W < W ? used - k * W : W;
      // A group without a system of its own repeats the last one, and writes nothing.
      group[k].input.load(group[k].work, in_group > 0 ? first + k * W : first + used - 1, in_group > 0 ? in_group : 1);
    }
    factor();
    for (int c = 0; c < columns; ++c) refine(c);
    for (int k = 0; k < groups; ++k) {
      const typename L::Mask whole = whole_lanes(k);
      group[k].status = typename L::Mask{};
      if (factors_in_t || any(~whole)) solve_in_t(group[k], whole);
      if (used > k * W) group[k].store(first + k * W, used - k * W < W ? used - k * W : W);
    }
  }
};

}  // namespace
}  // namespace smallbatch
