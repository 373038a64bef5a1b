// Before and after the elimination: is the input fit, and how good is the answer? N lanes per system, one per row; the
// matrix is staged in shared memory, because both triangles are looked at.
#include "solvers/spd_device.cuh"

namespace smallbatch {

namespace {

/// Copies the matrix of each group's system to shared memory, both triangles; whether this lane saw a NaN or an
/// infinity.
template <class T, int N>
__device__ bool stage_matrix(const Arguments<T>& args, const T* matrix, bool active, int lane, T (&staged)[N][N + 1]) {
  bool bad = false;
  for (int i = 0; i < args.n; ++i) {
    if (!active || lane >= (args.packed ? i + 1 : args.n)) continue;
    const T value = matrix[args.packed ? i * (i + 1) / 2 + lane : i * args.n + lane];
    bad |= not_finite(value);
    staged[i][lane] = value;
    if (args.packed) staged[lane][i] = value;
  }
  return bad;
}

template <class T, int N>
__global__ void __launch_bounds__(warps_per_block* warp_lanes) inspect_kernel(Arguments<T> args) {
  constexpr int systems = warp_lanes / N;
  __shared__ T
      staged[warps_per_block][systems][N][N + 1];  // A of each system of each warp; columns free of bank conflicts
  const int lane = threadIdx.x % N, group = threadIdx.x % warp_lanes / N;
  T(&matrix)[N][N + 1] = staged[threadIdx.x / warp_lanes][group];

  for (std::int64_t first = first_warp_in_grid() * systems; first < args.count; first += warps_in_grid() * systems) {
    const std::int64_t system = first + group;
    const bool active = system < args.count;
    const bool bad_matrix = stage_matrix<T, N>(args, args.a + system * args.matrix_size, active, lane, matrix);
    __syncwarp();  // the staged matrix is complete before any lane reads other lanes' part of it

    bool asymmetric = false;
    if (active && lane < args.n && !args.packed) {
      const T bound = static_cast<T>(args.n) * Traits<T>::eps * sqrt(abs(matrix[lane][lane]));
      for (int i = 0; i < args.n; ++i)
        asymmetric |= abs(matrix[i][lane] - matrix[lane][i]) > bound * sqrt(abs(matrix[i][i]));
    }
    bool far = false;  // from 1
    if (active && lane < args.n)
      far = matrix[lane][lane] > 0 && abs(exponent_of(matrix[lane][lane])) > Traits<T>::diagonal_window;
    bool bad_rhs = false;
    for (std::int64_t e = lane; active && e < args.rhs_size; e += N) {
      const T value = args.b[system * args.rhs_size + e];
      bad_rhs |= not_finite(value);
      far |= value != 0 && abs(exponent_of(value)) > Traits<T>::rhs_window;
    }

    const bool any_bad_matrix = any_of_group<N>(bad_matrix);
    const bool any_asymmetric = any_of_group<N>(asymmetric);
    const bool any_bad_rhs = any_of_group<N>(bad_rhs);
    const bool any_far = any_of_group<N>(far);
    if (active && lane == 0)
      args.info[system] = any_bad_matrix   ? info_matrix_not_finite
                          : any_asymmetric ? info_matrix_not_symmetric
                          : any_bad_rhs    ? info_rhs_not_finite
                          : any_far        ? marked_for_scaling
                                           : 0;
    __syncwarp();  // every lane has read the staged matrix before the next system overwrites it
  }
}

/// The exponent that brings v next to 1, among the normal exponents. Single precision input needs none: its norms and
/// their products stay in the range of double.
template <class T>
__device__ int normalizing_exponent(T v) {
  if constexpr (sizeof(T) == sizeof(float))
    return 0;
  else
    return -min(Traits<T>::exponent_bias - 1, max(1 - Traits<T>::exponent_bias, exponent_of(v)));
}

template <class T, int N>
__global__ void __launch_bounds__(warps_per_block* warp_lanes, 6) backward_error_kernel(Arguments<T> args) {
  constexpr int systems = warp_lanes / N;
  __shared__ T staged[warps_per_block][systems][N][N + 1];  // as in inspect_kernel
  const int lane = threadIdx.x % N, group = threadIdx.x % warp_lanes / N;
  T(&matrix)[N][N + 1] = staged[threadIdx.x / warp_lanes][group];
  const bool inverse = args.nrhs == 0;
  const int columns = inverse ? args.n : args.nrhs;

  for (std::int64_t first = first_warp_in_grid() * systems; first < args.count; first += warps_in_grid() * systems) {
    const std::int64_t system = first + group;
    const std::int32_t status = system < args.count ? args.info[system] : info_matrix_not_finite;
    const bool mine = system < args.count && (!args.only_marked || args.backward_error[system] == marked_for_judgement);
    if (!__any_sync(whole_warp, mine)) continue;
    const bool active = mine && status == 0;
    T* x = args.x + system * args.solution_size;
    stage_matrix<T, N>(args, args.a + system * args.matrix_size, active, lane, matrix);
    __syncwarp();  // the staged matrix is complete before any lane reads other lanes' part of it

    const bool has_row = active && lane < args.n;
    T largest_a = 0, largest_x = 0;
    bool bad = false;
    for (int i = 0; has_row && i < args.n; ++i) largest_a = max(largest_a, abs(matrix[i][lane]));
    for (int c = 0; has_row && c < columns; ++c) {
      const T value = x[lane * static_cast<std::int64_t>(columns) + c];
      bad |= not_finite(value);
      largest_x = max(largest_x, abs(value));
    }
    bad = any_of_group<N>(bad);
    largest_x = max_of_group<N>(largest_x);
    const double a_factor = power_of_two<double>(normalizing_exponent(max_of_group<N>(largest_a)));
    double column_sum = 0;
    for (int i = 0; has_row && i < args.n; ++i) column_sum += abs(static_cast<double>(matrix[i][lane]) * a_factor);
    const double norm_a = max_of_group<N>(column_sum);

    double worst = 0, worst_residual = 0, norm_x = 0;
    for (int c = 0; c < columns; ++c) {
      const T own_x = has_row ? x[lane * static_cast<std::int64_t>(columns) + c] : T(0);
      const T largest = inverse ? largest_x : max_of_group<N>(abs(own_x));
      const double x_factor = power_of_two<double>(normalizing_exponent(largest));
      const double scaled_x = static_cast<double>(own_x) * x_factor;
      double right = inverse && lane == c ? 1 : 0;
      if (has_row && !inverse) right = args.b[system * args.rhs_size + lane * static_cast<std::int64_t>(columns) + c];
      double sum = right * a_factor * x_factor;
      for (int j = 0; j < args.n; ++j) {
        const double x_j = __shfl_sync(whole_warp, scaled_x, j, N);
        if (has_row) sum = fma(-static_cast<double>(matrix[lane][j]) * a_factor, x_j, sum);
      }
      const double column_residual = sum_of_group<N>(has_row ? abs(sum) : 0.0);
      const double column_norm = sum_of_group<N>(abs(scaled_x));
      norm_x = max(inverse ? norm_x : 0.0, column_norm);
      worst_residual = max(inverse ? worst_residual : 0.0, column_residual);
      if (inverse && c + 1 < columns) continue;  // an inverse is judged by the norms of the whole matrix
      worst = max(worst, worst_residual == 0 ? 0.0 : worst_residual / (norm_a * norm_x));
    }

    if (active && bad)
      for (int c = 0; lane < args.n && c < columns; ++c)
        x[lane * static_cast<std::int64_t>(columns) + c] = not_a_number<T>();
    __syncwarp();  // every lane has seen the mark
    if (mine && lane == 0) {
      if (active && bad) args.info[system] = info_result_not_finite;
      args.backward_error[system] = active && !bad ? static_cast<T>(worst) : not_a_number<T>();
    }
    __syncwarp();  // every lane has read the staged matrix before the next system overwrites it
  }
}

/// A lane per padded row.
int systems_per_block(int n) { return warps_per_block * warp_lanes / padded_size(n); }

}  // namespace

template <class T>
cudaError_t launch_spd_inspect(const SpdBatch<T>& batch, std::int32_t* info, cudaStream_t stream) {
  const Kernel<T> kernel = pick<T>(batch.shape.n, inspect_kernel<T, 8>, inspect_kernel<T, 16>, inspect_kernel<T, 32>);
  return launch<T>(kernel, systems_per_block(batch.shape.n), warps_per_block, false, batch, {nullptr, info, nullptr},
                   stream);
}

template <class T>
cudaError_t launch_spd_backward_error(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream,
                                      SystemsToJudge which) {
  const Kernel<T> kernel =
      pick<T>(batch.shape.n, backward_error_kernel<T, 8>, backward_error_kernel<T, 16>, backward_error_kernel<T, 32>);
  return launch<T>(kernel, systems_per_block(batch.shape.n), warps_per_block, which == SystemsToJudge::resolved, batch,
                   solution, stream);
}

template cudaError_t launch_spd_inspect(const SpdBatch<float>&, std::int32_t*, cudaStream_t);
template cudaError_t launch_spd_inspect(const SpdBatch<double>&, std::int32_t*, cudaStream_t);
template cudaError_t launch_spd_backward_error(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t,
                                               SystemsToJudge);
template cudaError_t launch_spd_backward_error(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t,
                                               SystemsToJudge);

}  // namespace smallbatch
