// Systems of more than 64 rows: A = L D L^T, and all that its factors are asked for.
//
// A block of 128 threads <-> a system, a thread <-> a row. The lower triangle lies in shared memory, in panels of 8
// columns each, column after column: threads of neighbouring rows read neighbouring numbers, of a column 16 bytes at a
// time, and so do threads of neighbouring columns that read along a row, because of the padding between columns. n is
// padded to whole panels with identity rows.
//
// A panel's diagonal block is factored by every thread on its own, in registers, which takes no barrier; then each
// thread has a row of the panel, and then tiles of 4 x 4 of what the panel takes from the columns behind it. The
// inverse is X = Y D^-1 Y^T, L^T Y = I, Y^T in place of L (Higham, chapter 14, for why not Y L^T = I); the residual is
// computed from A, which is loaded once more.
#include <type_traits>

#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/pivot_numbers.cuh"
#include "solvers/cuda/stored_judgement.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

constexpr int block_threads = max_system_size, block_warps = block_threads / warp_lanes;
constexpr int panel_columns = 8, tile_side = 4;
constexpr int together = 8;  // right-hand sides, where there are several

/// Of a multiprocessor, whose shared memory has room for so many large systems.
template <class T>
constexpr int resident_blocks = sizeof(T) == sizeof(float) ? 5 : 3;

constexpr int padded_rows(int n) { return (n + panel_columns - 1) / panel_columns * panel_columns; }

/// A lower triangle in shared memory, with the upper ones of its diagonal blocks.
template <class T>
struct Panels {
  static constexpr int piece = 16 / sizeof(T), padding = piece;  // numbers in a 16-byte access; between columns
  T* first;
  int rows;  // padded

  static constexpr int size(int rows) {
    const int panels = rows / panel_columns;
    return panel_columns * panels * (rows + padding) - panel_columns * panel_columns / 2 * panels * (panels - 1);
  }
  /// Where element (0, column) would lie.
  [[nodiscard]] __device__ __forceinline__ T* column(int j) const {
    const int before = j & ~(panel_columns - 1);
    return first + before * (rows + padding) - before * (before - panel_columns) / 2 +
           (j - before) * (rows - before + padding) - before;
  }
  /// j <= i, or both in one diagonal block.
  [[nodiscard]] __device__ __forceinline__ T& at(int i, int j) const { return column(j)[i]; }
};

/// Numbers in 16-byte accesses; from `First` on.
template <int First = 0, int Count, class T>
__device__ __forceinline__ void load_run(const T* from, T (&to)[Count]) {
  constexpr int piece = Panels<T>::piece;
#pragma unroll
  for (int i = First; i < Count; i += piece) {
    const auto part = *reinterpret_cast<const Vector<T, piece>*>(from + i);
#pragma unroll
    for (int k = 0; k < piece; ++k) to[i + k] = part.value[k];
  }
}
template <int Count, class T>
__device__ __forceinline__ void store_run(const T (&from)[Count], T* to) {
  constexpr int piece = Panels<T>::piece;
#pragma unroll
  for (int i = 0; i < Count; i += piece) {
    Vector<T, piece> part;
#pragma unroll
    for (int k = 0; k < piece; ++k) part.value[k] = from[i + k];
    *reinterpret_cast<Vector<T, piece>*>(to + i) = part;
  }
}

// Reductions over the block; all threads call.

/// Of each warp; the reductions share it.
union Parts {
  double of_double[block_warps];
  float of_float[block_warps];
  int of_int[block_warps];
};
template <class V>
__device__ V* parts_of(Parts& parts) {
  if constexpr (std::is_same_v<V, double>) return parts.of_double;
  if constexpr (std::is_same_v<V, float>) return parts.of_float;
  if constexpr (std::is_same_v<V, int>) return parts.of_int;
}
template <class V, class Join>
__device__ __forceinline__ V joined(V of_warp, Join&& join) {
  __shared__ Parts memory;
  V* const parts = parts_of<V>(memory);
  __syncthreads();  // the last reduction has been read
  if (threadIdx.x % warp_lanes == 0) parts[threadIdx.x / warp_lanes] = of_warp;
  __syncthreads();  // all parts are there
  V all = parts[0];
#pragma unroll
  for (int w = 1; w < block_warps; ++w) all = join(all, parts[w]);
  return all;
}
template <class V>
__device__ V sum_of_block(V value) {
  return joined(sum_of_group<warp_lanes>(value), [](V a, V b) { return a + b; });
}
template <class V>
__device__ V max_of_block(V value) {
  return joined(max_of_group<warp_lanes>(value), [](V a, V b) { return max(a, b); });
}
__device__ bool any_of_block(bool value) { return __syncthreads_or(static_cast<int>(value)) != 0; }

