// A^-1 in place by the symmetric sweep (J. H. Goodnight, "A tutorial on the SWEEP operator", 1979), its reciprocal
// condition number, and the judgement of inverses.
//
// Whole rows stay in registers (n <= 32) or in shared memory. The result takes the place of A in shared memory, and
// leaves in whole rows, both triangles from one.
#include "solvers/spd_judgement.cuh"
#include "solvers/spd_kernels.cuh"

namespace smallbatch {

namespace {

/// The largest row sum of the magnitudes of the lane's system, which is its 1-norm; from the lower triangle in shared
/// memory. The whole warp calls.
template <class T, class L>
__device__ double norm1(int n, int lane, const T* matrix) {
  double largest = 0;
#pragma unroll 1
  for (int row = lane; row < n; row += L::lanes) {
    double sum = 0;
#pragma unroll 4
    for (int j = 0; j < n; ++j) sum += abs(static_cast<double>(matrix[max(row, j) * L::row_pitch + min(row, j)]));
    largest = max(largest, sum);
  }
  return max_of_group<L::lanes>(largest);
}

template <class T, int N>
struct SweepPlan {
  static constexpr bool in_shared_memory = N > 32;
  using L = WholeRows<T, N>;
};

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, std::min(8, SweepPlan<T, N>::L::resident_warps))
    sweep_kernel(Arguments<T> args) {
  using L = typename SweepPlan<T, N>::L;
  constexpr bool in_shared_memory = SweepPlan<T, N>::in_shared_memory;
  __shared__ WarpMemory<T, L, 1> memory;
  const int lane = threadIdx.x % L::lanes, group = threadIdx.x / L::lanes, n = args.n;
  T* matrix = memory.matrix[group];

  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t first_system = std::int64_t{task} * L::systems;
    const std::int64_t system = first_system + group;
    const bool mine = system < args.count;
    __syncwarp();  // the last inverses have been read
    fill_padding<T, L>(args, memory);
    stage_matrices<T, L>(args, first_system, memory);
    wait_for_copies();
    T a[L::rows][N];
    load_rows<T, L>(matrix, lane, a);
    std::int32_t status = 0;
    if (args.storage == Storage::dense) {
      const bool differs = differs_above<T, L>(matrix, lane, a);
      if (__any_sync(whole_warp, differs)) status = inspect<L::lanes>(args, min(system, args.count - 1), lane);
    }
    double norm_a = 0;
    if (args.rcond != nullptr) norm_a = norm1<T, L>(n, lane, matrix);
    bool far = diagonal_is_far<T, L>(matrix, lane);
    const bool scaled = __any_sync(whole_warp, far);
    if (scaled) far = any_of_group<L::lanes>(far);
    __syncwarp();  // A has been read for its norm, the last system's pivots too
    store_powers<T, L>(lane, far, matrix);
    if (args.pivot_floor > 0) store_floors<T, L>(args, lane, far, matrix);
    __syncwarp();  // the powers and the floors are complete
    T pivots[L::rows];
    if constexpr (in_shared_memory) {
      scale_in_shared_memory<T, L>(lane, matrix);
      eliminate_in_shared_memory<T, L, 1, true>(args, lane, matrix, nullptr);
      collect_pivots<T, L>(matrix, lane, pivots);
#pragma unroll 1
      for (int i = 0; i < N; ++i)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int j = L::lanes * u + lane;
          T& value = matrix[i * L::row_pitch + j];
          value = -value * *behind<L>(matrix, powers_at<L> + i) * *behind<L>(matrix, powers_at<L> + j);
        }
    } else {
      load_whole_rows<T, L>(matrix, lane, a);
      if (scaled) scale_rows<T, L, true>(matrix, lane, a);
      sweep<T, L>(args, group, lane, memory, a);
      collect_pivots<T, L>(matrix, lane, pivots);
      if (scaled) scale_rows<T, L, true>(matrix, lane, a);
      if (args.x != nullptr && args.pivot_numbers) store_pivots<T, L>(args, system, mine, lane, far, matrix, pivots);
      __syncwarp();  // A has been read for the last time
#pragma unroll
      for (int u = 0; u < L::rows; ++u)
#pragma unroll
        for (int i = 0; i < N; i += L::piece) {
          Vector<T, L::piece> out;
#pragma unroll
          for (int p = 0; p < L::piece; ++p) out.value[p] = -a[u][i + p];
          *reinterpret_cast<Vector<T, L::piece>*>(matrix + (L::lanes * u + lane) * L::row_pitch + i) = out;
        }
    }
    __syncwarp();  // A^-1 is complete
    bool bad = false;
#pragma unroll 1
    for (int row = lane; row < n; row += L::lanes)
#pragma unroll 4
      for (int j = 0; j <= row; ++j) bad |= not_finite(matrix[row * L::row_pitch + j]);
    const int bad_pivot = first_bad_pivot<T, L>(lane, pivots);
    if (__any_sync(whole_warp, bad || bad_pivot != 0)) {
      const bool failed = any_of_group<L::lanes>(bad) || bad_pivot != 0;
      const std::int32_t reason = explain_failure<L::lanes>(args, min(system, args.count - 1), bad_pivot, lane);
      if (failed && status == 0) status = reason;
    }
    if (args.rcond != nullptr) {
      const double norm_inverse = norm1<T, L>(n, lane, matrix);
      const bool known = status == 0 && (args.x != nullptr || (mine && args.info[system] == 0));
      if (mine && lane == 0) args.rcond[system] = known ? static_cast<T>(1 / norm_a / norm_inverse) : not_a_number<T>();
    }
    if (args.x == nullptr) continue;
    if (mine && lane == 0) {
      args.info[system] = status;
      if (status != 0) forget_pivots(args, system);
    }
#pragma unroll 1
    for (int s = 0; s < L::systems && first_system + s < args.count; ++s) {
      const bool solved = __shfl_sync(whole_warp, status, s * L::lanes) == 0;
      T* x = args.x + (first_system + s) * args.x_step;
      // Both triangles from one: the inverse is exactly symmetric.
      const auto element = [&](int row, int column) {
        return solved ? memory.matrix[s][max(row, column) * L::row_pitch + min(row, column)] : not_a_number<T>();
      };
      if (n == N) {
#pragma unroll 8
        for (int e = threadIdx.x; e < N * N; e += warp_lanes) x[e] = element(e / N, e % N);
      } else {
        for (int e = threadIdx.x; e < n * n; e += warp_lanes) x[e] = element(e / n, e % n);
      }
    }
    if (in_shared_memory && args.pivot_numbers) {
      __syncwarp();  // A^-1 has been stored; store_pivots() wants the diagonal of A
      stage_matrices<T, L>(args, first_system, memory);
      wait_for_copies();
      store_pivots<T, L>(args, system, mine, lane, far, matrix, pivots);
      if (mine && lane == 0 && status != 0) forget_pivots(args, system);
    }
  }
}

