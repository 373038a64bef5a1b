// Shared parts of this room's GPU kernels: arguments, exact powers of two, reductions over the lanes of a system, and
// launches. Private to solvers/cuda. This is one file, because every kernel needs nearly all of it.
//
// G neighbouring lanes share a system, which is padded with identity rows to N x N, N = 8, 16, 32 or 64. Rows are dealt
// out in turn: lane l owns the rows G u + l, u = 0 .. N/G - 1. This keeps all lanes busy until the end of an
// elimination. Lower triangles in registers are in common/tile.cuh.
#pragma once

#include <cuda_runtime_api.h>

#include <nv/target>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/gpu_plans.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/scaled_residual.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

namespace {

constexpr unsigned whole_warp = 0xffffffffU;
constexpr int warp_lanes = 32;

/// All arguments of a kernel.
template <class T>
struct Arguments {
  const T* a;
  const T* b;
  SpdSolution<T> to;  ///< x_stride is in elements, never `tight`
  std::int64_t count, a_step, b_step;
  unsigned tasks;  ///< number of tasks; a task is a span of systems, which one warp works on
  int n, nrhs;
  Storage storage;
  bool inverse;
  bool pivot_numbers;    ///< whether `to` wants numbers that are computed from the pivots
  bool vectors;          ///< matrices may be copied in pieces of 16 bytes
  Mark* marks;           ///< one per system, in the workspace
  bool marked = false;   ///< work only on systems that an earlier kernel has marked
  T resolve_above = -1;  ///< mark solved systems with a larger backward error as unsettled; negative: no limit
  int once = 1;          ///< always 1, but the compiler does not know
  int span = 0;          ///< systems in a task
  const std::int32_t* sizes = nullptr;  ///< one per system; null: all have n rows
  int kept_step = 0;   ///< elements from one system to the next in shared memory, if a kernel keeps matrices as stored
  int kept_pitch = 0;  ///< elements from one row to the next in these kernels, if rows are whole pieces
};

/// Addresses of matrices. Each begins `step` elements after the previous one.
template <class T>
struct Strided {
  const T* first;
  std::int64_t step;
  __device__ __forceinline__ const T* operator()(int s) const { return first + s * step; }
};

/// Returns the number of rows of a system; negative if its size is out of range.
template <class T>
__device__ __forceinline__ int rows_of(const Arguments<T>& args, std::int64_t system) {
  if (args.sizes == nullptr) return args.n;
  const int size = args.sizes[system];
  return size <= args.n ? size : -1;
}

template <class T>
struct Traits;
template <>
struct Traits<float> {
  static constexpr int exponent_bias = 127, mantissa_bits = 23;
  // Numbers from 2^-window to 2^window need no scaling. For diagonals of lower triangles, far_bits() decides instead.
  static constexpr int diagonal_window = 20, rhs_window = 40;
  static constexpr float eps = 0x1p-23F;
};
template <>
struct Traits<double> {
  static constexpr int exponent_bias = 1023, mantissa_bits = 52;
  static constexpr int diagonal_window = 150, rhs_window = 300;
  static constexpr double eps = 0x1p-52;
};

/// The largest number of rows that one lane can solve alone, with an exact rcond.
template <class T>
inline constexpr int rows_of_lanes = sizeof(T) == sizeof(float) ? 16 : 12;
static_assert(spd_rcond_is_exact_up_to <= rows_of_lanes<double>);

/// The distribution of systems with N rows over the lanes of a warp.
template <class T, int N, int Lanes>
struct Dealt {
  static constexpr int size = N;
  static constexpr int lanes = Lanes;                   // G in formulas
  static constexpr int rows = (N + lanes - 1) / lanes;  // per lane
  static constexpr int systems = warp_lanes / lanes;    // per warp
  static constexpr int piece = 16 / sizeof(T);          // numbers in a 16-byte access
};

template <class T, int Count>
struct alignas(sizeof(T) * Count) Vector {
  T value[Count];
};

/// Calls step(0), step(1), ..., step(Count - 1) with compile-time constants. These calls are unrolled even if the steps
/// are long.
template <int Count, class Step>
__device__ __forceinline__ void unrolled(Step&& step) {
  [&]<int... K>(std::integer_sequence<int, K...>) __attribute__((always_inline)) {
    (step(std::integral_constant<int, K>{}), ...);
  }
  (std::make_integer_sequence<int, Count>{});
}

template <class T>
__device__ __forceinline__ T shuffle(T value, int lane, int width) {
  return __shfl_sync(whole_warp, value, lane, width);
}

/// Returns `value`, but hides from the compiler that the result is `value`. Results computed from it are then not moved
/// out of the surrounding loop, where they would occupy registers throughout.
__device__ __forceinline__ int fresh(int value) {
  asm volatile("" : "+r"(value));
  return value;
}
/// Returns the 64-bit `value`, but hides from the compiler that the result is `value`.
__device__ __forceinline__ std::int64_t renewed(std::int64_t value) {
  asm volatile("" : "+l"(value));
  return value;
}
template <class T>
__device__ __forceinline__ T* renewed(T* value) {
  asm volatile("" : "+l"(value));
  return value;
}

/// Makes the compiler compute `value` here. Otherwise it might compute `value` later, and keep the operands in
/// registers until then.
__device__ __forceinline__ void now(float& value) { asm volatile("" : "+f"(value)); }
__device__ __forceinline__ void now(double& value) { asm volatile("" : "+d"(value)); }
template <class T, int Rows, int Columns>
__device__ __forceinline__ void now(T (&values)[Rows][Columns]) {
#pragma unroll
  for (int row = 0; row < Rows; ++row)
#pragma unroll
    for (int column = 0; column < Columns; ++column) now(values[row][column]);
}

/// Runs `body` in a loop with one turn. The compiler does not know that there is only one, so it does not move
/// instructions into the loop or out of it. In long unrolled code, such moves would postpone much arithmetic, and more
/// operands would be kept than there are registers. `once` is 1.
template <class Body>
__device__ __forceinline__ void apart(int& once, Body&& body) {
#pragma unroll 1
  do body();
  while (--once > 0);
}
/// Runs `body` directly if registers_suffice(), otherwise in apart().
template <class Body>
__device__ __forceinline__ void apart_elsewhere(int once, Body&& body) {
  if constexpr (registers_suffice())
    body();
  else
    apart(once, body);
}

/// Returns 1/v, correctly rounded if v and 1/v are normal numbers. The computation is that of __frcp_rn and __drcp_rn,
/// without their branch for numbers that are not normal. That branch calls a function, which costs registers. Pivots of
/// scaled systems are normal; a pivot that is not normal means failure.
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

/// Returns floor(log2 |v|), or -bias if v is zero or subnormal.
__device__ inline int exponent_of(float v) { return ((__float_as_int(v) >> 23) & 255) - 127; }
__device__ inline int exponent_of(double v) { return ((__double2hiint(v) >> 20) & 2047) - 1023; }

/// Returns 2^e; e must be an exponent of normal numbers.
template <class T>
__device__ T power_of_two(int e) {
  if constexpr (sizeof(T) == sizeof(float))
    return __int_as_float((e + 127) << 23);
  else
    return __hiloint2double((e + 1023) << 20, 0);
}

/// Returns v 2^e, computed in two steps, so that 2^e itself may be outside the range of T.
template <class T>
__device__ T scale(T v, int e) {
  constexpr int limit = 2 * (Traits<T>::exponent_bias - 1);
  e = min(limit, max(-limit, e));
  const int half = e >> 1;
  return v * power_of_two<T>(half) * power_of_two<T>(e - half);
}

/// Returns the exponent e for which 1 <= |v| 2^e < 2, limited to exponents of normal numbers. Returns 0 in single
/// precision: norms of such input, and their products, stay in the range of double.
template <class T>
__device__ int normalizing_exponent(T v) {
  if constexpr (sizeof(T) == sizeof(float))
    return 0;
  else
    return -min(Traits<T>::exponent_bias - 1, max(1 - Traits<T>::exponent_bias, exponent_of(v)));
}

/// Returns whether v is not zero and its magnitude is outside 2^-window .. 2^window. (False for NaN.)
template <class T>
__device__ __forceinline__ bool is_far(T v, int window) {
  return abs(v) > power_of_two<T>(window) || (abs(v) < power_of_two<T>(-window) && v != 0);
}

/// Returns zero if v is near 1: between 2^-31 and 2^33, or between 2^-128 and 2^128 in double precision. Returns a
/// nonzero value for any other v, also for a negative v.
__device__ __forceinline__ unsigned far_bits(float v) {
  return ((static_cast<unsigned>(__float_as_int(v)) + (32U << 23)) ^ 0x40000000U) & 0xe0000000U;
}
__device__ __forceinline__ unsigned far_bits(double v) {
  return ((static_cast<unsigned>(__double2hiint(v)) + (129U << 20)) ^ 0x40000000U) & 0xf0000000U;
}

template <class T>
__device__ bool not_finite(T v) {
  return !(v - v == 0);
}
template <class T>
__device__ T not_a_number() {
  return static_cast<T>(__longlong_as_double(0x7ff8000000000000LL));
}

template <class T>
__device__ T infinity() {
  return static_cast<T>(__longlong_as_double(0x7ff0000000000000LL));
}

/// A number v = high + low, where high is a multiple of 2^-bits; |v| < 2^(51 - bits).
struct alignas(16) Halves {
  double high, low;
};
template <int bits>
__device__ __forceinline__ Halves halved(double v) {
  constexpr double c = 1.5 * static_cast<double>(1LL << (52 - bits));
  const double high = __dsub_rn(__dadd_rn(v, c), c);
  return {high, v - high};
}

/// A residual `b - sum_j a_j x_j` of numbers of type T, in twice their precision. In double precision, products of
/// 21-bit halves add up without rounding, if a and x are at most 2 in magnitude and no sum exceeds 2^10. The
/// remaining products, and their roundings, are smaller by a factor of 2^-21.
template <class T>
struct Residual;
template <>
struct Residual<float> {
  using Factor = double;  // form in which x_j is kept for several residuals
  double sum;
  static __device__ __forceinline__ Factor factor(double x) { return x; }
  __device__ __forceinline__ explicit Residual(double b = 0) : sum(b) {}
  __device__ __forceinline__ void subtract(double a, Factor x) { sum = fma(-a, x, sum); }
  [[nodiscard]] __device__ __forceinline__ double value() const { return sum; }
};
template <>
struct Residual<double> {
  using Factor = Halves;
  static constexpr int bits = 21;
  double high, low;
  static __device__ __forceinline__ Factor factor(double x) { return halved<bits>(x); }
  __device__ __forceinline__ explicit Residual(double b = 0) {
    const Halves of_b = halved<2 * bits>(b);
    high = of_b.high, low = of_b.low;
  }
  __device__ __forceinline__ void subtract(double a, const Factor& x) { subtract(halved<bits>(a), x); }
  /// Subtracts (a factor) x, where `factor` is a power of two.
  __device__ __forceinline__ void subtract(double a, double factor, const Factor& x) {
    constexpr double c = 1.5 * static_cast<double>(1LL << (52 - bits));  // the constant of halved()
    const double of_a = __dsub_rn(fma(a, factor, c), c);
    subtract(Halves{of_a, fma(a, factor, -of_a)}, x);
  }
  __device__ __forceinline__ void subtract(const Halves& of_a, const Factor& x) {
    high = fma(-of_a.high, x.high, high);
    low = fma(-of_a.low, x.high + x.low, low);
    low = fma(-of_a.high, x.low, low);
  }
  [[nodiscard]] __device__ __forceinline__ double value() const { return high + low; }
};

/// Returns the bits in which two numbers differ.
__device__ inline unsigned differing_bits(float a, float b) {
  return static_cast<unsigned>(__float_as_int(a) ^ __float_as_int(b));
}
__device__ inline unsigned differing_bits(double a, double b) {
  return static_cast<unsigned>((__double2hiint(a) ^ __double2hiint(b)) | (__double2loint(a) ^ __double2loint(b)));
}

/// Starts to copy sizeof(T) * Count bytes (4, 8 or 16).
template <int Count, class T>
__device__ __forceinline__ void copy_async(T* shared, const T* global) {
  constexpr int bytes = Count * sizeof(T);
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(bytes) : "memory");
}

