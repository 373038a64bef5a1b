// Many small SPD systems on one thread, one system per SIMD lane: from the batch in memory to every number of the
// answer. What happens to one group of matrices in between is in elimination.hpp.
//
// Element (i, j) of W systems lies in one vector of W lanes, so every step is the same instruction for W systems and no
// lane ever sees another: a system that fails leaves its neighbours alone, and its result does not depend on its lane.
//
// Inspection costs nothing where nothing is wrong. The upper triangle is compared with the lower bit by bit while both
// are transposed; only where some bit differs is the bound of core/systems.hpp evaluated. A NaN or an infinity in A or
// b ends in a pivot that is not positive and finite or in an x that is not finite, so the input of a group is searched
// for them only where that happened.
//
// Systems whose numbers are far from 1 are scaled by powers of two: D' A D' y = 2^t D' b, x = 2^-t D' y. That is exact,
// so it changes no bit of any result that would not have left the range of T.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/backward_error.hpp"
#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/kernels.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

/// Memory that is handed out in aligned pieces; without a beginning it only counts them.
class Carver {
 public:
  explicit Carver(void* begin) : begin_((char*)begin) {}
  template <class V>
  V* take(std::int64_t count) {
    V* const piece = begin_ == nullptr ? nullptr : (V*)(begin_ + taken_);
    const auto alignment = static_cast<std::int64_t>(ldlt_alignment);
    taken_ += (count * static_cast<std::int64_t>(sizeof(V)) + alignment - 1) / alignment * alignment;
    return piece;
  }
  [[nodiscard]] std::int64_t taken() const { return taken_; }

 private:
  char* begin_;
  std::int64_t taken_ = 0;
};

/// Asks for `systems` matrices in equal shares, line after line, so that memory works while something is computed.
template <class T>
class Prefetch {
 public:
  Prefetch(const T* first, std::int64_t step, int systems, std::int64_t matrix_size, int shares)
      : system_((const char*)first),
        step_(step * static_cast<std::int64_t>(sizeof(T))),
        size_(matrix_size * static_cast<std::int64_t>(sizeof(T))),
        left_(systems),
        share_(static_cast<int>((systems * ((size_ + line - 1) / line) + shares - 1) / shares)) {}
  void operator()() {
    asm volatile("");  // g++ removes calls of functions that do nothing but prefetch
    for (int k = 0; k < share_ && left_ > 0; ++k) {
      __builtin_prefetch(system_ + place_, 0, 2);
      place_ += line;
      if (place_ < size_) continue;
      place_ = 0;
      system_ += step_;
      --left_;
    }
  }

 private:
  static constexpr std::int64_t line = 64;
  const char* system_;
  std::int64_t step_, size_, place_ = 0;
  int left_, share_;
};

/// W systems of a task, from input to answer. Columns is the width of the elimination's tiles: 4 where there are 32
/// vector registers, 2 where there are 16.
template <class T, int W, int Columns>
struct Group {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using Wide = typename L::Wide;
  using E = Elimination<T, W, Columns>;
  using X = Exponents<L>;
  using Memory = Transposition<T, W>;
  static constexpr int part_lanes = W / L::parts;
  using WideExponents = Exponents<Lanes<double, part_lanes>>;

  // the task
  const LdltTask<T>& task;
  const int n, columns;  // columns of x: nrhs, n for the inverse, none for the determinant
  const bool dense;
  const std::int64_t matrix_size, rhs_size, solution_size;
  const bool keeps_a;
  Vector *a, *l;        // panels: A where it is kept; A, then its factors
  Vector *b, *x;        // n * nrhs; padded(n) * columns
  Vector *z, *inverse;  // padded(n)^2, for the inverse and rcond; n * n, for rcond without the inverse
  Vector* refined;      // n * nrhs, for refinement
  T *few_a, *few_b;     // W systems, for a group that is not full
  // the group
  const T *first_a, *first_b;
  std::int64_t a_step, b_step;
  bool scaled;                     // whether any lane is
  Mask half[padded_max];           // exponents of D', if scaled
  Mask* rhs_shift;                 // nrhs: t, the exponents by which right-hand sides were scaled
  Mask differing;                  // some a_ij and a_ji differ in some bit
  Mask not_finite, not_symmetric;  // found in the triangles that differ
  Mask unusable, vanished;         // x is not finite, or has underflowed
  Mask status;
  T rcond_lanes[W];
  Pivots<L> pivots;

