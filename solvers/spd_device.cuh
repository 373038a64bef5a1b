// What the GPU kernels of this room share: their arguments, exact scaling by powers of two, reductions over the lanes
// of a system, and how they are launched. Private to solvers/*.cu.
#pragma once

#include <algorithm>

#include "solvers/spd_solver.cuh"

namespace smallbatch {

namespace {

constexpr unsigned whole_warp = 0xffffffffU;
constexpr int warp_lanes = 32;
constexpr int warps_per_block = 4;
constexpr std::int64_t max_blocks = 1 << 14;  // the kernels stride over the rest

template <class T>
struct Arguments {
  const T* a;
  const T* b;
  T* x;
  std::int32_t* info;
  T* backward_error;
  std::int64_t count, matrix_size, rhs_size, solution_size;
  int n, nrhs;
  bool packed;
  bool only_marked;  ///< work on marked systems alone: marked for scaling (elimination) or for judgement (backward
                     ///< error)
};

/// Stands in info between inspection and elimination for a system that is to be scaled.
constexpr std::int32_t marked_for_scaling = INT32_MAX;

/// Stands in backward_error between a second solution and its judgement.
constexpr int marked_for_judgement = -1;

template <class T>
struct Traits;
template <>
struct Traits<float> {
  // What fits into the registers of a lane, in the fast, the general and the inverse kernel.
  static constexpr int fast_rows = 4, fast_rhs = 4, general_rows = 4, general_rhs = 4, inverse_rows = 4;
  static constexpr int exponent_bias = 127;
  static constexpr int diagonal_window = 20, rhs_window = 40;  // exponents that need no scaling
  static constexpr float eps = 0x1p-23F;
};
template <>
struct Traits<double> {
  static constexpr int fast_rows = 2, fast_rhs = 2, general_rows = 1, general_rhs = 4, inverse_rows = 2;
  static constexpr int exponent_bias = 1023;
  static constexpr int diagonal_window = 150, rhs_window = 300;
  static constexpr double eps = 0x1p-52;
};

/// 1/v, correctly rounded wherever v and 1/v are normal numbers: what __frcp_rn and __drcp_rn compute, without their
/// branch for all the rest, whose call costs registers. Pivots of scaled systems are normal; any other value means
/// failure.
__device__ __forceinline__ float reciprocal(float v) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(v));
  return fmaf(y, fmaf(-v, y, 1.0F), y);
}
__device__ __forceinline__ double reciprocal(double v) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(v));
  const double e = fma(-v, y, 1.0);
  y = fma(y, fma(e, e, e), y);
  return fma(y, fma(-v, y, 1.0), y);
}

/// floor(log2 |v|); -bias where v is zero or subnormal.
__device__ int exponent_of(float v) { return ((__float_as_int(v) >> 23) & 255) - 127; }
__device__ int exponent_of(double v) { return ((__double2hiint(v) >> 20) & 2047) - 1023; }

/// 2^e, for e among the normal exponents.
template <class T>
__device__ T power_of_two(int e) {
  if constexpr (sizeof(T) == sizeof(float))
    return __int_as_float((e + 127) << 23);
  else
    return __hiloint2double((e + 1023) << 20, 0);
}

/// v 2^e in two steps, so that 2^e itself may lie outside the range of T.
template <class T>
__device__ T scale(T v, int e) {
  constexpr int limit = 2 * (Traits<T>::exponent_bias - 1);
  e = min(limit, max(-limit, e));
  const int half = e >> 1;
  return v * power_of_two<T>(half) * power_of_two<T>(e - half);
}

template <class T>
__device__ bool not_finite(T v) {
  return !(v - v == 0);
}
template <class T>
__device__ T not_a_number() {
  return static_cast<T>(__longlong_as_double(0x7ff8000000000000LL));
}

/// Any, sum or maximum over the `Width` neighbouring lanes that share a system. The whole warp calls.
template <int Width>
__device__ bool any_of_group(bool value) {
  const unsigned lane = threadIdx.x % warp_lanes;
  const unsigned group = (Width == warp_lanes ? whole_warp : (1U << (Width % warp_lanes)) - 1)
                         << (lane / Width * Width);
  return (__ballot_sync(whole_warp, value) & group) != 0;
}
template <int Width, class V>
__device__ V sum_of_group(V value) {
  for (int step = Width / 2; step > 0; step /= 2) value += __shfl_xor_sync(whole_warp, value, step);
  return value;
}
template <int Width, class V>
__device__ V max_of_group(V value) {
  for (int step = Width / 2; step > 0; step /= 2) value = max(value, __shfl_xor_sync(whole_warp, value, step));
  return value;
}

