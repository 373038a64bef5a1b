// Elimination on whole rows: Gauss-Jordan, and the sweep of systems with n > 32. Private to solvers/*.cu.
//
// Step k takes the pivot d_k = a_kk and the column v_j = a_jk:
//     Gauss-Jordan:  a_ji -= (v_j / d_k) a_ki, b_j -= (v_j / d_k) b_k        i > k, j != k: n^3/2 multiply-adds
//     sweep:         the same for all i != k, and the pivot row and column   n^3
// In registers (Gauss-Jordan, n <= 32) lanes get the pivot by a shuffle, the shortest way from one step to the next;
// the column goes through shared memory, from where a 16-byte broadcast feeds as many multiply-adds per element as a
// lane has rows. The column of step k + 1 is finished and published before the rest of step k, so one barrier per step
// suffices and its wait is hidden. For n > 32 the matrix is worked on where it lies in shared memory.
#pragma once

#include "solvers/cuda/whole_rows.cuh"

namespace smallbatch {

namespace {

// Places behind the rows of a matrix (see behind()).
template <class L>
inline constexpr int pivots_at = 2 * L::size;

/// The pivots of the lane's rows, which the elimination has left in shared memory.
template <class T, class L>
__device__ __forceinline__ void collect_pivots(T* matrix, int lane, T (&pivots)[L::rows]) {
  __syncwarp();  // the last pivots are there
#pragma unroll
  for (int u = 0; u < L::rows; ++u) pivots[u] = behind<L>(matrix, lane)[further<L>(pivots_at<L> + L::lanes * u)];
}

// The steps of a slot share one loop, because the rows turn: after step k the column k + 1 has moved to register 0 - a
// multiply-add may as well write next door - and column k has left. That keeps the code small enough for the
// instruction cache.

/// Steps that are unrolled all the same, where the rows are short.
template <class L>
inline constexpr int steps_at_once = L::size == 8 || (L::size == 16 && L::piece == 4) ? 4 : 1;

/// The lane's part of the pivot column of step k, by symmetry the pivot row, for all lanes: element p is that of column
/// k + 1 + p.
template <class T, class L>
__device__ __forceinline__ void publish_column(int k, int first_slot, int lane, const T (&a)[L::rows][L::size],
                                               T* pivot_row) {
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    if (u < first_slot) continue;
    const int place = L::lanes * u + lane - k - 1;
    if (u > first_slot || place >= 0) pivot_row[place] = a[u][0];
  }
}

/// Gauss-Jordan: `b` becomes x up to the division by the pivots.
template <class T, class L, int C>
__device__ __forceinline__ void eliminate_gauss_jordan(int group, int lane, WarpMemory<T, L, C>& memory,
                                                       T (&a)[L::rows][L::size], T (&b)[C][L::rows]) {
  constexpr int G = L::lanes, P = L::piece;
  T* matrix = memory.matrix[group];
  __syncwarp();  // all lanes have read b, whose place the pivot rows take
  publish_column<T, L>(0, 0, lane, a, memory.pivot_row[0][group]);
  unrolled<L::rows>([&](auto index) __attribute__((always_inline)) {
    constexpr int slot = index, width = L::size - G * slot;  // columns G slot .. N - 1 are left
#pragma unroll steps_at_once < L>
    for (int owner = 0; owner < G; ++owner) {
      const int k = G * slot + owner;
      const T pivot = shuffle(a[slot][0], owner, G);
      if (lane == 0) *behind<L>(matrix, pivots_at<L> + k) = pivot;
      const T minus_inverse = -reciprocal(pivot);
      T factor[L::rows];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) factor[u] = a[u][0] * minus_inverse;
      if (lane == owner) factor[slot] = 0;  // the pivot row stays as it is
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const T pivot_b = shuffle(b[c][slot], owner, G);
#pragma unroll
        for (int u = 0; u < L::rows; ++u) b[c][u] = fma(factor[u], pivot_b, b[c][u]);
      }
      __syncwarp();  // the pivot row is complete; and that of step k - 1 is read, whose place the next takes
      const T* row = memory.pivot_row[k % 2][group];
#pragma unroll
      for (int p = 0; p < width; p += P) {
        if (crowded<T, L> && p > 0 && p % 8 == 0) __syncwarp();
        const auto v = *reinterpret_cast<const Vector<T, P>*>(row + p);
#pragma unroll
        for (int c = 0; c < P && p + c + 1 < width; ++c) {
#pragma unroll
          for (int u = 0; u < L::rows; ++u) a[u][p + c] = fma(factor[u], v.value[c], a[u][p + c + 1]);
          if (p + c == 0) publish_column<T, L>(k + 1, slot, lane, a, memory.pivot_row[(k + 1) % 2][group]);
        }
      }
    }
  });
}

// Whole rows in shared memory, for n > 32: one system per warp, columns dealt out to the lanes.

/// D A D in shared memory, both triangles from the lower one, by the powers behind the rows.
template <class T, class L>
__device__ void scale_in_shared_memory(int lane, T* matrix) {
#pragma unroll 1
  for (int i = 0; i < L::size; ++i)
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int j = L::lanes * u + lane;
      if (j > i) continue;
      const T value =
          matrix[i * L::row_pitch + j] * *behind<L>(matrix, powers_at<L> + i) * *behind<L>(matrix, powers_at<L> + j);
      matrix[i * L::row_pitch + j] = value;
      matrix[j * L::row_pitch + i] = value;
    }
}

/// Gauss-Jordan or, with `Sweep`, the sweep of the matrix in shared memory; `rhs` (C vectors of N) becomes x up to the
/// division by the pivots.
template <class T, class L, int C, bool Sweep>
__device__ void eliminate_in_shared_memory(int lane, T* matrix, T* rhs) {
  static_assert(L::lanes == warp_lanes, "one system per warp");
  constexpr int pitch = L::row_pitch;
#pragma unroll 1
  for (int k = 0; k < L::size; ++k) {
    __syncwarp();  // step k - 1 is complete
    const T pivot = matrix[k * (pitch + 1)];
    const T inverse = reciprocal(pivot);
    if (lane == 0) *behind<L>(matrix, pivots_at<L> + k) = pivot;
    T v[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) v[u] = matrix[k * pitch + warp_lanes * u + lane];
#pragma unroll 8
    for (int i = 0; i < L::size; ++i) {
      const T factor = i == k ? T(0) : -matrix[i * pitch + k] * inverse;
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        const int j = warp_lanes * u + lane;
        if (Sweep ? j != k : j > k) matrix[i * pitch + j] = fma(factor, v[u], matrix[i * pitch + j]);
      }
    }
    if constexpr (Sweep) {
      __syncwarp();  // the pivot column has been read by all lanes
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        const int j = warp_lanes * u + lane;
        const T value = j == k ? -inverse : v[u] * inverse;
        matrix[k * pitch + j] = value;
        matrix[j * pitch + k] = value;
      }
    } else {
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const T pivot_b = rhs[c * L::size + k];
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int i = warp_lanes * u + lane;
          if (i != k) rhs[c * L::size + i] = fma(-matrix[i * pitch + k] * inverse, pivot_b, rhs[c * L::size + i]);
        }
      }
    }
  }
  __syncwarp();  // the last step is complete
}

}  // namespace

}  // namespace smallbatch