/// What a block keeps of a system besides its triangle.
template <class T>
struct WideMemory {
  static constexpr int judged_together = sizeof(T) == sizeof(float) ? 4 : 1;  // columns of x
  struct Substitution {
    T right[2][panel_columns * together];             // of a panel's rows: published by their threads
    T solved[block_warps][panel_columns * together];  // and solved, by each warp for itself
  };
  T reciprocal[block_threads];  // 1 / d
  short exponent[block_threads];
  // Here, not in registers.
  double norm;  // ||A||_1 2^-norm_exponent, where it is wanted
  int norm_exponent;
  std::int32_t of_input;  // the status of the input, where its triangles differ
  bool differ;
  union {
    T diagonal[panel_columns][panel_columns];  // block of a panel: [column][row]
    Substitution substitution;
    typename Residual<T>::Factor x[judged_together][block_threads];
  };
};

/// What all steps share: a system, and whose work a thread does.
template <class T>
struct Wide {
  const Arguments<T>& args;
  std::int64_t system;
  Panels<T> a;
  WideMemory<T>& memory;
  int rows;  // n of the system, which args.n may be more than
  int row;   // the thread's
  bool far;  // it is scaled

  [[nodiscard]] __device__ int columns_of_x() const { return args.inverse ? args.n : args.nrhs; }
  [[nodiscard]] __device__ int lane() const { return row % warp_lanes; }
  [[nodiscard]] __device__ int exponent() const { return far ? memory.exponent[row] : 0; }
  [[nodiscard]] __device__ const T* row_of_a(int i) const {
    return args.a + system * args.a_step + (args.storage == Storage::packed_lower ? i * (i + 1) / 2 : i * args.n);
  }
};

/// The lower triangle, from global memory.
template <class T>
__device__ void load_triangle(const Wide<T>& w) {
  const int n = w.rows;
  // The copies go row by row.
#pragma unroll 2
  for (int i = w.row / warp_lanes; i < n; i += block_warps) {
    const T* const from = w.row_of_a(i);
#pragma unroll
    for (int u = 0; u < block_warps; ++u) {
      const int j = warp_lanes * u + w.lane();
      if (j > i) continue;
      const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&w.a.at(i, j)));
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from + j), "n"(sizeof(T)) : "memory");
    }
  }
  if (w.row < w.a.rows)
    for (int i = max(n, w.row & ~(panel_columns - 1)); i < w.a.rows; ++i) w.a.at(i, w.row) = i == w.row ? T(1) : T(0);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();  // the triangle is complete
}

/// Whether a bit of the triangles of a dense matrix differs.
template <class T>
__device__ bool triangles_differ(const Wide<T>& w) {
  const int n = w.rows;
  unsigned bits = 0;
#pragma unroll 4
  for (int i = w.row / warp_lanes; i < n; i += block_warps) {
    const T *const from = w.row_of_a(i), *const column = w.a.column(i);
#pragma unroll
    for (int u = 0; u < block_warps; ++u)
      if (const int j = warp_lanes * u + w.lane(); j > i && j < n) bits |= differing_bits(from[j], column[j]);
  }
  return any_of_block(bits != 0);
}

/// ||A||_1 of the triangle, in double precision.
template <class T>
__device__ void find_norm(const Wide<T>& w) {
  const int n = w.rows;
  int exponent = 0;
  if constexpr (sizeof(T) == sizeof(double))
    exponent = -normalizing_exponent(max_of_block(w.row < n ? abs(w.a.at(w.row, w.row)) : T(0)));
  const double factor = power_of_two<double>(-exponent);
  double sum = 0;
  if (w.row < n)
#pragma unroll 4
    for (int j = 0; j < n; ++j) sum += abs(static_cast<double>(w.a.at(max(w.row, j), min(w.row, j))) * factor);
  sum = max_of_block(sum);
  if (w.row == 0) {
    w.memory.norm = sum;
    w.memory.norm_exponent = exponent;
  }
}

/// D A D, D where the diagonal is far from 1; of factors, whose L it becomes instead, too.
template <bool Factors, class T>
__device__ bool scale_triangle(const Wide<T>& w) {
  const bool mine = w.row < w.rows;
  const T diagonal = mine ? w.a.at(w.row, w.row) : T(1);
  if (!any_of_block(far_bits(diagonal) != 0)) return false;
  w.memory.exponent[w.row] = static_cast<short>(diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0);
  __syncthreads();  // the exponents are there
  if (mine) {
    const T power = power_of_two<T>(w.memory.exponent[w.row]);
#pragma unroll 1
    for (int j = 0; j <= w.row; ++j) {
      const int other = w.memory.exponent[j];
      T& value = w.a.at(w.row, j);
      value = value * power * power_of_two<T>(Factors && j < w.row ? -other : other);
    }
  }
  __syncthreads();  // the triangle is scaled
  return true;
}

