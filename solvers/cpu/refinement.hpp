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

#include "solvers/cpu/group.hpp"

namespace smallbatch {
namespace {

/// As many systems of T at once as there are single-precision lanes: two groups of doubles, or one of floats.
template <class T, int W, int Columns>
struct Refinement {
  using G = Group<T, W, Columns>;
  using L = typename G::L;
  using Wide = typename G::Wide;
  using WideMask = typename L::WideMask;
  using X = typename G::X;
  using Doubles = typename G::WideExponents;
  static constexpr int groups = static_cast<int>(sizeof(T) / sizeof(float));
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

  template <int... Group>
  Refinement(const LdltTask<T>& task, Carver& carver, Indices<Group...>)
      : group{((void)Group, G(task, carver))...},
        l(carver.take<typename Single::Vector>(panel_begin(panel_count(task.n)))),
        correction(carver.take<typename Single::Vector>(padded(task.n))),
        n(task.n),
        columns(task.nrhs),
        factors_in_t(task.solution.rcond != nullptr || task.solution.smallest_pivot != nullptr ||
                     task.solution.log_determinant != nullptr) {
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
  G& group_of(int h) { return group[groups == 2 ? h : 0]; }
  static constexpr int part_of(int h) { return groups == 2 ? 0 : h; }
  /// To the precision of T.
  static Wide rounded(Wide values) {
    if constexpr (sizeof(T) == sizeof(double)) return values;
    typedef float Half __attribute__((vector_size(4 * half_lanes)));
    return __builtin_convertvector(__builtin_convertvector(values, Half), Wide);
  }
  static void set_part(typename L::Vector& v, Wide values, int part) {
    for (int lane = 0; lane < half_lanes; ++lane) v[part * half_lanes + lane] = static_cast<T>(values[lane]);
  }

  typename L::Mask half[groups][padded_max];  // exponents of D'
  Wide norm[2];                               // ||D' A D'||_1

  /// D' A D' of each group into its l, and its factors in single precision.
  void factor() {
    for (int k = 0; k < groups; ++k) {
      G& g = group[k];
      for (int i = 0; i < n; ++i) {
        const typename L::Vector diagonal = g.a[lower_place(i, i)];
        half[k][i] = (diagonal > 0) & -(X::of(diagonal) >> 1);
      }
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
          g.l[lower_place(i, j)] = g.a[lower_place(i, j)] * X::power_of_two(half[k][i]) * X::power_of_two(half[k][j]);
    }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        l[lower_place(i, j)] = narrowed(G::widen(group_of(0).l[lower_place(i, j)], part_of(0)),
                                        G::widen(group_of(1).l[lower_place(i, j)], part_of(1)));
    SingleElimination::factor(n, l, pivots, [] {});
    for (int h = 0; h < 2; ++h) norm[h] = G::norm_of_matrix(n, group_of(h).l, Wide{} + 1, part_of(h));
  }

  /// The exponent of the largest v_i; 0 where all are 0.
  WideMask top_of(const Wide* v) const {
    constexpr std::int64_t lowest = -5000;
    WideMask top = WideMask{} + lowest;
    for (int i = 0; i < n; ++i) top = larger(top, v[i] != 0 ? Doubles::of(v[i]) : WideMask{} + lowest);
    return (top != lowest) & top;
  }

  /// Refines column c of x.
  void refine(int c) {
    // Of D' A D' y = 2^t D' b, column c; y has the precision of T.
    typename L::Mask shift[groups];
    Wide right[2][padded_max]{}, y[2][padded_max]{}, best[2][padded_max]{}, residual[2][padded_max]{}, error[2];
    WideMask active[2];  // whether a system still improves
    for (int k = 0; k < groups; ++k) {
      constexpr int lowest = -4 * L::exponent_bias;
      G& g = group[k];
      typename L::Mask top = typename L::Mask{} + lowest;
      for (int i = 0; i < n; ++i) {
        const typename L::Vector value = g.b[i * columns + c];
        top = larger(top, value != 0 ? X::of(value) + half[k][i] : typename L::Mask{} + lowest);
      }
      shift[k] = (top != lowest) & -top;
      for (int i = 0; i < n; ++i) g.x[i * columns + c] = X::scale(g.b[i * columns + c], half[k][i] + shift[k]);
    }
    for (int h = 0; h < 2; ++h) {
      for (int i = 0; i < n; ++i) residual[h][i] = right[h][i] = G::widen(group_of(h).x[i * columns + c], part_of(h));
      active[h] = ~WideMask{};
      error[h] = Wide{} + __builtin_inf();
    }
    constexpr int most_steps = 30;  // as in LAPACK's dsposv
    for (int step = 0; step < most_steps && any(active[0] | active[1]); ++step) {
      const WideMask top[2] = {top_of(residual[0]), top_of(residual[1])};
      for (int i = 0; i < padded(n); ++i)
        correction[i] = narrowed(Doubles::scale(residual[0][i], -top[0]), Doubles::scale(residual[1][i], -top[1]));
      SingleElimination::template substitute<1>(n, l, pivots, correction, 1);
      for (int h = 0; h < 2; ++h) {
        Wide norm_y{}, norm_r{};
        for (int i = 0; i < n; ++i) {
          y[h][i] = rounded(best[h][i] + Doubles::scale(widened(correction[i], h), top[h]));
          norm_y += absolute(y[h][i]);
          residual[h][i] = right[h][i];
        }
        G::subtract_product(n, group_of(h).l, Wide{} + 1, part_of(h), y[h], residual[h]);
        for (int i = 0; i < n; ++i) norm_r += absolute(residual[h][i]);
        const Wide now = norm_r == 0 ? Wide{} : norm_r / (norm[h] * norm_y);
        const WideMask better = active[h] & (now < error[h]);
        for (int i = 0; i < n; ++i) best[h][i] = chosen(better, y[h][i], best[h][i]);
        active[h] = better & (now > 2 * u) & (now <= error[h] / 2);
        error[h] = chosen(better, now, error[h]);
      }
    }
    for (int i = 0; i < n; ++i) {
      for (int h = 0; h < 2; ++h) set_part(group_of(h).x[i * columns + c], best[h][i], part_of(h));
      for (int k = 0; k < groups; ++k) {
        typename L::Vector& value = group[k].x[i * columns + c];
        value = X::scale(value, half[k][i] - shift[k]);
      }
    }
  }

  /// Whether a solution may have underflowed.
  bool is_tiny(const G& part, int c, int lane) const {
    constexpr T least = sizeof(T) == sizeof(double) ? static_cast<T>(0x1p-970) : static_cast<T>(0x1p-104F);
    bool none = true, tiny = true;
    for (int i = 0; i < n; ++i) {
      none &= part.b[i * columns + c][lane] == 0;
      tiny &= !(part.x[i * columns + c][lane] >= least || part.x[i * columns + c][lane] <= -least);
    }
    return tiny && !none;
  }

  void solve(std::int64_t first, int used) {
    Prefetch<T> prefetch(nullptr, 0, 0, 1, 1);
    for (int g = 0; g < groups; ++g) {
      const int in_group = used - g * W < W ? used - g * W : W;
      // A group without a system of its own repeats the last one, and writes nothing.
      group[g].load(in_group > 0 ? first + g * W : first + used - 1, in_group > 0 ? in_group : 1);
    }
    factor();
    for (int c = 0; c < columns; ++c) refine(c);
    for (int k = 0; k < groups; ++k) {
      G& part = group[k];
      T errors[W];
      for (int p = 0; p < L::parts; ++p) G::put(part.backward_error(p), p, errors);
      typename L::Mask whole{};
      for (int lane = 0; lane < W; ++lane) {
        bool good = part.not_finite[lane] == 0 && part.not_symmetric[lane] == 0 &&
                    pivots.first_bad[k * W + lane] == 0 && errors[lane] <= spd_resolve_above * u;
        for (std::int64_t e = 0; e < part.solution_size && good; ++e) good = part.x[e][lane] - part.x[e][lane] == 0;
        for (int c = 0; c < columns && good; ++c) good = !is_tiny(part, c, lane);
        whole[lane] = good ? -1 : 0;
      }
      part.status = typename L::Mask{};
      if (factors_in_t || any(~whole)) {
        for (std::int64_t e = 0; e < part.solution_size; ++e) part.refined[e] = part.x[e];
        for (std::int64_t e = 0; e < panel_begin(panel_count(n)); ++e) part.l[e] = part.a[e];
        part.solve(prefetch);
        if (!factors_in_t) part.status &= ~whole;
        for (std::int64_t e = 0; e < part.solution_size; ++e) part.x[e] = chosen(whole, part.refined[e], part.x[e]);
      }
      if (used > k * W) part.write(first + k * W, used - k * W < W ? used - k * W : W);
    }
  }
};

}  // namespace
}  // namespace smallbatch
