// A = L D L^T without pivoting for many small systems at once, one system per SIMD lane:
//     d_k = a_kk,  l_ik = a_ik / d_k,  a_ij <- a_ij - l_ik a_jk   (i >= j > k);   L z = b,  y = D^-1 z,  L^T x = y.
//
// Element (i,j) of W systems lies in one vector of W lanes, so every step is the same instruction for W systems and no
// lane ever sees another: a system that fails leaves its neighbours alone, and its own result does not depend on its
// lane. A thread takes W systems, transposes them into that layout, inspects, factors, substitutes, measures the
// backward error in double precision, and transposes the solutions back.
//
// Systems whose numbers are far from 1 are scaled by powers of two: D' A D' y = 2^t D' b, x = 2^-t D' y. That is exact,
// so it changes no bit of any result that would not have left the range of T.
//
// This file is compiled once per instruction set with that set's flags. Everything in it therefore has internal linkage
// and it calls no inline function from elsewhere: the linker keeps one copy of those for the whole program, and it
// could be one that the processor cannot run.
#pragma once

#include <cstdint>

#include "core/batch.hpp"
#include "solvers/ldlt_lanes.hpp"

namespace smallbatch {
namespace {

template <class T, int W>
struct Lanes;
template <int W>
struct Lanes<float, W> {
  typedef float Vector __attribute__((vector_size(4 * W)));
  typedef std::int32_t Mask __attribute__((vector_size(4 * W)));
  // Double precision fills a register with half as many lanes; the compiler splits larger vectors badly.
  static constexpr int parts = 2;
  typedef float Part __attribute__((vector_size(4 * W / parts)));
  typedef double Wide __attribute__((vector_size(8 * W / parts)));
  static constexpr int mantissa_bits = 23, exponent_bias = 127;
  static constexpr int diagonal_window = 20, rhs_window = 40;  // exponents that need no scaling
  static constexpr double eps = 0x1p-23;
};
template <int W>
struct Lanes<double, W> {
  typedef double Vector __attribute__((vector_size(8 * W)));
  typedef std::int64_t Mask __attribute__((vector_size(8 * W)));
  static constexpr int parts = 1;
  typedef Vector Part;
  typedef Vector Wide;
  static constexpr int mantissa_bits = 52, exponent_bias = 1023;
  static constexpr int diagonal_window = 150, rhs_window = 300;
  static constexpr double eps = 0x1p-52;
};

constexpr int lower_index(int i, int j) { return i * (i + 1) / 2 + j; }

template <class V>
V absolute(V v) {
  return v < 0 ? -v : v;
}
template <class V>
V larger(V a, V b) {
  return a > b ? a : b;
}

template <class T, int W>
struct Group {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using Wide = typename L::Wide;

  static constexpr int part_lanes = W / L::parts;
  using Part = typename L::Part;
  /// Lanes part * part_lanes and following of a vector in memory, in double precision.
  static Wide widen(const Vector& v, int part) {
    Part lanes;
    __builtin_memcpy(&lanes, (const T*)&v + part * part_lanes, sizeof(Part));
    if constexpr (sizeof(T) == sizeof(double))
      return lanes;
    else
      return __builtin_convertvector(lanes, Wide);
  }
  static bool any(Mask mask) {
    Mask all = mask;
    for (int lane = 1; lane < W; ++lane) all[0] |= mask[lane];
    return all[0] != 0;
  }
  /// floor(log2 |v|); -bias where v is zero or subnormal.
  static Mask exponent(Vector v) {
    return (((Mask)v >> L::mantissa_bits) & (2 * L::exponent_bias + 1)) - L::exponent_bias;
  }
  /// 2^e, for e among the normal exponents.
  static Vector power_of_two(Mask e) { return (Vector)((e + L::exponent_bias) << L::mantissa_bits); }
  /// v 2^e in two steps, so that 2^e itself may lie outside the range of T.
  static Vector scale(Vector v, Mask e) {
    constexpr int limit = 2 * (L::exponent_bias - 1);
    e = e < -limit ? Mask{} - limit : e;
    e = e > limit ? Mask{} + limit : e;
    const Mask half = e >> 1;
    return v * power_of_two(half) * power_of_two(e - half);
  }
  static Mask outside(Mask e, int window) { return (e < -window) | (e > window); }