/// L D L^T in place of the triangle, and 1 / d.
template <class T>
__device__ __forceinline__ void factor(const Wide<T>& w) {
  constexpr int P = panel_columns, S = tile_side;
  const Panels<T> a = w.a;
#pragma unroll 1
  for (int k0 = 0; k0 < a.rows; k0 += P) {
    const int first = k0 + P;  // row behind the diagonal block
    const int i = first + w.row;
    T l[P][P], c[P];  // [column][row] of the block; the thread's row of the panel
    unrolled<P>([&](auto k) __attribute__((always_inline)) {
      load_run<k / Panels<T>::piece * Panels<T>::piece>(a.column(k0 + k) + k0, l[k]);
      c[k] = i < a.rows ? a.at(i, k0 + k) : T(0);
    });
#pragma unroll
    for (int k = 0; k < P; ++k) {
      const T inverse = reciprocal(l[k][k]);
      if (i < a.rows) a.at(i, k0 + k) = c[k] * inverse;
#pragma unroll
      for (int m = k + 1; m < P; ++m) {
        const T below = l[k][m] * inverse;
#pragma unroll
        for (int t = k + 1; t <= m; ++t) l[t][m] = fma(-below, l[k][t], l[t][m]);
        c[m] = fma(-below, c[k], c[m]);
      }
      // The block itself by way of another place: it may still be read.
      if (w.row == block_threads - 1) {
        w.memory.reciprocal[k0 + k] = inverse;
        w.memory.diagonal[k][k] = l[k][k];
#pragma unroll
        for (int m = k + 1; m < P; ++m) w.memory.diagonal[k][m] = l[k][m] * inverse;
      }
    }
    __syncthreads();  // the rows of the panel are complete, and the diagonal block has been read
    if (w.row < P * P) a.at(k0 + w.row % P, k0 + w.row / P) = w.memory.diagonal[w.row / P][w.row % P];
    // The tiles by columns, so that neighbouring threads have neighbouring rows.
    const int side = (a.rows - first) / S, tiles = side * (side + 1) / 2;
#pragma unroll 1
    for (int t = w.row; t < tiles; t += block_threads) {
      const int rest = tiles - 1 - t;
      const int from_end = static_cast<int>((sqrtf(static_cast<float>(8 * rest + 1)) - 1) / 2);
      const int j = first + S * (side - 1 - from_end);
      const int i = first + S * (side - 1 - (rest - from_end * (from_end + 1) / 2));
      T sum[S][S];  // [column][row]
#pragma unroll
      for (int c = 0; c < S; ++c) load_run(a.column(j + c) + i, sum[c]);
#pragma unroll 2
      for (int k = 0; k < P; ++k) {
        const T* const column = a.column(k0 + k);
        T own[S], other[S];
        load_run(column + i, own);
        load_run(column + j, other);
#pragma unroll
        for (int c = 0; c < S; ++c) {
          const T scaled = other[c] * w.memory.diagonal[k][k];
#pragma unroll
          for (int r = 0; r < S; ++r) sum[c][r] = fma(-scaled, own[r], sum[c][r]);
        }
      }
#pragma unroll
      for (int c = 0; c < S; ++c) store_run(sum[c], a.column(j + c) + i);
    }
    __syncthreads();  // the step is complete
  }
}

