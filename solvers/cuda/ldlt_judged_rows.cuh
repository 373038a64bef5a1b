// Solutions of plain systems of 32 rows by L D L^T with their backward errors, in one pass over A, of whole matrices
// that lie at multiples of 16 bytes, with one right-hand side: what stays in shared memory until the answers are judged
// are the first 24 rows. By symmetry these are all but the last block of 8 x 8 on the diagonal, whose lower triangle
// takes the place of the right-hand sides; so as many warps find room as for x alone. Rows come in the order of
// ldlt_x.cu, the first ones into the place of the last. What is not plain is marked for the general kernel
// (ldlt_general.cu). Private to solvers/cuda.
#pragma once

#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

/// The backward error, from the first rows, which are whole, and the triangle `last` that follows them. Loops that are
/// not unrolled: the code of the elimination alone fills the instruction cache.
template <class T, class L>
__device__ __forceinline__ double judge_rows(int n, int group, int lane, const T* matrix, const T* last,
                                             typename Residual<T>::Factor* places, const T (&x)[L::rows],
                                             const T (&b)[L::rows]) {
  using Factor = typename Residual<T>::Factor;
  constexpr int G = L::lanes, P = L::piece, N = L::size, quarter = L::quarter, kept = 3 * quarter;  // rows
  constexpr int at_once = 4, together = 16 / sizeof(Factor);                                        // columns
  static_assert(L::pieces_per_row >= 8 && quarter % 8 == 0 && at_once % P == 0);
  Judgement<T, L> judgement(
      n, lane,
      [&](int row) {
        return row < kept ? staged<L>(matrix, group, row, row) : last[packed_begin(row - kept) + row - kept];
      },
      places, x, b);
  const auto add = [&](int first, auto&& beyond) __attribute__((always_inline)) {
    T part[L::rows][at_once];
    const T* const first_line = matrix + L::line(lane, 0) * 8 * P;
    const int key = L::key(lane, 0) ^ L::system_key(group);
#pragma unroll
    for (int u = 0; u < kept / G; ++u)
#pragma unroll
      for (int c = 0; c < at_once; c += P) {
        const int place = L::place(G * u), p = (first + c) / P;
        const auto in = *reinterpret_cast<const Vector<T, P>*>(first_line + (key ^ L::key(place, p)) * P +
                                                               L::line(place, p) * 8 * P);
#pragma unroll
        for (int e = 0; e < P; ++e) part[u][c + e] = in.value[e];
      }
    beyond(first, part);
#pragma unroll
    for (int c = 0; c < at_once; c += together) {
      const auto known = *reinterpret_cast<const Vector<Factor, together>*>(places + first + c);
#pragma unroll
      for (int e = 0; e < together; ++e)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) judgement.add(u, part[u][c + e], known.value[e]);
    }
  };
#pragma unroll 1
  for (int column = 0; column < kept; column += at_once)
    add(
        column, [&](int first, T(&part)[L::rows][at_once]) __attribute__((always_inline)) {
          // By symmetry, of the rows `first` .. in the lane's columns.
          const int place = first < quarter ? first + 2 * quarter : first - quarter;
          const T* const line = matrix + place * N + L::line(0, lane / P) * 8 * P + lane % P;
          const int key = L::key(0, lane / P) ^ L::system_key(group) ^ (place & 4);
#pragma unroll
          for (int u = kept / G; u < L::rows; ++u)
#pragma unroll
            for (int c = 0; c < at_once; ++c)
              part[u][c] = line[(key ^ L::key(c, G * u / P)) * P + L::line(c, G * u / P) * 8 * P];
        });
#pragma unroll 1
  for (int column = kept; column < N; column += at_once)
    add(
        column, [&](int first, T(&part)[L::rows][at_once]) __attribute__((always_inline)) {
          unrolled<quarter / G>([&](auto slot) __attribute__((always_inline)) {
            constexpr int u = slot;
            packed_row_part<G, u>(last, lane, first - kept, part[kept / G + u]);
          });
        });
  double norm_a;
  return judgement.result(n, lane, norm_a);
}

