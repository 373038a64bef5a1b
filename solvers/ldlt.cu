// A = L D L^T without pivoting, for the few systems that Gauss-Jordan elimination answers badly: its backward error
// grows with the condition number, that of L D L^T does not (N. J. Higham, "Accuracy and Stability of Numerical
// Algorithms", sections 10.1 and 14.4).
//     d_k = a_kk,  l_ik = a_ik / d_k,  a_ij <- a_ij - l_ik a_jk   (i >= j > k);   L z = b,  y = D^-1 z,  L^T x = y.
//
// A warp takes a system, lane i owns row i, the matrix lies in shared memory. Speed does not matter here; a batch
// without such systems costs one look at each backward error.
#include "solvers/spd_device.cuh"

namespace smallbatch {

namespace {

/// Factors the leading n rows of `matrix`: D on the diagonal, L^T above it. The first pivot, counted from 1, that is
/// not positive, or 0. The whole warp calls.
template <class T, int N>
__device__ int factor(int n, int lane, T (&matrix)[N][N + 4]) {
  for (int k = 0; k < n; ++k) {
    __syncwarp();  // row and column k are as step k - 1 (or the staging) left them
    const T pivot = matrix[k][k];
    if (!(pivot > 0)) return k + 1;
    if (lane <= k || lane >= n) continue;
    const T multiplier = matrix[lane][k] / pivot;
    for (int j = k + 1; j <= lane; ++j) matrix[lane][j] = fma(-multiplier, matrix[j][k], matrix[lane][j]);
    matrix[k][lane] = multiplier;
  }
  __syncwarp();  // L^T is complete
  return 0;
}

/// The lane's element of x, from its element of b. The whole warp calls.
template <class T, int N>
__device__ T substitute(int n, int lane, const T (&matrix)[N][N + 4], T b) {
  for (int k = 0; k < n; ++k) {
    const T z = __shfl_sync(whole_warp, b, k);
    if (lane > k && lane < n) b = fma(-matrix[k][lane], z, b);
  }
  if (lane < n) b /= matrix[lane][lane];
  for (int k = n - 1; k > 0; --k) {
    const T x = __shfl_sync(whole_warp, b, k);
    if (lane < k) b = fma(-matrix[lane][k], x, b);
  }
  return b;
}

template <class T>
__global__ void __launch_bounds__(warps_per_block* warp_lanes) ldlt_kernel(Arguments<T> args) {
  constexpr int N = max_system_size;
  static_assert(N == warp_lanes, "a lane owns a row");
  __shared__ Staging<T, N, 1> all_staging[warps_per_block];
  const int lane = threadIdx.x % warp_lanes;
  Staging<T, N, 1>& staging = all_staging[threadIdx.x / warp_lanes];
  const bool inverse = args.nrhs == 0;
  const int columns = inverse ? args.n : args.nrhs;
  const T limit = static_cast<T>(spd_resolve_above / 2) * Traits<T>::eps * static_cast<T>(inverse ? args.n : 1);

  for (std::int64_t system = first_warp_in_grid(); system < args.count; system += warps_in_grid()) {
    if (args.info[system] != 0 || !(args.backward_error[system] > limit)) continue;
    T* x = args.x + system * args.solution_size;
    const T* matrix = args.a + system * args.matrix_size;
    find_matrix_scale<T, N, 1>(args, matrix, true, lane, warp_lanes, staging);
    __syncwarp();  // the exponents of all rows are there
    stage_scaled_matrix<T, N, 1>(args, matrix, true, lane, warp_lanes, staging);
    const int failed = factor<T, N>(args.n, lane, staging.matrix);

    for (int c = 0; c < columns; ++c) {
      T value = inverse && lane == c ? power_of_two<T>(staging.half[c]) : T(0);
      if (!inverse) {
        stage_scaled_rhs<warp_lanes>(args, system, true, c, lane, staging);
        __syncwarp();  // the right-hand side and its exponent are complete
        value = staging.rhs[0][lane];
      }
      value = substitute<T, N>(args.n, lane, staging.matrix, value);
      if (lane < args.n) {
        value = failed ? not_a_number<T>() : scale(value, staging.half[lane] - (inverse ? 0 : staging.shift[0]));
        if (!inverse) x[static_cast<std::int64_t>(lane) * columns + c] = value;
        // Both triangles from one: the inverse is exactly symmetric.
        if (inverse && lane >= c) x[lane * args.n + c] = x[c * args.n + lane] = value;
      }
      __syncwarp();  // the exponent has been read before the next right-hand side is staged
    }
    if (lane == 0) {
      args.info[system] = failed;
      args.backward_error[system] = failed ? not_a_number<T>() : static_cast<T>(marked_for_judgement);
    }
    __syncwarp();  // L and D have been read before the next system is staged
  }
}

}  // namespace

template <class T>
cudaError_t launch_spd_resolve(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  const cudaError_t status =
      launch<T>(ldlt_kernel<T>, warps_per_block, warps_per_block, false, batch, solution, stream);
  return status != cudaSuccess ? status : launch_spd_backward_error(batch, solution, stream, SystemsToJudge::resolved);
}

template cudaError_t launch_spd_resolve(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_spd_resolve(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
