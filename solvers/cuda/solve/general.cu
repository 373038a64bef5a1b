// Solves systems of any kind by L D L^T: those that the kernels of plain systems have marked, or all. It takes any
// size, storage and number of right-hand sides, and matrices that are symmetric to rounding. Systems far from 1 are
// scaled, exactly, by powers of two. It stores the status of failures and all wanted numbers.
#include <utility>

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/ldlt_systems.cuh"
#include "solvers/cuda/common/stored_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/norm_estimate.cuh"

namespace smallbatch {

namespace {

/// Returns an estimate of ||A^-1||_1 (solve/norm_estimate.cuh), divided by 2^(2 exponent), from the factors of D A D.
/// The diagonal matrix D is the identity unless the system is `far`. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ double inverse_norm(const Arguments<T>& args, GeneralMemory<T, L>& memory, bool far,
                                               const T (&a)[L::rows][L::size], const T (&inverse)[L::rows],
                                               int& exponent) {
  const bool any_far = __any_sync(whole_warp, far);
  if (any_far) {
    int top = -4 * Traits<T>::exponent_bias;
#pragma unroll 1
    for (int row = own_lane<L>(); row < own_rows(memory); row += L::lanes)
      top = max(top, scaling_exponent(args, own_system(memory), row, far));
    exponent = max_of_group<L::lanes>(top);
    if (!far) exponent = 0;
  }
  T y[2][L::rows];
  // Multiplies by D before and after solving with D A D, because D (D A D)^-1 D = A^-1. D is divided by 2^exponent, so
  // that its elements are at most 1.
  const auto weigh = [&]() __attribute__((always_inline)) {
    if (!any_far) return;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = L::lanes * u + own_lane<L>();
      const int e = row < own_rows(memory) ? scaling_exponent(args, own_system(memory), row, far) - exponent : 0;
      const T weight = power_of_two<T>(max(e, 1 - Traits<T>::exponent_bias));
      y[0][u] *= weight;
      y[1][u] *= weight;
    }
  };
#pragma unroll
  for (int u = 0; u < L::rows; ++u) y[0][u] = y[1][u] = inverse[u];
  weigh();
  weigh();
  NormEstimate<T, L> estimate;
  estimate.begin(own_rows(memory), own_lane<L>(), y[0]);
#pragma unroll 1
  for (int turn = 0; turn < estimate.turns; ++turn) {
    estimate.prepare(turn, own_rows(memory), own_lane<L>(), y);
    weigh();
    // One vector after the other, to save registers; the other vector waits in shared memory.
    T* const place = memory.tile.rhs + own_group<L>() * L::column_pitch + own_lane<L>();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) place[L::lanes * u] = y[1][u];
    const auto solve = [&](T(&one)[1][L::rows]) __attribute__((always_inline)) {
      substitute_forward<L, true>(own_lane<L>(), a, one, args.once);
#pragma unroll
      for (int u = 0; u < L::rows; ++u) one[0][u] *= inverse[u];
      substitute_back<L, true, true>(own_group<L>(), own_lane<L>(), memory.tile, a, one, args.once);
    };
    if constexpr (registers_suffice()) {
#pragma unroll 1
      for (int c = 0; c < 2; ++c) {
        T one[1][L::rows];
#pragma unroll
        for (int u = 0; u < L::rows; ++u) one[0][u] = c == 0 ? y[0][u] : place[L::lanes * u];
        solve(one);
#pragma unroll
        for (int u = 0; u < L::rows; ++u) (c == 0 ? y[0][u] : y[1][u]) = one[0][u];
      }
    } else {
      // A solved vector waits in shared memory, too.
      T one[1][L::rows];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) one[0][u] = y[0][u];
#pragma unroll 1
      for (int c = 0; c < 2; ++c) {
        solve(one);
#pragma unroll
        for (int u = 0; u < L::rows; ++u) std::swap(one[0][u], place[L::lanes * u]);
      }
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        y[0][u] = one[0][u];
        y[1][u] = place[L::lanes * u];
      }
    }
    weigh();
    if (!estimate.take(turn, own_rows(memory), own_lane<L>(), y)) break;
  }
  return estimate.norm;
}

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::general_warps) general_ldlt_kernel(Arguments<T> args) {
  using L = typename LdltPlan<T, N>::General;
  __shared__ GeneralMemory<T, L> memory;
  // If registers do not suffice, the number of the task and the bad pivots are kept here.
  __shared__ unsigned waiting_task;
  __shared__ int waiting_pivot[L::systems];
  const auto number_of = [&](unsigned task) { return registers_suffice() ? task : waiting_task; };
  wait_for_kernel_before();  // the previous kernel has marked the systems
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task = number_of(task) + gridDim.x) {
    if constexpr (!registers_suffice()) {
      __syncwarp();  // the previous number has been read
      if (threadIdx.x == 0) waiting_task = task;
      __syncwarp();
    }
    if (!has_work(args, task)) continue;
    find_systems(args, task, memory);
#pragma unroll 1
    while (choose_systems(args, number_of(task), memory)) {
      stage_systems(args, memory);
      T a[L::rows][N], b[1][L::rows], inverse[L::rows];
      memory.far[own_group<L>()] = load_scaled(args, memory, a);
      int bad_pivot = factor_and_tell<true>(args, memory, a, inverse);
      bool bad = bad_pivot != 0;
      if constexpr (!registers_suffice())
        if (own_lane<L>() == 0) waiting_pivot[own_group<L>()] = bad_pivot;
#pragma unroll 1
      for (int column = 0; column < args.nrhs; ++column) {
        stage_column(args, memory, column);
        int shift = 0;
        const bool scaled = take_rhs(args, memory, own_far(memory), b[0], shift);
        substitute_forward<L, true>(own_lane<L>(), a, b, args.once);
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          b[0][u] *= inverse[u];
          now(b[0][u]);
        }
        substitute_back<L, true, true>(own_group<L>(), own_lane<L>(), memory.tile, a, b, args.once);
        if (scaled) {
          T* const place = memory.tile.rhs + own_group<L>() * L::column_pitch + own_lane<L>();
          const bool tiny = rescale<T, L>(b[0], place, [&](int u) {
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
      double norm_inverse = 0;
      int exponent = 0;  // norm_inverse is ||A^-1||_1 divided by 2^(2 exponent)
      if (args.to.rcond != nullptr) norm_inverse = inverse_norm(args, memory, own_far(memory), a, inverse, exponent);
      if constexpr (!registers_suffice()) {
        __syncwarp();
        bad_pivot = waiting_pivot[own_group<L>()];
      }
      const std::int32_t status = settle(args, memory, bad, bad_pivot);
      if (args.to.backward_error == nullptr && args.to.rcond == nullptr) continue;
      __syncwarp();  // the solutions are stored
      const StoredJudgement judgement =
          judge_as_stored<L::lanes>(args, own_system(memory), own_lane<L>(), 0, args.nrhs);
      if (!is_own(memory) || own_lane<L>() != 0) continue;
      const std::int64_t system = own_system(memory);
      const bool solved = status == 0;
      if (args.to.backward_error != nullptr)
        args.to.backward_error[system] = solved ? static_cast<T>(judgement.backward_error) : not_a_number<T>();
      if (args.to.rcond != nullptr)
        args.to.rcond[system] =
            solved ? rcond_of_norms<T>(own_rows(memory), judgement.norm, judgement.exponent, norm_inverse, 2 * exponent)
                   : not_a_number<T>();
    }
  }
}

template <class T>
Kernels<T> general_kernels() {
  return {{general_ldlt_kernel<T, 8>, LdltPlan<T, 8>::General::systems},
          {general_ldlt_kernel<T, 16>, LdltPlan<T, 16>::General::systems},
          {general_ldlt_kernel<T, 32>, LdltPlan<T, 32>::General::systems},
          {general_ldlt_kernel<T, 64>, LdltPlan<T, 64>::General::systems}};
}

}  // namespace

template <class T>
cudaError_t launch_general_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                SystemsToDo which, cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution, marks);
  return which == SystemsToDo::unsettled
             ? launch<T>(general_kernels<T>(), of_marked(arguments), stream, 1 << 15, Begin::ahead)
             : launch<T>(general_kernels<T>(), arguments, stream);
}

template cudaError_t launch_general_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, SystemsToDo,
                                         cudaStream_t);
template cudaError_t launch_general_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, SystemsToDo,
                                         cudaStream_t);

}  // namespace smallbatch
