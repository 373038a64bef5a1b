// Solves plain systems by L D L^T. The kernels store x and the status and, for 64 rows, also the backward error. While
// a warp works on systems in registers, the next systems are copied into the shared memory that these have left.
//
// The kernels take whole matrices of size N that begin at multiples of 16 bytes, with one right-hand side. With 32
// rows, systems may have sizes. Systems that are not plain are marked for the general kernel (solve/general.cu).
// Backward errors of 32 rows have separate kernels (solve/pieces_judged_packed.cuh, solve/pieces_judged.cuh).
#include <algorithm>
#include <limits>

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/status.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/pieces_everything.cuh"
#include "solvers/cuda/solve/pieces_judged.cuh"
#include "solvers/cuda/solve/pieces_judged_packed.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

template <class T, int N, bool Judged>
using XPlan = PiecesPlan<T, N, Judged ? Asked::error : Asked::x>;

/// Solves plain systems, and marks all others: systems that are not symmetric to the bit, have numbers far from 1, or
/// fail. The last task consists of the last systems of the batch. It may solve some of them a second time, with equal
/// results. With `Sized`, each system has its own size.
template <class T, int N, bool Packed, bool Judged, bool Sized>
__global__ void __launch_bounds__(warp_lanes,
                                  resident_blocks(XPlan<T, N, Judged>::warps, XPlan<T, N, Judged>::warps_elsewhere))
    x_alone_kernel(Arguments<T> args) {
  using Plan = XPlan<T, N, Judged>;
  using L = typename Plan::L;
  constexpr int G = L::lanes, quarter = L::quarter;
  constexpr int part = G > quarter ? G : quarter;  // rows that are loaded at a time, so that the loads do not occupy
                                                   // all registers
  constexpr int ahead = L::split ? quarter : 0;    // the rows from `ahead` on are fetched ahead
  static_assert(!Sized || (!Packed && !Judged && L::split && L::column_pitch - N >= 2));
  __shared__ TileMemory<T, L> memory;
  // The code of the next kernel drives most of this kernel's 117 KB out of the instruction cache. This does not happen
  // if the next kernel is loaded while this kernel's code is in use. The next kernel therefore begins early.
  if constexpr (N == 64) let_next_kernel_begin();
  const int lane = threadIdx.x % G, group = threadIdx.x / G;
  const bool dense = args.storage == Storage::dense;
  const auto begin_of = [&](unsigned task) { return min(std::int64_t{task} * L::systems, args.count - L::systems); };
  const auto source = [&](unsigned task) {
    return [&args, a = args.a + begin_of(task) * args.a_step](int s) { return a + s * args.a_step; };
  };
  // Sizes are copied one task earlier, into the gaps between right-hand sides, and are not checked then. `turn`
  // alternates between 0 and 1.
  const auto size_of = [&](int s, int turn) -> std::int32_t& {
    return reinterpret_cast<std::int32_t*>(memory.rhs + s * L::column_pitch + N)[turn];
  };
  const auto stage_sizes = [&](unsigned task, int turn) __attribute__((always_inline)) {
    if (const int s = fresh(threadIdx.x); s < L::systems && task < args.tasks)
      copy_async<1>(&size_of(s, turn), args.sizes + begin_of(task) + s);
  };
  const auto stage = [&](unsigned task, int turn) __attribute__((always_inline)) {
    const T* const b = args.b + (begin_of(task) + group) * args.b_step;
    if constexpr (Packed)
      stage_packed(source(task), memory);
    else if constexpr (Sized)
      stage_pieces<ahead, N>(source(task), memory, [&](int s) { return size_of(s, turn); });
    else
      stage_pieces<ahead, N>(source(task), memory);
    if constexpr (Sized)
      stage_rhs_below(size_of(group, turn), b, group, lane, memory);
    else
      stage_rhs(b, group, lane, memory);
  };
  unsigned task = blockIdx.x;
  int turn = 0;
  if (task < args.tasks) {
    if constexpr (Sized) {
      stage_sizes(task, 0);
      wait_for_copies();
      stage_sizes(task + gridDim.x, 1);
    }
    stage(task, 0);
  }
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    T a[L::rows][N], b[1][L::rows], inverse[L::rows];
    unsigned odd = 0;                       // not zero: the system is not plain
    const int thread = fresh(threadIdx.x);  // fresh, so that addresses in shared memory are not kept from one task to
                                            // the next
    const auto take = [&]<int first, int end>() __attribute__((always_inline)) {
      const T* matrix = memory.matrix[thread / G];
      load_rows<first, end, T, L>(matrix, thread / G, thread % G, a);
      if (dense)
        visit_columns<first, end, T, L>(matrix, thread / G, thread % G, [&](int u, int row, const T& value) {
          odd |= differing_bits(a[u][row], value);
        });
    };
    wait_for_copies();
    if constexpr (Sized) {
      const int n = size_of(group, turn);
      odd |= static_cast<unsigned>(n <= 0 || n > N);
      complete_rows<ahead, N, T, L>(n, group, lane, memory.matrix[group]);
    }
    if constexpr (Packed) {
      load_packed<T, L>(memory.matrix[0] + thread / G * packed_pitch<L>, thread % G, a);
    } else if constexpr (L::split) {
      take.template operator()<3 * quarter, N>();
      __syncwarp();  // the last quarter has been read: the first takes its place
      if constexpr (Sized)
        stage_pieces<0, quarter>(source(task), memory, [&](int s) { return size_of(s, turn); });
      else
        stage_pieces<0, quarter>(source(task), memory);
      take.template operator()<2 * quarter, 3 * quarter>();
      take.template operator()<quarter, 2 * quarter>();
      wait_for_copies();
      if constexpr (Sized) complete_rows<0, quarter, T, L>(size_of(group, turn), group, lane, memory.matrix[group]);
      take.template operator()<0, quarter>();
    } else {
      unrolled<N / part>([&](auto index) __attribute__((always_inline)) {
        take.template operator()<N - part*(index + 1), N - part * index>();
      });
    }
    odd |= diagonal_far_bits<T, L>(lane, a);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] = memory.rhs[group * L::column_pitch + G * u + lane];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // x becomes NaN, so the system is marked
    __syncwarp();  // the matrices and right-hand sides have been read: the next ones take their places
    if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks)
      stage(next, turn ^ 1);
    if constexpr (Sized) {
      stage_sizes(static_cast<unsigned>(fresh(static_cast<int>(task))) + 2 * gridDim.x, turn);
      turn ^= 1;
    }
    int signs = 0;
    if constexpr (Plan::signs)
      factor<L, Plan::turning, Plan::factor_apart, false, Plan::early>(group, lane, memory, a, b[0],
                                                                       SignsOfPivots{signs}, N, args.once);
    else
      factor<L, Plan::turning, Plan::factor_apart, false, Plan::early>(
          group, lane, memory, a, b[0], ReciprocalsInRegisters<T, L>{inverse}, N, args.once);
