// Solves plain systems by L D L^T with rcond and all other wanted numbers. The kernels take whole matrices of 32 or 64
// rows that begin at multiples of 16 bytes, with one right-hand side. A does not stay in shared memory. The factors
// replace A there, and the norm of A^-1 is computed from them. For the backward error, A is read again from the
// second-level cache. Systems that are not plain are marked for the general kernel (solve/general.cu). Private to
// solvers/cuda/solve.
#pragma once

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/kept_factors.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

/// Solves plain systems, and marks all others: systems that are not symmetric to the bit, have numbers far from 1, or
/// fail. The last task consists of the last systems of the batch. It may solve some of them a second time, with equal
/// results.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, PiecesPlan<T, N, Asked::everything>::warps)
    pieces_everything_kernel(Arguments<T> args) {
  using Plan = PiecesPlan<T, N, Asked::everything>;
  using L = typename Plan::L;
  using Kept = KeptFactors<T, L>;
  constexpr int G = L::lanes, quarter = L::quarter;
  // If true, columns of L leave the registers as they are finished, the steps are loops, and x is computed from shared
  // memory, too. With 64 rows, unrolled code would not fit into the instruction cache.
  constexpr bool by_columns = N == 64;
  static_assert(L::split && Kept::all_numbers <= L::systems * L::staged_numbers);
  __shared__ TileMemory<T, L> memory;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto begin = [&]() __attribute__((always_inline)) { return first_of_task<L::systems>(args, task); };
    const auto source = [&]() __attribute__((always_inline)) {
      return [first = args.a + begin() * args.a_step, &args](int s) { return first + s * args.a_step; };
    };
    T a[L::rows][N], b[1][L::rows];
    unsigned odd = 0;  // not zero: the system is not plain
    const auto take = [&]<int first, int end>() __attribute__((always_inline)) {
      const T* const matrix = memory.matrix[group()];
      load_rows<first, end, T, L>(matrix, group(), lane(), a);
      visit_columns<first, end, T, L>(matrix, group(), lane(),
                                      [&](int u, int row, const T& value) { odd |= differing_bits(a[u][row], value); });
    };
    const auto take_apart = [&]<int first, int end>() __attribute__((always_inline)) {
      if constexpr (by_columns)
        apart_elsewhere(
            args.once, [&]() __attribute__((always_inline)) { take.template operator()<first, end>(); });
      else
        take.template operator()<first, end>();
    };
    __syncwarp();  // the previous systems are done
    stage_pieces<quarter, N>(source(), memory);
    stage_rhs(args.b + (begin() + group()) * args.b_step, group(), lane(), memory);
    wait_for_copies();
    take_apart.template operator()<3 * quarter, N>();
    __syncwarp();  // the last quarter has been read: the first takes its place
    stage_pieces<0, quarter>(source(), memory);
    take_apart.template operator()<2 * quarter, 3 * quarter>();
    take_apart.template operator()<quarter, 2 * quarter>();
    wait_for_copies();
    take_apart.template operator()<0, quarter>();
    odd |= diagonal_far_bits<T, L>(lane(), a);
    // Numbers of the lane's system: the right-hand side, then the pivots, then their reciprocals.
    const auto own_numbers = [&]() __attribute__((always_inline)) { return memory.rhs + group() * L::column_pitch; };
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] = own_numbers()[G * u + lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // x becomes NaN, so the system is marked
    T* const factors = memory.matrix[0] + group() * Kept::pitch;
    const PivotsInMemory<T, L> pivots{own_numbers()};
    if constexpr (by_columns)
      factor<L, Plan::turning, Plan::factor_apart, false>(group(), lane(), memory, a, b[0], pivots, N, args.once,
                                                          typename Kept::Columns{factors});
    else
      factor<L, Plan::turning, Plan::factor_apart, false>(group(), lane(), memory, a, b[0], pivots, N, args.once);
    __syncwarp();           // the pivots are stored
    T zero = 0, least = 1;  // zero becomes NaN if a number is not finite
    PivotNumbers<T> numbers;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      T& own = own_numbers()[G * u + lane()];
      if (args.pivot_numbers) numbers.add(own, 0);
      const T inverse = reciprocal(own);
      own = inverse;
      b[0][u] *= inverse;
      now(b[0][u]);  // rounded here, as in all kernels
      zero = fma(inverse, T(0), zero);
      least = min(least, inverse);
    }
    double norm_inverse = 0;
    if constexpr (by_columns) {
      T* const answer = memory.column[0] + group() * N;
      static_assert(L::systems * N <= static_cast<int>(sizeof(memory.column) / sizeof(T)));
#pragma unroll
      for (int u = 0; u < L::rows; ++u) answer[G * u + lane()] = b[0][u];
      __syncwarp();  // right-hand sides, factors and reciprocals are complete
      norm_inverse = norm_of_kept<T, L>(N, lane(), factors, own_numbers(), answer);
      __syncwarp();  // the answers are complete
#pragma unroll
      for (int u = 0; u < L::rows; ++u) b[0][u] = answer[G * u + lane()];
    } else {
      substitute_back<L, Plan::back_apart, false>(group(), lane(), memory, a, b, args.once);
      Kept::store(factors, lane(), a);
    }
    T* const x = args.to.x + (begin() + group()) * args.to.x_stride + lane();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      zero = fma(b[0][u], T(0), zero);
      x[G * u] = b[0][u];
    }
    const bool plain = !any_of_group<G>(!(zero == 0 && least > 0));
    if (args.pivot_numbers) {
      numbers.template combine<G>();
      if (lane() == 0) numbers.store(args, begin() + group());
    }
    double norm_a = 0;
    const double error =
        judge_read_again<T, L>(lane(), args.a + (begin() + group()) * args.a_step,
                               args.b + (begin() + group()) * args.b_step, memory.x[group()], b[0], norm_a);
    if constexpr (!by_columns) {
      __syncwarp();  // factors and reciprocals are complete
      norm_inverse = norm_of_kept<T, L>(N, lane(), factors, own_numbers(), nullptr);
    }
    if (lane() == 0) {
      const std::int64_t place = begin() + group();
      if (args.to.backward_error != nullptr) args.to.backward_error[place] = static_cast<T>(error);
      args.to.rcond[place] = rcond_of_norms<T>(N, norm_a, 0, norm_inverse, 0);
      args.to.info[place] = 0;
      args.marks[place] = plain ? Mark::settled : Mark::unsettled;
    }
  }
}

}  // namespace

}  // namespace smallbatch
