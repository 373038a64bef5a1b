// Solutions of packed plain systems of 32 rows by L D L^T with their backward errors, in one pass over A: the triangle
// stays in shared memory until the answers are judged. Takes matrices that lie at multiples of 16 bytes, with one
// right-hand side; what is not plain it marks for the general kernel (ldlt_general.cu). Of whole matrices:
// ldlt_judged_rows.cuh. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

constexpr int judged_rows = 32;

/// Packed lower triangles as they are.
template <class T, int Numbers>
struct PackedTile : Tile<T, judged_rows, LdltPlan<T, judged_rows>::lanes, false> {
  static constexpr int staged_numbers = Numbers;
};
template <class T>
using PackedKept = PackedTile<T, packed_pitch<PackedTile<T, 0>>>;

/// The columns G p .. G p + G - 1 of row G u + lane.
template <int G, int u, class T>
__device__ __forceinline__ void kept_row_part(const T* own, int lane, int p, T (&part)[G]) {
  if constexpr (sizeof(T) == sizeof(float)) {
    packed_row_part<G, u>(own, lane, G * p, part);
  } else {  // there two loads each would take more registers than there are
    const int row = G * u + lane;
    const T* const along = own + packed_begin(row) + G * p;
    const T* const down = own + packed_begin(G * p) + row;
#pragma unroll
    for (int c = 0; c < G; ++c) {
      const T* const beyond = down + c * G * p + packed_begin(c);  // element (G p + c, row)
      part[c] = *(u > p || (u == p && lane >= c) ? along + c : beyond);
    }
  }
}

/// The backward error. A loop that is not unrolled: the code of the elimination alone fills the instruction cache.
template <class T, class L>
__device__ __forceinline__ double judge_packed(int lane, const T* own, typename Residual<T>::Factor* places,
                                               const T (&x)[L::rows], const T (&b)[L::rows]) {
  constexpr int G = L::lanes;
  Judgement<T, L> judgement(
      L::size, lane, [&](int row) { return own[packed_begin(row) + row]; }, places, x, b);
#pragma unroll 1
  for (int p = 0; p < L::size / G; ++p) {
    T part[L::rows][G];
    unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
      constexpr int u = slot;
      kept_row_part<G, u>(own, lane, p, part[u]);
    });
#pragma unroll
    for (int c = 0; c < G; ++c) {
      const auto known = places[G * p + c];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) judgement.add(u, part[u][c], known);
    }
  }
  double norm_a;
  return judgement.result(L::size, lane, norm_a);
}

/// Solves and judges what is plain, and marks all others: systems whose numbers lie far from 1 or that fail. The last
/// task begins where it ends with the batch: some systems are solved twice, alike.
template <class T>
__global__ void __launch_bounds__(warp_lanes, QuickPlan<T, judged_rows>::warps)
    judged_packed_kernel(Arguments<T> args) {
  using Plan = QuickPlan<T, judged_rows>;
  using L = PackedKept<T>;
  constexpr int G = L::lanes;
  __shared__ TileMemory<T, L> memory;
  __shared__ unsigned char is_odd[L::systems];  // 1: the system is not plain
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto begin = [&]() __attribute__((always_inline)) { return first_of_task<L::systems>(args, task); };
    T a[L::rows][L::size], b[1][L::rows], inverse[L::rows];
    const auto source = [&]() __attribute__((always_inline)) {
      return [first = args.a + begin() * args.a_step, &args](int s) { return first + s * args.a_step; };
    };
    __syncwarp();  // the last systems are done with
    stage_packed(source(), memory);
    stage_rhs(args.b + (begin() + group()) * args.b_step, group(), lane(), memory);
    if (threadIdx.x < L::systems) is_odd[threadIdx.x] = 0;
    wait_for_copies();
    load_packed<T, L>(memory.matrix[group()], lane(), a);
    unsigned odd = diagonal_far_bits<T, L>(lane(), a);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    }
    if (odd != 0) is_odd[group()] = 1;
    factor<L, Plan::turning, Plan::apart, false>(group(), lane(), memory, a, b[0],
                                                 ReciprocalsInRegisters<T, L>{inverse}, L::size, args.once);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded; the same in all kernels
    }
    substitute_back<L, Plan::apart, false>(group(), lane(), memory, a, b, args.once);
    if (!are_answers(b[0], inverse)) is_odd[group()] = 1;
    T* const x = args.to.x + (begin() + group()) * args.to.x_stride + lane();
    T right[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      x[G * u] = b[0][u];
      right[u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
    }
    const double error = judge_packed<T, L>(lane(), memory.matrix[group()], memory.x[group()], b[0], right);
    __syncwarp();  // all know what is odd
    if (lane() != 0) continue;
    const std::int64_t place = begin() + group();
    args.to.backward_error[place] = static_cast<T>(error);
    args.to.info[place] = 0;
    args.marks[place] = is_odd[group()] == 0 ? Mark::settled : Mark::unsettled;
  }
}

}  // namespace

}  // namespace smallbatch