/// L y = b, or L^T y = b, in place of R columns of b, panel after panel up to the last, or from the one with row
/// `begin` back to the first: the thread's row of each in its registers.
template <int R, bool Transposed, class T>
__device__ __forceinline__ void substitute(const Wide<T>& w, int begin, T (&y)[R]) {
  constexpr int P = panel_columns;
  const Panels<T> a = w.a;
  const int lane = w.lane(), first_of_warp = w.row - lane;
  T* const solved = w.memory.substitution.solved[w.row / warp_lanes];
#pragma unroll 1
  for (int k0 = begin; Transposed ? k0 >= 0 : k0 < a.rows; k0 += Transposed ? -P : P) {
    T* const right = w.memory.substitution.right[k0 / P % 2];
    const int place = w.row - k0;  // within the panel
    const bool inside = place >= 0 && place < P;
    if (inside)
#pragma unroll
      for (int c = 0; c < R; ++c) right[place * R + c] = y[c];
    __syncthreads();  // the right-hand sides of the panel are there
    // Warps that are done, or beyond what is known.
    if (Transposed ? first_of_warp >= k0 + P : first_of_warp + warp_lanes <= k0) continue;
    if (lane < R) {
      T z[P];
#pragma unroll
      for (int k = 0; k < P; ++k) z[k] = right[k * R + lane];
#pragma unroll
      for (int step = 0; step < P; ++step) {
        const int k = Transposed ? P - 1 - step : step;
#pragma unroll
        for (int m = 0; m < P; ++m)
          if (Transposed ? m < k : m > k)
            z[m] = fma(-(Transposed ? a.at(k0 + k, k0 + m) : a.at(k0 + m, k0 + k)), z[k], z[m]);
      }
#pragma unroll
      for (int k = 0; k < P; ++k) solved[k * R + lane] = z[k];
    }
    __syncwarp();  // the panel is solved
    if (inside) {
#pragma unroll
      for (int c = 0; c < R; ++c) y[c] = solved[place * R + c];
    } else if (Transposed ? place < 0 : place >= P && w.row < a.rows) {
      T l[P];
      if constexpr (Transposed) {
        load_run(a.column(w.row) + k0, l);
      } else {
#pragma unroll
        for (int k = 0; k < P; ++k) l[k] = a.at(w.row, k0 + k);
      }
#pragma unroll
      for (int k = 0; k < P; ++k)
#pragma unroll
        for (int c = 0; c < R; ++c) y[c] = fma(-l[k], solved[k * R + c], y[c]);
    }
  }
  __syncthreads();  // what was published has been read
}

/// L D L^T y = b, in place of b.
template <int R, class T>
__device__ __forceinline__ void solve(const Wide<T>& w, T (&y)[R]) {
  substitute<R, false>(w, 0, y);
#pragma unroll
  for (int c = 0; c < R; ++c) y[c] *= w.row < w.a.rows ? w.memory.reciprocal[w.row] : T(0);
  substitute<R, true>(w, w.a.rows - panel_columns, y);
}

/// y 2^exponent, a row of a solution; whether that loses more than a few roundings because T has no numbers that small.
/// The whole block calls.
template <class T>
__device__ bool rescale_of_block(T& y, int exponent) {
  constexpr int lowest = -8 * Traits<T>::exponent_bias;
  const int top = max_of_block(y != 0 ? exponent_of(y) + exponent : lowest);  // of the largest
  const T value = y;
  y = scale(value, exponent);
  if (!(top > lowest && top < Traits<T>::mantissa_bits - Traits<T>::exponent_bias)) return false;
  const T exact = scale(value, exponent - top);
  const T lost = sum_of_block(abs(exact - scale(y, -top))), norm = sum_of_block(abs(exact));
  return lost > 4 * Traits<T>::eps * norm;
}

/// What became of the right-hand sides.
struct Outcome {
  bool bad = false, bad_rhs = false;  // of the thread's numbers: x, or b, is not finite
  bool tiny = false;                  // a solution has underflowed
};

/// Solutions for the right-hand sides first .. first + R - 1, as far as there are so many.
template <int R, class T>
__device__ __forceinline__ void solve_columns(const Wide<T>& w, int first, Outcome& outcome) {
  const std::int64_t nrhs = w.args.nrhs;
  const bool mine = w.row < w.rows;
  T y[R];
  bool far = false;
#pragma unroll
  for (int c = 0; c < R; ++c) {
    y[c] = mine && first + c < nrhs ? w.args.b[w.system * w.args.b_step + w.row * nrhs + first + c] : T(0);
    far |= is_far(y[c], Traits<T>::rhs_window);
    outcome.bad_rhs |= not_finite(y[c]);
  }
  int shift[R];
  const bool scaled = any_of_block(far || w.far);
  if (scaled) {
#pragma unroll
    for (int c = 0; c < R; ++c) {
      constexpr int lowest = -4 * Traits<T>::exponent_bias;
      const int top = max_of_block(y[c] != 0 ? exponent_of(y[c]) + w.exponent() : lowest);
      shift[c] = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
      y[c] = scale(y[c], w.exponent() + shift[c]);
    }
  }
  solve<R>(w, y);
  if (scaled) {
#pragma unroll
    for (int c = 0; c < R; ++c)
      if (rescale_of_block(y[c], w.exponent() - shift[c])) outcome.tiny = true;
  }
#pragma unroll
  for (int c = 0; c < R; ++c) {
    outcome.bad |= mine && not_finite(y[c]);
    if (mine && first + c < nrhs) w.args.to.x[w.system * w.args.to.x_stride + w.row * nrhs + first + c] = y[c];
  }
}

