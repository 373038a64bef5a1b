// Solves all systems that solve/gauss_jordan.cu has marked, by Gauss-Jordan elimination. It takes any size, storage and
// number of right-hand sides, and matrices that are symmetric to rounding. Systems far from 1 are scaled, exactly, by
// powers of two. It stores the status of failures and all wanted numbers except rcond.
#include "core/grid_stride.cuh"
#include "solvers/cuda/common/ldlt_systems.cuh"
#include "solvers/cuda/common/stored_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/gauss_jordan_plan.cuh"

namespace smallbatch {

namespace {

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, 8) general_gauss_jordan_kernel(Arguments<T> args) {
  using Plan = GaussJordanPlan<T, N>;
  using L = Tile<T, N, Plan::lanes, false>;
  __shared__ GeneralMemory<T, L> memory;
  wait_for_kernel_before();  // the previous kernel has marked the systems
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    if (!has_work(args, task)) continue;
    find_systems(args, task, memory);
#pragma unroll 1
    while (choose_systems(args, task, memory)) {
      stage_systems(args, memory);
      bool bad = false;
      int bad_pivot = 0;
#pragma unroll 1
      for (int column = 0; column < args.nrhs; ++column) {
        T a[L::rows][N], b[1][L::rows];
        const bool far = load_scaled<T, L, true>(args, memory, a);
        if (column == 0) memory.far[own_group<L>()] = far;
        stage_column(args, memory, column);
        int shift = 0;
        const bool scaled = take_rhs(args, memory, own_far(memory), b[0], shift);
        __syncwarp();  // the right-hand sides have been read: the pivots take their place
        T* const place = memory.tile.rhs + own_group<L>() * L::column_pitch;
        reduce_to_identity<typename Plan::Steps, L>(own_group<L>(), own_lane<L>(), memory.tile, a, b, place, args.once);
        T pivots[L::rows], inverse[L::rows];
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          pivots[u] = place[L::lanes * u + own_lane<L>()];
          inverse[u] = reciprocal(pivots[u]);
          b[0][u] *= inverse[u];
        }
        bad_pivot = first_bad_pivot<T, L>(own_lane<L>(), inverse);
        bad |= bad_pivot != 0;
        if (args.pivot_numbers && column == 0)
          store_pivots<T, L>(args, own_system(memory), own_rows(memory), is_own(memory), own_lane<L>(), own_far(memory),
                             pivots);
        if (scaled) {
          const bool tiny = rescale<T, L>(b[0], place + own_lane<L>(), [&](int u) {
            return scaling_exponent(args, own_system(memory), L::lanes * u + own_lane<L>(), own_far(memory)) - shift;
          });
          if (tiny) memory.underflows[own_group<L>()] = true;
        }
#pragma unroll
        for (int u = 0; u < L::rows; ++u) bad |= not_finite(b[0][u]);
        if (is_own(memory)) {
          T* const x = args.to.x + own_system(memory) * args.to.x_stride + column;
#pragma unroll
          for (int u = 0; u < L::rows; ++u) {
            const int row = L::lanes * u + own_lane<L>();
            if (row < args.n) x[static_cast<std::int64_t>(row) * args.nrhs] = b[0][u];
          }
        }
      }
      const std::int32_t status = settle(args, memory, bad, bad_pivot);
      if (args.to.backward_error == nullptr) continue;
      __syncwarp();  // the solutions are stored
      const StoredJudgement judgement =
          judge_as_stored<L::lanes>(args, own_system(memory), own_lane<L>(), 0, args.nrhs);
      if (is_own(memory) && own_lane<L>() == 0)
        args.to.backward_error[own_system(memory)] =
            status == 0 ? static_cast<T>(judgement.backward_error) : not_a_number<T>();
    }
  }
}

template <class T>
Kernels<T> general_kernels() {
  Kernels<T> kernels{{general_gauss_jordan_kernel<T, 8>, GaussJordanPlan<T, 8>::L::systems},
                     {general_gauss_jordan_kernel<T, 16>, GaussJordanPlan<T, 16>::L::systems},
                     {general_gauss_jordan_kernel<T, 32>, GaussJordanPlan<T, 32>::L::systems},
                     {}};
  if constexpr (sizeof(T) == sizeof(float))
    kernels.of64 = {general_gauss_jordan_kernel<T, 64>, GaussJordanPlan<T, 64>::L::systems};
  return kernels;
}

template <class T>
struct AgreeOnRcond {
  SpdSolution<T> to;

  __device__ void operator()(std::int64_t system) const {
    T& rcond = to.rcond[system];
    if (to.info[system] != 0)
      rcond = not_a_number<T>();
    else if (!(rcond > 0))
      rcond = 0;
  }
};

}  // namespace

template <class T>
cudaError_t launch_agree_on_rcond(std::int64_t count, const SpdSolution<T>& solution, cudaStream_t stream) {
  return launch_for_each_index(count, AgreeOnRcond<T>{solution}, stream);
}

template <class T>
cudaError_t launch_general_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        cudaStream_t stream) {
  return launch<T>(general_kernels<T>(), of_marked(arguments_of(batch, solution, marks)), stream, 1 << 15,
                   Begin::ahead);
}

template cudaError_t launch_general_gauss_jordan(const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                                 cudaStream_t);
template cudaError_t launch_general_gauss_jordan(const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                                 cudaStream_t);
template cudaError_t launch_agree_on_rcond(std::int64_t, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_agree_on_rcond(std::int64_t, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