  Group(const LdltTask<T>& the_task, Carver& carver)
      : task(the_task),
        n(the_task.n),
        columns(the_task.inverse ? the_task.n : the_task.nrhs),
        dense(the_task.storage == Storage::dense),
        matrix_size(the_task.storage == Storage::packed_lower ? n * (n + 1) / 2 : n * n),
        rhs_size(std::int64_t{n} * the_task.nrhs),
        solution_size(std::int64_t{n} * columns),
        keeps_a(the_task.solution.backward_error != nullptr || the_task.solution.rcond != nullptr ||
                the_task.method == SpdMethod::mixed) {
    const std::int64_t panels_size = panel_begin(panel_count(n)), square = padded(n) * padded(n);
    const bool inverts = task.inverse || task.solution.rcond != nullptr;
    l = carver.take<Vector>(panels_size);
    a = carver.take<Vector>(keeps_a ? panels_size : 0);
    b = carver.take<Vector>(rhs_size);
    x = carver.take<Vector>(std::int64_t{padded(n)} * columns);
    rhs_shift = carver.take<Mask>(task.nrhs);
    refined = carver.take<Vector>(task.method == SpdMethod::mixed ? solution_size : 0);
    z = carver.take<Vector>(inverts ? square : 0);
    inverse = carver.take<Vector>(inverts && !task.inverse ? n * n : 0);
    const bool all_full = task.count % (2 * W) == 0;  // in refinement, too
    few_a = carver.take<T>(all_full ? 0 : W * matrix_size);
    few_b = carver.take<T>(all_full ? 0 : W * rhs_size);
    if (l == nullptr) return;
    if (task.inverse) inverse = x;
    for (int i = n; i < padded(n); ++i)
      for (int j = 0; j < padded(n); ++j) {
        l[lower_place(i, j)] = Vector{};
        if (keeps_a) a[lower_place(i, j)] = Vector{};
      }
  }

  void fail(Mask where, std::int32_t info) { status = (status == 0) & where ? Mask{} + info : status; }

  // input

  std::int64_t row_begin(std::int64_t i) const {
    return task.storage == Storage::packed_lower ? i * (i + 1) / 2 : i * n;
  }

  /// Points to `used` systems of the task; fewer than W are copied, and the last one repeated.
  void point_to(std::int64_t first, int used) {
    first_a = task.a + first * task.a_step;
    first_b = task.b + (task.nrhs > 0 ? first * task.b_step : 0);
    a_step = task.a_step;
    b_step = task.b_step;
    if (used == W) return;
    for (int lane = 0; lane < W; ++lane) {
      const int k = lane < used ? lane : used - 1;
      __builtin_memcpy(few_a + lane * matrix_size, first_a + k * a_step, sizeof(T) * matrix_size);
      if (rhs_size > 0) __builtin_memcpy(few_b + lane * rhs_size, first_b + k * b_step, sizeof(T) * rhs_size);
    }
    first_a = few_a;
    first_b = few_b;
    a_step = matrix_size;
    b_step = rhs_size;
  }

