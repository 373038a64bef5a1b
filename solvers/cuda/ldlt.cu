// A = L D L^T without pivoting and two triangular solves, which is backward stable where Gauss-Jordan elimination is
// not (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", sections 10.1 and 14.4); ldlt_elimination.cuh
// has the elimination.
//
// Four kernels. The quick one takes whole matrices of size N with one right-hand side and answers with x and the
// status: while a warp works on its systems, the next ones are on their way into the shared memory that these have
// left. What is not plain it marks for the general one, which takes all sizes and any number of right-hand sides and
// computes whatever is asked for. The third inverts, the fourth judges the solutions.
//
// One file, because the kernels that solve share their parts: the same system has the same bits from each of them.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_systems.cuh"
#include "solvers/cuda/status.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

/// Of the quick kernel, which there is for all but n > 32 in double precision: such rows take all registers.
template <class T, int N>
struct QuickPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  static_assert(N <= 32 || single);
  using L = Tile<T, N, LdltPlan<T, N>::lanes, (N >= 32)>;
  static constexpr int turning = N == 32 && single ? 4 : 0;  // slots whose steps are a loop
  static constexpr bool apart = N == 64 || (N >= 16 && !single);
  static constexpr int warps = N == 8 ? 16 : N == 16 ? (single ? 16 : 12) : 8;
};

/// Solves what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie far from 1
/// or that fail; and what is left over behind the last whole task.
template <class T, int N, bool Packed>
__global__ void __launch_bounds__(warp_lanes, QuickPlan<T, N>::warps) quick_ldlt_kernel(Arguments<T> args) {
  using Plan = QuickPlan<T, N>;
  using L = typename Plan::L;
  constexpr int G = L::lanes, quarter = L::quarter;
  constexpr int part = G > quarter ? G : quarter;  // rows that are loaded at a time, lest the loads take all registers
  constexpr int ahead = L::split ? quarter : 0;    // the rows from here on are fetched ahead
  __shared__ TileMemory<T, L> memory;
  const int lane = threadIdx.x % G, group = threadIdx.x / G;
  const bool dense = args.storage == Storage::dense;
  const auto source = [&](unsigned task) {
    return [&args, a = args.a + std::int64_t{task} * (L::systems * args.a_step)](int s) { return a + s * args.a_step; };
  };
  const auto stage = [&](unsigned task) __attribute__((always_inline)) {
    if constexpr (Packed)
      stage_packed(source(task), memory);
    else
      stage_pieces<ahead, N>(source(task), memory);
    stage_rhs<true>(args, args.b + (std::int64_t{task} * L::systems + group) * args.b_step, group, lane, 0, memory);
  };
  if (blockIdx.x == 0)
    for (std::int64_t rest = std::int64_t{args.tasks} * L::systems + threadIdx.x; rest < args.count; rest += warp_lanes)
      args.marks[rest] = Mark::unsettled;
  unsigned task = blockIdx.x;
  if (task < args.tasks) stage(task);
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    T a[L::rows][N], b[L::rows], inverse[L::rows];
    unsigned odd = 0;                       // not zero: the system is not plain
    const int thread = fresh(threadIdx.x);  // places in shared memory are not kept from one task to the next
    const auto take = [&]<int first, int end>() __attribute__((always_inline)) {
      const T* matrix = memory.matrix[thread / G];
      load_rows<first, end, T, L>(matrix, thread / G, thread % G, a);
      if (dense)
        visit_columns<first, end, false, T, L>(matrix, thread / G, thread % G, [&](int u, int row, const T& value) {
          odd |= differing_bits(a[u][row], value);
        });
    };
    wait_for_copies();
    if constexpr (Packed) {
      load_packed<T, L>(memory.matrix[0] + thread / G * packed_pitch<L>, thread % G, a);
    } else if constexpr (L::split) {
      take.template operator()<3 * quarter, N>();
      __syncwarp();  // the last quarter has been read, whose place the first takes
      stage_pieces<0, quarter>(source(task), memory);
      take.template operator()<2 * quarter, 3 * quarter>();
      take.template operator()<quarter, 2 * quarter>();
      wait_for_copies();
      take.template operator()<0, quarter>();
    } else {
      unrolled<N / part>([&](auto index) __attribute__((always_inline)) {
        take.template operator()<N - part*(index + 1), N - part * index>();
      });
    }
    odd |= diagonal_far_bits<T, L>(lane, a);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[u] = memory.rhs[group * L::column_pitch + G * u + lane];
      odd |= static_cast<unsigned>(is_far(b[u], Traits<T>::rhs_window));
    }
    if (odd != 0) b[0] = not_a_number<T>();  // which says so at the end
    __syncwarp();  // the matrices and right-hand sides have been read, whose places the next take
    if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks)
      stage(next);
    factor<Plan::turning, Plan::apart, false>(group, lane, memory, a, b, inverse, N, args.once);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[u] *= inverse[u];
      now(b[u]);  // rounded; the same in both kernels
    }
    substitute_back<Plan::apart, false>(group, lane, memory, a, b, args.once);
    T zero = 0, least = inverse[0];  // zero becomes NaN where a number is not finite
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      zero = fma(inverse[u], T(0), fma(b[u], T(0), zero));
      least = min(least, inverse[u]);
    }
    const bool plain = !any_of_group<G>(!(zero == 0 && least > 0));
    const std::int64_t place = std::int64_t{task} * L::systems + group;
    T* x = args.to.x + place * args.to.x_stride + lane;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) x[G * u] = b[u];
    if (lane != 0) continue;
    args.to.info[place] = 0;
    args.marks[place] = plain ? Mark::settled : Mark::unsettled;
  }
}

