// Inverses by L D L^T, for all systems, or for those that the sweep has marked unsettled. The inverse is A^-1 = U D^-1
// U^T with U = L^-T.
#include "solvers/cuda/common/ldlt_systems.cuh"
#include "solvers/cuda/kernels.cuh"

namespace smallbatch {

namespace {

/// Returns element (row, column) of U, row <= column. U lies in shared memory as the packed lower triangle of U^T.
template <class T>
__device__ __forceinline__ T& factor_element(T* u, int row, int column) {
  return u[column * (column + 1) / 2 + row];
}

/// Computes x = U D^-1 U^T for the lane's system. The diagonal of U has 1 / d in place of ones. Returns whether a
/// number is not finite.
template <class T, class L>
__device__ __forceinline__ bool multiply_factors(int n, int lane, T* u, T* x) {
  T zero = 0;  // becomes NaN if a number is not finite
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

/// Inverts by A^-1 = U D^-1 U^T with U = L^-T. U takes the place of A in shared memory.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::general_warps) ldlt_inverse_kernel(Arguments<T> args) {
  using L = typename LdltPlan<T, N>::General;
  static_assert(packed_pitch<L> <= L::staged_numbers);
  __shared__ GeneralMemory<T, L> memory;
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    if (!has_work(args, task)) continue;
    find_systems(args, task, memory);
#pragma unroll 1
    while (choose_systems(args, task, memory)) {
      stage_systems(args, memory);
      T a[L::rows][N], b[1][L::rows]{}, inverse[L::rows];
      memory.far[own_group<L>()] = load_scaled(args, memory, a);
      const int bad_pivot = factor_and_tell<false>(args, memory, a, inverse);
      bool bad = bad_pivot != 0;
      T* const u_memory = memory.tile.matrix[0];
#pragma unroll 1
      for (int column = 0; column < args.n; ++column) {
#pragma unroll
        for (int u = 0; u < L::rows; ++u) b[0][u] = L::lanes * u + own_lane<L>() == column ? T(1) : T(0);
        substitute_back<L, true, false>(own_group<L>(), own_lane<L>(), memory.tile, a, b, args.once);
        // Stores a column of U for A itself, not for the scaled matrix. Its diagonal has 1 / d in place of ones.
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = L::lanes * u + own_lane<L>();
          if (row == column) b[0][u] = inverse[u];
          if (own_far(memory)) {
            const int exponent = scaling_exponent(args, own_system(memory), column, own_far(memory));
            b[0][u] = scale(b[0][u], scaling_exponent(args, own_system(memory), row, own_far(memory)) +
                                         (row == column ? exponent : -exponent));
          }
          bad |= not_finite(b[0][u]);
          if (row <= column) factor_element(u_memory + own_group<L>() * packed_pitch<L>, row, column) = b[0][u];
        }
      }
      __syncwarp();  // U is complete
      if (is_own(memory))
        bad |= multiply_factors<T, L>(args.n, own_lane<L>(), u_memory + own_group<L>() * packed_pitch<L>,
                                      args.to.x + own_system(memory) * args.to.x_stride);
      settle(args, memory, bad, bad_pivot);
    }
  }
}

template <class T>
Kernels<T> inverse_kernels() {
  return {{ldlt_inverse_kernel<T, 8>, LdltPlan<T, 8>::General::systems},
          {ldlt_inverse_kernel<T, 16>, LdltPlan<T, 16>::General::systems},
          {ldlt_inverse_kernel<T, 32>, LdltPlan<T, 32>::General::systems},
          {ldlt_inverse_kernel<T, 64>, LdltPlan<T, 64>::General::systems}};
}

}  // namespace

template <class T>
cudaError_t launch_ldlt_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                SystemsToDo which, cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution, marks);
  return launch<T>(inverse_kernels<T>(), which == SystemsToDo::unsettled ? of_marked(arguments) : arguments, stream);
}

template cudaError_t launch_ldlt_inverse(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, SystemsToDo,
                                         cudaStream_t);
template cudaError_t launch_ldlt_inverse(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, SystemsToDo,
                                         cudaStream_t);

}  // namespace smallbatch