template <class T>
__device__ __forceinline__ Outcome solve_all(const Wide<T>& w) {
  Outcome outcome;
  if (w.args.nrhs == 1) {
    solve_columns<1>(w, 0, outcome);
  } else {
#pragma unroll 1
    for (int first = 0; first < w.args.nrhs; first += together) solve_columns<together>(w, first, outcome);
  }
  return outcome;
}

/// Y^T in place of L, L^T Y = I: row after row from the last one on, because a row needs those above it alone.
template <class T>
__device__ __forceinline__ void invert_factor(const Wide<T>& w) {
  constexpr int P = panel_columns;
  static_assert(P == together);
#pragma unroll 1
  for (int row = w.a.rows - P; row >= 0; row -= P) {
    T y[P];
#pragma unroll
    for (int c = 0; c < P; ++c) y[c] = w.row == row + c ? T(1) : T(0);
    substitute<P, true>(w, row, y);
    if (w.row < row + P) store_run(y, w.a.column(w.row) + row);
    __syncthreads();  // the rows are complete
  }
}

/// Calls visit(j, x) for the elements of the thread's row of Y D^-1 Y^T, of which those of a pair are the same bits.
/// All lanes of a warp call.
template <class T, class Visit>
__device__ __forceinline__ void visit_inverse(const Wide<T>& w, Visit&& visit) {
  constexpr int S = tile_side, piece = Panels<T>::piece;
  const auto panel_of = [](int i) { return i & ~(panel_columns - 1); };
  const int begin = panel_of(min(w.row, w.a.rows - 1));
  const T* const own_column = w.a.column(min(w.row, w.a.rows - 1));
#pragma unroll 1
  for (int j = 0; j < w.rows; j += S) {
    T sum[S]{};
#pragma unroll 1
    for (int k = max(w.row - w.lane(), panel_of(j)); k < w.a.rows; k += piece) {
      if (k < begin) continue;
      T own[piece], per_pivot[piece];
      load_run(own_column + k, own);
      load_run(w.memory.reciprocal + k, per_pivot);
#pragma unroll
      for (int c = 0; c < S; ++c) {
        T other[piece];
        load_run(w.a.column(j + c) + k, other);
#pragma unroll
        for (int i = 0; i < piece; ++i) sum[c] = fma(own[i] * other[i], per_pivot[i], sum[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < S; ++c)
      if (j + c < w.rows) visit(j + c, sum[c]);
  }
}

/// A^-1, of which Y^T is there; whether a number is not finite.
template <class T>
__device__ __forceinline__ bool store_inverse(const Wide<T>& w) {
  T* const x = w.args.to.x + w.system * w.args.to.x_stride;
  bool bad = false;
  visit_inverse(w, [&](int j, T value) {
    if (w.row >= w.rows) return;
    if (w.far) value = scale(value, w.memory.exponent[w.row] + w.memory.exponent[j]);
    bad |= not_finite(value);
    x[j * w.args.n + w.row] = value;  // the other one of the pair: so do neighbouring threads store side by side
  });
  return bad;
}

/// rcond = 1 / (||A||_1 ||A^-1||_1). Where A has no inverse in T although its pivots are positive, it
/// is singular to working precision: 0.
template <class T>
__device__ __forceinline__ void store_rcond(const Wide<T>& w) {
  int shift = 0;  // of the largest element of A^-1, where it is far from 1
  if (w.far) {
    // Of A^-1 >= 1 / a_ii; that of the largest is near enough.
    shift = max_of_block(w.row < w.rows ? 2 * w.memory.exponent[w.row] : -4 * Traits<T>::exponent_bias);
  }
  double sum = 0;
  bool bad = false;
  visit_inverse(w, [&](int j, T value) {
    if (w.row >= w.rows) return;
    bad |= not_finite(value);
    double magnitude = abs(static_cast<double>(value));
    if (w.far) magnitude = scale(magnitude, w.memory.exponent[w.row] + w.memory.exponent[j] - shift);
    sum += magnitude;
  });
  bad = any_of_block(bad);
  const double rcond = scale(1 / w.memory.norm / max_of_block(sum), -w.memory.norm_exponent - shift);
  if (w.row == 0) w.args.to.rcond[w.system] = !bad && rcond > 0 ? static_cast<T>(rcond) : T(0);
}

/// The first pivot that is not positive, counted from 1; 0 where all are.
template <class T>
__device__ int first_bad_pivot_of_block(const Wide<T>& w) {
  const T inverse = w.row < w.rows ? w.memory.reciprocal[w.row] : T(1);
  const bool bad = !(inverse > 0 && inverse < infinity<T>());
  if (!any_of_block(bad)) return 0;
  return -max_of_block(bad ? -(w.row + 1) : -block_threads);
}

template <class T>
__device__ void store_pivot_numbers(const Wide<T>& w) {
  PivotNumbers<T> numbers;
  if (w.row < w.rows) numbers.add(w.args, w.a.at(w.row, w.row), w.exponent());
  numbers.template combine<warp_lanes>();
  numbers.smallest = joined(numbers.smallest, [](T a, T b) { return min(a, b); });
  numbers.log_determinant = joined(numbers.log_determinant, [](double a, double b) { return a + b; });
  if (w.row == 0) numbers.store(w.args, w.system);
}

/// The backward error of columns first .. first + C - 1 of x, as stored_judgement.cuh has it, from the triangle of A,
/// which is there: the largest ||r||_1 / ||x||_1, of an inverse the largest of each; and ||A||_1.
struct Largest {
  double residual = 0, solution = 0, matrix = 0;
};
template <int C, class T>
__device__ __forceinline__ void judge_columns(const Wide<T>& w, int first, double a_factor, double x_factor,
                                              Largest& largest) {
  const Arguments<T>& args = w.args;
  const int n = w.rows, columns = w.columns_of_x(), used = args.inverse ? n : columns;
  const bool mine = w.row < n;
  Residual<T> residual[C];
  double norm[C];
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const bool there = mine && first + c < used;
    const T x =
        there ? args.to.x[w.system * args.to.x_stride + static_cast<std::int64_t>(w.row) * columns + first + c] : T(0);
    double factor = x_factor;
    if (sizeof(T) == sizeof(double) && !args.inverse)
      factor = power_of_two<double>(normalizing_exponent(max_of_block(abs(x))));
    double right = 0;
    if (args.inverse)
      right = w.row == first + c ? 1 : 0;
    else if (there)
      right = args.b[w.system * args.b_step + static_cast<std::int64_t>(w.row) * columns + first + c];
    const double value = static_cast<double>(x) * factor;
    w.memory.x[c][w.row] = Residual<T>::factor(value);
    norm[c] = abs(value);
    residual[c] = Residual<T>(with_factors(right, a_factor, factor));
  }
  __syncthreads();  // the columns are there
  double sum = 0;
  if (mine) {
    const T* const own_column = w.a.column(w.row);
#pragma unroll 4
    for (int j = 0; j < n; ++j) {
      const double value = static_cast<double>(j <= w.row ? w.a.at(w.row, j) : own_column[j]) * a_factor;
      sum += abs(value);
#pragma unroll
      for (int c = 0; c < C; ++c) residual[c].subtract(value, w.memory.x[c][j]);
    }
  }
  largest.matrix = max(largest.matrix, sum);  // of the thread's row; all others are the block's
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const bool counts = first + c < used;
    const double of_residual = sum_of_block(counts && mine ? abs(residual[c].value()) : 0.0);
    const double of_solution = sum_of_block(norm[c]);
    largest.solution = max(largest.solution, of_solution);
    if (of_residual != 0)
      largest.residual = max(largest.residual, args.inverse ? of_residual : of_residual / of_solution);
  }
  __syncthreads();  // the columns have been read
}

/// The backward error of all of x, which is stored.
template <class T>
__device__ __forceinline__ double judge(const Wide<T>& w) {
  const int n = w.rows, columns = w.args.inverse ? n : w.args.nrhs;
  double a_factor = 1, x_factor = 1;  // powers of two, which cancel
  if constexpr (sizeof(T) == sizeof(double)) {
    a_factor = power_of_two<double>(normalizing_exponent(max_of_block(w.row < n ? abs(w.a.at(w.row, w.row)) : T(0))));
    if (w.args.inverse)
      x_factor = power_of_two<double>(normalizing_exponent(
          max_of_block(w.row < n ? abs(w.args.to.x[w.system * w.args.to.x_stride + w.row * (w.args.n + 1)]) : T(0))));
  }
  Largest largest;
  if (columns == 1) {
    judge_columns<1>(w, 0, a_factor, x_factor, largest);
  } else {
    constexpr int C = WideMemory<T>::judged_together;
#pragma unroll 1
    for (int first = 0; first < columns; first += C) judge_columns<C>(w, first, a_factor, x_factor, largest);
  }
  const double norm_a = max_of_block(largest.matrix);
  if (largest.residual == 0) return 0;
  return largest.residual / (w.args.inverse ? norm_a * largest.solution : norm_a);
}

/// The status of a system. The whole block calls.
template <class T>
__device__ std::int32_t status_of(const Wide<T>& w, bool bad, bool tiny, int bad_pivot) {
  bad = any_of_block(bad || bad_pivot != 0);
  const std::int32_t of_input = w.memory.of_input;
  if (of_input != 0 || !(bad || tiny)) return of_input;
  return explain_failure<warp_lanes>(w.args, w.system, bad_pivot, w.lane(),
                                     bad ? info_result_not_finite : info_result_underflowed);
}

/// NaN to x where the system failed, and 0 to what it has no rows and columns for. The whole block calls.
template <class T>
__device__ void fill_x(const Wide<T>& w, bool failed) {
  const Arguments<T>& args = w.args;
  if (args.to.x == nullptr || !(failed || w.rows < args.n)) return;
  const std::int64_t columns = w.columns_of_x(), numbers = args.n * columns;
#pragma unroll 1
  for (std::int64_t e = w.row; e < numbers; e += block_threads) {
    const bool inside = e < w.rows * columns && !(args.inverse && e % columns >= w.rows);
    T& x = args.to.x[w.system * args.to.x_stride + e];
    if (!inside)
      x = T(0);
    else if (failed)
      x = not_a_number<T>();
  }
}

/// A system without rows, or with a size that is none.
template <class T>
__device__ void settle_without_rows(Wide<T> w) {
  const Arguments<T>& args = w.args;
  const bool failed = w.rows < 0;
  w.rows = failed ? args.n : 0;  // for the whole of x
  fill_x(w, failed);
  if (w.row != 0) return;
  args.to.info[w.system] = failed ? info_size_out_of_range : 0;
  if (args.to.backward_error != nullptr) args.to.backward_error[w.system] = failed ? not_a_number<T>() : T(0);
  if (args.to.rcond != nullptr) args.to.rcond[w.system] = failed ? not_a_number<T>() : T(1);
  if (failed) {
    forget_pivots(args, w.system);
  } else {
    PivotNumbers<T> of_identity;
    of_identity.smallest = 1;
    of_identity.store(args, w.system);
  }
}

extern __shared__ uint4 block_memory[];

/// The block's system.
template <class T>
__device__ Wide<T> block_system(const Arguments<T>& args, WideMemory<T>& memory) {
  const int rows = rows_of(args, blockIdx.x);
  return {args,   blockIdx.x, {reinterpret_cast<T*>(block_memory), padded_rows(rows)},
          memory, rows,       static_cast<int>(threadIdx.x),
          false};
}

/// Whether the triangles differ, and the status of the input then.
template <class T>
__device__ void compare_triangles(const Wide<T>& w) {
  const bool differ = w.args.storage == Storage::dense && triangles_differ(w);
  const std::int32_t of_input = differ ? inspect<warp_lanes>(w.args, w.system, w.lane()) : 0;
  if (w.row == 0) {
    w.memory.differ = differ;
    w.memory.of_input = of_input;
  }
}

template <class T>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>) wide_ldlt_kernel(Arguments<T> args) {
  __shared__ WideMemory<T> memory;
  Wide<T> w = block_system(args, memory);
  if (w.rows <= 0) {
    settle_without_rows(w);
    return;
  }
  load_triangle(w);
  compare_triangles(w);
  if (args.to.rcond != nullptr) find_norm(w);
  w.far = scale_triangle<false>(w);
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  Outcome outcome;
  if (args.nrhs > 0) outcome = solve_all(w);
  if (args.inverse || args.to.rcond != nullptr) {
    invert_factor(w);
    if (args.inverse) outcome.bad = store_inverse(w);
    if (args.to.rcond != nullptr) store_rcond(w);
  }
  const std::int32_t status = status_of(w, outcome.bad, outcome.tiny, bad_pivot);
  double error = 0;
  fill_x(w, status != 0);
  if (status != 0) {
    error = not_a_number<double>();
  } else if (args.to.backward_error != nullptr && args.to.x != nullptr) {
    if (memory.differ) {
      error = judge_as_stored<warp_lanes>(args, w.system, w.lane(), 0, args.inverse ? w.rows : args.nrhs);
    } else {
      load_triangle(w);
      error = judge(w);
    }
  }
  if (w.row != 0) return;
  args.to.info[w.system] = status;
  if (args.to.backward_error != nullptr) args.to.backward_error[w.system] = static_cast<T>(error);
  if (status == 0) return;
  if (args.to.rcond != nullptr) args.to.rcond[w.system] = not_a_number<T>();
  forget_pivots(args, w.system);
}

