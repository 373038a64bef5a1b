// Elimination: L D L^T with its substitution, Gauss-Jordan and the sweep. Private to solvers/*.cu.
//
// Step k takes the pivot d_k = a_kk and the column v_j = a_jk:
//     L D L^T:       a_ji -= (v_j / d_k) v_i,  b_j -= (v_j / d_k) b_k        j >= i > k: n^3/6 multiply-adds
//     Gauss-Jordan:  a_ji -= (v_j / d_k) a_ki, b_j -= (v_j / d_k) b_k        i > k, j != k: n^3/2
//     sweep:         the same for all i != k, and the pivot row and column   n^3
// Lanes get the pivot by a shuffle, the shortest way from one step to the next; the column goes through shared memory,
// from where a 16-byte broadcast feeds as many multiply-adds per element as a lane has rows. The column of step k + 1
// is finished and published before the rest of step k, so one barrier per step suffices and its wait is hidden.
#pragma once

#include "solvers/spd_staging.cuh"

namespace smallbatch {

namespace {

// Places behind the rows of a matrix (see behind()).
template <class L>
inline constexpr int pivots_at = 2 * L::size;
template <class L>
inline constexpr int reciprocals_at = 3 * L::size;

/// The pivots of the lane's rows, which the elimination has left in shared memory.
template <class T, class L>
__device__ __forceinline__ void collect_pivots(T* matrix, int lane, T (&pivots)[L::rows]) {
  __syncwarp();  // the last pivots are there
#pragma unroll
  for (int u = 0; u < L::rows; ++u) pivots[u] = behind<L>(matrix, lane)[further<L>(pivots_at<L> + L::lanes * u)];
}

/// The pivot of step k replaced by its floor, if it is to be.
template <class L, class T>
__device__ __forceinline__ T repaired(const Arguments<T>& args, T pivot, int k, T* matrix) {
  return args.pivot_floor > 0 ? max(pivot, *behind<L>(matrix, floors_at + k)) : pivot;
}

/// The last block of an elimination is small enough for every lane to hold.
template <class L>
inline constexpr bool last_block_in_registers = L::lanes <= 8;

// The steps of a slot share one loop, because the rows turn: after step k the column k + 1 has moved to register 0 - a
// multiply-add may as well write next door - and column k has left, or has joined at the end. That keeps the code small
// enough for the instruction cache.

/// Steps that are unrolled all the same, where the rows are short.
template <class L>
inline constexpr int steps_at_once = L::size == 8 || (L::size == 16 && L::piece == 4) ? 4 : 1;

/// The lane's part of the pivot column of step k, by symmetry the pivot row, for all lanes: element p is that of column
/// k + 1 + p, modulo N where it `turns`.
template <class T, class L, bool turns>
__device__ __forceinline__ void publish_column(int k, int first_slot, int lane, const T (&a)[L::rows][L::size],
                                               T* pivot_row) {
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    if (u < first_slot) continue;
    const int place = L::lanes * u + lane - k - 1;
    if (turns)
      pivot_row[place & (L::size - 1)] = a[u][0];
    else if (u > first_slot || place >= 0)
      pivot_row[place] = a[u][0];
  }
}

/// A = L D L^T, the right-hand sides carried along: afterwards b holds z = L^-1 b, and row k of the matrix in shared
/// memory v_j = l_jk d_k in place of its upper triangle, j > k. Leaves the last block of G rows alone where it fits
/// into registers: as a[last slot][0 .. G - 1].
template <class T, class L, int C>
__device__ __forceinline__ void factor_ldlt(const Arguments<T>& args, int group, int lane, WarpMemory<T, L, C>& memory,
                                            T (&a)[L::rows][L::size], T (&b)[C][L::rows]) {
  constexpr int G = L::lanes, P = L::piece;
  T* matrix = memory.matrix[group];
  __syncwarp();  // all lanes have read the upper triangle and b, whose places the columns take
  publish_column<T, L, false>(0, 0, lane, a, memory.pivot_row[0][group]);
  unrolled<last_block_in_registers<L> ? L::rows - 1 : L::rows>([&](auto index) __attribute__((always_inline)) {
    constexpr int slot = index;
#pragma unroll steps_at_once < L>
    for (int owner = 0; owner < G; ++owner) {
      const int k = G * slot + owner;
      const T pivot = repaired<L>(args, shuffle(a[slot][0], owner, G), k, matrix);
      const T inverse = reciprocal(pivot);
      if (lane < 2) *behind<L>(matrix, (lane == 0 ? pivots_at<L> : reciprocals_at<L>)+k) = lane == 0 ? pivot : inverse;
      T factor[L::rows];
#pragma unroll
      for (int u = slot; u < L::rows; ++u) {
        factor[u] = -a[u][0] * inverse;
        if (u > slot || lane > owner) matrix[k * L::row_pitch + G * u + lane] = a[u][0];
      }
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const T pivot_b = shuffle(b[c][slot], owner, G);
        b[c][slot] = fma(lane > owner ? factor[slot] : T(0), pivot_b, b[c][slot]);
#pragma unroll
        for (int u = slot + 1; u < L::rows; ++u) b[c][u] = fma(factor[u], pivot_b, b[c][u]);
      }
      __syncwarp();  // column k is complete; and that of step k - 1 is read, whose place the next takes
      const T* column = memory.pivot_row[k % 2][group];
#pragma unroll
      for (int p = 0; p < L::size - G * slot; p += P) {
        if (crowded<T, L, G * slot> && p > 0 && p % 4 == 0) __syncwarp();
        const auto v = *reinterpret_cast<const Vector<T, P>*>(column + p);
#pragma unroll
        for (int c = 0; c < P; ++c) {
#pragma unroll
          for (int u = slot; u < L::rows; ++u)
            if (p + c + 1 < G * (u - slot + 1)) a[u][p + c] = fma(factor[u], v.value[c], a[u][p + c + 1]);
          if (p + c == 0) publish_column<T, L, false>(k + 1, slot, lane, a, memory.pivot_row[(k + 1) % 2][group]);
        }
      }
    }
  });
}

