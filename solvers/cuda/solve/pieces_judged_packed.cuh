// Solves packed plain systems of 32 rows by L D L^T with their backward errors, in one pass over the matrix. The
// triangle stays in shared memory until the answers are judged. It takes matrices that begin at multiples of 16 bytes,
// with one right-hand side. Systems that are not plain are marked for the general kernel (solve/general.cu).
// solve/pieces_judged.cuh solves systems with whole matrices. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

/// Layout of systems with packed lower triangles in shared memory. Each begins `Numbers` elements after the previous
/// one.
template <class T, int Numbers>
struct PackedTile : Tile<T, judged_rows, LdltPlan<T, judged_rows>::lanes, false> {
  static constexpr int staged_numbers = Numbers;
};
template <class T>
using PackedKept = PackedTile<T, packed_pitch<PackedTile<T, 0>>>;

/// Loads the columns G p .. G p + G - 1 of row G u + lane.
template <int G, int u, class T>
__device__ __forceinline__ void kept_row_part(const T* own, int lane, int p, T (&part)[G]) {
  const int row = G * u + lane;
  const T* const along = own + packed_begin(row) + G * p;
  const T* const down = own + packed_begin(G * p) + row;
#pragma unroll
  for (int c = 0; c < G; ++c) {
    const T* const beyond = down + c * G * p + packed_begin(c);  // address of element (G p + c, row)
    part[c] = *(u > p || (u == p && lane >= c) ? along + c : beyond);
  }
}

/// Computes the backward error. In single precision, all column numbers are compile-time constants, so an element takes
/// one load instead of two under predicates. In double precision, such code would not fit into the instruction cache.
template <class T, class L>
struct JudgedPacked {
  using Factor = typename Residual<T>::Factor;
  static constexpr int G = L::lanes, R = L::rows, last_columns = 8, turns = (L::size - last_columns) / G;
  static constexpr bool known = sizeof(T) == sizeof(float);

  template <int Columns>
  static __device__ __forceinline__ void take_known(const T* own, int lane, int first, T (&part)[R][Columns]) {
    unrolled<R>([&](auto slot) __attribute__((always_inline)) {
      constexpr int u = slot;
#pragma unroll
      for (int c = 0; c < Columns; ++c) part[u][c] = packed_element<G, u>(own, lane, first + c);
    });
  }

  template <int Columns>
  static __device__ __forceinline__ void add(Judgement<T, L, true>& judgement, const Factor* places, int first,
                                             const T (&part)[R][Columns]) {
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      const auto x = places[first + c];
#pragma unroll
      for (int u = 0; u < R; ++u) judgement.add(u, part[u][c], x);
    }
  }

  /// Adds all columns except the last, which are loaded into `rest`. Afterwards the matrix is not needed any more.
  static __device__ __forceinline__ void add_first(Judgement<T, L, true>& judgement, int lane, const T* own,
                                                   const Factor* places, T (&rest)[R][last_columns]) {
    if constexpr (known) {
#pragma unroll
      for (int p = 0; p < turns; ++p) {
        T part[R][G];
        take_known(own, lane, G * p, part);
        add(judgement, places, G * p, part);
      }
    } else {
#pragma unroll 1
      for (int p = 0; p < turns; ++p) {
        T part[R][G];
        unrolled<R>([&](auto slot) __attribute__((always_inline)) {
          constexpr int u = slot;
          kept_row_part<G, u>(own, lane, p, part[u]);
        });
        add(judgement, places, G * p, part);
      }
    }
    take_known(own, lane, G * turns, rest);
  }
};

/// Solves and judges plain systems, and marks all others: systems that have numbers far from 1, or fail. The last task
/// consists of the last systems of the batch. It may solve some of them a second time, with equal results.
template <class T>
__global__ void __launch_bounds__(warp_lanes, PiecesPlan<T, judged_rows, Asked::error>::warps)
    judged_packed_kernel(Arguments<T> args) {
  using Plan = PiecesPlan<T, judged_rows, Asked::error>;
  using L = PackedKept<T>;
  constexpr int G = L::lanes;
  __shared__ TileMemory<T, L> memory;
  using Judged = JudgedPacked<T, L>;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  const auto first_of = [&](unsigned task) __attribute__((always_inline)) {
    return first_of_task<L::systems>(args, task);
  };
  const auto stage = [&](unsigned task) __attribute__((always_inline)) {
    const std::int64_t step = renewed(args.a_step);
    stage_packed(Strided<T>{args.a + first_of(task) * step, step}, memory);
    stage_rhs(args.b + (first_of(task) + group()) * args.b_step, group(), lane(), memory);
  };
  unsigned task = blockIdx.x;
  if (task < args.tasks) stage(task);
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return first_of(task) + group(); };
    T a[L::rows][L::size], b[1][L::rows], inverse[L::rows];
    wait_for_copies();
    load_packed<T, L>(memory.matrix[group()], lane(), a);
    unsigned odd = diagonal_far_bits<T, L>(lane(), a);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // x becomes NaN, so the system is marked
    factor<L, Plan::turning, Plan::factor_apart, false, Plan::early>(
        group(), lane(), memory, a, b[0], ReciprocalsInRegisters<T, L>{inverse}, L::size, args.once);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded here, as in all kernels
    }
    substitute_back<L, Plan::back_apart, false>(group(), lane(), memory, a, b, args.once);
    const bool plain = !any_of_group<G>(!are_answers(b[0], inverse));
    T* const x = args.to.x + system() * args.to.x_stride + lane();
    T right[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      x[G * u] = b[0][u];
      right[u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
    }
    if (lane() == 0) {
      args.to.info[system()] = 0;
      args.marks[system()] = plain ? Mark::settled : Mark::unsettled;
    }
    const T* const own = memory.matrix[group()];
    auto* const places = memory.x[group()];
    Judgement<T, L, true> judgement(
        L::size, lane(), [&](int row) { return own[packed_begin(row) + row]; }, places, b[0], right);
    T rest[L::rows][Judged::last_columns];
    Judged::add_first(judgement, lane(), own, places, rest);
    __syncwarp();  // these systems are done: the next ones take their place
    if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks)
      stage(next);
    now(rest);  // so that the copies start before `rest` is used
    Judged::add(judgement, places, G * Judged::turns, rest);
    double norm_a;
    const double error = judgement.result(L::size, lane(), norm_a);
    if (lane() == 0) args.to.backward_error[system()] = static_cast<T>(error);
  }
}

}  // namespace

}  // namespace smallbatch
