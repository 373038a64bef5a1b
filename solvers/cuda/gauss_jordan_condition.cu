// The reciprocal condition number 1 / (||A||_1 ||A^-1||_1), A^-1 by the symmetric sweep; nothing of it is stored.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/sweep_elimination.cuh"

namespace smallbatch {

namespace {

/// |v| in double precision, which holds all sums of floats; doubles are times a power of two that keeps them in range.
template <class T>
__device__ __forceinline__ double magnitude(T v, double factor) {
  return sizeof(T) == sizeof(double) ? abs(static_cast<double>(v) * factor) : abs(static_cast<double>(v));
}

/// The largest row sum of the magnitudes of the lane's system in registers, which is its 1-norm. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ double norm1(int n, int lane, const T (&a)[L::rows][L::size], double factor, int once) {
  constexpr int G = L::lanes, width = G < 8 ? G : 8;
  double largest = 0;
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int s = slot;
    // Of row G s + lane: what the lane has itself, and the column that mirrors the rest, of which all have something.
    double sum = 0;
#pragma unroll
    for (int i = 0; i < G * s; ++i) sum += magnitude(a[s][i], factor);
    unrolled<G / width>([&](auto part) __attribute__((always_inline)) {
      constexpr int first = width * part;
      apart(
          once, [&]() __attribute__((always_inline)) {
            double below[width];
#pragma unroll
            for (int i = 0; i < width; ++i) {
              const double value = magnitude(a[s][G * s + first + i], factor);
              sum += first + i <= lane ? value : 0.0;
              below[i] = first + i < lane ? value : 0.0;
#pragma unroll
              for (int u = s + 1; u < L::rows; ++u) below[i] += magnitude(a[u][G * s + first + i], factor);
            }
            const double mirrored = sum_for_each<G, width>(lane, below);
            if (lane / width == part) sum += mirrored;
          });
    });
    if (G * s + lane < n) largest = max(largest, sum);
  });
  return max_of_group<G>(largest);
}

/// The same of a lower triangle in shared memory.
template <class T, class L>
__device__ double norm1(int n, int lane, const T* matrix, double factor) {
  double largest = 0;
#pragma unroll 1
  for (int row = lane; row < n; row += L::lanes) {
    double sum = 0;
#pragma unroll 4
    for (int j = 0; j < n; ++j) sum += magnitude(matrix[max(row, j) * L::row_pitch + min(row, j)], factor);
    largest = max(largest, sum);
  }
  return max_of_group<L::lanes>(largest);
}

/// rcond of A from ||2^-e A||_1 and ||2^-f A^-1||_1. Where the sweep found no inverse although A has positive pivots, A
/// is singular to working precision: 0.
template <class T>
__device__ T rcond_of(double norm, int e, double norm_inverse, int f, bool has_inverse) {
  const double rcond = scale(1 / norm / norm_inverse, -e - f);
  return has_inverse && rcond > 0 ? static_cast<T>(rcond) : T(0);
}

template <class T, class L>
__device__ __forceinline__ T largest_diagonal(int n, int lane, const T (&a)[L::rows][L::size]) {
  T largest = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (L::lanes * u + lane < n) largest = max(largest, abs(diagonal<T, L>(lane, u, a)));
  return max_of_group<L::lanes>(largest);
}

/// The exponent of the largest diagonal element, and so of the largest, of D a D; 0 where it is not `far`.
template <class T, class L>
__device__ __forceinline__ int inverse_exponent(const Arguments<T>& args, std::int64_t system, int lane, bool far,
                                                const T (&a)[L::rows][L::size]) {
  int largest = -4 * Traits<T>::exponent_bias;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int row = L::lanes * u + lane;
    if (row < args.n)
      largest = max(largest, exponent_of(diagonal<T, L>(lane, u, a)) + 2 * scaling_exponent(args, system, row, far));
  }
  largest = max_of_group<L::lanes>(largest);
  return far ? largest : 0;
}

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, SweepPlan<T, N>::resident_warps) rcond_kernel(Arguments<T> args) {
  using L = typename SweepPlan<T, N>::L;
  constexpr int G = L::lanes;
  __shared__ TileMemory<T, L> memory;
  __shared__ double norms[L::systems];
  __shared__ int exponents[L::systems];  // of those norms
  // Whose work a lane does; computed again where it is asked for: the matrices take the registers.
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  // Of the rows of the lane's system, while the matrix is in registers.
  const auto pivots = [&]() __attribute__((always_inline)) { return memory.matrix[group()]; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return system_of<T, L>(args, task, group()); };
    T a[L::rows][N];
    (void)load_to_sweep<T, L>(args, task, memory, a);
    const bool far = any_of_group<G>(diagonal_far_bits<T, L>(lane(), a) != 0);
    int exponent = 0;
    if (sizeof(T) == sizeof(double) && __any_sync(whole_warp, far)) {
      exponent = -normalizing_exponent(largest_diagonal<T, L>(args.n, lane(), a));
      if (!far) exponent = 0;
    }
    const double norm = norm1<T, L>(args.n, lane(), a, power_of_two<double>(-fresh(exponent)), args.once);
    if (lane() == 0) {
      norms[group()] = norm;
      exponents[group()] = exponent;
    }
    scale_rows<T, L>(args, system(), lane(), far, a);
    __syncwarp();  // the matrices have been read, whose place the pivots take
    sweep<T, L>(group(), lane(), memory, a, pivots(), args.once);
    __syncwarp();  // the last pivots are there
    T pivot[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) pivot[u] = pivots()[G * u + lane()];
    const int bad_pivot = first_bad_pivot<T, L>(lane(), pivot);
    // Back to A^-1, times a power of two that keeps it in range.
    exponent = 0;  // of its largest element, where it is far from 1
    if (__any_sync(whole_warp, far)) exponent = inverse_exponent<T, L>(args, system(), lane(), far, a);
    const int shift = exponent >> 1;
    scale_rows<T, L>(args, system(), lane(), far, a, shift);
    const bool has_inverse = !any_of_group<G>(!is_finite<T, L>(lane(), a) || bad_pivot != 0);
    const int rest = sizeof(T) == sizeof(double) ? min(max(exponent - 2 * shift, -1022), 1022) : 0;
    const double norm_inverse = norm1<T, L>(args.n, lane(), a, power_of_two<double>(-fresh(rest)), args.once);
    const bool mine = std::int64_t{fresh(static_cast<int>(task))} * L::systems + group() < args.count;
    if (mine && lane() == 0)
      args.to.rcond[system()] = args.to.info[system()] == 0 ? rcond_of<T>(norms[group()], exponents[group()],
                                                                          norm_inverse, 2 * shift + rest, has_inverse)
                                                            : not_a_number<T>();
  }
}