  // transposition between one system after another and one vector per element
  template <int Step, int... J>
  struct Swap {
    static constexpr Mask low{((J & Step) == 0 ? J : W + J - Step)...};
    static constexpr Mask high{((J & Step) == 0 ? J + Step : W + J)...};
  };
  template <int... J>
  struct Indices {
    template <int Step>
    static void exchange(Vector* rows) {
      for (int i = 0; i < W; ++i) {
        if (i & Step) continue;
        const Vector low = __builtin_shuffle(rows[i], rows[i + Step], Swap<Step, J...>::low);
        const Vector high = __builtin_shuffle(rows[i], rows[i + Step], Swap<Step, J...>::high);
        rows[i] = low;
        rows[i + Step] = high;
      }
    }
  };
  template <int Count, int... J>
  struct MakeIndices : MakeIndices<Count - 1, Count - 1, J...> {};
  template <int... J>
  struct MakeIndices<0, J...> {
    using Type = Indices<J...>;
  };
  /// Transposes a W x W block in log2(W) exchanges of its off-diagonal sub-blocks.
  template <int Step = 1>
  static void transpose(Vector* rows) {
    if constexpr (Step < W) {
      MakeIndices<W>::Type::template exchange<Step>(rows);
      transpose<2 * Step>(rows);
    }
  }
  /// to[e] = element e of each system; lanes from `used` on repeat the last system.
  static void interleave(const T* from, std::int64_t size, int used, Vector* to) {
    std::int64_t e = 0;
    for (; e + W <= size; e += W) {
      Vector rows[W];
      for (int lane = 0; lane < W; ++lane)
        __builtin_memcpy(&rows[lane], from + (lane < used ? lane : used - 1) * size + e, sizeof(Vector));
      transpose(rows);
      for (int k = 0; k < W; ++k) to[e + k] = rows[k];
    }
    for (; e < size; ++e)
      for (int lane = 0; lane < W; ++lane) to[e][lane] = from[(lane < used ? lane : used - 1) * size + e];
  }
  static void separate(const Vector* from, std::int64_t size, int used, T* to) {
    std::int64_t e = 0;
    for (; e + W <= size; e += W) {
      Vector rows[W];
      for (int k = 0; k < W; ++k) rows[k] = from[e + k];
      transpose(rows);
      for (int lane = 0; lane < used; ++lane) __builtin_memcpy(to + lane * size + e, &rows[lane], sizeof(Vector));
    }
    for (; e < size; ++e)
      for (int lane = 0; lane < used; ++lane) to[lane * size + e] = from[e][lane];
  }

  // one group
  int n, columns;  // columns of x: nrhs, or n for the inverse
  bool packed, inverse;
  Vector* a;                   // matrix_size: A as stored
  Vector* l;                   // n(n+1)/2: A, then L below the diagonal and 1/d on it
  Vector* b;                   // n * nrhs
  Vector* x;                   // n * columns
  Mask* rhs_shift;             // nrhs: t, the exponents by which right-hand sides were scaled
  Mask half[max_system_size];  // exponents of D'
  Mask status;

  const Vector& element(int i, int j) const {
    return a[packed ? (i >= j ? lower_index(i, j) : lower_index(j, i)) : i * n + j];
  }
  void fail(Mask where, std::int32_t info) { status = (status == 0) & where ? Mask{} + info : status; }

  void inspect(std::int64_t matrix_size) {
    status = Mask{};
    Mask bad{};
    for (std::int64_t e = 0; e < matrix_size; ++e) bad |= a[e] - a[e] != 0;
    fail(bad, info_matrix_not_finite);
    if (!packed) {
      Vector root[max_system_size];
      for (int i = 0; i < n; ++i) {
        const Vector diagonal = absolute(a[i * n + i]);
        for (int lane = 0; lane < W; ++lane)
          root[i][lane] = static_cast<T>(__builtin_sqrt(diagonal[lane]));  // in double: the same bits for a float
      }
      bad = Mask{};
      for (int i = 1; i < n; ++i) {
        const Vector bound = root[i] * static_cast<T>(n * L::eps);
        for (int j = 0; j < i; ++j) bad |= absolute(a[i * n + j] - a[j * n + i]) > bound * root[j];
      }
      fail(bad, info_matrix_not_symmetric);
    }
    if (!inverse) {
      bad = Mask{};
      for (int e = 0; e < n * columns; ++e) bad |= b[e] - b[e] != 0;
      fail(bad, info_rhs_not_finite);
    }
  }

