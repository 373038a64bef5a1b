// L D L^T of a system in the shared memory of a block, substitution with its factors, and the inverse. Private to
// solvers/cuda.
//
// The elimination is left-looking, by columns K of tiles; V = L D:
//
// - A_IK -= sum_k V_Ik L_Kk^T on tensor cores, for two columns K and K + 1 at a time. The contribution of column K to
//   column K + 1 is subtracted later. A warp then factors tile (K, K), every lane by itself.
// - V_IK = A_IK L_KK^-T and L_IK = V_IK D_K^-1, a row per lane.
//
// Right-hand sides that are rows of tiles become D^-1 L^-1 b on the way.
//
// The inverse is X = M^T D^-1 M with M L = I, and M takes the place of L. Computing M from L M = I would give
// larger errors (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapter 14).
#pragma once

#include "solvers/cuda/solve/wide_system.cuh"

namespace smallbatch {

namespace {

/// Subtracts the contributions of columns 0 .. K - 1 from columns K and K + 1, in `Rows` rows of tiles.
/// The first of them is row I; each further one is `step` rows below the previous one.
template <int Rows, class T>
__device__ __forceinline__ void update_rows(const Wide<T>& w, int K, int I, int step) {
  const bool two = K + 1 < w.a.columns;
  T *const left = w.a.column(K), *const right = two ? w.a.column(K + 1) : left;
  Sums<T> sums[Rows];  // transposed tiles
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const int row = I + r * step;
    sums[r].c0 = load_transposed(left + tile_numbers * row);
    sums[r].c1 = load_transposed((row == K ? left : right) + tile_numbers * row);  // there is no tile (K, K + 1)
  }
  // The factors of the next product are loaded before this product is computed.
  Tile<T> a0, a1, b[Rows];
  Vector<T, 2> d;
  const auto load = [&](int k) __attribute__((always_inline)) {
    const T* const column = w.a.column(k);
    d = *reinterpret_cast<const Vector<T, 2>*>(w.pivot + tile_rows * k + 2 * (lane_of_warp() % 4));
    a0 = load_tile(column + tile_numbers * K);
    a1 = load_tile(column + tile_numbers * (two ? K + 1 : K));
#pragma unroll
    for (int r = 0; r < Rows; ++r) b[r] = load_tile(column + tile_numbers * (I + r * step));
  };
  load(0);
#pragma unroll 1
  for (int k = 0; k < K; ++k) {
    Tile<T> scaled0 = a0, scaled1 = a1, of_rows[Rows];
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      scaled0.v[q] = scaled0.v[q] * -d.value[q];
      scaled1.v[q] = scaled1.v[q] * -d.value[q];
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) of_rows[r] = b[r];
    load(min(k + 1, K - 1));
    const Operand<T> of0(scaled0), of1(scaled1);
#pragma unroll
    for (int r = 0; r < Rows; ++r) sums[r].add(of0, of1, Operand<T>(of_rows[r]));
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const int place = tile_numbers * (I + r * step);
    sums[r].finish();
    store_transposed(sums[r].c0, left + place);
    if (two && I + r * step > K) store_transposed(sums[r].c1, right + place);
  }
}
/// Updates the columns K and K + 1. The first warp has row K alone, so that it can soon factor the tile on the
/// diagonal. The whole block calls.
template <class T>
__device__ __forceinline__ void update_columns(const Wide<T>& w, int K) {
  const int others = warps_of_block() - 1, step = max(others, 1);
  if (others > 0 && warp_of_block() == 0) {
    update_rows<1>(w, K, K, 1);
    return;
  }
  constexpr int most = unrolls<T>;  // rows at a time
#pragma unroll 1
  for (int I = K + warp_of_block(); I < w.a.rows; I += most * step) {
    if (most > 3 && I + 3 * step < w.a.rows)
      update_rows<most>(w, K, I, step);
    else if (most > 2 && I + 2 * step < w.a.rows)
      update_rows<(most > 2 ? 3 : most)>(w, K, I, step);
    else if (I + step < w.a.rows)
      update_rows<2>(w, K, I, step);
    else
      update_rows<1>(w, K, I, step);
  }
}
/// Subtracts the contribution of column K - 1 from tiles I and I + 1 of column K.
template <class T>
__device__ __forceinline__ void update_by_last(const Wide<T>& w, int K, int I) {
  const int place0 = tile_numbers * I, place1 = tile_numbers * min(I + 1, w.a.rows - 1);
  T *const to = w.a.column(K), *const from = w.a.column(K - 1);
  Tile<T> b = load_tile(from + tile_numbers * K);
  const auto d = *reinterpret_cast<const Vector<T, 2>*>(w.pivot + tile_rows * (K - 1) + 2 * (lane_of_warp() % 4));
#pragma unroll
  for (int q = 0; q < 2; ++q) b.v[q] = b.v[q] * -d.value[q];
  Sums<T> sums{load_tile(to + place0), load_tile(to + place1)};
  sums.add(Operand<T>(load_tile(from + place0)), Operand<T>(load_tile(from + place1)), Operand<T>(b));
  sums.finish();
  store_tile(sums.c0, to + place0);
  store_tile(sums.c1, to + place1);
}