/// The exponent of the largest diagonal element, and so of the largest, of A^-1 = -D a D, a and D as the sweep has left
/// them in shared memory.
template <class T, class L>
__device__ int wide_inverse_exponent(int n, int lane, T* matrix) {
  int largest = -4 * Traits<T>::exponent_bias;
#pragma unroll 1
  for (int row = lane; row < n; row += L::lanes)
    largest = max(largest, exponent_of(matrix[row * (L::row_pitch + 1)]) +
                               2 * exponent_of(*behind<L>(matrix, powers_at<L> + row)));
  return max_of_group<L::lanes>(largest);
}

/// The same for n > 32: whole rows in shared memory.
template <class T>
__global__ void __launch_bounds__(warp_lanes, WholeRows<T, 64>::resident_warps) wide_rcond_kernel(Arguments<T> args) {
  constexpr int N = 64;
  using L = WholeRows<T, N>;
  __shared__ WarpMemory<T, L> memory;
  const int lane = threadIdx.x, n = args.n;
  T* const matrix = memory.matrix[0];
  static_assert(L::systems == 1);
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t system = task;
    stage_to_sweep(args, system, memory);
    T largest = 0;
#pragma unroll 1
    for (int row = lane; row < n; row += L::lanes) largest = max(largest, abs(matrix[row * (L::row_pitch + 1)]));
    const int a_exponent = -normalizing_exponent(max_of_group<L::lanes>(largest));
    const double norm_a = norm1<T, L>(n, lane, matrix, power_of_two<double>(-fresh(a_exponent)));
    const bool far = __any_sync(whole_warp, diagonal_is_far<T, L>(matrix, lane));
    T pivots[L::rows];
    sweep_in_shared_memory<T, L>(lane, far, matrix, pivots);
    // Back to A^-1, times a power of two that keeps it in range.
    int exponent = 0, shift = 0;
    if (far) {
      exponent = wide_inverse_exponent<T, L>(n, lane, matrix);
      shift = exponent >> 1;
      __syncwarp();  // the powers have been read
#pragma unroll 1
      for (int row = lane; row < n; row += L::lanes) {
        T& power = *behind<L>(matrix, powers_at<L> + row);
        power = power_of_two<T>(max(exponent_of(power) - shift, 1 - Traits<T>::exponent_bias));
      }
      __syncwarp();  // the powers are complete
    }
    scale_swept<T, L>(lane, matrix);
    __syncwarp();  // A^-1 is complete
    bool bad = false;
#pragma unroll 1
    for (int row = lane; row < n; row += L::lanes)
#pragma unroll 4
      for (int j = 0; j <= row; ++j) bad |= not_finite(matrix[row * L::row_pitch + j]);
    const bool has_inverse = !__any_sync(whole_warp, bad || first_bad_pivot<T, L>(lane, pivots) != 0);
    const int rest = sizeof(T) == sizeof(double) ? min(max(exponent - 2 * shift, -1022), 1022) : 0;
    const double norm_inverse = norm1<T, L>(n, lane, matrix, power_of_two<double>(-fresh(rest)));
    if (lane == 0)
      args.to.rcond[system] = args.to.info[system] == 0
                                  ? rcond_of<T>(norm_a, a_exponent, norm_inverse, 2 * shift + rest, has_inverse)
                                  : not_a_number<T>();
  }
}

}  // namespace

template <class T>
cudaError_t launch_rcond(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  return launch<T>({{rcond_kernel<T, 8>, SweepPlan<T, 8>::L::systems},
                    {rcond_kernel<T, 16>, SweepPlan<T, 16>::L::systems},
                    {rcond_kernel<T, 32>, SweepPlan<T, 32>::L::systems},
                    {wide_rcond_kernel<T>, 1}},
                   arguments_of(batch, solution), stream);
}

template cudaError_t launch_rcond(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_rcond(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