  void load_matrix() {
    Mask scaled{};
    for (int i = 0; i < n; ++i) {
      half[i] = exponent(element(i, i));
      scaled |= (element(i, i) > 0) & outside(half[i], L::diagonal_window);
    }
    for (int i = 0; i < n; ++i) half[i] = scaled & (element(i, i) > 0) ? -(half[i] >> 1) : Mask{};
    const bool some_scaled = any(scaled);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        l[lower_index(i, j)] =
            some_scaled ? element(i, j) * power_of_two(half[i]) * power_of_two(half[j]) : element(i, j);
  }

  void factor() {
    for (int k = 0; k < n; ++k) {
      Vector column[max_system_size];
      const Vector pivot = l[lower_index(k, k)];
      fail(~(pivot > 0), k + 1);
      const Vector reciprocal = 1 / pivot;
      for (int i = k + 1; i < n; ++i) column[i] = l[lower_index(i, k)];
      for (int i = k + 1; i < n; ++i) {
        Vector* row = l + lower_index(i, 0);
        const Vector multiplier = column[i] * reciprocal;
        for (int j = k + 1; j <= i; ++j) row[j] -= multiplier * column[j];
        row[k] = multiplier;
      }
      l[lower_index(k, k)] = reciprocal;
    }
  }

  void load_rhs() {
    if (inverse) {
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < n; ++c) x[i * n + c] = i == c ? power_of_two(half[i]) : Vector{};
      return;
    }
    for (int c = 0; c < columns; ++c) {
      constexpr int lowest = -4 * L::exponent_bias;
      Mask top = Mask{} + lowest;
      for (int i = 0; i < n; ++i)
        top = larger(top, b[i * columns + c] != 0 ? exponent(b[i * columns + c]) + half[i] : Mask{} + lowest);
      rhs_shift[c] = (top != lowest) & outside(top, L::rhs_window) ? -top : Mask{};
      for (int i = 0; i < n; ++i) x[i * columns + c] = scale(b[i * columns + c], half[i] + rhs_shift[c]);
    }
  }

  /// R columns from c on.
  template <int R>
  void substitute(int c) {
    for (int k = 0; k < n; ++k) {
      Vector* z = x + k * columns + c;
      for (int i = k + 1; i < n; ++i)
        for (int r = 0; r < R; ++r) x[i * columns + c + r] -= l[lower_index(i, k)] * z[r];
      for (int r = 0; r < R; ++r) z[r] *= l[lower_index(k, k)];
    }
    for (int i = n - 1; i > 0; --i) {
      const Vector* y = x + i * columns + c;
      for (int k = 0; k < i; ++k)
        for (int r = 0; r < R; ++r) x[k * columns + c + r] -= l[lower_index(i, k)] * y[r];
    }
  }

  /// Back from the scaled system; an inverse is made exactly symmetric.
  void finish_solution() {
    Mask bad{};
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < columns; ++c) {
        Vector& value = x[i * columns + c];
        value = scale(value, inverse ? half[i] : half[i] - rhs_shift[c]);
        if (inverse && c < i) x[c * columns + i] = value;
        bad |= value - value != 0;
      }
    fail(bad, info_result_not_finite);
  }

  /// 2^-exponent(v) as a factor; double precision input alone can leave the range of the sums below.
  static Wide normalizer(const Vector& v) {
    if constexpr (sizeof(T) == sizeof(float)) {
      return Wide{} + 1;
    } else {
      Mask e = exponent(v);
      e = e < -L::exponent_bias + 1 ? Mask{} - L::exponent_bias + 1 : e;
      e = e > L::exponent_bias - 1 ? Mask{} + L::exponent_bias - 1 : e;
      return power_of_two(-e);
    }
  }

