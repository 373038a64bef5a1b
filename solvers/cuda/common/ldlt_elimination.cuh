// The factorization A = L D L^T in the registers of a warp, and substitution with its factors. Private to solvers/cuda.
//
// Step k takes the pivot d_k = a_kk and the column v_j = a_jk:
//
//     l_j = v_j / d_k,  a_ji -= l_j v_i,  b_j -= l_j b_k        j >= i > k: n^3/6 multiply-adds
//
// A shuffle passes the pivot to all lanes, which is the shortest way from one step to the next. The column goes through
// shared memory. Each element of a 16-byte broadcast from there feeds one multiply-add per row of a lane. Column k + 1
// is finished and published before the rest of step k. One barrier per step therefore suffices, and its wait is hidden.
//
// Afterwards a[u][i] is l below the diagonal and 0 above it. The diagonal holds the pivots if the template argument
// `general` is true, and zeros otherwise.
#pragma once

#include "solvers/cuda/common/tile.cuh"

namespace smallbatch {

namespace {

/// Keeps 1 / d of the lane's rows in registers.
template <class T, class L>
struct ReciprocalsInRegisters {
  T (&inverse)[L::rows];
  template <int slot>
  __device__ __forceinline__ void keep(int lane, int owner, T, T reciprocal) const {
    if (lane == owner) inverse[slot] = reciprocal;
  }
};
/// Keeps no copy of d. With `general`, factor() leaves d on the diagonal of `a`.
struct PivotsOnTheDiagonal {
  template <int slot, class T>
  __device__ __forceinline__ void keep(int, int, T, T) const {}
};
/// Keeps d of all rows of the lane's system in shared memory.
template <class T, class L>
struct PivotsInMemory {
  T* pivots;
  template <int slot>
  __device__ __forceinline__ void keep(int lane, int owner, T pivot, T) const {
    if (lane == owner) pivots[L::lanes * slot + owner] = pivot;
  }
};
/// Keeps, in every lane, only whether any d of the system was negative. The elimination multiplies the right-hand side
/// by 1 / d at once. Kernels in double precision use this, because the reciprocals would occupy registers that the
/// matrix needs.
struct SignsOfPivots {
  int& signs;  // negative: a pivot was negative
  template <int slot>
  __device__ __forceinline__ void keep(int, int, double pivot, double) const {
    signs = fresh(signs | __double2hiint(pivot));  // computed now, so that the compiler does not keep all pivots
  }
};

/// Type of the right-hand side in an elimination that has none.
struct NoRhs {};

/// State of an elimination.
template <class T, class L, class Rhs, class Pivots>
struct Elimination {
  T (&a)[L::rows][L::size];
  Rhs& b;  // becomes L^-1 b
  Pivots pivots;
  T* column[2];  // columns of the lane's system, in shared memory
  int lane;
  T pivot;    // pivot of the next step
  T inverse;  // reciprocal of `pivot`, if computed early
};

/// Eliminates step k = G slot + owner; column `at` of `a` is the pivot column. Column c of the system is column
/// `c - k + at` of `a`. A column that changes moves to `c - k + at - shift`. Lane (owner + 1) % G has the pivot row of
/// the next step, in the next slot if `next_slot`.
///
/// The pivot column `from` has row r at index `r - k + at`. The next pivot column `to` has row r at index
/// `r - k + at - shift`. Rows of the last slot have `width` columns; rows of each slot before have G fewer.
template <class T, class L, int slot, int at, int shift, int width, bool general, bool Early, class Rhs, class Pivots>
__device__ __forceinline__ void eliminate(Elimination<T, L, Rhs, Pivots>& e, int owner, bool next_slot, const T* from,
                                          T* to, T (&l)[L::rows]) {
  constexpr int G = L::lanes, P = L::piece;
  const T inverse = Early ? e.inverse : reciprocal(e.pivot);
  e.pivots.template keep<slot>(e.lane, owner, e.pivot, inverse);
  __syncwarp();  // the column is complete, and the column of the previous step has been read: the next column takes its
                 // place
#pragma unroll
  for (int u = slot; u < L::rows; ++u) l[u] = e.a[u][at] * inverse;
  if (e.lane <= owner) l[slot] = 0;
  T kept = general && e.lane == owner ? e.pivot : l[slot];
  if (general) now(kept);  // so that pivots of other lanes are not kept in registers
  T pivot_b = 0;
  if constexpr (!std::is_same_v<Rhs, NoRhs>) pivot_b = shuffle(e.b[slot], owner, G);
#pragma unroll
  for (int i = (at + 1) / P * P; i < width && i < L::size; i += P) {
    const auto v = *reinterpret_cast<const Vector<T, P>*>(from + i);
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int c = i + p;
      if (c <= at || c >= L::size) continue;
#pragma unroll
      for (int u = slot; u < L::rows; ++u)
        if (c < width - G * (L::rows - 1 - u) && c < L::size) e.a[u][c - shift] = fma(-l[u], v.value[p], e.a[u][c]);
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
        if (Early) e.inverse = reciprocal(e.pivot);
      }
    }
  }
  if constexpr (!std::is_same_v<Rhs, NoRhs>) {
#pragma unroll
    for (int u = slot; u < L::rows; ++u) e.b[u] = fma(-l[u], pivot_b, e.b[u]);
    if constexpr (std::is_same_v<Pivots, SignsOfPivots>) {
      if (e.lane == owner) e.b[slot] *= inverse;
      now(e.b[slot]);
    }
  }
  l[slot] = kept;
}

