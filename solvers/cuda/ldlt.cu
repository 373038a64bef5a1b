// A = L D L^T without pivoting and two triangular solves, which is backward stable where Gauss-Jordan elimination is
// not (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", sections 10.1 and 14.4); ldlt_elimination.cuh
// has the elimination.
//
// Three kernels. The quick one takes whole matrices of size N with one right-hand side and answers with x and the
// status: while a warp works on its systems, the next ones are on their way into the shared memory that these have
// left. What is not plain it leaves to the general one, which takes all sizes and any number of right-hand sides and
// computes whatever is asked for. The third judges the solutions.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/status.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

/// How systems lie in the lanes; measured to be best. The same lanes for both kernels that solve: the order of their
/// sums decides the last bits.
template <class T, int N>
struct LdltPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  static constexpr int lanes = N <= 16 ? 4 : N == 32 ? (single ? 4 : 8) : (single ? 16 : 32);
  using General = Tile<T, N, lanes, false>;
  using Judging = Tile<T, N, N == 8 ? 4 : N == 16 ? (single ? 4 : 8) : N == 32 ? (single ? 8 : 16) : 32, false>;
  static constexpr int general_warps = 8, judging_warps = N == 64 ? 6 : 12;
};

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

/// 2^t D b of the lane's system in registers, D where it is `far`; returns t, which is 0 unless D b lies far
/// from 1. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ int scale_rhs(const Arguments<T>& args, std::int64_t system, int lane, bool far,
                                         T (&b)[L::rows]) {
  constexpr int lowest = -4 * Traits<T>::exponent_bias;
  int top = lowest;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) now(b[u]);  // nothing of this is prepared where it is not needed
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (b[u] != 0) top = max(top, exponent_of(b[u]) + scaling_exponent(args, system, L::lanes * u + lane, far));
  top = max_of_group<L::lanes>(top);
  const int shift = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    b[u] = scale(b[u], scaling_exponent(args, system, L::lanes * u + lane, far) + shift);
  return shift;
}

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
      args.info[rest] = info_unsettled;
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
    T* x = args.x + place * args.x_step + lane;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) x[G * u] = b[u];
    if (lane == 0) args.info[place] = plain ? 0 : info_unsettled;
  }
}