/// A^-1 = U D^-1 U^T of the lane's system, in place of what L D L^T has left as its solution: U = L^-T, unit upper
/// triangular, with 1 / d on the diagonal. The whole warp calls; the matrix in shared memory is overwritten.
template <class T, class L>
__device__ void multiply_factors(int n, int lane, bool mine, T* x, T* matrix) {
#pragma unroll 1
  for (int i = lane; mine && i < n; i += L::lanes)
#pragma unroll 1
    for (int c = i; c < n; ++c) matrix[i * L::row_pitch + c] = x[i * n + c];
  __syncwarp();  // U is complete
#pragma unroll 1
  for (int i = lane; mine && i < n; i += L::lanes)
#pragma unroll 1
    for (int j = 0; j <= i; ++j) {
      T sum = matrix[i * (L::row_pitch + 1)];
      if (j < i) sum *= matrix[j * L::row_pitch + i];
#pragma unroll 4
      for (int c = i + 1; c < n; ++c)
        sum = fma(matrix[i * L::row_pitch + c] * matrix[c * (L::row_pitch + 1)], matrix[j * L::row_pitch + c], sum);
      x[i * n + j] = x[j * n + i] = sum;
    }
  __syncwarp();  // A^-1 is complete, and U is read
}

/// ||I - A X||_1 / (||A||_1 ||X||_1), two columns of X at a time.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, Layout<T, N>::resident_warps) judge_inverse_kernel(Arguments<T> args) {
  using L = Layout<T, N>;
  constexpr int C = 2;
  __shared__ WarpMemory<T, L, C> memory;
  const int lane = threadIdx.x % L::lanes, group = threadIdx.x / L::lanes, n = args.n;
  T* matrix = memory.matrix[group];

  fill_padding<T, L>(args, memory);
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t first_system = std::int64_t{task} * L::systems;
    const std::int64_t system = first_system + group;
    const bool mine =
        system < args.count && (!args.only_marked || args.backward_error[system] == T(marked_for_judgement));
    if (!__any_sync(whole_warp, mine)) continue;
    __syncwarp();  // the last systems have been judged
    if (args.factors) {
      multiply_factors<T, L>(n, lane, mine && args.info[system] == 0,
                             args.x + min(system, args.count - 1) * args.x_step, matrix);
      fill_padding<T, L>(args, memory);
    }
    stage_matrices<T, L>(args, first_system, memory);
    wait_for_copies();
    if (args.backward_error == nullptr) continue;
    const bool solved = mine && args.info[system] == 0;
    const bool wide = __any_sync(whole_warp, diagonal_is_far<T, L>(matrix, lane));
    double worst = 0, norm_x = 0, norm_a = 0;