/// Leaves L in the registers of `a`.
struct ColumnsInRegisters {};

/// Whether step k runs in apart(): every step with (k + 1) divisible by `Apart`; none if `Apart` is 0.
template <int Apart, int k>
inline constexpr bool is_apart = Apart > 0 && (k + 1) % (Apart > 0 ? Apart : 1) == 0;

/// Factors A = L D L^T. b becomes L^-1 b or, if only signs are kept, D^-1 L^-1 b.
///
/// - Turning: each of the first `Turning` slots is a loop of two turns with G / 2 steps each. Each turn shifts the
///   columns of the rows by G / 2 registers, so that both turns have the same code. That code fits into the instruction
///   cache.
/// - Apart: every `Apart`-th step (is_apart) runs in apart(), which the compiler does not mix with others; 0: none.
/// - Early: 1 / d of the next step is computed beside the rest of this step.
/// - pivots: where d or 1 / d is kept.
/// - columns: where L is kept; if that is not `a`, all steps are in loops.
template <class L, int Turning, int Apart, bool general, bool Early = false, class T, class Memory, class Rhs,
          class Pivots, class Columns = ColumnsInRegisters>
__device__ __forceinline__ void factor(int group, int lane, Memory& memory, T (&a)[L::rows][L::size], Rhs& b,
                                       Pivots pivots, int n, int once, Columns columns = {}) {
  constexpr bool in_registers = std::is_same_v<Columns, ColumnsInRegisters>;
  static_assert(in_registers || Turning == L::rows);
  constexpr int G = L::lanes, H = G / 2, N = L::size, width = G * L::rows;
  static_assert(Turning == 0 || width == N);
  Elimination<T, L, Rhs, Pivots> e{
      a,      b,
      pivots, {memory.column[0] + G + group * L::column_pitch, memory.column[1] + G + group * L::column_pitch},
      lane,   shuffle(a[0][0], 0, G)};
  if (Early) e.inverse = reciprocal(e.pivot);
#pragma unroll
  for (int u = 0; u < L::rows; ++u) e.column[0][G * u + lane] = a[u][0];
  unrolled<Turning>([&](auto index) __attribute__((always_inline)) {
    constexpr int slot = index, base = G * slot;
    T done[L::rows][in_registers ? G : 4];
#pragma unroll 1
    for (int turn = 0; turn < 2; ++turn) {
      // Column base + H turn + c of the system is column base + c of `a`.
      unrolled<H>([&](auto step) __attribute__((always_inline)) {
        constexpr int t = step;
        constexpr bool last = t + 1 == H;
        const auto step_of_turn = [&]() __attribute__((always_inline)) {
          T l[L::rows];
          eliminate<T, L, slot, base + t, last ? H : 0, N, general, Early>(
              e, H * turn + t, last && turn == 1, e.column[t % 2] - base,
              e.column[(t + 1) % 2] + lane - base - H * turn - (last ? H : 0), l);
          if constexpr (in_registers) {
#pragma unroll
            for (int u = slot; u < L::rows; ++u) {
              done[u][t] = done[u][H + t];
              done[u][H + t] = l[u];
            }
          } else {
#pragma unroll
            for (int u = slot; u < L::rows; ++u) done[u][t % 4] = l[u];
            if constexpr (t % 4 == 3) columns.template keep<slot, t - 3>(lane, turn, done);
          }
        };
        if constexpr (is_apart<Apart, base + t>)
          apart(once, step_of_turn);
        else
          step_of_turn();
      });
    }
#pragma unroll
    for (int u = slot; u < L::rows; ++u) {
#pragma unroll
      for (int c = G * (u + 1) - 1; c >= base + G; --c) a[u][c] = a[u][c - G];
      if constexpr (in_registers) {
#pragma unroll
        for (int c = 0; c < G; ++c) a[u][base + c] = done[u][c];
      }
    }
  });
  unrolled<N - G * Turning>([&](auto index) __attribute__((always_inline)) {
    constexpr int base = G * Turning, k = base + index, slot = k / G;
    const auto step = [&]() __attribute__((always_inline)) {
      T l[L::rows];
      eliminate<T, L, slot, k, 0, width, general, Early>(e, k % G, (k + 1) / G > slot, e.column[k % 2] - base,
                                                         e.column[(k + 1) % 2] + lane - base, l);
#pragma unroll
      for (int u = slot; u < L::rows; ++u) a[u][k] = l[u];
    };
    if (general && sizeof(T) == sizeof(double) && k >= n)
      return;  // nothing to do in rows of the identity (with floats, this branch would cost registers)
    if constexpr (is_apart<Apart, k>)
      apart(once, step);
    else
      step();
  });
}