/// Solves any number of right-hand sides, or none, of systems of any size.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::general_warps) general_ldlt_kernel(Arguments<T> args) {
  using L = typename LdltPlan<T, N>::General;
  __shared__ GeneralMemory<T, L> memory;
  fill_padding<T, L>(args, memory.tile);
  const auto stage_column = [&](int column) __attribute__((always_inline)) {
    stage_rhs<false>(args, args.b + own_system(memory) * args.b_step, own_group<L>(), own_lane<L>(), column,
                     memory.tile);
  };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    find_systems(args, task, memory);
#pragma unroll 1
    while (choose_systems(args, task, memory)) {
      stage_systems(args, memory);
      stage_column(0);
      wait_for_copies();
      T a[L::rows][N], b[L::rows], inverse[L::rows];
      const bool far = load_scaled(args, memory, a);
      int shift = 0;
      bool scaled = take_rhs(args, memory, far, b, shift);
      const int bad_pivot = factor_and_tell(args, memory, far, a, b, inverse);
      bool bad = bad_pivot != 0;
#pragma unroll 1
      for (int column = 0; column < args.nrhs; ++column) {
        if (column > 0) {
          __syncwarp();  // the right-hand side before has been read
          stage_column(column);
          wait_for_copies();
          scaled = take_rhs(args, memory, far, b, shift);
          substitute_forward<T, L>(own_lane<L>(), a, b, args.once);
        }
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          b[u] *= inverse[u];
          now(b[u]);
        }
        substitute_back<true, true>(own_group<L>(), own_lane<L>(), memory.tile, a, b, args.once);
        if (scaled) {
          T* const place = memory.tile.rhs + own_group<L>() * L::column_pitch + own_lane<L>();
          const bool tiny = rescale<T, L>(b, place, [&](int u) {
            return scaling_exponent(args, own_system(memory), L::lanes * u + own_lane<L>(), far) - shift;
          });
          if (tiny) memory.underflows[own_group<L>()] = true;
        }
#pragma unroll
        for (int u = 0; u < L::rows; ++u) bad |= not_finite(b[u]);
        if (is_own(memory)) {
          T* const x = args.to.x + own_system(memory) * args.to.x_stride + column;
#pragma unroll
          for (int u = 0; u < L::rows; ++u) {
            const int row = L::lanes * u + own_lane<L>();
            if (row < args.n) x[static_cast<std::int64_t>(row) * args.nrhs] = b[u];
          }
        }
      }
      settle(args, memory, bad, bad_pivot);
    }
  }
}

/// Element (row, column) of U, row <= column, which lies in shared memory as a packed lower triangle of U^T.
template <class T>
__device__ __forceinline__ T& factor_element(T* u, int row, int column) {
  return u[column * (column + 1) / 2 + row];
}

