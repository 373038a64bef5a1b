// The symmetric sweep from A to -A^-1, 8 pivots at a time (J. H. Goodnight, "A tutorial on the SWEEP operator", 1979).
// It runs in double precision in the registers of a warp. Private to solvers/cuda.
//
// With D the next 8 x 8 tile on the diagonal and P_i the tiles below it:
//
//     D -> -D^-1,  P_i -> P_i D^-1,  A_ij -> A_ij - P_i D^-1 P_j^T
//
// D is swept pivot by pivot; everything else is products on the tensor cores. After each step the tiles move up and
// left by one. The swept tiles follow behind the last tile, transposed. The next D is then always the first tile, and
// every step has the same code. All products have the form a b^T, which fragments compute without exchange.
//
// Errors of D^-1, and thus of P_i D^-1, would grow with the condition number of D itself. One step of refinement with
// the residuals I - D^-1 D and P_i - (P_i D^-1) D removes this growth. Matrices that were floats need no refinement.
// Their errors stay below the error of rounding A^-1 to float, unless A is so ill-conditioned that its numbers do not
// determine A^-1.
#pragma once

#include "solvers/cuda/inverse/fragments.cuh"

namespace smallbatch {

namespace {

/// Sweeps a tile; its pivots go to shared memory. The whole warp calls.
__device__ __forceinline__ void sweep_tile(Fragment& tile, double* pivots) {
  const int lane = threadIdx.x, row = lane / 4, pair = lane % 4;
  unrolled<tile_rows>([&](auto index) __attribute__((always_inline)) {
    constexpr int t = index, h = t % 2;
    const double pivot = shuffle(tile.value[h], 4 * t + t / 2, warp_lanes);
    const double own = shuffle(tile.value[h], t / 2, 4);
    const Fragment pivot_row{shuffle(tile.value[0], 4 * t + pair, warp_lanes),
                             shuffle(tile.value[1], 4 * t + pair, warp_lanes)};
    const double inverse = reciprocal(pivot);
    if (lane == 0) pivots[t] = pivot;
    const bool is_pivot_row = row == t;
    const double factor = is_pivot_row ? -inverse : own * inverse;  // the pivot row starts from zero
#pragma unroll
    for (int c = 0; c < 2; ++c) tile.value[c] = fma(-factor, pivot_row.value[c], is_pivot_row ? 0.0 : tile.value[c]);
    if (pair == t / 2) tile.value[h] = factor;
  });
}

__device__ __forceinline__ Fragment negative(const Fragment& a) { return {-a.value[0], -a.value[1]}; }

/// Replaces the lower triangle of B x B tiles of A by the lower triangle of -A^-1, with refinement if `Refined`. Shared
/// memory has room for `8 * B` pivots and `B` tiles. The whole warp calls.
template <int B, bool Refined>
__device__ __forceinline__ void sweep(Fragment (&a)[B][B], double* pivots, double (*tiles)[tile_numbers]) {
  const int column = fragment_column(), row = fragment_row();
  const Fragment identity{row == column ? 1.0 : 0.0, row == column + 1 ? 1.0 : 0.0};
#pragma unroll 1
  for (int step = 0; step < B; ++step) {
    const Fragment tile = a[0][0];
    sweep_tile(a[0][0], pivots + tile_rows * step);
    Fragment minus_inverse = a[0][0];
    if constexpr (Refined) {
      Fragment error = identity;
      multiply_add(minus_inverse, tile, error);
      multiply_add(error, a[0][0], minus_inverse);
    }
    Fragment panel[B], factor[B];  // P_i and -P_i D^-1
    unrolled<B / 2>([&](auto index) __attribute__((always_inline)) {
      constexpr int i = 1 + 2 * index, I = i + 1 < B ? 2 : 1;
      Fragment p[I], f[I], residual[I];
#pragma unroll
      for (int u = 0; u < I; ++u) p[u] = residual[u] = a[i + u][0], f[u] = {};
      multiply_add<I>(p, minus_inverse, f);
      if constexpr (Refined) {
        multiply_add<I>(f, tile, residual);
        multiply_add<I>(residual, minus_inverse, f);
      }
#pragma unroll
      for (int u = 0; u < I; ++u) panel[i + u] = p[u], factor[i + u] = f[u];
    });
    unrolled<B - 1>([&](auto column_index) __attribute__((always_inline)) {
      constexpr int j = 1 + column_index;
      unrolled<(B - j + 1) / 2>([&](auto index) __attribute__((always_inline)) {
        constexpr int i = j + 2 * index, I = i + 1 < B ? 2 : 1;
        Fragment f[I], c[I];
#pragma unroll
        for (int u = 0; u < I; ++u) f[u] = factor[i + u], c[u] = a[i + u][j];
        multiply_add<I>(f, panel[j], c);
#pragma unroll
        for (int u = 0; u < I; ++u) a[i + u - 1][j - 1] = c[u];
      });
    });
#pragma unroll
    for (int j = 1; j < B; ++j) store_fragment(tiles[j], factor[j]);
    __syncwarp();  // the tiles are complete
#pragma unroll
    for (int j = 1; j < B; ++j) a[B - 1][j - 1] = negative(load_transposed(tiles[j]));
    __syncwarp();  // the tiles have been read: the next ones take their place
    a[B - 1][B - 1] = minus_inverse;
  }
}

}  // namespace

}  // namespace smallbatch