/// Multiplies C columns b by L^-1. Without `general`, factor() has left zeros on and above the diagonal. With
/// `general`, each use of an element of L puts zeros there. The sign, too, is changed at each use. Otherwise the
/// compiler would change all of L ahead, and keep two versions of L in registers.
template <class L, bool general, int C, class T>
__device__ __forceinline__ void substitute_forward(int lane, const T (&a)[L::rows][L::size], T (&b)[C][L::rows],
                                                   int once) {
  constexpr int G = L::lanes, chunk = L::size % 8 == 0 ? 8 : 4;
  unrolled<L::size / chunk>([&](auto index) __attribute__((always_inline)) {
    apart(
        once, [&]() __attribute__((always_inline)) {
#pragma unroll
          for (int k = chunk * index; k < chunk * (index + 1); ++k) {
            T value[C];
#pragma unroll
            for (int c = 0; c < C; ++c) value[c] = shuffle(b[c][k / G], k % G, G);
#pragma unroll
            for (int u = k / G; u < L::rows; ++u) {
              const T l = !general || u > k / G || lane > k % G ? a[u][k] : T(0);
#pragma unroll
              for (int c = 0; c < C; ++c) b[c][u] = fma(l, -value[c], b[c][u]);
            }
          }
        });
  });
}

/// Solves C columns: y = D^-1 L^-1 b becomes x = L^-T y, slot by slot from the last. Within a slot each lane needs its
/// column of L, but the lanes hold rows; they exchange them through shared memory. (A lane could keep its column by
/// updating its row above the diagonal. That column would differ by rounding, which pivots near zero amplify.)
///
/// With L::shares > 1 (PlainLayout), a group of L::shares slots corresponds to one slot of a kernel with L::shares
/// times as many lanes. The sums over the slots below the group are computed for all its slots before one of them is
/// solved. These sums do not include the products between slots of the group.
template <class L, bool Apart, bool general, int C, class T, class Memory>
__device__ __forceinline__ void substitute_back(int group, int lane, Memory& memory, const T (&a)[L::rows][L::size],
                                                T (&y)[C][L::rows], int once) {
  constexpr int G = L::lanes, P = L::piece, width = G < 8 ? G : 8, shares = L::shares;
  constexpr int room = 2 * (G + L::systems * L::column_pitch);
  // Number of rows that are exchanged at a time. G elements are left free after the rows of each system, to avoid bank
  // conflicts.
  constexpr int block = L::systems * (width + 1) * G <= room ? width : 4, pitch = (block + 1) * G;
  static_assert(L::systems * pitch <= room);
  T* const rows = &memory.column[0][0] + group * pitch;
  const auto maybe_apart = [&](auto&& body) __attribute__((always_inline)) {
    if constexpr (Apart)
      apart(once, body);
    else
      body();
  };
  // Subtracts, from slot s of y, the sums over the rows of slot `below` and all later slots.
  const auto subtract_sums = [&]<int s, int below>() __attribute__((always_inline)) {
    unrolled<G / width>([&](auto part) __attribute__((always_inline)) {
      constexpr int first = width * part;
      maybe_apart([&]() __attribute__((always_inline)) {
#pragma unroll
        for (int c = 0; c < C; ++c) {
          T p[shares][width]{};
#pragma unroll
          for (int i = 0; i < width; ++i) {
#pragma unroll
            for (int u = L::rows - 1; u >= below; --u) {
              T& sum = p[u % shares][i];
              const T l = a[u][G * s + first + i];
              sum = u + shares >= L::rows ? l * y[c][u] : fma(l, y[c][u], sum);
            }
#pragma unroll
            for (int h = 0; h < shares; ++h) now(p[h][i]);  // rounded before it is added, like in every other kernel
          }
          T sum = 0;
          if constexpr (shares == 1) {
            sum = sum_for_each<G, width>(lane, p[0]);
          } else if constexpr (G < 8) {
#pragma unroll
            for (int h = 0; h < shares; h += 2)
#pragma unroll
              for (int i = 0; i < width; ++i) p[h][i] += p[h + 1][i];
            sum = sum_for_each<G, width>(lane, p[0]);
            if constexpr (shares == 4) sum += sum_for_each<G, width>(lane, p[2]);
          } else {
            sum = sum_for_each<G, width>(lane, p[0]);
            sum += sum_for_each<G, width>(lane, p[1]);
          }
          if (width == G || lane / width == first / width) y[c][s] -= sum;
        }
      });
    });
  };
  // Subtracts, from slot `to` of y, the products with the rows of slot s.
  const auto subtract_rows = [&]<int s, int to>() __attribute__((always_inline)) {
    unrolled<G / block>([&](auto part) __attribute__((always_inline)) {
      constexpr int first = G - block * (part + 1);
      if constexpr (G * s + first < L::size) {
        maybe_apart([&]() __attribute__((always_inline)) {
          __syncwarp();  // the rows' memory has been read
          if (block == G || lane / block == first / block) {
#pragma unroll
            for (int i = 0; i < G; i += P) {
              Vector<T, P> out;
#pragma unroll
              for (int p = 0; p < P; ++p) out.value[p] = G * to + i + p < L::size ? a[s][G * to + i + p] : T(0);
              *reinterpret_cast<Vector<T, P>*>(rows + lane % block * G + i) = out;
            }
          }
          __syncwarp();  // the rows are complete
#pragma unroll
          for (int i = first + block - 1; i >= first && (i > 0 || to < s); --i) {
            if (G * s + i >= L::size) continue;
            T l = rows[(i - first) * G + lane];
            if (general && to == s && lane >= i) l = 0;
#pragma unroll
            for (int c = 0; c < C; ++c) y[c][to] = fma(-l, shuffle(y[c][s], i, G), y[c][to]);
          }
        });
      }
    });
  };
  unrolled<L::rows>([&](auto index) __attribute__((always_inline)) {
    constexpr int s = L::rows - 1 - index, first = s / shares * shares;
    if constexpr ((s + 1) % shares == 0 || s + 1 == L::rows) {
      constexpr int below = first + shares;
      if constexpr (below < L::rows) {
        unrolled<s - first + 1>([&](auto other) __attribute__((always_inline)) {
          subtract_sums.template operator()<s - other, below>();
        });
      }
    }
    unrolled<s - first + 1>([&](auto other)
                                __attribute__((always_inline)) { subtract_rows.template operator()<s, s - other>(); });
  });
}

/// Returns whether the lane's part of x is finite, and `inverse`, the reciprocals of its pivots, are finite and
/// positive.
template <class T, int R>
__device__ __forceinline__ bool are_answers(const T (&x)[R], const T (&inverse)[R]) {
  T zero = 0, least = inverse[0];  // `zero` becomes NaN if a number is not finite
#pragma unroll
  for (int u = 0; u < R; ++u) {
    zero = fma(inverse[u], T(0), fma(x[u], T(0), zero));
    least = min(least, inverse[u]);
  }
  return zero == 0 && least > 0;
}

/// Returns whether the lane's part of x is finite and all pivots are positive. `signs` (SignsOfPivots) is negative if a
/// pivot was negative. A pivot without a finite reciprocal makes x not finite. A pivot is infinite only after a pivot
/// that is not positive.
template <class T, int R>
__device__ __forceinline__ bool are_answers(const T (&x)[R], int signs) {
  T zero = 0;
#pragma unroll
  for (int u = 0; u < R; ++u) zero = fma(x[u], T(0), zero);
  return zero == 0 && signs >= 0;
}

}  // namespace

}  // namespace smallbatch