/// Whether a system is among the few that a launch is for.
template <class T>
__device__ bool is_wanted(const Arguments<T>& args, std::int64_t system) {
  if (args.unsettled) return args.info[system] == info_unsettled;
  return args.info[system] == 0 && !(args.backward_error[system] <= args.resolve_above);
}

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::general_warps) general_ldlt_kernel(Arguments<T> args) {
  using L = typename LdltPlan<T, N>::General;
  constexpr int G = L::lanes;
  __shared__ TileMemory<T, L> memory;
  const int n = args.n;
  // Whose work a lane does; computed again where it is asked for: the matrices take the registers.
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  const auto columns = [&]() __attribute__((always_inline)) { return args.inverse ? args.n : args.nrhs; };
  fill_padding<T, L>(args, memory);
  // Where few systems are wanted, a warp looks through many at a time and works on those that it finds. What it keeps
  // in mind meanwhile lies in shared memory: the matrices take the registers.
  __shared__ struct {
    unsigned wanted[warp_lanes];      // bit i of word l: system span + warp_lanes i + l
    unsigned found;                   // of those with the same i, the ones that are still to be done
    int look;                         // the i to come
    std::int64_t first, span, next;   // system of the first bit of found, of all bits, of the next span
    std::int64_t chosen[L::systems];  // the system that each group works on; -1: none
  } plan;
  // What is known of those systems so far: the status, and whether a solution has underflowed.
  __shared__ std::int32_t states[L::systems];
  __shared__ bool underflows[L::systems];
  if (threadIdx.x == 0) {
    plan.found = 0;
    plan.look = args.looks;
    plan.next = std::int64_t{blockIdx.x} * (args.looks > 0 ? args.looks * warp_lanes : L::systems);
  }
#pragma unroll 1
  for (;;) {
    __syncwarp();  // the plan is complete, and the last systems are done with
    unsigned found = plan.found;
    std::int64_t first = plan.first, span = plan.span, next = plan.next;
    int look = plan.look;
    __syncwarp();  // the plan has been read
    if (args.looks == 0) {
      first = next;
      if (first >= args.count) break;
      next += std::int64_t{gridDim.x} * L::systems;
      found = whole_warp;
    } else if (found == 0 && look == args.looks) {
      span = next;
      if (span >= args.count) break;
      next += std::int64_t{gridDim.x} * args.looks * warp_lanes;
      look = 0;
      unsigned wanted = 0;
#pragma unroll
      for (int i = 0; i < max_looks; ++i) {
        const std::int64_t system = span + warp_lanes * i + threadIdx.x;
        if (i < args.looks && system < args.count) wanted |= static_cast<unsigned>(is_wanted(args, system)) << i;
      }
      if (!__any_sync(whole_warp, wanted != 0)) look = args.looks;
      plan.wanted[threadIdx.x] = wanted;
    } else if (found == 0) {
      found = __ballot_sync(whole_warp, plan.wanted[threadIdx.x] >> look & 1);
      first = span + warp_lanes * look;
      ++look;
    }
    std::int64_t own = -1;  // system
    const bool any = found != 0;
#pragma unroll 1
    for (int g = 0; g < L::systems && found != 0; ++g, found &= found - 1)
      if (g == group()) own = first + __ffs(static_cast<int>(found)) - 1;
    if (threadIdx.x == 0) {
      plan.found = found;
      plan.first = first;
      plan.span = span;
      plan.next = next;
      plan.look = look;
    }
    if (lane() == 0) plan.chosen[group()] = own < args.count ? own : -1;
    if (!any) continue;
    __syncwarp();  // the plan is complete
    const auto mine = [&] { return plan.chosen[group()] >= 0; };
    const auto system = [&] {
      const std::int64_t chosen = plan.chosen[group()];
      return chosen >= 0 ? chosen : plan.first;
    };
    const auto source = [&](int s) {
      return args.a + (plan.chosen[s] >= 0 ? plan.chosen[s] : plan.first) * args.a_step;
    };
    if (args.vectors)
      stage_pieces<0, N>(source, memory);
    else
      stage_numbers(args, source, memory);
    stage_rhs<false>(args, args.b + system() * args.b_step, group(), lane(), 0, memory);
    wait_for_copies();
    T a[L::rows][N], b[L::rows], inverse[L::rows];
    unsigned bits = 0;                      // in which the triangles differ
    const int thread = fresh(threadIdx.x);  // places in shared memory are not kept from one task to the next
    load_rows<0, N, T, L>(memory.matrix[thread / G], thread / G, thread % G, a);
    if (args.storage == Storage::dense)
      visit_columns<0, N, false, T, L>(
          memory.matrix[thread / G], thread / G, thread % G,
          [&](int u, int row, const T& value) { bits |= differing_bits(a[u][row], value); });
    const bool differs = any_of_group<G>(bits != 0);
    if (lane() == 0) {
      states[group()] = 0;
      underflows[group()] = false;
    }
    if (__any_sync(whole_warp, differs)) {
      const std::int32_t status = inspect<G>(args, system(), lane());
      if (lane() == 0) states[group()] = status;
    }
    const bool far = any_of_group<G>(diagonal_far_bits<T, L>(lane(), a) != 0);
    scale_rows<T, L>(args, system(), lane(), far, a);
    int shift = 0;
    bool scaled = false;  // some system of the warp is
    const auto take_rhs = [&] {
      bool b_far = false;
      const T* const own = memory.rhs + group() * L::column_pitch + lane();
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        b[u] = own[G * u];
        b_far |= is_far(b[u], Traits<T>::rhs_window);
      }
      shift = 0;
      scaled = __any_sync(whole_warp, far || b_far);
      if (scaled) shift = scale_rhs<T, L>(args, system(), lane(), far, b);
    };
    take_rhs();
    if constexpr (sizeof(T) == sizeof(double)) {
#pragma unroll
      for (int u = 0; u < L::rows; ++u) inverse[u] = 1;  // of the padding
    }
    factor<0, true, true>(group(), lane(), memory, a, b, inverse, n, args.once);
    const int bad_pivot = first_bad_pivot<T, L>(lane(), inverse);
    if (args.pivot_numbers) {
      T pivots[L::rows];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) pivots[u] = diagonal<T, L>(lane(), u, a);
      store_pivots<T, L>(args, system(), mine(), lane(), far, pivots);
    }
    bool bad = bad_pivot != 0;