  void load_strip(int i, int j, Vector* to) const {
    const std::int64_t place = row_begin(i) + j;
    if (place + panel_rows <= matrix_size)
      Memory::load(first_a + place, a_step, to);
    else
      Memory::load_within(first_a, a_step, place, matrix_size, to);
  }
  /// visit(i, j, a_ij) for the elements of row i right of its diagonal block.
  template <class Visit>
  void visit_right_of_block(int i, Visit visit) const {
    Vector strip[panel_rows];
    int j = i / panel_rows * panel_rows + panel_rows;
    for (; j + panel_rows <= n; j += panel_rows) {
      load_strip(i, j, strip);
#pragma GCC unroll 4
      for (int t = 0; t < panel_rows; ++t) visit(i, j + t, strip[t]);
    }
    if (j >= n) return;
    load_strip(i, j, strip);
    for (int t = 0; j + t < n; ++t) visit(i, j + t, strip[t]);
  }
  /// visit(i, j, a_ij) for j > i within the diagonal blocks, which are loaded whole.
  template <class Visit>
  void visit_blocks(Visit visit) const {
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n && j % panel_rows != 0; ++j)
        visit(i, j, l[panel_begin(i / panel_rows) + panel_rows * j + i % panel_rows]);
  }

  /// The lower triangle into panels, and the upper one past it. Rows come last to first, so that a_ji is there when
  /// a_ij passes, j > i.
  void load_matrix() {
    differing = not_finite = not_symmetric = Mask{};
    Mask difference{};  // in a register
    for (int i = n - 1; i >= 0; --i) {
      const std::int64_t begin = row_begin(i);
      const int end = dense ? n : i + 1;
      Vector strips[Memory::chunk];
      int j = 0;
      for (; j < end && begin + j + Memory::chunk <= matrix_size; j += Memory::chunk) {
        Memory::load_chunk(first_a + begin + j, a_step, strips);
#pragma GCC unroll 4
        for (int s = 0; s < Memory::chunk; s += panel_rows)
          if (j + s < end) take_strip(i, j + s, strips + s, difference);
      }
      for (; j < end; j += panel_rows) {
        load_strip(i, j, strips);
        take_strip(i, j, strips, difference);
      }
    }
    if (!dense) return;
    visit_blocks([this, &difference](int i, int j, Vector v) { difference |= (Mask)v ^ (Mask)l[lower_place(j, i)]; });
    differing = difference;
    if (any(differing)) judge_differences();
  }
  void take_strip(int i, int j, const Vector* strip, Mask& difference) {
    if (j <= i) {
      const std::int64_t place = panel_begin(i / panel_rows) + panel_rows * j + i % panel_rows;
#pragma GCC unroll 4
      for (int t = 0; t < panel_rows; ++t) l[place + panel_rows * t] = strip[t];
      if (!keeps_a) return;
#pragma GCC unroll 4
      for (int t = 0; t < panel_rows; ++t) a[place + panel_rows * t] = strip[t];
    } else {
      const Vector* const mirrored = l + panel_begin(j / panel_rows) + panel_rows * i;
      if (j + panel_rows <= n) {
#pragma GCC unroll 4
        for (int t = 0; t < panel_rows; ++t) difference |= (Mask)strip[t] ^ (Mask)mirrored[t];
      } else {
        for (int t = 0; j + t < n; ++t) difference |= (Mask)strip[t] ^ (Mask)mirrored[t];
      }
    }
  }

  /// What the differing triangles mean.
  void judge_differences() {
    Vector root[max_system_size];
    for (int i = 0; i < n; ++i) {
      const Vector diagonal = absolute(l[lower_place(i, i)]);
      for (int lane = 0; lane < W; ++lane)
        root[i][lane] = static_cast<T>(__builtin_sqrt(diagonal[lane]));  // in double: the same bits for a float
    }
    const auto judge = [this, &root](int i, int j, Vector v) {
      not_finite |= v - v != 0;
      const Vector bound = root[j] * (static_cast<T>(n) * L::eps);
      not_symmetric |= absolute(v - l[lower_place(j, i)]) > bound * root[i];
    };
    for (int i = 0; i < n; ++i) visit_right_of_block(i, judge);
    visit_blocks(judge);
  }

  void load_rhs() {
    for (std::int64_t e = 0; e < rhs_size; e += 4) {
      if (e + 4 <= rhs_size)
        Memory::load(first_b + e, b_step, b + e);
      else
        Memory::load_within(first_b, b_step, e, rhs_size, b + e);
    }
  }

  /// What is wrong with A or b: asked where the elimination met something odd.
  void inspect() {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; j += panel_rows) {
        Vector strip[panel_rows];
        load_strip(i, j, strip);
        for (int t = 0; t < panel_rows && j + t <= i; ++t) not_finite |= strip[t] - strip[t] != 0;
      }
    fail(not_finite, info_matrix_not_finite);
    fail(not_symmetric, info_matrix_not_symmetric);
    Mask bad{};
    for (std::int64_t e = 0; e < rhs_size; ++e) bad |= b[e] - b[e] != 0;
    fail(bad, info_rhs_not_finite);
  }

  // scaling

  void scale_matrix() {
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
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        l[lower_place(i, j)] = l[lower_place(i, j)] * X::power_of_two(half[i]) * X::power_of_two(half[j]);
  }
  Mask half_of(int i) const { return scaled ? half[i] : Mask{}; }

  void scale_rhs() {
    for (int c = 0; c < columns; ++c) {
      constexpr int lowest = -4 * L::exponent_bias;
      Mask top = Mask{} + lowest;
      for (int i = 0; i < n; ++i) {
        const Vector value = b[i * columns + c];
        top = larger(top, value != 0 ? X::of(value) + half_of(i) : Mask{} + lowest);
      }
      rhs_shift[c] = (top != lowest) & X::outside(top, L::rhs_window) ? -top : Mask{};
      const bool shifted = scaled || any(rhs_shift[c]);
      for (int i = 0; i < n; ++i) {
        const Vector value = b[i * columns + c];
        x[i * columns + c] = shifted ? X::scale(value, half_of(i) + rhs_shift[c]) : value;
      }
      for (int i = n; i < padded(n); ++i) x[i * columns + c] = Vector{};
    }
  }

  /// Back from the scaled system. An inverse has x = D' y D'.
  void finish_solution() {
    Mask bad{};
    vanished = Mask{};
    for (int c = 0; c < columns && !task.inverse; ++c)
      if (scaled || any(rhs_shift[c])) vanished |= underflows(c);
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < columns; ++c) {
        Vector& value = x[i * columns + c];
        if (task.inverse) {
          if (scaled) value = X::scale(value, half[i] + half[c]);
        } else if (scaled || any(rhs_shift[c])) {
          value = X::scale(value, half_of(i) - rhs_shift[c]);
        }
        bad |= value - value != 0;
      }
    unusable = bad;
  }
  /// Where column c of x is about to lose more than a few roundings because T has no numbers that small.
  Mask underflows(int c) const {
    constexpr int lowest = -8 * L::exponent_bias;
    Mask top = Mask{} + lowest;  // the exponent of the largest
    for (int i = 0; i < n; ++i) {
      const Vector y = x[i * columns + c];
      top = larger(top, y != 0 ? X::of(y) + half_of(i) - rhs_shift[c] : Mask{} + lowest);
    }
    if (!any((top > lowest) & (top < L::mantissa_bits - L::exponent_bias))) return Mask{};
    Vector lost{}, norm{};
    for (int i = 0; i < n; ++i) {
      const Mask exponent = half_of(i) - rhs_shift[c];
      const Vector y = x[i * columns + c], exact = X::scale(y, exponent - top);
      lost += absolute(exact - X::scale(X::scale(y, exponent), -top));
      norm += absolute(exact);
    }
    return lost > 4 * L::eps * norm;
  }

  // the numbers about A

  /// Lanes part * part_lanes and following of a vector in memory, in double precision.
  static Wide widen(const Vector& v, int part) {
    typename L::Part lanes;
    __builtin_memcpy(&lanes, (const T*)&v + part * part_lanes, sizeof(lanes));
    if constexpr (sizeof(T) == sizeof(double))
      return lanes;
    else
      return __builtin_convertvector(lanes, Wide);
  }
  /// 2^-exponent(v) as a factor; double precision input alone can leave the range of the sums below.
  static Wide normalizer(const Vector& v) {
    if constexpr (sizeof(T) == sizeof(float))
      return Wide{} + 1;
    else
      return X::normalizer(v);
  }
  static void put(Wide values, int part, T* lanes) {
    for (int lane = 0; lane < part_lanes; ++lane) lanes[part * part_lanes + lane] = static_cast<T>(values[lane]);
  }

  /// Element t of row m of a strip of a panel, with `factor`.
  static Wide widen_scaled(const Vector& v, int part, [[maybe_unused]] Wide factor) {
    if constexpr (sizeof(T) == sizeof(float))
      return widen(v, part);
    else
      return widen(v, part) * factor;
  }

  /// What brings the largest element of A next to 1.
  Wide matrix_factor() const {
    Vector largest{};
    for (int i = 0; i < n && sizeof(T) == 8; ++i)
      for (int j = 0; j <= i; ++j) largest = larger(largest, absolute(a[lower_place(i, j)]));
    return normalizer(largest);
  }
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

  /// The residual of column c times a_factor x_factor, for A = A^T; its norm and that of x times x_factor.
  struct Norms {
    Wide residual, x;
  };
  Norms residual_of(int c, int part, Wide a_factor, Wide x_factor, Wide* residual) const {
    Wide scaled_x[padded_max], norm_x{}, norm_r{};
    // Of b: both at once, so that no bit is lost on the way where one is large and the other small.
    const Wide product = a_factor * x_factor;
    const auto normal = (product >= 0x1p-1022) & (product <= 0x1p1023);
    const Wide first = normal ? product : a_factor, second = normal ? Wide{} + 1 : x_factor;
    for (int i = 0; i < n; ++i) {
      scaled_x[i] = widen(x[i * columns + c], part) * x_factor;
      norm_x += absolute(scaled_x[i]);
      const Wide right = task.inverse ? Wide{} + (i == c ? 1 : 0) : widen(b[i * columns + c], part);
      residual[i] = right * first * second;
    }
    for (int i = n; i < padded(n); ++i) scaled_x[i] = residual[i] = Wide{};
    if constexpr (sizeof(T) == sizeof(double))
      subtract_product_exactly(n, a, a_factor, part, scaled_x, residual);
    else
      subtract_product(n, a, a_factor, part, scaled_x, residual);
    for (int i = 0; i < n; ++i) norm_r += absolute(residual[i]);
    return {norm_r, norm_x};
  }
  /// What brings the largest element of column c of x next to 1; of all columns for the inverse.
  Wide solution_factor(int c) const {
    Vector largest{};
    for (int i = 0; i < n && sizeof(T) == 8; ++i)
      for (int k = task.inverse ? 0 : c; k < (task.inverse ? columns : c + 1); ++k)
        largest = larger(largest, absolute(x[i * columns + k]));
    return normalizer(largest);
  }

  /// The backward errors of the lanes of one part, for A = A^T.
  Wide backward_error(int part) const {
    const Wide a_factor = matrix_factor(), norm_a = norm_of_matrix(n, a, a_factor, part);
    Wide x_factor = solution_factor(0), residual[padded_max];
    Wide worst{}, worst_residual{}, norm_inverse{};
    for (int c = 0; c < columns; ++c) {
      if (!task.inverse) x_factor = solution_factor(c);
      const Norms norms = residual_of(c, part, a_factor, x_factor, residual);
      worst = larger(worst, norms.residual == 0 ? Wide{} : norms.residual / (norm_a * norms.x));
      worst_residual = larger(worst_residual, norms.residual);
      norm_inverse = larger(norm_inverse, norms.x);
    }
    return task.inverse ? worst_residual / (norm_a * norm_inverse) : worst;
  }

  /// The backward error of one lane whose A is symmetric up to rounding only: every element is read as it is stored.
  double stored_backward_error(int lane) const {
    return backward_error_of(SpdShape{n, task.nrhs, task.storage}, first_a + lane * a_step, first_b + lane * b_step,
                             (const T*)x + lane, W);
  }

  /// 1 / (||A||_1 ||A^-1||_1) of one part's lanes, from the inverse of the scaled system.
  Wide rcond(int part) const {
    const Wide a_factor = matrix_factor();
    Wide norm{};
    for (int j = 0; j < n; ++j) {
      Wide sum{};
      for (int i = 0; i < n; ++i) {
        Wide value = absolute(widen(inverse[i * n + j], part));
        // The inverse of A a_factor; in this order every product stays in range.
        if (scaled) value *= widen(X::power_of_two(half[i]), part);
        if (sizeof(T) == sizeof(double)) value /= a_factor;
        if (scaled) value *= widen(X::power_of_two(half[j]), part);
        sum += value;
      }
      norm = larger(norm, sum);
    }
    return 1 / (norm_of_matrix(n, a, a_factor, part) * norm);
  }

  /// ln det A of one part's lanes: the logarithm of the product of the pivots' mantissas, and their exponents.
  Wide log_determinant(int part) const {
    using Wider = WideExponents;
    typename L::WideMask exponents{};
    Wide mantissas = Wide{} + 1;
    for (int k = 0; k < n; ++k) {
      const Wide pivot = widen(pivots.d[k], part);
      const Wide normal = pivot < 0x1p-1022 ? pivot * 0x1p54 : pivot;
      const auto exponent = Wider::of(normal);
      mantissas *= normal * Wider::power_of_two(-exponent);
      exponents += exponent - ((pivot < 0x1p-1022) & 54);
    }
    Wide sum{};
    for (int lane = 0; lane < part_lanes; ++lane) {
      std::int64_t exponent = exponents[lane];
      for (int k = 0; k < n && scaled; ++k) exponent -= 2 * half[k][part * part_lanes + lane];
      constexpr double ln_2 = 0.693147180559945309417;
      sum[lane] = __builtin_log(mantissas[lane]) + static_cast<double>(exponent) * ln_2;
    }
    return sum;
  }

  Vector smallest_pivot() const {
    Vector smallest = Vector{} + L::largest;
    for (int k = 0; k < n; ++k)
      smallest = smaller(smallest, scaled ? X::scale(pivots.d[k], -2 * half[k]) : pivots.d[k]);
    return smallest;
  }

  // one group, from input to answer

  void eliminate(Prefetch<T>& prefetch) {
    const bool inverts = task.inverse || task.solution.rcond != nullptr;
    if (task.method == SpdMethod::gauss_jordan) {
      if (task.inverse) {
        E::sweep(n, l, pivots, inverse);
        return;
      }
      if (inverts) {
        Pivots<L> same;
        for (int e = 0; e < panel_begin(panel_count(n)); ++e) z[e] = l[e];
        E::sweep(n, z, same, inverse);
      }
      E::gauss_jordan(n, l, pivots, x, columns);
      return;
    }
    E::factor(n, l, pivots, prefetch);
    if (inverts) E::invert(n, l, pivots, z, inverse);
    if (!task.inverse) E::substitute_all(n, l, pivots, x, columns);
  }

  void load(std::int64_t first, int used) {
    point_to(first, used);
    load_matrix();
    load_rhs();
  }

  /// From the loaded group to x, the status and what the pivots tell.
  void solve(Prefetch<T>& prefetch) {
    scale_matrix();
    if (!task.inverse) scale_rhs();
    eliminate(prefetch);
    if (task.solution.rcond != nullptr)
      for (int part = 0; part < L::parts; ++part) put(rcond(part), part, rcond_lanes);
    finish_solution();

    status = Mask{};
    if (any(not_finite | not_symmetric | pivots.first_bad | unusable | vanished)) {
      inspect();
      status = status == 0 ? pivots.first_bad : status;
      fail(unusable, info_result_not_finite);
      fail(vanished, info_result_underflowed);
    }
  }

  void write(std::int64_t first, int used) {
    const SpdSolution<T>& out = task.solution;
    T errors[W];
    const bool some_failed = any(status);
    const T nan = static_cast<T>(__builtin_nan(""));
    for (int lane = 0; lane < used; ++lane) out.info[first + lane] = static_cast<std::int32_t>(status[lane]);
    if (out.backward_error != nullptr) {
      for (int part = 0; part < L::parts; ++part) put(backward_error(part), part, errors);
      for (int lane = 0; lane < used; ++lane) {
        if (differing[lane] != 0) errors[lane] = static_cast<T>(stored_backward_error(lane));
        out.backward_error[first + lane] = status[lane] != 0 ? nan : errors[lane];
      }
    }
    if (out.rcond != nullptr)
      for (int lane = 0; lane < used; ++lane) out.rcond[first + lane] = status[lane] != 0 ? nan : rcond_lanes[lane];
    if (out.smallest_pivot != nullptr) {
      const Vector smallest = smallest_pivot();
      for (int lane = 0; lane < used; ++lane)
        out.smallest_pivot[first + lane] = status[lane] != 0 ? nan : smallest[lane];
    }
    if (out.log_determinant != nullptr)
      for (int part = 0; part < L::parts; ++part) {
        const Wide logarithm = log_determinant(part);
        for (int lane = 0; lane < part_lanes && part * part_lanes + lane < used; ++lane)
          out.log_determinant[first + part * part_lanes + lane] =
              status[part * part_lanes + lane] != 0 ? __builtin_nan("") : logarithm[lane];
      }
    for (int lane = 0; lane < used; ++lane) {
      if (out.repaired != nullptr) out.repaired[first + lane] = 0;
      if (out.perturbation != nullptr) out.perturbation[first + lane] = status[lane] != 0 ? nan : T(0);
    }
    if (solution_size == 0) return;
    for (std::int64_t e = 0; e < solution_size && some_failed; ++e) x[e] = status != 0 ? Vector{} + nan : x[e];
    Memory::store_all(x, solution_size, used, out.x + first * out.x_stride, out.x_stride);
  }
};

}  // namespace
}  // namespace smallbatch
