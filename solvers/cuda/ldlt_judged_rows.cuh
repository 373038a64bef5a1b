// Solutions of plain systems of 32 rows by L D L^T with their backward errors, of whole matrices, as ldlt_judged.cuh has
// them: here what stays in shared memory until the answers are judged are the first 24 rows as they are. By symmetry
// they are all but the last block of 8 x 8 on the diagonal, whose lower triangle takes the place of the right-hand sides.
// Private to solvers/cuda.
//
// Rows come in the order of ldlt_x.cu, the first ones into the place of the last. No room is left for the next systems:
// meanwhile these are brought into the second-level cache.
#pragma once

#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

/// The backward error, from the first rows, which are whole, and the triangle that follows them. A loop that is not
/// unrolled: the code of the elimination alone fills the instruction cache.
template <class T, class L>
__device__ __forceinline__ double judge_rows(int group, int lane, const T* matrix, const T* last,
                                             typename Residual<T>::Factor* places, const T (&x)[L::rows],
                                             const T (&b)[L::rows]) {
  constexpr int G = L::lanes, P = L::piece, N = L::size, kept = 3 * L::quarter;  // rows
  const auto of_last = [&](int i, int j) __attribute__((always_inline)) {
    const int row = max(i, j) - kept, column = min(i, j) - kept;
    return last[row * (row + 1) / 2 + column];
  };
  Judgement<T, L> judgement(
      N, lane,
      [&](int row) { return row < kept ? staged<L>(matrix, group, row, row) : of_last(row, row); }, places, x, b);
  const T* const first_line = matrix + L::line(lane, 0) * 8 * P;
  const int key = L::key(lane, 0) ^ L::system_key(group);
  const auto add = [&](int p, auto&& beyond) __attribute__((always_inline)) {  // pieces p of all rows
    typename Residual<T>::Factor known[P];
#pragma unroll
    for (int c = 0; c < P; ++c) known[c] = places[P * p + c];
#pragma unroll
    for (int u = 0; u < kept / G; ++u) {
      const int place = L::place(G * u);
      const auto row =
          *reinterpret_cast<const Vector<T, P>*>(first_line + (key ^ L::key(place, p)) * P + L::line(place, p) * 8 * P);
#pragma unroll
      for (int c = 0; c < P; ++c) judgement.add(u, row.value[c], known[c]);
    }
#pragma unroll
    for (int u = kept / G; u < L::rows; ++u)
#pragma unroll
      for (int c = 0; c < P; ++c) judgement.add(u, beyond(P * p + c, G * u + lane), known[c]);
  };
#pragma unroll 1
  for (int p = 0; p < kept / P; ++p)
    add(p, [&](int j, int row) __attribute__((always_inline)) { return staged<L>(matrix, group, j, row); });
#pragma unroll 1
  for (int p = kept / P; p < N / P; ++p) add(p, of_last);
  double norm_a;
  return judgement.result(N, lane, norm_a);
}