__device__ std::int64_t first_warp_in_grid() {
  return static_cast<std::int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warp_lanes;
}
__device__ std::int64_t warps_in_grid() { return static_cast<std::int64_t>(gridDim.x) * warps_per_block; }

// exact scaling: D A D y = 2^t D b, x = 2^-t D y

/// the exponents of D and 2^t.
template <class T, int N, int R>
struct alignas(16) Staging {
  T matrix[N][N + 4];
  T rhs[R][N];
  int half[N];
  int shift[R];
};

/// The exponents of D, which bring the diagonal next to 1, into staging.half.
template <class T, int N, int R>
__device__ void find_matrix_scale(const Arguments<T>& args, const T* matrix, bool active, int lane, int lanes,
                                  Staging<T, N, R>& staging) {
  for (int i = lane; i < N; i += lanes) {
    T diagonal = 1;
    if (active && i < args.n) diagonal = matrix[args.packed ? i * (i + 1) / 2 + i : i * (args.n + 1)];
    staging.half[i] = diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0;
  }
}

/// D A D, padded with identity rows, into staging.matrix; the identity where the lane's system is not to be solved.
template <class T, int N, int R>
__device__ void stage_scaled_matrix(const Arguments<T>& args, const T* matrix, bool active, int lane, int lanes,
                                    Staging<T, N, R>& staging) {
  for (int i = 0; i < N; ++i)
    for (int j = lane; j < N; j += lanes) {
      const int high = max(i, j), low = min(i, j);
      T value = i == j ? T(1) : T(0);
      if (active && high < args.n)
        value = matrix[args.packed ? high * (high + 1) / 2 + low : i * args.n + j] * power_of_two<T>(staging.half[i]) *
                power_of_two<T>(staging.half[j]);
      staging.matrix[i][j] = value;
    }
}

/// 2^t D b for the right-hand sides first .. first + R - 1 into staging.rhs, 0 where there is none; t is 0 unless D b
/// lies far from 1. The whole warp calls, `Lanes` lanes per system.
template <int Lanes, class T, int N, int R>
__device__ void stage_scaled_rhs(const Arguments<T>& args, std::int64_t system, bool active, int first, int lane,
                                 Staging<T, N, R>& staging) {
  constexpr int lowest = -4 * Traits<T>::exponent_bias;
  for (int r = 0; r < R; ++r) {
    int top = lowest;
    for (int i = lane; i < N; i += Lanes) {
      T value = 0;
      if (active && i < args.n && first + r < args.nrhs)
        value = args.b[system * args.rhs_size + static_cast<std::int64_t>(i) * args.nrhs + first + r];
      if (value != 0) top = max(top, exponent_of(value) + staging.half[i]);
      staging.rhs[r][i] = value;
    }
    top = max_of_group<Lanes>(top);
    const int shift = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
    if (lane == 0) staging.shift[r] = shift;
    for (int i = lane; i < N; i += Lanes) staging.rhs[r][i] = scale(staging.rhs[r][i], staging.half[i] + shift);
  }
}

// launching

template <class T>
using Kernel = void (*)(Arguments<T>);

/// The size that a system is padded to.
constexpr int padded_size(int n) { return n <= 8 ? 8 : n <= 16 ? 16 : 32; }

/// The kernel of three that is for the padded size of n.
template <class T>
Kernel<T> pick(int n, Kernel<T> kernel8, Kernel<T> kernel16, Kernel<T> kernel32) {
  return padded_size(n) == 8 ? kernel8 : padded_size(n) == 16 ? kernel16 : kernel32;
}

/// Launches blocks of `warps` warps that take `systems_per_block` systems at a time.
template <class T>
cudaError_t launch(Kernel<T> kernel, int systems_per_block, int warps, bool only_marked, const SpdBatch<T>& batch,
                   const SpdSolution<T>& solution, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const SpdShape& shape = batch.shape;
  const std::int64_t blocks = std::min(max_blocks, (batch.count + systems_per_block - 1) / systems_per_block);
  Arguments<T> arguments{batch.a,
                         batch.b,
                         solution.x,
                         solution.info,
                         solution.backward_error,
                         batch.count,
                         shape.matrix_size(),
                         shape.rhs_size(),
                         shape.solution_size(),
                         shape.n,
                         shape.nrhs,
                         shape.storage == Storage::packed_lower,
                         only_marked};
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(warps * warp_lanes)),
                          parameters, 0, stream);
}

}  // namespace

}  // namespace smallbatch