/// Factors the tile (K, K). The whole warp calls; every lane factors the tile.
template <class T>
__device__ __forceinline__ void factor_diagonal(const Wide<T>& w, int K) {
  constexpr int R = tile_rows;
  T* const tile = w.a.tile(K, K);
  T v[R][R];
  unrolled<R>([&](auto i) __attribute__((always_inline)) { load_run(tile + R * i, v[i]); });
  __syncwarp();  // the tile has been read
  const bool stores = lane_of_warp() == 0;
#pragma unroll
  for (int k = 0; k < R; ++k) {
    const T inverse = reciprocal(v[k][k]);
    if (stores) w.pivot[R * K + k] = v[k][k], w.reciprocal[R * K + k] = inverse;
#pragma unroll
    for (int m = k + 1; m < R; ++m) {
      const T l = v[m][k] * inverse;
      if (stores) tile[R * m + k] = l;
#pragma unroll
      for (int t = k + 1; t <= m; ++t) v[m][t] = fma(-l, v[t][k], v[m][t]);
    }
  }
}

/// Loads the numbers of L below the diagonal of a tile on the diagonal.
template <class T>
__device__ __forceinline__ void load_unit_triangle(const T* tile, T (&l)[tile_rows][tile_rows]) {
  unrolled<tile_rows>([&](auto i) __attribute__((always_inline)) {
    constexpr int piece = 16 / sizeof(T);
#pragma unroll
    for (int j = 0; j < i; j += piece) {
      const auto part = *reinterpret_cast<const Vector<T, piece>*>(tile + tile_rows * i + j);
#pragma unroll
      for (int q = 0; q < piece; ++q) l[i][j + q] = part.value[q];
    }
  });
}

/// Solves V L_KK^T = A for the rows below tile (K, K), and scales them to L. The whole block calls.
template <class T>
__device__ __forceinline__ void solve_rows(const Wide<T>& w, int K) {
  constexpr int R = tile_rows;
  T l[R][R];
  T* const column = w.a.column(K);
  int row = R * (K + 1) + static_cast<int>(threadIdx.x);
  if (row - lane_of_warp() >= R * w.a.rows) return;
  load_unit_triangle(column + tile_numbers * K, l);
#pragma unroll 1
  for (; row < R * w.a.rows; row += blockDim.x) {
    T v[R];
    load_run(column + R * row, v);
#pragma unroll
    for (int k = 0; k < R; ++k) {
#pragma unroll
      for (int m = k + 1; m < R; ++m) v[m] = fma(-l[m][k], v[k], v[m]);
      v[k] *= w.reciprocal[R * K + k];
    }
    store_run(v, column + R * row);
  }
}

/// Replaces the triangle of A by L, and computes D. The whole block calls.
template <class T>
__device__ __forceinline__ void factor(const Wide<T>& w) {
#pragma unroll 1
  for (int K = 0; K < w.a.columns; ++K) {
    if (K % 2 == 0) {
      if (K > 0) update_columns(w, K);
    } else {
#pragma unroll 1
      for (int I = K + 2 * warp_of_block(); I < w.a.rows; I += 2 * max(warps_of_block() - 1, 1)) {
        update_by_last(w, K, I);
        if (I == K && warps_of_block() > 1) break;  // the first warp has the tile on the diagonal alone
      }
    }
    __syncwarp();  // the tile on the diagonal is stored
    if (warp_of_block() == 0) factor_diagonal(w, K);
    __syncthreads();  // the column is updated, and its diagonal is factored
    solve_rows(w, K);
    __syncthreads();  // the column is complete
  }
}

/// Replaces y, one right-hand side, by D^-1 L^-1 y. Every lane solves with a tile on the diagonal; then the lanes have
/// rows below it. The whole warp calls.
template <class T>
__device__ __forceinline__ void substitute_forward(const Wide<T>& w, T* y) {
  constexpr int R = tile_rows;
#pragma unroll 1
  for (int K = 0; K < w.a.columns; ++K) {
    const T* const column = w.a.column(K);
    T l[R][R], x[R];
    load_unit_triangle(column + tile_numbers * K, l);
    load_run(y + R * K, x);
#pragma unroll
    for (int k = 0; k < R; ++k)
#pragma unroll
      for (int m = k + 1; m < R; ++m) x[m] = fma(-l[m][k], x[k], x[m]);
#pragma unroll 1
    for (int row = R * (K + 1) + lane_of_warp(); row < w.padded(); row += warp_lanes) {
      T own[R], sum = y[row];
      load_run(column + R * row, own);
#pragma unroll
      for (int k = 0; k < R; ++k) sum = fma(-own[k], x[k], sum);
      y[row] = sum;
    }
    __syncwarp();  // the tile's part of y has been read
    if (lane_of_warp() == 0) store_run(x, y + R * K);
    __syncwarp();  // y is stored
  }
  for (int row = lane_of_warp(); row < w.padded(); row += warp_lanes) y[row] *= w.reciprocal[row];
  __syncwarp();  // y is complete
}