/// x = U D^-1 U^T of the lane's system, with 1 / d in place of the unit diagonal of U; whether a number is not finite.
template <class T, class L>
__device__ __forceinline__ bool multiply_factors(int n, int lane, T* u, T* x) {
  T zero = 0;  // becomes NaN where a number is not finite
#pragma unroll 1
  for (int i = lane; i < n; i += L::lanes)
#pragma unroll 1
    for (int j = 0; j <= i; ++j) {
      T sum = factor_element(u, i, i);
      if (j < i) sum *= factor_element(u, j, i);
#pragma unroll 4
      for (int c = i + 1; c < n; ++c)
        sum = fma(factor_element(u, i, c) * factor_element(u, c, c), factor_element(u, j, c), sum);
      x[i * n + j] = x[j * n + i] = sum;
      zero = fma(sum, T(0), zero);
    }
  return !(zero == 0);
}

/// A^-1 = U D^-1 U^T, U = L^-T. U takes the place of A in shared memory.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::general_warps) ldlt_inverse_kernel(Arguments<T> args) {
  using L = typename LdltPlan<T, N>::General;
  static_assert(packed_pitch<L> <= L::staged_numbers);
  __shared__ GeneralMemory<T, L> memory;
  fill_padding<T, L>(args, memory.tile);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    find_systems(args, task, memory);
#pragma unroll 1
    while (choose_systems(args, task, memory)) {
      stage_systems(args, memory);
      wait_for_copies();
      T a[L::rows][N], b[L::rows]{}, inverse[L::rows];
      const bool far = load_scaled(args, memory, a);
      const int bad_pivot = factor_and_tell(args, memory, far, a, b, inverse);
      bool bad = bad_pivot != 0;
      T* const u_memory = memory.tile.matrix[0];
#pragma unroll 1
      for (int column = 0; column < args.n; ++column) {
#pragma unroll
        for (int u = 0; u < L::rows; ++u) b[u] = L::lanes * u + own_lane<L>() == column ? T(1) : T(0);
        substitute_back<true, true>(own_group<L>(), own_lane<L>(), memory.tile, a, b, args.once);
        // U of the matrix as it is given, and 1 / d in place of its unit diagonal.
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = L::lanes * u + own_lane<L>();
          if (row == column) b[u] = inverse[u];
          if (far) {
            const int exponent = scaling_exponent(args, own_system(memory), column, far);
            b[u] = scale(b[u],
                         scaling_exponent(args, own_system(memory), row, far) + (row == column ? exponent : -exponent));
          }
          bad |= not_finite(b[u]);
          if (row <= column) factor_element(u_memory + own_group<L>() * packed_pitch<L>, row, column) = b[u];
        }
      }
      __syncwarp();  // U is complete
      if (is_own(memory))
        bad |= multiply_factors<T, L>(args.n, own_lane<L>(), u_memory + own_group<L>() * packed_pitch<L>,
                                      args.to.x + own_system(memory) * args.to.x_stride);
      settle(args, memory, bad, bad_pivot);
      fill_padding<T, L>(args, memory.tile);
    }
  }
}

/// The largest backward error of a system's solutions; NaN of systems that failed.
template <class T, int N, bool Whole>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::judging_warps) judge_kernel(Arguments<T> args) {
  using L = typename LdltPlan<T, N>::Judging;
  constexpr int G = L::lanes;
  __shared__ TileMemory<T, L> memory;
  const int lane = threadIdx.x % G, group = threadIdx.x / G, n = args.n;
  fill_padding<T, L>(args, memory);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system_of = [&](int g) __attribute__((always_inline)) {  // computed again instead of kept
      return min(std::int64_t{fresh(static_cast<int>(task))} * L::systems + g, args.count - 1);
    };
    const auto source = [&](int s) { return args.a + system_of(s) * args.a_step; };
    __syncwarp();  // the last systems are done with
    if (args.vectors)
      stage_pieces<0, N>(source, memory);
    else
      stage_numbers(args, source, memory);
    double worst = 0;
#pragma unroll 1
    for (int column = 0; column < args.nrhs; ++column) {
      stage_rhs<false>(args, args.b + system_of(group) * args.b_step, group, lane, column, memory);
      T x[L::rows], b[L::rows];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        const int row = G * u + lane;
        x[u] =
            row < n
                ? args.to.x[system_of(group) * args.to.x_stride + static_cast<std::int64_t>(row) * args.nrhs + column]
                : T(0);
      }
      wait_for_copies();
#pragma unroll
      for (int u = 0; u < L::rows; ++u) b[u] = memory.rhs[group * L::column_pitch + G * u + lane];
      worst = max(worst, judge<Whole, T, L>(n, group, lane, memory, x, b, args.once));
      __syncwarp();  // the right-hand side has been read, whose place the next takes
    }
    const std::int64_t system = std::int64_t{task} * L::systems + group;
    if (lane == 0 && system < args.count)
      args.to.backward_error[system] = args.to.info[system] == 0 ? static_cast<T>(worst) : not_a_number<T>();
  }
}