  /// The backward errors of the lanes of one part.
  Wide backward_error(std::int64_t matrix_size, int part) const {
    Vector largest{};
    for (std::int64_t e = 0; e < matrix_size && sizeof(T) == 8; ++e) largest = larger(largest, absolute(a[e]));
    const Wide a_factor = normalizer(largest);
    Wide column_sum[max_system_size]{}, norm_a{};
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) column_sum[j] += absolute(widen(element(i, j), part)) * a_factor;
    for (int j = 0; j < n; ++j) norm_a = larger(norm_a, column_sum[j]);

    Vector largest_x{};
    for (int e = 0; e < n * n && inverse && sizeof(T) == 8; ++e) largest_x = larger(largest_x, absolute(x[e]));
    Wide worst{}, worst_residual{}, norm_inverse{};
    for (int c = 0; c < columns; ++c) {
      if (!inverse) largest_x = Vector{};
      for (int i = 0; i < n && !inverse && sizeof(T) == 8; ++i)
        largest_x = larger(largest_x, absolute(x[i * columns + c]));
      const Wide x_factor = normalizer(largest_x);
      Wide scaled_x[max_system_size], norm_x{}, residual{};
      for (int i = 0; i < n; ++i) {
        scaled_x[i] = widen(x[i * columns + c], part) * x_factor;
        norm_x += absolute(scaled_x[i]);
      }
      for (int i = 0; i < n; ++i) {
        const Wide right = inverse ? Wide{} + (i == c ? 1 : 0) : widen(b[i * columns + c], part);
        Wide sum = right * a_factor * x_factor;
        for (int j = 0; j < n; ++j) sum -= widen(element(i, j), part) * a_factor * scaled_x[j];
        residual += absolute(sum);
      }
      worst = larger(worst, residual == 0 ? Wide{} : residual / (norm_a * norm_x));
      worst_residual = larger(worst_residual, residual);
      norm_inverse = larger(norm_inverse, norm_x);
    }
    return inverse ? worst_residual / (norm_a * norm_inverse) : worst;
  }
};

template <class T, int W>
void solve_in_lanes(const LdltTask<T>& task) {
  using G = Group<T, W>;
  const std::int64_t n = task.n;
  const std::int64_t packed_size = n * (n + 1) / 2;
  const std::int64_t matrix_size = task.packed ? packed_size : n * n;
  G group;
  group.n = task.n;
  group.inverse = task.nrhs == 0;
  group.columns = group.inverse ? task.n : task.nrhs;
  group.packed = task.packed;
  group.a = (typename G::Vector*)task.workspace;
  group.l = group.a + matrix_size;
  group.b = group.l + packed_size;
  group.x = group.b + n * task.nrhs;
  group.rhs_shift = (typename G::Mask*)(group.x + n * group.columns);
  for (std::int64_t first = 0; first < task.count; first += W) {
    const int used = task.count - first < W ? static_cast<int>(task.count - first) : W;
    G::interleave(task.a + first * matrix_size, matrix_size, used, group.a);
    if (!group.inverse) G::interleave(task.b + first * n * task.nrhs, n * task.nrhs, used, group.b);
    group.inspect(matrix_size);
    group.load_matrix();
    group.factor();
    group.load_rhs();
    int column = 0;
    for (; column + 4 <= group.columns; column += 4) group.template substitute<4>(column);
    for (; column < group.columns; ++column) group.template substitute<1>(column);
    group.finish_solution();
    T error[W];
    for (int part = 0; part < G::L::parts; ++part) {
      const typename G::Wide errors = group.backward_error(matrix_size, part);
      for (int lane = 0; lane < G::part_lanes; ++lane)
        error[part * G::part_lanes + lane] = static_cast<T>(errors[lane]);
    }

    const T nan = static_cast<T>(__builtin_nan(""));
    for (int e = 0; e < task.n * group.columns; ++e)
      group.x[e] = group.status != 0 ? typename G::Vector{} + nan : group.x[e];
    G::separate(group.x, n * group.columns, used, task.x + first * n * group.columns);
    for (int lane = 0; lane < used; ++lane) {
      task.info[first + lane] = static_cast<std::int32_t>(group.status[lane]);
      task.backward_error[first + lane] = group.status[lane] != 0 ? nan : error[lane];
    }
  }
}

}  // namespace
}  // namespace smallbatch