/// The factors, packed by rows, to args.to.x.
template <class T>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>) wide_factor_kernel(Arguments<T> args) {
  __shared__ WideMemory<T> memory;
  Wide<T> w = block_system(args, memory);
  load_triangle(w);
  compare_triangles(w);
  w.far = scale_triangle<false>(w);
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  // Of A as it is; those of the scaled matrix are powers of two away.
  bool overflows = false, underflows = false;
#pragma unroll 1
  for (int i = w.row / warp_lanes; i < args.n; i += block_warps)
#pragma unroll 1
    for (int j = w.lane(); j <= i; j += warp_lanes) {
      const T value = w.a.at(i, j);
      T stored = value;
      if (w.far) {
        const int of_row = memory.exponent[i], exponent = i == j ? -2 * of_row : memory.exponent[j] - of_row;
        stored = scale(value, exponent);
        underflows |= i == j && scale(stored, -exponent) != value;
      }
      overflows |= not_finite(stored);
      args.to.x[w.system * args.to.x_stride + i * (i + 1) / 2 + j] = stored;
    }
  const bool tiny = any_of_block(underflows);
  const std::int32_t status = status_of(w, overflows, tiny, bad_pivot);
  for (int e = w.row; status != 0 && e < args.n * (args.n + 1) / 2; e += block_threads)
    args.to.x[w.system * args.to.x_stride + e] = not_a_number<T>();
  if (w.row != 0) return;
  args.to.info[w.system] = status;
  if (status != 0) forget_pivots(args, w.system);
}