/// Returns whether `value` is true in any of the `Width` neighbouring lanes that share a system. The whole warp calls.
template <int Width>
__device__ bool any_of_group(bool value) {
  const unsigned lane = threadIdx.x % warp_lanes;
  const unsigned group = (Width == warp_lanes ? whole_warp : (1U << (Width % warp_lanes)) - 1)
                         << (lane / Width * Width);
  return (__ballot_sync(whole_warp, value) & group) != 0;
}
/// Returns the sum of `value` over the `Width` lanes that share a system. The whole warp calls.
template <int Width, class V>
__device__ V sum_of_group(V value) {
#pragma unroll
  for (int step = Width / 2; step > 0; step /= 2) value += __shfl_xor_sync(whole_warp, value, step);
  return value;
}
/// Returns the sum of all elements of `of_share` over the lanes of the system. The order of additions is that of a
/// kernel with L::shares times as many lanes (PlainLayout).
template <class L, class V>
__device__ __forceinline__ V sum_of_shares(const V (&of_share)[L::shares]) {
  constexpr int shares = L::shares;
  static_assert(shares == 1 || shares == 2 || shares == 4);
  V sum = of_share[0];
  if constexpr (shares == 2) sum += of_share[1];
  if constexpr (shares == 4) sum = (sum + of_share[2]) + (of_share[1] + of_share[3]);
  return sum_of_group<L::lanes>(sum);
}
/// Returns the largest `value` of the `Width` lanes that share a system. The whole warp calls.
template <int Width, class V>
__device__ V max_of_group(V value) {
#pragma unroll
  for (int step = Width / 2; step > 0; step /= 2) value = max(value, __shfl_xor_sync(whole_warp, value, step));
  return value;
}
/// Returns the smallest `value` of the `Width` lanes that share a system. The whole warp calls.
template <int Width, class V>
__device__ V min_of_group(V value) {
  return -max_of_group<Width>(-value);
}