#pragma unroll
    for (int u = 0; u < L::rows && !Plan::signs; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded here, as in all kernels
    }
    substitute_back<L, Plan::back_apart, false>(group, lane, memory, a, b, args.once);
    const bool plain = !any_of_group<G>(!(Plan::signs ? are_answers(b[0], signs) : are_answers(b[0], inverse)));
    const std::int64_t place = begin_of(task) + group;
    T* x = args.to.x + place * args.to.x_stride + lane;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) x[G * u] = b[0][u];
    double error = 0, norm_a = 0;
    if constexpr (Judged)
      error = judge_read_again<T, L>(lane, args.a + place * args.a_step, args.b + place * args.b_step, memory.x[group],
                                     b[0], norm_a);
    if (lane != 0) continue;
    if constexpr (Judged) args.to.backward_error[place] = static_cast<T>(error);
    args.to.info[place] = 0;
    args.marks[place] = plain ? Mark::settled : Mark::unsettled;
  }
}

/// Returns the largest number of blocks for `tasks` tasks with 32 rows. The first task of a block must wait for its
/// systems. A block therefore gets four tasks, if all multiprocessors still have enough work.
unsigned blocks_of(std::int64_t tasks) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(tasks / 4, 1 << 12, 1 << 15));
}

/// Returns the largest number of blocks for `tasks` tasks with backward errors. In double precision, two tasks per
/// block are best.
template <class T>
unsigned judged_blocks_of(std::int64_t tasks) {
  if (sizeof(T) == sizeof(float)) return 1 << 15;
  return static_cast<unsigned>(std::clamp<std::int64_t>(tasks / 2, 1 << 15, 1 << 30));
}

}  // namespace

template <class T>
cudaError_t launch_pieces(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                          cudaStream_t stream) {
  Kernel<Arguments<T>> kernel = nullptr;
  unsigned blocks = 1 << 15;
  const std::int64_t tasks = batch.count / row.systems();
  with_row<T, Family::pieces>(row, [&]<std::size_t i>() {
    constexpr const SolveRow& own = solve_table[i];
    constexpr int N = own.padded;
    constexpr bool packed = own.storages == bit_of(Storage::packed_lower), sized = own.sizes == Sizes::own;
    constexpr bool dense = own.storages == bit_of(Storage::dense), is_32 = N == judged_rows;
    constexpr bool judged = own.asked == bit_of(Asked::error);
    if constexpr (own.asked == bit_of(Asked::everything)) {
      kernel = pieces_everything_kernel<T, N>;
      blocks = std::numeric_limits<unsigned>::max();  // one task per block: blocks that end early make room
    } else if constexpr (judged && is_32) {
      if constexpr (packed)
        kernel = judged_packed_kernel<T>;
      else
        kernel = judged_rows_kernel<T, dense, sized>;
      blocks = judged_blocks_of<T>(tasks);
    } else {
      kernel = x_alone_kernel<T, N, packed, judged, sized>;
      if (is_32) blocks = blocks_of(tasks);
    }
  });
  return launch(kernel, row.systems(), arguments_of(batch, solution, marks), stream, blocks);
}

template cudaError_t launch_pieces(const SolveRow&, const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                   cudaStream_t);
template cudaError_t launch_pieces(const SolveRow&, const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                   cudaStream_t);

}  // namespace smallbatch