/// args.a: factors, packed_lower.
template <class T>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>)
    wide_solve_factored_kernel(Arguments<T> args, const std::int32_t* factors_info) {
  __shared__ WideMemory<T> memory;
  Wide<T> w = block_system(args, memory);
  load_triangle(w);
  w.far = scale_triangle<true>(w);
  if (w.row < w.a.rows) memory.reciprocal[w.row] = reciprocal(w.a.at(w.row, w.row));
  const Outcome outcome = solve_all(w);
  const bool bad_rhs = any_of_block(outcome.bad_rhs), bad = any_of_block(outcome.bad);
  std::int32_t status = factors_info[args.a_step == 0 ? 0 : w.system];
  if (status == 0)
    status = bad_rhs ? info_rhs_not_finite : bad ? info_result_not_finite : outcome.tiny ? info_result_underflowed : 0;
  fill_x(w, status != 0);
  if (w.row == 0) args.to.info[w.system] = status;
}

template <class T, class... Told>
cudaError_t launch_blocks(void (*kernel)(Arguments<T>, Told...), const Arguments<T>& arguments, cudaStream_t stream,
                          Told... told) {
  if (arguments.count == 0) return cudaSuccess;
  constexpr int most = Panels<T>::size(max_system_size) * static_cast<int>(sizeof(T));
  const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (status != cudaSuccess) return status;
  const std::size_t bytes = Panels<T>::size(padded_rows(arguments.n)) * sizeof(T);
  kernel<<<static_cast<unsigned>(arguments.count), block_threads, bytes, stream>>>(arguments, told...);
  return cudaGetLastError();
}

}  // namespace

