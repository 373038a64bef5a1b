// A x = b by Gauss-Jordan elimination without pivoting, right-hand sides carried along; gauss_jordan_elimination.cuh
// has the elimination.
//
// One kernel: stage, load, inspect, eliminate, store, judge. A warp takes L::systems systems at a time. A stays in
// shared memory until the answer is judged, or comes back where it was eliminated there; other warps hide the wait.
// Right-hand sides go C at a time, each time with an elimination of its own.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/whole_rows_judgement.cuh"

namespace smallbatch {

namespace {

template <class T, int N, int C, bool Many>
__global__ void __launch_bounds__(warp_lanes, std::min(8, WholeRows<T, N>::resident_warps))
    gauss_jordan_kernel(Arguments<T> args) {
  using L = WholeRows<T, N>;
  constexpr bool in_shared_memory = N > 32;
  __shared__ WarpMemory<T, L, C> memory;
  const int lane = threadIdx.x % L::lanes, group = threadIdx.x / L::lanes;
  T* matrix = memory.matrix[group];
  const int n = args.n, columns = args.nrhs;
  // The lane's system, computed again where registers are scarce instead of kept.
  const auto once_more = [group](unsigned task) __attribute__((always_inline)) {
    constexpr bool scarce = (N >= 32 && sizeof(T) == sizeof(double)) || (N == 32 && Many);
    return std::int64_t{scarce ? static_cast<unsigned>(fresh(static_cast<int>(task))) : task} * L::systems + group;
  };
  if (!in_shared_memory) fill_padding<T, L>(args, memory);
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t first_system = std::int64_t{task} * L::systems;
    const std::int64_t system = first_system + group;
    const bool mine = system < args.count;
    __syncwarp();                                            // the last systems are done with
    if (in_shared_memory) fill_padding<T, L>(args, memory);  // where the last one was eliminated
    stage_matrices<T, L>(args, first_system, memory);
    std::int32_t status = 0;
    bool differs = false;  // A is not symmetric to the bit
    bool far = false;      // the system needs scaling
    for (int first_rhs = 0; first_rhs == 0 || (Many && first_rhs < columns); first_rhs += C) {
      __syncwarp();  // the right-hand sides before are done with
      stage_rhs<T, L>(args, system, group, lane, first_rhs, memory);
      wait_for_copies();
      T a[L::rows][N], b[C][L::rows];
      load_rows<T, L>(matrix, lane, a);
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) b[c][u] = memory.rhs[group][c * N + L::lanes * u + lane];

      if (first_rhs == 0) {
        if (args.storage == Storage::dense) {
          differs = differs_above<T, L>(matrix, lane, a);
          if (__any_sync(whole_warp, differs)) {
            differs = any_of_group<L::lanes>(differs);
            status = inspect<L::lanes>(args, min(once_more(task), args.count - 1), fresh(lane));
          }
        }
        far = diagonal_is_far<T, L>(matrix, lane);
      }
      bool b_far = false;
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) b_far |= is_far(b[c][u], Traits<T>::rhs_window);
      const bool scaled = __any_sync(whole_warp, far || b_far);  // some system of the warp is
      int shift[C]{};
      if (scaled) {
        far = any_of_group<L::lanes>(far);
        __syncwarp();  // the solution before has been judged, whose place the powers take
        store_powers<T, L>(lane, far, matrix);
        __syncwarp();  // the powers are complete
        scale_rhs<T, L, C>(matrix, lane, far, b, shift);
      }
      T pivots[L::rows];
      if constexpr (in_shared_memory) {
        __syncwarp();  // both triangles and the right-hand sides have been read
        T* rhs = memory.rhs[group];
        store_powers<T, L>(lane, far, matrix);
        __syncwarp();  // the powers are complete
        scale_in_shared_memory<T, L>(lane, matrix);
#pragma unroll
        for (int c = 0; c < C; ++c)
#pragma unroll
          for (int u = 0; u < L::rows; ++u) rhs[c * N + L::lanes * u + lane] = b[c][u];
        eliminate_in_shared_memory<T, L, C, false>(lane, matrix, rhs);
#pragma unroll
        for (int c = 0; c < C; ++c)
#pragma unroll
          for (int u = 0; u < L::rows; ++u) b[c][u] = rhs[c * N + L::lanes * u + lane];
        __syncwarp();  // x has been read: A may come back
        stage_matrices<T, L>(args, first_system, memory);
        wait_for_copies();
      } else {
        load_whole_rows<T, L>(matrix, lane, a);
        if (scaled) scale_rows<T, L>(matrix, lane, a);
        eliminate_gauss_jordan<T, L, C>(group, lane, memory, a, b);
      }
      collect_pivots<T, L>(matrix, lane, pivots);
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) b[c][u] *= reciprocal(pivots[u]);