/// Solves and judges what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie
/// far from 1 or that fail. The last task begins where it ends with the batch: some systems are solved twice, alike.
/// Dense: the other triangle is to be the same.
template <class T, bool Dense>
__global__ void __launch_bounds__(warp_lanes, QuickPlan<T, 32>::warps) judged_rows_kernel(Arguments<T> args) {
  using Plan = QuickPlan<T, 32>;
  using L = typename Plan::L;
  constexpr int G = L::lanes, N = L::size, quarter = L::quarter, kept = 3 * quarter;
  static_assert(L::split && L::column_pitch >= quarter * (quarter + 1) / 2);
  __shared__ TileMemory<T, L> memory;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto begin = [&]() __attribute__((always_inline)) { return first_of_task<L::systems>(args, task); };
    const auto source = [&]() __attribute__((always_inline)) {
      return [first = args.a + begin() * args.a_step, &args](int s) { return first + s * args.a_step; };
    };
    const auto own_b = [&]() __attribute__((always_inline)) { return args.b + (begin() + group()) * args.b_step; };
    T a[L::rows][N], b[1][L::rows], inverse[L::rows];
    unsigned odd = 0;
    __syncwarp();  // the last systems are done with
    stage_pieces<quarter, N>(source(), memory);
    stage_rhs(own_b(), group(), lane(), memory);
    wait_for_copies();
    const auto take = [&]<int first, int end>() __attribute__((always_inline)) {
      const T* const matrix = memory.matrix[group()];
      load_rows<first, end, T, L>(matrix, group(), lane(), a);
      if (Dense)
        visit_columns<first, end, T, L>(matrix, group(), lane(), [&](int u, int row, const T& value) {
          odd |= differing_bits(a[u][row], value);
        });
    };
    take.template operator()<kept, N>();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) b[0][u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
    __syncwarp();  // the last quarter has been read, whose place the first takes, and the right-hand sides
    stage_pieces<0, quarter>(source(), memory);
    {
      T* const last = memory.rhs + group() * L::column_pitch;
#pragma unroll
      for (int u = kept / G; u < L::rows; ++u)
#pragma unroll
        for (int c = 0; c < G * (u + 1) - kept; ++c) {
          const int row = G * u - kept + lane();
          if (c <= row) last[row * (row + 1) / 2 + c] = a[u][kept + c];
        }
    }
    take.template operator()<2 * quarter, kept>();
    take.template operator()<quarter, 2 * quarter>();
    wait_for_copies();
    take.template operator()<0, quarter>();
    if (!Dense) {
      __syncwarp();  // all rows have been read, and what they have above the diagonal
      T* const matrix = memory.matrix[group()];
      visit_columns<0, kept, T, L>(matrix, group(), lane(), [&](int u, int row, T& value) {
        if (u > row / G || lane() > row % G) value = a[u][row];
      });
    }
    odd |= diagonal_far_bits<T, L>(lane(), a);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    if (odd != 0) b[0][0] = not_a_number<T>();  // which says so at the end
    const auto prefetch = [&]() __attribute__((always_inline)) {
      const auto next = static_cast<unsigned>(fresh(static_cast<int>(task))) + gridDim.x;
      if (const int s = fresh(threadIdx.x); next < args.tasks && s < L::systems)
        fetch_into_cache(args.a + (first_of_task<L::systems>(args, next) + s) * args.a_step,
                         static_cast<int>(N * N * sizeof(T)));
    };
#if PFJ == 1
    prefetch();
#endif
    factor<L, Plan::turning, Plan::apart, false>(group(), lane(), memory, a, b[0],
                                                 ReciprocalsInRegisters<T, L>{inverse}, N, args.once);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded; the same in all kernels
    }
#if PFJ == 2
    prefetch();
#endif
    substitute_back<L, Plan::apart, false>(group(), lane(), memory, a, b, args.once);
    T right[L::rows];
    {
      const T* const from = own_b() + lane();
#pragma unroll
      for (int u = 0; u < L::rows; ++u) right[u] = from[G * u];
    }
    T zero = 0, least = inverse[0];  // zero becomes NaN where a number is not finite
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      zero = fma(inverse[u], T(0), fma(b[0][u], T(0), zero));
      least = min(least, inverse[u]);
    }
    const bool plain = !any_of_group<G>(!(zero == 0 && least > 0));
    T* const x = args.to.x + (begin() + group()) * args.to.x_stride + lane();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) x[G * u] = b[0][u];
    if (lane() == 0) {
      args.to.info[begin() + group()] = 0;
      args.marks[begin() + group()] = plain ? Mark::settled : Mark::unsettled;
    }
    const double error = judge_rows<T, L>(group(), lane(), memory.matrix[group()],
                                          memory.rhs + group() * L::column_pitch, memory.x[group()], b[0], right);
    if (lane() == 0) args.to.backward_error[begin() + group()] = static_cast<T>(error);
  }
}

}  // namespace

}  // namespace smallbatch