/// The unknowns of one block of G rows, as every lane computes them for itself: x[j] becomes t_j / d_j minus what the
/// unknowns behind j take off. row(i): the numbers v_j, j > i, of row i of the block; inverse: 1 / d.
template <int G, class T, class Row>
__device__ __forceinline__ void substitute_block(Row&& row, const T (&inverse)[G], T (&x)[G]) {
#pragma unroll
  for (int j = G - 1; j >= 0; --j) {
    if (G > 8) __syncwarp();  // or the compiler loads the whole block first, into registers that are not there
    x[j] *= inverse[j];
#pragma unroll
    for (int i = 0; i < j; ++i) x[i] = fma(-row(i, j), x[j], x[i]);
  }
}

/// The last G rows: every lane gathers their triangle and right-hand sides, factors and solves for itself. x: their
/// unknowns.
template <class T, class L, int C>
__device__ __forceinline__ void solve_last_block(const Arguments<T>& args, int first_column, int lane, T* matrix,
                                                 const T (&a)[L::rows][L::size], const T (&b)[C][L::rows],
                                                 T (&x)[C][L::lanes]) {
  constexpr int G = L::lanes, P = L::piece, first = L::size - G, last_slot = L::rows - 1;
  T l[G][G], inverse[G], pivot[G], floor[G];
#pragma unroll
  for (int k = 0; k < G; ++k) floor[k] = -infinity<T>();
  if (args.pivot_floor > 0) {
#pragma unroll
    for (int k = 0; k < G; ++k) floor[k] = *behind<L>(matrix, floors_at + first + k);
    __syncwarp();  // all lanes have the floors, whose place the block takes
  }
  T* own_row = behind<L>(matrix, lane * G);
#pragma unroll
  for (int i = 0; i < G; i += P) {
    Vector<T, P> out;
#pragma unroll
    for (int p = 0; p < P; ++p) out.value[p] = a[last_slot][i + p];
    *reinterpret_cast<Vector<T, P>*>(own_row + further<L>(i)) = out;
  }
  __syncwarp();  // the block is complete
#pragma unroll
  for (int i = 0; i < G; ++i)
#pragma unroll
    for (int j = 0; j <= i; j += P) {
      const auto in = *reinterpret_cast<const Vector<T, P>*>(behind<L>(matrix, i * G) + further<L>(j));
#pragma unroll
      for (int p = 0; p < P; ++p) l[i][j + p] = in.value[p];
    }
#pragma unroll
  for (int c = 0; c < C; ++c)
#pragma unroll
    for (int i = 0; i < G; ++i) x[c][i] = shuffle(b[c][last_slot], i, G);
#pragma unroll
  for (int k = 0; k < G; ++k) {
    pivot[k] = max(l[k][k], floor[k]);
    inverse[k] = reciprocal(pivot[k]);
    T factor[G];
#pragma unroll
    for (int i = k + 1; i < G; ++i) {
      factor[i] = -l[i][k] * inverse[k];
#pragma unroll
      for (int j = k + 1; j <= i; ++j) l[i][j] = fma(factor[i], l[j][k], l[i][j]);
#pragma unroll
      for (int c = 0; c < C; ++c) x[c][i] = fma(factor[i], x[c][k], x[c][i]);
    }
  }
  if (args.inverse) {
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int i = 0; i < G; ++i) x[c][i] = first + i == first_column + c ? pivot[i] : T(0);
  }