      bool bad = false, tiny = false;
#pragma unroll
      for (int c = 0; c < C; ++c) {
        if (scaled)
          tiny |= rescale<T, L>(b[c], memory.rhs[group] + lane, [&](int u) {
            return scaling_exponent<T, L>(matrix, L::lanes * u + lane, far) - shift[c];
          });
#pragma unroll
        for (int u = 0; u < L::rows; ++u) bad |= not_finite(b[c][u]);
      }
      if (first_rhs == 0 && args.pivot_numbers)
        store_pivots<T, L>(args, once_more(task), mine, fresh(lane), far, matrix);
      const int bad_pivot = first_bad_pivot<T, L>(lane, pivots);
      if (__any_sync(whole_warp, bad || bad_pivot != 0 || tiny)) {
        const bool failed = any_of_group<L::lanes>(bad) || bad_pivot != 0;
        const std::int32_t reason =
            explain_failure<L::lanes>(args, min(once_more(task), args.count - 1), bad_pivot, fresh(lane),
                                      failed ? info_result_not_finite : info_result_underflowed);
        if ((failed || tiny) && status == 0) status = reason;
      }

      if (args.to.x != nullptr && mine) {
        const int own = fresh(lane);
        T* x = args.to.x + once_more(task) * args.to.x_stride;
#pragma unroll
        for (int c = 0; c < C; ++c)
#pragma unroll
          for (int u = 0; u < L::rows; ++u) {
            const int row = L::lanes * u + own, column = first_rhs + c;
            if (row >= n || column >= columns) continue;
            const T value = status == 0 ? b[c][u] : not_a_number<T>();
            x[static_cast<std::int64_t>(row) * columns + column] = value;
          }
      }
      if (args.to.backward_error != nullptr) {
        __syncwarp();  // the last pivot row has been read, whose place b takes
        stage_rhs<T, L>(args, system, group, lane, first_rhs, memory);
        wait_for_copies();
        T right[C][L::rows];
#pragma unroll
        for (int c = 0; c < C; ++c)
#pragma unroll
          for (int u = 0; u < L::rows; ++u) right[c][u] = memory.rhs[group][c * N + L::lanes * u + lane];
        const Norms<C> norms = judge<T, L, C>(n, group, lane, memory, b, right);
        double worst = 0;
#pragma unroll
        for (int c = 0; c < C; ++c)
          if (norms.residual[c] != 0) worst = max(worst, norms.residual[c] / (norms.matrix * norms.solution[c]));
        if (__any_sync(whole_warp, differs)) {
          const StoredJudgement exact = judge_as_stored<L::lanes>(args, min(once_more(task), args.count - 1),
                                                                  fresh(lane), first_rhs, min(columns, first_rhs + C));
          if (differs) worst = exact.backward_error;
        }
        if (mine && lane == 0) {
          T& stored = args.to.backward_error[once_more(task)];
          stored = Many && first_rhs > 0 ? max(stored, static_cast<T>(worst)) : static_cast<T>(worst);
        }
      }
    }
    if (Many && status != 0 && mine && args.to.x != nullptr) {
      // Right-hand sides before the one that failed.
      for (int e = fresh(lane); e < n * columns; e += L::lanes)
        args.to.x[once_more(task) * args.to.x_stride + e] = not_a_number<T>();
    }
    if (mine && lane == 0) {
      const std::int64_t place = once_more(task);
      args.to.info[place] = status;
      if (status != 0) forget_pivots(args, place);
      if (args.to.backward_error != nullptr && status != 0) args.to.backward_error[place] = not_a_number<T>();
    }
  }
}

template <class T, int N, bool Many>
typename Kernels<T>::OfSize gauss_jordan_kernel_of_size() {
  // Two at a time where the registers allow it.
  constexpr int C = Many && !(N == 64 && sizeof(T) == sizeof(double)) ? 2 : 1;
  return {gauss_jordan_kernel<T, N, C, Many>, WholeRows<T, N>::systems};
}
template <class T, bool Many>
Kernels<T> gauss_jordan_kernels() {
  return {gauss_jordan_kernel_of_size<T, 8, Many>(), gauss_jordan_kernel_of_size<T, 16, Many>(),
          gauss_jordan_kernel_of_size<T, 32, Many>(), gauss_jordan_kernel_of_size<T, 64, Many>()};
}

}  // namespace

template <class T>
cudaError_t launch_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution);
  // One kernel for one right-hand side, and one for any number.
  return launch<T>(arguments.nrhs == 1 ? gauss_jordan_kernels<T, false>() : gauss_jordan_kernels<T, true>(), arguments,
                   stream);
}

template cudaError_t launch_gauss_jordan(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_gauss_jordan(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