/// Solves and judges what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie
/// far from 1 or that fail. The last task begins where it ends with the batch: some systems are solved twice, alike.
/// Dense: the other triangle is to be the same. Sized: each system has a size of its own.
template <class T, bool Dense, bool Sized>
__global__ void __launch_bounds__(warp_lanes, QuickPlan<T, 32>::warps) judged_rows_kernel(Arguments<T> args) {
  using Plan = QuickPlan<T, 32>;
  using L = typename Plan::L;
  constexpr int G = L::lanes, N = L::size, quarter = L::quarter, kept = 3 * quarter;
  static_assert(L::split && L::column_pitch >= packed_begin(quarter));
  __shared__ TileMemory<T, L> memory;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  const auto first_of = [&](unsigned task) __attribute__((always_inline)) {
    return first_of_task<L::systems>(args, task);
  };
  // Sizes, whatever they are, lie behind the answers to be judged until the elimination begins.
  std::int32_t* const sizes = reinterpret_cast<std::int32_t*>(memory.x + L::systems);
  static_assert(sizeof(memory.x) + L::systems * sizeof(std::int32_t) <= sizeof(memory.column));
  const auto stage_sizes = [&](unsigned task) __attribute__((always_inline)) {
    if (const int s = fresh(threadIdx.x); Sized && s < L::systems && task < args.tasks)
      copy_async<1>(sizes + s, args.sizes + first_of(task) + s);
  };
  stage_sizes(blockIdx.x);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return first_of(task) + group(); };
    const auto stage_rows = [&]<int first, int end>() __attribute__((always_inline)) {
      const auto source = [from = args.a + first_of(task) * args.a_step, &args](int s) {
        return from + s * args.a_step;
      };
      if constexpr (Sized)
        stage_pieces<first, end>(source, memory, [&](int s) { return sizes[s]; });
      else
        stage_pieces<first, end>(source, memory);
      end_group_of_copies();
    };
    const auto complete = [&]<int first, int end>() __attribute__((always_inline)) {
      if constexpr (Sized) complete_rows<first, end, T, L>(sizes[group()], group(), lane(), memory.matrix[group()]);
    };
    T a[L::rows][N], b[1][L::rows], inverse[L::rows];
    unsigned odd = 0;
    const auto take = [&]<int first, int end>() __attribute__((always_inline)) {
      T* const matrix = memory.matrix[group()];
      load_rows<first, end, T, L>(matrix, group(), lane(), a);
      if (Dense) {
        visit_columns<first, end, T, L>(
            matrix, group(), lane(), [&](int u, int row, const T& value) { odd |= differing_bits(a[u][row], value); });
      } else if (first < kept) {
        __syncwarp();  // these rows have been read, and what they have above the diagonal
        visit_columns<first, end, T, L>(matrix, group(), lane(), [&](int u, int row, T& value) {
          if (u > row / G || lane() > row % G) value = a[u][row];
        });
      }
    };
    if constexpr (Sized) {
      wait_for_copies();  // the sizes are known, and the last systems done with
      const int n = sizes[group()];
      odd |= static_cast<unsigned>(n <= 0 || n > N);
      stage_rhs_below(n, args.b + system() * args.b_step, group(), lane(), memory);
    } else {
      __syncwarp();  // the last systems are done with
      stage_rhs(args.b + system() * args.b_step, group(), lane(), memory);
    }
    stage_rows.template operator()<kept, N>();
    stage_rows.template operator()<quarter, kept>();
    wait_for_groups_but<1>();
    complete.template operator()<kept, N>();
    take.template operator()<kept, N>();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) b[0][u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
    __syncwarp();  // the last quarter has been read, whose place the first takes, and the right-hand sides
    stage_rows.template operator()<0, quarter>();
    {
      T* const last = memory.rhs + group() * L::column_pitch;
#pragma unroll
      for (int u = kept / G; u < L::rows; ++u)
#pragma unroll
        for (int c = 0; c < G * (u + 1) - kept; ++c) {
          const int row = G * u - kept + lane();
          if (c <= row) last[packed_begin(row) + c] = a[u][kept + c];
        }
    }
    wait_for_groups_but<1>();
    complete.template operator()<quarter, kept>();
    take.template operator()<2 * quarter, kept>();
    take.template operator()<quarter, 2 * quarter>();
    wait_for_copies();
    complete.template operator()<0, quarter>();
    take.template operator()<0, quarter>();
    odd |= diagonal_far_bits<T, L>(lane(), a);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    if (odd != 0) b[0][0] = not_a_number<T>();  // which says so at the end
    factor<L, Plan::turning, Plan::apart, false>(group(), lane(), memory, a, b[0],
                                                 ReciprocalsInRegisters<T, L>{inverse}, N, args.once);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded; the same in all kernels
    }
    substitute_back<L, Plan::apart, false>(group(), lane(), memory, a, b, args.once);
    const int n = Sized ? args.sizes[system()] : N;
    T right[L::rows];
    {
      const T* const from = args.b + system() * args.b_step + lane();
#pragma unroll
      for (int u = 0; u < L::rows; ++u) right[u] = !Sized || G * u + lane() < n ? from[G * u] : T(0);
    }
    const bool plain = !any_of_group<G>(!are_answers(b[0], inverse));
    T* const x = args.to.x + system() * args.to.x_stride + lane();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) x[G * u] = b[0][u];
    if (lane() == 0) {
      args.to.info[system()] = 0;
      args.marks[system()] = plain ? Mark::settled : Mark::unsettled;
    }
    if constexpr (Sized) {
      __syncwarp();  // what lay in the place of the next sizes has been read
      stage_sizes(static_cast<unsigned>(fresh(static_cast<int>(task))) + gridDim.x);
    }
    const double error = judge_rows<T, L>(n, group(), lane(), memory.matrix[group()],
                                          memory.rhs + group() * L::column_pitch, memory.x[group()], b[0], right);
    if (lane() == 0) args.to.backward_error[system()] = static_cast<T>(error);
  }
}

}  // namespace

}  // namespace smallbatch