#pragma unroll
  for (int c = 0; c < C; ++c) substitute_block<G>([&](int i, int j) { return l[j][i]; }, inverse, x[c]);
  if (lane == 0) {
#pragma unroll
    for (int k = 0; k < G; ++k) behind<L>(matrix, 0)[further<L>(pivots_at<L> + first + k / 4 * 4) + k % 4] = pivot[k];
  }
}

/// L^T x = D^-1 z after factor_ldlt(): b[c][u] becomes x_{G u + lane}. Block by block from the last: the lanes exchange
/// the right-hand sides of a block, each solves it for itself, and takes what it contributes off its own rows above.
/// For an inverse z is D e_j instead, j = first_column + c, so that x is column j of U = L^-T; A^-1 = U D^-1 U^T.
template <class T, class L, int C>
__device__ __forceinline__ void substitute_back(const Arguments<T>& args, int first_column, int lane, T* matrix,
                                                const T (&a)[L::rows][L::size], T (&b)[C][L::rows]) {
  constexpr int G = L::lanes, P = L::piece;
  constexpr int x_at = L::size;  // behind the rows; the right-hand sides of a block lie from 0 on
  T x[C][G];
  if (args.inverse) {
    __syncwarp();  // the last pivots are there
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        const T pivot = behind<L>(matrix, lane)[further<L>(pivots_at<L> + G * u)];
        b[c][u] = G * u + lane == first_column + c ? pivot : T(0);
      }
  }
  if constexpr (last_block_in_registers<L>) {
    solve_last_block<T, L, C>(args, first_column, lane, matrix, a, b, x);
    __syncwarp();  // the block has been read, whose place the unknowns take
  }