/// Returns the sum of p[i] over the lanes of the system, where i = lane % Width. `Width` is a power of two, at most G.
template <int G, int Width, class T>
__device__ __forceinline__ T sum_for_each(int lane, T (&p)[Width]) {
#pragma unroll
  for (int half = Width / 2; half > 0; half /= 2) {
    const bool upper = (lane & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const T sent = upper ? p[i] : p[half + i], own = upper ? p[half + i] : p[i];
      p[i] = own + __shfl_xor_sync(whole_warp, sent, half);
    }
  }
#pragma unroll
  for (int step = Width; step < G; step *= 2) p[0] += __shfl_xor_sync(whole_warp, p[0], step);
  return p[0];
}

/// Returns the first system of a task with `systems` systems. The last task consists of the last systems of the batch.
/// It may solve some of them a second time, with equal results. The number is computed again for each use, because
/// matrices occupy the registers.
template <int systems, class T>
__device__ __forceinline__ std::int64_t first_of_task(const Arguments<T>& args, unsigned task) {
  return min(std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(task)))} * systems, args.count - systems);
}
/// Returns system `s` of a task, or the last system of the batch if the task has fewer systems. The number is computed
/// again for each use, because matrices occupy the registers.
template <int systems, class T>
__device__ __forceinline__ std::int64_t system_of_task(const Arguments<T>& args, unsigned task, int s) {
  return min(std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(task)))} * systems + s, args.count - 1);
}

