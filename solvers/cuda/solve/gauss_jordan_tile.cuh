// Gauss-Jordan elimination in the registers of a warp, from lower triangles to the identity. Private to solvers/cuda.
//
// Step k takes the pivot d_k = a_kk and the column v_i = a_ik, i > k, which is the pivot row by symmetry:
//
//     a_ji -= (a_jk / d_k) v_i, b_j -= (a_jk / d_k) b_k        i > k, j != k
//
// The part that is not eliminated stays symmetric, so its lower triangle suffices for rows below the pivot. A row gets
// its elements right of the pivot in its own step. This takes n^3/3 multiply-adds. The rows need two thirds of the
// registers of whole rows. Blocks of G x G on the diagonal have both triangles.
//
// A shuffle passes the pivot from lane to lane. The column goes through shared memory, published before the rest of a
// step, as in common/ldlt_elimination.cuh. Afterwards x_j is b_j / d_j.
#pragma once

#include "solvers/cuda/common/tile.cuh"

namespace smallbatch {

namespace {

/// The distribution of steps: a loop covers `steps` steps, which divide N, in turns of `at_once` steps each. Each turn
/// shifts the columns of the rows by `at_once` registers, so that all turns have the same code. That code fits into the
/// instruction cache. For `apart`, see apart().
template <int Steps, int AtOnce, bool Apart>
struct Turns {
  static constexpr int steps = Steps, at_once = AtOnce;
  static constexpr bool apart = Apart;
};

/// State of a reduction.
template <class T, class L, int C>
struct Reduction {
  T (&a)[L::rows][L::size];
  T (&b)[C][L::rows];
  T* pivots;     // pivots of the lane's system, in shared memory
  T* column[2];  // columns of the lane's system, in shared memory
  int lane;
  T pivot;  // pivot of the next step
};

/// Reduces by step k = G slot + owner; column `at` of `a` is the pivot column. It is step at % H of turn `turn`, where
/// H = Plan::at_once. Column c of the system is column `c - k + at` of `a`, and moves to `c - k + at - shift`. Lane
/// (owner + 1) % G has the pivot row of the next step, in the next slot if `next_slot`.
///
/// The pivot column `from` has row r at index `r - k + at`. The next pivot column `to` has row r at index
/// `r - k + at - shift`.
template <class Plan, int slot, int at, int shift, class T, class L, int C>
__device__ __forceinline__ void reduce(Reduction<T, L, C>& e, int owner, bool next_slot, int turn, const T* from,
                                       T* to) {
  constexpr int G = L::lanes, P = L::piece, N = L::size, H = Plan::at_once, turns = Plan::steps / H;
  constexpr int end = G * (slot + 1);  // end of the block's columns in the first turn
  const T minus_inverse = -reciprocal(e.pivot);
  if (e.lane == owner) e.pivots[G * slot + owner] = e.pivot;
  __syncwarp();  // the column is complete, and the column of the previous step has been read: the next column takes its
                 // place
  T factor[L::rows];
#pragma unroll
  for (int u = 0; u < L::rows; ++u) factor[u] = e.a[u][at] * minus_inverse;
  // Right of the block, the rows of this slot are zero until they are pivot rows. A pivot row gets the elements of the
  // pivot column there.
  const T beyond = e.lane < owner ? factor[slot] : e.lane == owner ? T(1) : T(0);
  if (e.lane == owner) factor[slot] = 0;  // the pivot row does not change
  T between[turns];                       // factors for H columns each; in the first turns these columns are within the
                                          // block
#pragma unroll
  for (int i = 1; i < turns; ++i) between[i] = turn < i ? factor[slot] : beyond;
  T pivot_b[C];
#pragma unroll
  for (int c = 0; c < C; ++c) pivot_b[c] = shuffle(e.b[c][slot], owner, G);
#pragma unroll
  for (int i = (at + 1) / P * P; i < N; i += P) {
    const auto v = *reinterpret_cast<const Vector<T, P>*>(from + i);
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int c = i + p;
      if (c <= at) continue;
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        if (u > slot && c >= G * (u + 1)) continue;
        const T own = u != slot || c < end - H * (turns - 1) ? factor[u]
                      : c < end                              ? between[(end - c + H - 1) / H]
                                                             : beyond;
        e.a[u][c - shift] = fma(own, v.value[p], e.a[u][c]);
      }
      if (c == at + 1) {
#pragma unroll
        for (int u = slot; u < L::rows; ++u) to[G * u] = e.a[u][c - shift];
        T source = e.a[slot][c - shift];
        if (slot + 1 < L::rows) {
          constexpr int other = slot + 1 < L::rows ? slot + 1 : slot;
          const T below = e.a[other][c - shift];
          if (next_slot) source = below;
        }
        e.pivot = shuffle(source, (owner + 1) % G, G);
      }
    }
  }
#pragma unroll
  for (int c = 0; c < C; ++c)
#pragma unroll
    for (int u = 0; u < L::rows; ++u) e.b[c][u] = fma(factor[u], pivot_b[c], e.b[c][u]);
}

/// Replaces each b_j by d_j x_j, and stores the pivots d_j in `pivots`.
template <class Plan, class L, int C, class T, class Memory>
__device__ __forceinline__ void reduce_to_identity(int group, int lane, Memory& memory, T (&a)[L::rows][L::size],
                                                   T (&b)[C][L::rows], T* pivots, int once) {
  constexpr int G = L::lanes, N = L::size, F = Plan::steps, H = Plan::at_once;
  static_assert(N % F == 0 && G % F == 0 && F % H == 0 && H % 2 == 0);
  Reduction<T, L, C> e{
      a,      b,
      pivots, {memory.column[0] + G + group * L::column_pitch, memory.column[1] + G + group * L::column_pitch},
      lane,   shuffle(a[0][0], 0, G)};
#pragma unroll
  for (int u = 0; u < L::rows; ++u) e.column[0][G * u + lane] = a[u][0];
  unrolled<N / F>([&](auto index) __attribute__((always_inline)) {
    constexpr int base = F * index, slot = base / G;
    if (base % G == 0) {
#pragma unroll
      for (int c = base + G; c < N; ++c) a[slot][c] = 0;
    }
#pragma unroll 1
    for (int turn = 0; turn < F / H; ++turn) {
      // Column base + H turn + c of the system is column base + c of `a`.
      unrolled<H>([&](auto step) __attribute__((always_inline)) {
        constexpr int t = step, shift = t + 1 == H ? H : 0;
        const auto body = [&]() __attribute__((always_inline)) {
          const int owner = base % G + H * turn + t;
          reduce<Plan, slot, base + t, shift>(e, owner, owner + 1 == G, turn, e.column[t % 2] - base,
                                              e.column[(t + 1) % 2] + lane - base - H * turn - shift);
        };
        if constexpr (Plan::apart)
          apart(once, body);
        else
          body();
      });
    }
#pragma unroll
    for (int u = 0; u < L::rows; ++u)
#pragma unroll
      for (int c = N - 1; c >= base + F; --c) a[u][c] = a[u][c - F];
  });
  __syncwarp();  // the pivots are stored
}

}  // namespace

}  // namespace smallbatch