template <class T>
cudaError_t launch_wide_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  return launch_blocks<T>(wide_ldlt_kernel<T>, arguments_of(batch, solution), stream);
}

template <class T>
cudaError_t launch_wide_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, cudaStream_t stream) {
  const SpdBatch<T> matrices{
      {batch.shape.n, 0, batch.shape.storage, true}, batch.count, batch.a, nullptr, batch.a_stride};
  SpdSolution<T> to = of_pivots(factors);
  to.x = factors.factors;
  to.x_stride = factors.factors_step(batch.shape.n);
  return launch_blocks<T>(wide_factor_kernel<T>, arguments_of(matrices, to), stream);
}

template <class T>
cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                       cudaStream_t stream) {
  const SpdBatch<T> systems{batch.shape(), batch.count, batch.factors, batch.b, batch.factors_stride, batch.b_stride};
  return launch_blocks<T>(wide_solve_factored_kernel<T>, arguments_of(systems, solution), stream, batch.factors_info);
}

template cudaError_t launch_wide_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_wide_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<float>&, const SpdFactors<float>&, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<double>&, const SpdFactors<double>&, cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<float>&, const SpdSolution<float>&,
                                                cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<double>&, const SpdSolution<double>&,
                                                cudaStream_t);

}  // namespace smallbatch