/// Returns the lane's position in its group. The position is computed again for each use, because matrices occupy the
/// registers.
template <class L>
__device__ __forceinline__ int own_lane() {
  return fresh(threadIdx.x) % L::lanes;
}
template <class L>
__device__ __forceinline__ int own_group() {
  return L::systems == 1 ? 0 : fresh(threadIdx.x) / L::lanes;
}

// Launches.

/// Lets the next kernel of the stream start blocks as soon as blocks of this kernel end, if that kernel is launched
/// ahead (Begin). Its blocks wait in wait_for_kernel_before() until this kernel is done. Either all blocks call this
/// function, or none.
__device__ __forceinline__ void let_next_kernel_begin() {
  NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.launch_dependents;");))
}
/// Waits for the previous kernel in the stream; its writes are then visible. A kernel that is launched ahead must call
/// this function first, in all blocks.
__device__ __forceinline__ void wait_for_kernel_before() {
  NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.wait;" ::: "memory");))
}
/// Returns whether kernels can be launched ahead: whether all code of this build is for compute capability 9.0 or
/// later. Other code does not wait in wait_for_kernel_before().
constexpr bool code_can_wait() {
  for (const int architecture : {__CUDA_ARCH_LIST__})
    if (architecture < 900) return false;
  return true;
}