#pragma unroll 1
    for (int column = 0; column < columns(); ++column) {
      if (args.inverse) {
        // Column `column` of U = L^-T.
#pragma unroll
        for (int u = 0; u < L::rows; ++u) b[u] = G * u + lane() == column ? T(1) : T(0);
      } else {
        if (column > 0) {
          __syncwarp();  // the right-hand side before has been read
          stage_rhs<false>(args, args.b + system() * args.b_step, group(), lane(), column, memory);
          wait_for_copies();
          take_rhs();
          substitute_forward<T, L>(lane(), a, b, args.once);
        }
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          b[u] *= inverse[u];
          now(b[u]);
        }
      }
      substitute_back<true, true>(group(), lane(), memory, a, b, args.once);
      if (args.inverse) {
        // U of the matrix as it is given, and 1 / d in place of its unit diagonal.
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = G * u + lane();
          if (row == column) b[u] = inverse[u];
          if (far) {
            const int exponent = scaling_exponent(args, system(), column, far);
            b[u] = scale(b[u], scaling_exponent(args, system(), row, far) + (row == column ? exponent : -exponent));
          }
        }
      } else if (scaled) {
        const bool tiny = rescale<T, L>(b, memory.rhs + group() * L::column_pitch + lane(), [&](int u) {
          return scaling_exponent(args, system(), L::lanes * u + lane(), far) - shift;
        });
        if (tiny) underflows[group()] = true;
      }
#pragma unroll
      for (int u = 0; u < L::rows; ++u) bad |= not_finite(b[u]);
      if (mine()) {
        T* x = args.x + system() * args.x_step + column;
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = G * u + lane();
          if (row < n) x[static_cast<std::int64_t>(row) * columns()] = b[u];
        }
      }
    }
    __syncwarp();  // what is known of the systems is there
    std::int32_t status = states[group()];
    const bool tiny = underflows[group()];
    if (__any_sync(whole_warp, bad || tiny)) {
      const bool failed = any_of_group<G>(bad);
      const std::int32_t reason = explain_failure<G>(args, system(), bad_pivot, lane(),
                                                     failed ? info_result_not_finite : info_result_underflowed);
      if ((failed || tiny) && status == 0) status = reason;
    }
    if (!mine()) continue;
    if (status != 0) {
#pragma unroll 1
      for (int e = lane(); args.x != nullptr && e < n * columns(); e += G)
        args.x[system() * args.x_step + e] = not_a_number<T>();
    }
    if (lane() == 0) {
      args.info[system()] = status;
      if (status != 0) forget_pivots(args, system());
      if (args.inverse && args.backward_error != nullptr)
        args.backward_error[system()] = status != 0 ? not_a_number<T>() : static_cast<T>(marked_for_judgement);
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
        x[u] = row < n ? args.x[system_of(group) * args.x_step + static_cast<std::int64_t>(row) * args.nrhs + column]
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
      args.backward_error[system] = args.info[system] == 0 ? static_cast<T>(worst) : not_a_number<T>();
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

template <class T, bool Whole>
Kernels<T> judge_kernels() {
  return {{judge_kernel<T, 8, Whole>, LdltPlan<T, 8>::Judging::systems},
          {judge_kernel<T, 16, Whole>, LdltPlan<T, 16>::Judging::systems},
          {judge_kernel<T, 32, Whole>, LdltPlan<T, 32>::Judging::systems},
          {judge_kernel<T, 64, Whole>, LdltPlan<T, 64>::Judging::systems}};
}

}  // namespace

template <class T>
cudaError_t launch_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double resolve_above,
                        cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution, static_cast<T>(resolve_above));
  const SpdShape& shape = batch.shape;
  const bool packed = shape.storage == Storage::packed_lower;
  const bool plain = shape.nrhs == 1 && !shape.determinant_only && !arguments.pivot_numbers && resolve_above < 0;
  if (plain && in_whole_pieces(batch) && (shape.n <= 32 || sizeof(T) == sizeof(float))) {
    const cudaError_t status =
        launch<T>(packed ? quick_kernels<T, true>() : quick_kernels<T, false>(), arguments, stream, true);
    if (status != cudaSuccess) return status;
    arguments.unsettled = true;
  }
  if (arguments.unsettled || resolve_above >= 0) {
    // The more systems, the more of them at a look; but not so many that few warps would have to do all the work.
    constexpr std::int64_t warps = 2048;
    arguments.looks = static_cast<int>(std::clamp<std::int64_t>(batch.count / (warp_lanes * warps), 1, max_looks));
  }
  const cudaError_t status = launch<T>(general_kernels<T>(), arguments, stream);
  const bool judged = solution.backward_error != nullptr && shape.nrhs > 0;
  if (status != cudaSuccess || !judged) return status;
  arguments.looks = 0;  // all are judged
  return launch<T>(shape.storage == Storage::dense ? judge_kernels<T, true>() : judge_kernels<T, false>(), arguments,
                   stream);
}

template cudaError_t launch_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, double, cudaStream_t);
template cudaError_t launch_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, double, cudaStream_t);

}  // namespace smallbatch