/// Replaces y by L^-T y. Every lane solves with a tile on the diagonal; then the lanes have columns to the left of it.
/// The whole warp calls.
template <class T>
__device__ __forceinline__ void substitute_back(const Wide<T>& w, T* y) {
  constexpr int R = tile_rows;
  const int lane = lane_of_warp();
#pragma unroll 1
  for (int K = w.a.columns - 1; K >= 0; --K) {
    T l[R][R], x[R];
    load_unit_triangle(w.a.tile(K, K), l);
    load_run(y + R * K, x);
#pragma unroll
    for (int k = R - 1; k >= 0; --k)
#pragma unroll
      for (int m = k - 1; m >= 0; --m) x[m] = fma(-l[k][m], x[k], x[m]);
#pragma unroll 2
    for (int column = lane; column < R * K; column += warp_lanes) {
      const T* const own = w.a.tile(K, column / R) + column % R;
      T sum = y[column];
#pragma unroll
      for (int k = R - 1; k >= 0; --k) sum = fma(-own[R * k], x[k], sum);
      y[column] = sum;
    }
    __syncwarp();  // the tile's part of y has been read
    if (lane == 0) store_run(x, y + R * K);
    __syncwarp();  // y is stored
  }
}

/// Replaces L by M, where M L is the identity. Columns of tiles are computed from last to first. Below its tile on the
/// diagonal, column K of M is -M_(I > K) L_(I > K, K) L_KK^-1. The column of L is first copied to w.work, where tiles
/// below the diagonal are transposed. The whole block calls.
template <class T>
__device__ __forceinline__ void invert_factor(const Wide<T>& w) {
  constexpr int R = tile_rows;
#pragma unroll 1
  for (int K = w.a.columns - 1; K >= 0; --K) {
    T* const column = w.a.column(K);
    T* const copy = w.work - tile_numbers * K;  // of the column; begins at w.work
    __syncthreads();                            // the previous column is complete
    for (int I = K + warp_of_block(); I < w.a.columns; I += warps_of_block()) {
      const T* const tile = column + tile_numbers * I;
      store_tile(I == K ? load_tile(tile) : load_transposed(tile), copy + tile_numbers * I);
    }
    __syncthreads();  // the column is copied
#pragma unroll 1
    for (int I0 = K + 1 + 2 * warp_of_block(); I0 < w.a.columns; I0 += 2 * warps_of_block()) {
      const int I1 = min(I0 + 1, w.a.columns - 1);
      Sums<T> sums;
#pragma unroll 2
      for (int J = K + 1; J <= I1; ++J) {
        const T* const from = w.a.column(J);
        const Tile<T> a0 = J <= I0 ? load_tile(from + tile_numbers * I0) : Tile<T>{};
        sums.add(Operand<T>(a0), Operand<T>(load_tile(from + tile_numbers * I1)),
                 Operand<T>(load_tile(copy + tile_numbers * J)));
      }
      sums.finish();
      store_tile(sums.c0, column + tile_numbers * I0);
      store_tile(sums.c1, column + tile_numbers * I1);
    }
    __syncthreads();  // the products are stored
    T l[R][R];
    load_unit_triangle(copy + tile_numbers * K, l);
#pragma unroll 1
    for (int row = R * K + static_cast<int>(threadIdx.x); row < w.padded(); row += blockDim.x) {
      T v[R];
      load_run(column + R * row, v);
#pragma unroll
      for (int k = R - 1; k >= 0; --k) {
        v[k] = row < R * (K + 1) ? T(row == R * K + k) : -v[k];
#pragma unroll
        for (int m = k + 1; m < R; ++m) v[k] = fma(-l[m][k], v[m], v[k]);
      }
      store_run(v, column + R * row);
    }
  }
  __syncthreads();  // the factor is inverted
}

/// Computes the tiles (I0, J) and (I1, J) of X = M^T D^-1 M, where I1 is I0 + 1 or I0. The whole warp calls.
template <class T>
__device__ __forceinline__ Sums<T> multiply_inverse(const Wide<T>& w, int I0, int I1, int J) {
  Sums<T> sums;
#pragma unroll 2
  for (int k = max(I0, J); k < w.a.columns; ++k) {
    const Tile<T> a1 = k >= I1 ? load_transposed(w.a.tile(k, I1)) : Tile<T>{};
    Tile<T> b = load_transposed(w.a.tile(k, J));
    const auto inverse =
        *reinterpret_cast<const Vector<T, 2>*>(w.reciprocal + tile_rows * k + 2 * (lane_of_warp() % 4));
#pragma unroll
    for (int q = 0; q < 2; ++q) b.v[q] = b.v[q] * inverse.value[q];
    sums.add(Operand<T>(load_transposed(w.a.tile(k, I0))), Operand<T>(a1), Operand<T>(b));
  }
  sums.finish();
  return sums;
}

}  // namespace

}  // namespace smallbatch