#pragma unroll
  for (int u = L::rows - 1; u >= 0; --u) {
    if (!last_block_in_registers<L> || u + 1 < L::rows) {
      T inverse[G];
#pragma unroll
      for (int c = 0; c < C; ++c) {
        __syncwarp();  // the right-hand sides before have been read
        behind<L>(matrix, lane)[0] = b[c][u];
        __syncwarp();  // the right-hand sides are complete
#pragma unroll
        for (int i = 0; i < G; i += P) {
          const auto in = *reinterpret_cast<const Vector<T, P>*>(behind<L>(matrix, i));
          const auto inverses =
              *reinterpret_cast<const Vector<T, P>*>(behind<L>(matrix, reciprocals_at<L> + G * u + i));
#pragma unroll
          for (int p = 0; p < P; ++p) {
            x[c][i + p] = in.value[p];
            inverse[i + p] = inverses.value[p];
          }
        }
        const T* block = matrix + G * u * (L::row_pitch + 1);
        substitute_block<G>([&](int i, int j) { return block[i * L::row_pitch + j]; }, inverse, x[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < C; ++c) {
      if (lane == 0) {
#pragma unroll
        for (int i = 0; i < G; i += P) {
          Vector<T, P> out;
#pragma unroll
          for (int p = 0; p < P; ++p) out.value[p] = x[c][i + p];
          *reinterpret_cast<Vector<T, P>*>(behind<L>(matrix, x_at + G * u + i)) = out;
        }
      }
      if (C > 1) __syncwarp();  // the unknowns are complete
      if (C > 1) b[c][u] = behind<L>(matrix, lane)[further<L>(x_at + G * u)];
      if (C > 1) __syncwarp();  // and read, before the next take their place
#pragma unroll
      for (int above = 0; above < u; ++above)
#pragma unroll
        for (int j = 0; j < G; j += P) {
          const auto v = *reinterpret_cast<const Vector<T, P>*>(matrix + (G * above + lane) * L::row_pitch + G * u + j);
#pragma unroll
          for (int p = 0; p < P; ++p) b[c][above] = fma(-v.value[p], x[c][j + p], b[c][above]);
        }
    }
  }
  if (C > 1) return;
  __syncwarp();  // the unknowns are complete
#pragma unroll
  for (int u = 0; u < L::rows; ++u) b[0][u] = behind<L>(matrix, lane)[further<L>(x_at + G * u)];
}

/// Gauss-Jordan: `b` becomes x up to the division by the pivots.
template <class T, class L, int C>
__device__ __forceinline__ void eliminate_gauss_jordan(const Arguments<T>& args, int group, int lane,
                                                       WarpMemory<T, L, C>& memory, T (&a)[L::rows][L::size],
                                                       T (&b)[C][L::rows]) {
  constexpr int G = L::lanes, P = L::piece;
  T* matrix = memory.matrix[group];
  __syncwarp();  // all lanes have read b, whose place the pivot rows take
  publish_column<T, L, false>(0, 0, lane, a, memory.pivot_row[0][group]);
  unrolled<L::rows>([&](auto index) __attribute__((always_inline)) {
    constexpr int slot = index, width = L::size - G * slot;  // columns G slot .. N - 1 are left
#pragma unroll steps_at_once < L>
    for (int owner = 0; owner < G; ++owner) {
      const int k = G * slot + owner;
      const T pivot = repaired<L>(args, shuffle(a[slot][0], owner, G), k, matrix);
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
        if (crowded<T, L, 0> && p > 0 && p % 8 == 0) __syncwarp();
        const auto v = *reinterpret_cast<const Vector<T, P>*>(row + p);
#pragma unroll
        for (int c = 0; c < P && p + c + 1 < width; ++c) {
#pragma unroll
          for (int u = 0; u < L::rows; ++u) a[u][p + c] = fma(factor[u], v.value[c], a[u][p + c + 1]);
          if (p + c == 0) publish_column<T, L, false>(k + 1, slot, lane, a, memory.pivot_row[(k + 1) % 2][group]);
        }
      }
    }
  });
}

/// The sweep (Goodnight 1979) of all pivots: whole rows of A become those of -A^-1.
///     a_ij -= a_ik a_kj / d_k (i, j != k),  a_ik, a_ki <- a_ik / d_k,  a_kk <- -1 / d_k
template <class T, class L>
__device__ __forceinline__ void sweep(const Arguments<T>& args, int group, int lane, WarpMemory<T, L, 1>& memory,
                                      T (&a)[L::rows][L::size]) {
  constexpr int G = L::lanes, P = L::piece;
  T* matrix = memory.matrix[group];
  publish_column<T, L, true>(0, 0, lane, a, memory.pivot_row[0][group]);
  unrolled<L::rows>([&](auto index) __attribute__((always_inline)) {
    constexpr int slot = index;
#pragma unroll steps_at_once < L>
    for (int owner = 0; owner < G; ++owner) {
      const int k = G * slot + owner;
      const T pivot = repaired<L>(args, shuffle(a[slot][0], owner, G), k, matrix);
      if (lane == 0) *behind<L>(matrix, pivots_at<L> + k) = pivot;
      const T inverse = reciprocal(pivot);
      T factor[L::rows];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) factor[u] = -a[u][0] * inverse;
      // The pivot row becomes v / d: it starts from 0 with the factor 1 / d.
      const T kept = lane == owner ? T(0) : T(1);
      if (lane == owner) factor[slot] = inverse;
      __syncwarp();  // the pivot row is complete; and that of step k - 1 is read, whose place the next takes
      const T* row = memory.pivot_row[k % 2][group];
#pragma unroll
      for (int p = 0; p < L::size; p += P) {
        if (crowded<T, L, 0> && p > 0 && p % 8 == 0) __syncwarp();
        const auto v = *reinterpret_cast<const Vector<T, P>*>(row + p);
#pragma unroll
        for (int c = 0; c < P && p + c + 1 < L::size; ++c) {
#pragma unroll
          for (int u = 0; u < L::rows; ++u)
            a[u][p + c] = fma(factor[u], v.value[c], u == slot ? kept * a[u][p + c + 1] : a[u][p + c + 1]);
          if (p + c == 0) publish_column<T, L, true>(k + 1, 0, lane, a, memory.pivot_row[(k + 1) % 2][group]);
        }
      }
#pragma unroll
      for (int u = 0; u < L::rows; ++u) a[u][L::size - 1] = -factor[u];
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
__device__ void eliminate_in_shared_memory(const Arguments<T>& args, int lane, T* matrix, T* rhs) {
  static_assert(L::lanes == warp_lanes, "one system per warp");
  constexpr int pitch = L::row_pitch;
#pragma unroll 1
  for (int k = 0; k < L::size; ++k) {
    __syncwarp();  // step k - 1 is complete
    const T pivot = repaired<L>(args, matrix[k * (pitch + 1)], k, matrix);
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

/// A = L D L^T in shared memory, where factor_ldlt() would not find registers enough; leaves the same, and destroys the
/// lower triangle.
template <class T, class L, int C>
__device__ void factor_ldlt_in_shared_memory(const Arguments<T>& args, int lane, T* matrix, T (&b)[C][L::rows]) {
  constexpr int pitch = L::row_pitch;
#pragma unroll 1
  for (int k = 0; k < L::size; ++k) {
    __syncwarp();  // step k - 1 is complete
    const T pivot = repaired<L>(args, matrix[k * (pitch + 1)], k, matrix);
    const T inverse = reciprocal(pivot);
    if (lane == 0) {
      *behind<L>(matrix, pivots_at<L> + k) = pivot;
      *behind<L>(matrix, reciprocals_at<L> + k) = inverse;
    }
    T factor[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int j = L::lanes * u + lane;
      const T v = matrix[j * pitch + k];
      factor[u] = j > k ? -v * inverse : T(0);
      if (j > k) matrix[k * pitch + j] = v;
    }
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const T pivot_b = shuffle(k < L::lanes ? b[c][0] : b[c][L::rows - 1], k % L::lanes, L::lanes);
#pragma unroll
      for (int u = 0; u < L::rows; ++u) b[c][u] = fma(factor[u], pivot_b, b[c][u]);
    }
    __syncwarp();  // column k is complete
#pragma unroll 4
    for (int i = k + 1; i < L::size; ++i) {
      const T v = matrix[k * pitch + i];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        T& element = matrix[(L::lanes * u + lane) * pitch + i];
        if (i <= L::lanes * u + lane) element = fma(factor[u], v, element);
      }
    }
  }
}

}  // namespace

}  // namespace smallbatch
