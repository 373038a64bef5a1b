// L D L^T of a system in the shared memory of a block, substitution with its factors, and the inverse. Private to
// solvers/cuda.
//
// Every thread factors a panel's diagonal block by itself, in registers, which needs no barrier. Then each thread has
// one row of the panel. Then the threads subtract the panel's products from the columns behind it, in tiles of 4 x 4.
// The inverse is X = Y D^-1 Y^T with L^T Y = I, and Y^T takes the place of the factor. Y does not come from Y L^T = I,
// because errors would be larger (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapter 14).
#pragma once

#include "solvers/cuda/solve/wide_system.cuh"

namespace smallbatch {

namespace {

/// Replaces the triangle of A by L and D, and computes 1 / d.
template <class T>
__device__ __forceinline__ void factor(const Wide<T>& w) {
  constexpr int P = panel_columns, S = tile_side;
  const Panels<T> a = w.a;
#pragma unroll 1
  for (int k0 = 0; k0 < a.rows; k0 += P) {
    const int first = k0 + P;  // first row behind the diagonal block
    const int i = first + w.row;
    T l[P][P], c[P];  // l: the diagonal block as [column][row]; c: the thread's row of the panel
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
      // The factors of the diagonal block are first stored elsewhere, because other threads may still read the block.
      if (w.row == block_threads - 1) {
        w.memory.reciprocal[k0 + k] = inverse;
        w.memory.diagonal[k][k] = l[k][k];
#pragma unroll
        for (int m = k + 1; m < P; ++m) w.memory.diagonal[k][m] = l[k][m] * inverse;
      }
    }
    __syncthreads();  // the rows of the panel are complete, and the diagonal block has been read
    if (w.row < P * P) a.at(k0 + w.row % P, k0 + w.row / P) = w.memory.diagonal[w.row / P][w.row % P];
    // Tiles are numbered by columns, so that neighbouring threads have neighbouring rows.
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

/// Solves L y = b, or L^T y = b, in place for R columns of b. It goes panel by panel to the last, or from the panel
/// with row `begin` back to the first. Each thread has its row of every column in registers.
template <int R, bool Transposed, class T>
__device__ __forceinline__ void substitute(const Wide<T>& w, int begin, T (&y)[R]) {
  constexpr int P = panel_columns;
  const Panels<T> a = w.a;
  const int lane = w.lane(), first_of_warp = w.row - lane;
  T* const solved = w.memory.substitution.solved[w.row / warp_lanes];
#pragma unroll 1
  for (int k0 = begin; Transposed ? k0 >= 0 : k0 < a.rows; k0 += Transposed ? -P : P) {
    T* const right = w.memory.substitution.right[k0 / P % 2];
    const int place = w.row - k0;  // position within the panel
    const bool inside = place >= 0 && place < P;
    if (inside)
#pragma unroll
      for (int c = 0; c < R; ++c) right[place * R + c] = y[c];
    __syncthreads();  // the right-hand sides of the panel are stored
    // Skips warps with rows that are done, or that this panel does not change.
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
  __syncthreads();  // `right` and `solved` have been read
}

/// Solves L D L^T y = b in place.
template <int R, class T>
__device__ __forceinline__ void solve(const Wide<T>& w, T (&y)[R]) {
  substitute<R, false>(w, 0, y);
#pragma unroll
  for (int c = 0; c < R; ++c) y[c] *= w.row < w.a.rows ? w.memory.reciprocal[w.row] : T(0);
  substitute<R, true>(w, w.a.rows - panel_columns, y);
}

/// Replaces L by Y^T, where L^T Y is the identity. It goes from the last row back, because a row of Y^T needs only
/// the rows of L at or above it.
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

/// Calls visit(j, x) for the elements of the thread's row of Y D^-1 Y^T. Mirrored elements have the same bits. All
/// lanes of a warp call.
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

}  // namespace

}  // namespace smallbatch
