// Plain systems by L D L^T with all that may be asked about the answers, in one pass over A: the matrices stay in
// shared memory, where the copies have put them, until the answers are judged.
//
// Takes any n up to its N, any number of right-hand sides or none, sizes that differ, any storage and alignment. What
// is not plain it marks for the general kernel (ldlt_general.cu): systems that are not symmetric to the bit, whose
// numbers lie far from 1, or that fail. The arithmetic of x is that of ldlt_x.cu, and its bits are the same.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/norm_estimate.cuh"
#include "solvers/cuda/plain_systems.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

template <class T, class L>
struct alignas(16) OnePassMemory {
  T matrix[L::numbers];
  T rhs[L::systems * L::column_pitch];
  // Pivot columns of the step under way and of the next. In front of a column come places for rows that are done with.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][L::size + 2];  // answers to be judged
  };
  T pivots[L::systems][L::column_pitch];
  int sizes[L::systems];
  unsigned char odd[L::systems];  // 1: the system is not plain
};

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, OnePassPlan<T, N>::warps) one_pass_ldlt_kernel(Arguments<T> args) {
  using Plan = OnePassPlan<T, N>;
  using L = typename Plan::L;
  constexpr int G = L::lanes, R = L::rows;
  __shared__ OnePassMemory<T, L> memory;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    // Beyond the end, the last system once more.
    const auto system_of = [&](int g) __attribute__((always_inline)) {
      return min(std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(task)))} * L::systems + g, args.count - 1);
    };
    const auto system = [&]() __attribute__((always_inline)) { return system_of(group()); };
    const auto source = [&](int s) { return args.a + system_of(s) * args.a_step; };
    const auto own_matrix = [&]() __attribute__((always_inline)) { return memory.matrix + L::begin(group()); };
    __syncwarp();  // the last systems are done with
    if (threadIdx.x < L::systems) {
      const int size = rows_of(args, system_of(static_cast<int>(threadIdx.x)));
      memory.sizes[threadIdx.x] = max(size, 0);
      memory.odd[threadIdx.x] = size <= 0 ? 1 : 0;
    }
    const bool whole = args.vectors && args.sizes == nullptr;
    if (whole) {
      copy_pieces<T, L>(source, memory.matrix);
    } else {
      __syncwarp();  // the sizes are known
      copy_rows<T, L>(
          args, source, [&](int s) { return memory.sizes[s]; }, memory.matrix);
    }
    const auto rows = [&]() __attribute__((always_inline)) { return memory.sizes[group()]; };
    if (args.nrhs == 1) {
      if (whole) __syncwarp();  // the sizes are known
      const T* const from = args.b + system() * args.b_step + lane();
      T* const to = memory.rhs + group() * L::column_pitch + lane();
#pragma unroll
      for (int u = 0; u < R; ++u) {
        const bool copied = G * u + lane() < rows();
        copy_async_or_zero(to + G * u, from + (copied ? G * u : 0), copied);
      }
    }
    wait_for_copies();
    if (!whole && (args.n < N || args.sizes != nullptr)) {
#pragma unroll 1
      for (int row = rows() + lane(); row < N; row += G) kept<L>(own_matrix(), group(), row, row) = 1;
      __syncwarp();  // the padding is complete
    }
    T a[R][N], first_b[R];
    load_kept<T, L>(own_matrix(), group(), lane(), a);
    {
      unsigned odd = 0;
      if (args.storage == Storage::dense) odd = kept_difference<T, L>(own_matrix(), group(), lane(), a);
#pragma unroll
      for (int u = 0; u < R; ++u)
        if (has_row<L>(lane(), u)) odd |= far_bits(diagonal<T, L>(lane(), u, a));
#pragma unroll
      for (int u = 0; u < R; ++u) {
        first_b[u] =
            args.nrhs == 1 && has_row<L>(lane(), u) ? memory.rhs[group() * L::column_pitch + G * u + lane()] : T(0);
        odd |= static_cast<unsigned>(is_far(first_b[u], Traits<T>::rhs_window));
      }
      if (odd != 0) memory.odd[group()] = 1;
    }
    factor<L, Plan::turning, Plan::apart, false>(group(), lane(), memory, a, first_b,
                                                 PivotsInMemory<T, L>{memory.pivots[group()]}, N, args.once);
    __syncwarp();  // the pivots are there
    if (args.pivot_numbers) {
      PivotNumbers<T> numbers;
#pragma unroll
      for (int u = 0; u < R; ++u)
        if (G * u + lane() < rows()) numbers.add(memory.pivots[group()][G * u + lane()], 0);
      numbers.template combine<G>();
      if (lane() == 0) numbers.store(args, system());
    }
    T inverse[R], zero_pivots = 0, least = 1;  // zero_pivots becomes NaN where one is not finite