template <class T, bool Packed>
Kernels<T> quick_kernels() {
  Kernels<T> kernels{{quick_ldlt_kernel<T, 8, Packed>, QuickPlan<T, 8>::L::systems},
                     {quick_ldlt_kernel<T, 16, Packed>, QuickPlan<T, 16>::L::systems},
                     {quick_ldlt_kernel<T, 32, Packed>, QuickPlan<T, 32>::L::systems},
                     {}};
  if constexpr (sizeof(T) == sizeof(float))
    kernels.of64 = {quick_ldlt_kernel<T, 64, Packed>, QuickPlan<T, 64>::L::systems};
  return kernels;
}

template <class T>
Kernels<T> general_kernels() {
  return {{general_ldlt_kernel<T, 8>, LdltPlan<T, 8>::General::systems},
          {general_ldlt_kernel<T, 16>, LdltPlan<T, 16>::General::systems},
          {general_ldlt_kernel<T, 32>, LdltPlan<T, 32>::General::systems},
          {general_ldlt_kernel<T, 64>, LdltPlan<T, 64>::General::systems}};
}

template <class T>
Kernels<T> inverse_kernels() {
  return {{ldlt_inverse_kernel<T, 8>, LdltPlan<T, 8>::General::systems},
          {ldlt_inverse_kernel<T, 16>, LdltPlan<T, 16>::General::systems},
          {ldlt_inverse_kernel<T, 32>, LdltPlan<T, 32>::General::systems},
          {ldlt_inverse_kernel<T, 64>, LdltPlan<T, 64>::General::systems}};
}

template <class T, bool Whole>
Kernels<T> judge_kernels() {
  return {{judge_kernel<T, 8, Whole>, LdltPlan<T, 8>::Judging::systems},
          {judge_kernel<T, 16, Whole>, LdltPlan<T, 16>::Judging::systems},
          {judge_kernel<T, 32, Whole>, LdltPlan<T, 32>::Judging::systems},
          {judge_kernel<T, 64, Whole>, LdltPlan<T, 64>::Judging::systems}};
}

/// The arguments of a launch for those systems alone that are marked.
template <class T>
Arguments<T> of_marked(Arguments<T> arguments) {
  // The more systems, the more of them in a span; but not so many that few warps would have to do all the work.
  constexpr std::int64_t warps = 2048;
  arguments.marked = true;
  arguments.span = static_cast<int>(
      std::clamp<std::int64_t>(arguments.count / warps / warp_lanes * warp_lanes, warp_lanes, longest_span));
  return arguments;
}

}  // namespace

template <class T>
cudaError_t launch_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks, cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution, marks);
  const SpdShape& shape = batch.shape;
  const bool plain = shape.nrhs == 1 && !arguments.pivot_numbers && in_whole_pieces(batch) &&
                     (shape.n <= 32 || sizeof(T) == sizeof(float));
  cudaError_t status = cudaSuccess;
  if (plain) {
    status = launch<T>(shape.storage == Storage::packed_lower ? quick_kernels<T, true>() : quick_kernels<T, false>(),
                       arguments, stream, true);
    if (status != cudaSuccess) return status;
  }
  status = launch<T>(general_kernels<T>(), plain ? of_marked(arguments) : arguments, stream);
  const bool judged = solution.backward_error != nullptr && shape.nrhs > 0;
  if (status != cudaSuccess || !judged) return status;
  return launch<T>(shape.storage == Storage::dense ? judge_kernels<T, true>() : judge_kernels<T, false>(), arguments,
                   stream);
}

template <class T>
cudaError_t launch_ldlt_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                SystemsToDo which, cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution, marks);
  return launch<T>(inverse_kernels<T>(), which == SystemsToDo::unsettled ? of_marked(arguments) : arguments, stream);
}

template cudaError_t launch_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);
template cudaError_t launch_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);
template cudaError_t launch_ldlt_inverse(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, SystemsToDo,
                                         cudaStream_t);
template cudaError_t launch_ldlt_inverse(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, SystemsToDo,
                                         cudaStream_t);

}  // namespace smallbatch