#pragma unroll 1
    for (int column = 0; column < n; column += C) {
      T x[C][L::rows], b[C][L::rows];
      const int own = fresh(lane);
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = L::lanes * u + own;
          x[c][u] = 0;
          if (solved && row < n && column + c < n) x[c][u] = args.x[system * args.x_step + row * n + column + c];
          b[c][u] = row == column + c && row < n ? T(1) : T(0);
        }
      const Norms<C> norms = judge<T, L, C>(n, group, lane, memory, wide, true, x, b);
      norm_a = norms.matrix;
#pragma unroll
      for (int c = 0; c < C; ++c) {
        worst = max(worst, norms.residual[c]);
        norm_x = max(norm_x, norms.solution[c]);
      }
    }
    if (mine && lane == 0)
      args.backward_error[system] = !solved      ? not_a_number<T>()
                                    : worst == 0 ? T(0)
                                                 : static_cast<T>(worst / (norm_a * norm_x));
  }
}

template <class T>
Kernels<T> sweep_kernels() {
  return {{sweep_kernel<T, 8>, WholeRows<T, 8>::systems},
          {sweep_kernel<T, 16>, WholeRows<T, 16>::systems},
          {sweep_kernel<T, 32>, WholeRows<T, 32>::systems},
          {sweep_kernel<T, 64>, WholeRows<T, 64>::systems}};
}

}  // namespace

template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                         cudaStream_t stream) {
  return launch<T>(sweep_kernels<T>(), arguments_of(batch, solution, pivot_floor), stream);
}

template <class T>
cudaError_t launch_judge_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, InversesToJudge which,
                                 cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution, 0);
  arguments.only_marked = which == InversesToJudge::marked_factors;
  arguments.factors = which != InversesToJudge::all;
  return launch<T>({{judge_inverse_kernel<T, 8>, Layout<T, 8>::systems},
                    {judge_inverse_kernel<T, 16>, Layout<T, 16>::systems},
                    {judge_inverse_kernel<T, 32>, Layout<T, 32>::systems},
                    {judge_inverse_kernel<T, 64>, Layout<T, 64>::systems}},
                   arguments, stream);
}

template cudaError_t launch_sweep(const SpdBatch<float>&, const SpdSolution<float>&, double, cudaStream_t);
template cudaError_t launch_sweep(const SpdBatch<double>&, const SpdSolution<double>&, double, cudaStream_t);
template cudaError_t launch_judge_inverse(const SpdBatch<float>&, const SpdSolution<float>&, InversesToJudge,
                                          cudaStream_t);
template cudaError_t launch_judge_inverse(const SpdBatch<double>&, const SpdSolution<double>&, InversesToJudge,
                                          cudaStream_t);

}  // namespace smallbatch