#pragma unroll
    for (int u = 0; u < R; ++u) {
      inverse[u] = has_row<L>(lane(), u) ? reciprocal(memory.pivots[group()][G * u + lane()]) : T(1);
      zero_pivots = fma(inverse[u], T(0), zero_pivots);
      least = min(least, inverse[u]);
    }
    if (!(zero_pivots == 0 && least > 0)) memory.odd[group()] = 1;

    T answer[R];  // to a single right-hand side
    if (args.nrhs == 1) {
      T y[1][R];
#pragma unroll
      for (int u = 0; u < R; ++u) {
        y[0][u] = first_b[u] * inverse[u];
        now(y[0][u]);  // rounded; the same in all kernels
      }
      substitute_back<L, Plan::apart, false>(group(), lane(), memory, a, y, args.once);
      T zero = 0;
      T* const x = args.to.x + system() * args.to.x_stride + lane();
#pragma unroll
      for (int u = 0; u < R; ++u) {
        zero = fma(y[0][u], T(0), zero);
        if (G * u + lane() < args.n) x[G * u] = y[0][u];
        answer[u] = y[0][u];
      }
      if (!(zero == 0)) memory.odd[group()] = 1;
    }

    // Two right-hand sides at a time, and then the vectors that the norm of A^-1 is estimated from.
    const int pairs = args.nrhs > 1 ? (args.nrhs + 1) / 2 : 0;
    NormEstimate<T, L> estimate;
    T y[2][R];
#pragma unroll 1
    for (int turn = 0, end = pairs + (args.to.rcond != nullptr ? estimate.turns : 0); turn < end; ++turn) {
      if (turn < pairs) {
        const T* const b = args.b + system() * args.b_step + 2 * turn;
        bool odd = false;
#pragma unroll
        for (int c = 0; c < 2; ++c)
#pragma unroll
          for (int u = 0; u < R; ++u) {
            const int row = G * u + lane();
            y[c][u] =
                row < rows() && 2 * turn + c < args.nrhs ? b[static_cast<std::int64_t>(row) * args.nrhs + c] : T(0);
            odd |= is_far(y[c][u], Traits<T>::rhs_window);
          }
        if (odd) memory.odd[group()] = 1;
      } else {
        estimate.prepare(turn - pairs, rows(), lane(), y);
      }
      substitute_forward<L>(lane(), a, y, args.once);
#pragma unroll
      for (int c = 0; c < 2; ++c)
#pragma unroll
        for (int u = 0; u < R; ++u) {
          y[c][u] *= inverse[u];
          now(y[c][u]);
        }
      substitute_back<L, true, false>(group(), lane(), memory, a, y, args.once);
      if (turn < pairs) {
        T* const x = args.to.x + system() * args.to.x_stride + 2 * turn;
        T zero = 0;
#pragma unroll
        for (int c = 0; c < 2; ++c)
#pragma unroll
          for (int u = 0; u < R; ++u) {
            const int row = G * u + lane();
            zero = fma(y[c][u], T(0), zero);
            if (row < args.n && 2 * turn + c < args.nrhs) x[static_cast<std::int64_t>(row) * args.nrhs + c] = y[c][u];
          }
        if (!(zero == 0)) memory.odd[group()] = 1;
      } else if (!estimate.take(turn - pairs, rows(), lane(), y)) {
        break;
      }
    }
    double worst = 0, norm_a = 0;
    if (args.to.backward_error != nullptr || args.to.rcond != nullptr) {
#pragma unroll 1
      for (int column = 0; column < max(args.nrhs, 1); ++column) {
        T b[R];
#pragma unroll
        for (int u = 0; u < R; ++u) {
          const int row = G * u + lane();
          if (args.nrhs == 1) {
            b[u] = has_row<L>(lane(), u) ? memory.rhs[group() * L::column_pitch + row] : T(0);
          } else {
            const bool own = row < rows() && column < args.nrhs;
            const std::int64_t place = static_cast<std::int64_t>(row) * args.nrhs + column;
            answer[u] = own ? args.to.x[system() * args.to.x_stride + place] : T(0);
            b[u] = own ? args.b[system() * args.b_step + place] : T(0);
          }
        }
        worst = max(worst, judge_kept<T, L>(rows(), group(), lane(), own_matrix(), memory.x[group()], answer, b, norm_a,
                                            args.once));
      }
    }
    __syncwarp();  // all know what is odd
    if (lane() == 0) {
      if (args.to.backward_error != nullptr) args.to.backward_error[system()] = static_cast<T>(worst);
      if (args.to.rcond != nullptr) args.to.rcond[system()] = rcond_of_norms<T>(rows(), norm_a, 0, estimate.norm, 0);
      args.to.info[system()] = 0;
      args.marks[system()] = memory.odd[group()] == 0 ? Mark::settled : Mark::unsettled;
    }
  }
}

template <class T>
struct OnePassKernel {
  int size;
  Kernel<Arguments<T>> kernel;
  int systems;
};

/// The kernel of the first of the sizes N, which ascend, that is large enough.
template <class T, int... N>
OnePassKernel<T> one_pass_kernel(int n) {
  OnePassKernel<T> chosen{};
  (void)((n <= N && (chosen = {N, one_pass_ldlt_kernel<T, N>, OnePassPlan<T, N>::L::systems}, true)) || ...);
  return chosen;
}

template <class T>
OnePassKernel<T> one_pass_kernel_of(int n) {
  if constexpr (sizeof(T) == sizeof(float))
    return one_pass_kernel<T, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64>(n);
  else
    return one_pass_kernel<T, 4, 8, 12, 16, 24, 32>(n);
}

}  // namespace

template <class T>
cudaError_t launch_ldlt_one_pass(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                 cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  const OnePassKernel<T> chosen = one_pass_kernel_of<T>(batch.shape.n);
  arguments.vectors =
      batch.shape.storage != Storage::packed_lower && batch.shape.n == chosen.size && lies_in_pieces(batch);
  return launch(chosen.kernel, chosen.systems, arguments, stream);
}

template cudaError_t launch_ldlt_one_pass(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);
template cudaError_t launch_ldlt_one_pass(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