/// When a kernel may begin: after everything before it in the stream, or ahead, while the previous kernel ends.
enum class Begin { after, ahead };

template <class A>
using Kernel = void (*)(A);

/// Returns the size that a system is padded to.
constexpr int padded_size(int n) { return n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : 64; }

/// A kernel for each padded size, and the number of systems that it takes at a time. A block is one warp. A is the type
/// of the arguments.
template <class T, class A = Arguments<T>>
struct Kernels {
  struct OfSize {
    Kernel<A> kernel;
    int systems;
  };
  OfSize of8, of16, of32, of64;
};

/// Returns the bytes of shared memory that a block of the current device can have.
inline std::size_t shared_bytes_of_device() {
  int device = 0, most = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess)
    return static_cast<std::size_t>(most);
  (void)cudaGetLastError();
  return shared_bytes_everywhere;
}

/// Returns whether all arrays begin at multiples of 16 bytes. Each begins `step` elements after the previous one.
template <class T>
bool lies_in_pieces(const T* first, std::int64_t step) {
  return reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && step * sizeof(T) % 16 == 0;
}
/// Returns whether the matrices begin at multiples of 16 bytes.
template <class T>
bool lies_in_pieces(const SpdBatch<T>& batch) {
  return lies_in_pieces(batch.a, batch.a_step());
}
/// Returns whether the matrices begin at multiples of 16 bytes and have a padded size (padded_size()).
template <class T>
bool in_whole_pieces(const SpdBatch<T>& batch) {
  return batch.shape.n == padded_size(batch.shape.n) && lies_in_pieces(batch);
}

template <class T>
Arguments<T> arguments_of(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks = nullptr) {
  const SpdShape& shape = batch.shape;
  const bool vectors = shape.storage != Storage::packed_lower && in_whole_pieces(batch);
  Arguments<T> arguments{
      batch.a, batch.b, solution,   batch.count,   batch.a_step(),        batch.b_step(),
      0,       shape.n, shape.nrhs, shape.storage, shape.wants_inverse(), wants_pivot_numbers(solution),
      vectors, marks};
  arguments.to.x_stride = solution.x_step(shape);
  arguments.sizes = batch.sizes;
  return arguments;
}

/// Launches a kernel that takes `systems` systems at a time. A block is one warp. If there are more tasks than
/// `max_blocks`, the kernel must stride over the tasks.
template <class A>
cudaError_t launch(Kernel<A> kernel, int systems, A arguments, cudaStream_t stream, unsigned max_blocks = 1 << 15,
                   std::size_t shared_bytes = 0, Begin begin = Begin::after) {
  if (arguments.count == 0) return cudaSuccess;
  if (arguments.span == 0) arguments.span = systems;
  arguments.tasks = static_cast<unsigned>((arguments.count + arguments.span - 1) / arguments.span);
  void* parameters[] = {&arguments};
  const dim3 blocks(std::max(1U, std::min(max_blocks, arguments.tasks)));
  if (begin == Begin::after || !code_can_wait())
    return cudaLaunchKernel(kernel, blocks, dim3(warp_lanes), parameters, shared_bytes, stream);
  cudaLaunchAttribute ahead{};
  ahead.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  ahead.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config{blocks, dim3(warp_lanes), shared_bytes, stream, &ahead, 1};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), parameters);
}

/// Launches the kernel for the padded size of the systems.
template <class T, class A>
cudaError_t launch(const Kernels<T, A>& kernels, A arguments, cudaStream_t stream, unsigned max_blocks = 1 << 15,
                   Begin begin = Begin::after) {
  const int size = padded_size(arguments.n);
  const auto& [kernel, systems] = size == 8    ? kernels.of8
                                  : size == 16 ? kernels.of16
                                  : size == 32 ? kernels.of32
                                               : kernels.of64;
  return launch(kernel, systems, arguments, stream, max_blocks, 0, begin);
}

}  // namespace

}  // namespace smallbatch
