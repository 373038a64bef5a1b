// Inverses of up to 8 rows in single precision, one system per lane. The sweep and the judgement need no communication
// between lanes.
//
// Matrices and inverses pass through shared memory in pieces of 16 bytes. The position of a piece in shared memory is
// its number exclusive-or the lane's number. Lanes that read the same piece of their systems therefore meet every bank
// once. The next systems are copied as soon as the current matrices are in registers for the judgement.
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/inverse/sweep.cuh"
#include "solvers/cuda/inverse/tile_products.cuh"
#include "solvers/cuda/kernels.cuh"

namespace smallbatch {

namespace {

constexpr int N = 8, P = 4, pieces = N * N / P;
constexpr int resident_warps = 13;  // as many as shared memory has room for
using L = Tile<float, N, 1, false>;
using Triangle = float[N][N];

struct alignas(16) Memory {
  float matrix[warp_lanes * N * N], inverse[warp_lanes * N * N];
};

/// Returns the offset of a system's first piece in shared memory, in elements.
__device__ __forceinline__ int first_place(int system) { return system * (N * N) + (system & 7) * P; }
/// Returns the offset of a system's piece p, given the offset of its first piece.
__device__ __forceinline__ int place(int first, int p) { return (first ^ (p & 7) * P) + (p & 8) * P; }

/// Calls visit(offset in shared memory, offset in global memory) for the pieces of the warp's first `systems` systems.
/// In global memory, each begins `step` elements after the previous one.
template <class Visit>
__device__ __forceinline__ void visit_pieces(std::int64_t step, int systems, Visit&& visit) {
  constexpr int at_once = warp_lanes / pieces;
  const int thread = fresh(threadIdx.x), sub = thread / pieces, p = thread % pieces, at = place(first_place(sub), p);
  if (step == N * N && systems == warp_lanes) {
#pragma unroll
    for (int s = 0; s < warp_lanes; s += at_once) visit(s * (N * N) + (at ^ (s & 7) * P), (s * pieces + thread) * P);
  } else {
#pragma unroll 1
    for (int s = sub; s < systems; s += at_once) visit(place(first_place(s), p), s * step + p * P);
  }
}

/// Returns the number of systems in the task that begins with system `first`.
__device__ __forceinline__ int systems_of(const Arguments<float>& args, std::int64_t first) {
  return static_cast<int>(min(args.count - first, std::int64_t{warp_lanes}));
}

/// Starts to copy the systems of a task.
template <bool Whole>
__device__ __forceinline__ void copy_systems(const Arguments<float>& args, unsigned task, float* to) {
  const std::int64_t first = std::int64_t{task} * warp_lanes;
  const float* const from = args.a + first * args.a_step;
  const int systems = systems_of(args, first);
  if constexpr (Whole) {
    visit_pieces(args.a_step, systems, [&](int at, std::int64_t e) { copy_async<P>(to + at, from + e); });
  } else {
    const bool packed = args.storage == Storage::packed_lower;
    const int numbers = packed ? args.n * (args.n + 1) / 2 : args.n * args.n;
#pragma unroll 1
    for (int s = 0; s < systems; ++s)
#pragma unroll 1
      for (int e = fresh(threadIdx.x); e < numbers; e += warp_lanes) {
        const int row = packed ? packed_row(e) : e / args.n;
        const int column = e - (packed ? row * (row + 1) / 2 : row * args.n);
        copy_async<1>(to + place(first_place(s), (row * N + column) / P) + column % P, from + s * args.a_step + e);
      }
  }
}

/// Loads the lower triangle of the lane's matrix, padded with rows of the identity. Returns the bits in which the
/// triangles differ.
template <bool Whole>
__device__ __forceinline__ unsigned load(const Arguments<float>& args, const float* memory, Triangle& a) {
  const int own = first_place(fresh(threadIdx.x));
  float all[N][N];
#pragma unroll
  for (int p = 0; p < pieces; ++p) {
    const auto in = *reinterpret_cast<const Vector<float, P>*>(memory + place(own, p));
#pragma unroll
    for (int c = 0; c < P; ++c) all[p * P / N][p * P % N + c] = in.value[c];
  }
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      a[i][j] = Whole || i < args.n ? all[i][j] : i == j ? 1.0F : 0.0F;
      if ((Whole || (i < args.n && args.storage == Storage::dense)) && j < i)
        bits |= differing_bits(all[i][j], all[j][i]);
    }
  return bits;
}

/// Replaces the lower triangle of A by the lower triangle of -A^-1.
__device__ __forceinline__ void sweep(Triangle& a, float (&pivots)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) {
    pivots[k] = a[k][k];
    const float inverse = reciprocal(a[k][k]);
    float column[N], factor[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      column[i] = i > k ? a[i][k] : a[k][i];
      factor[i] = -column[i] * inverse;
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
      for (int j = 0; j <= i; ++j)
        a[i][j] = i == k && j == k ? -inverse
                  : i == k         ? -factor[j]
                  : j == k         ? -factor[i]
                                   : fma(factor[i], column[j], a[i][j]);
  }
}

/// Returns whether all numbers are finite and all pivots positive.
__device__ __forceinline__ bool is_good(const Triangle& a, const float (&pivots)[N]) {
  float zero[4]{}, least = pivots[0];  // `zero` becomes NaN if a number is not finite
#pragma unroll
  for (int i = 0; i < N; ++i) {
    zero[i % 4] = fma(pivots[i], 0.0F, zero[i % 4]);
    least = min(least, pivots[i]);
#pragma unroll
    for (int j = 0; j <= i; ++j) zero[(i + j) % 4] = fma(a[i][j], 0.0F, zero[(i + j) % 4]);
  }
  return (zero[0] + zero[1]) + (zero[2] + zero[3]) == 0 && least > 0;
}

/// Returns the norms for the lane's inverse in shared memory. Calls matrix_read() when A is in registers.
template <bool Whole, class Read>
__device__ __forceinline__ InverseNorms judge(const Arguments<float>& args, const Memory& memory, Read&& matrix_read) {
  double a[N][N];
  {
    Triangle stored;
    load<Whole>(args, memory.matrix, stored);
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
      for (int j = 0; j <= i; ++j) a[i][j] = static_cast<double>(stored[i][j]);
  }
  matrix_read();
  const int own = first_place(fresh(threadIdx.x));
  InverseNorms norms;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    double sum = abs(a[i][0]);
#pragma unroll
    for (int j = 1; j < N; ++j) sum += abs(j < i ? a[i][j] : a[j][i]);
    if (Whole || i < args.n) norms.matrix = max(norms.matrix, sum);
  }
#pragma unroll 1
  for (int i = 0; i < (Whole ? N : args.n); ++i) {
    double x[N];
#pragma unroll
    for (int h = 0; h < N / P; ++h) {
      const auto in = *reinterpret_cast<const Vector<float, P>*>(memory.inverse + place(own, N / P * i + h));
#pragma unroll
      for (int c = 0; c < P; ++c) x[h * P + c] = static_cast<double>(in.value[c]);
    }
    double of_x = abs(x[0]), residual = 0;
#pragma unroll
    for (int j = 1; j < N; ++j) of_x += abs(x[j]);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      double sum = i == j ? -1.0 : 0.0;
#pragma unroll
      for (int k = 0; k < N; ++k) sum = fma(x[k], k < j ? a[j][k] : a[k][j], sum);
      residual += abs(sum);
    }
    norms.inverse = max(norms.inverse, of_x);
    norms.residual = max(norms.residual, residual);
  }
  return norms;
}

template <bool Whole>
__global__ void __launch_bounds__(warp_lanes, resident_warps) lane_sweep_kernel(Arguments<float> args) {
  __shared__ Memory memory;
  copy_systems<Whole>(args, blockIdx.x, memory.matrix);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto first = [&]() __attribute__((always_inline)) {
      return std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(task)))} * warp_lanes;
    };
    const auto mine = [&]() __attribute__((always_inline)) { return first() + fresh(threadIdx.x) < args.count; };
    const auto system = [&]() __attribute__((always_inline)) {
      return min(first() + fresh(threadIdx.x), args.count - 1);
    };
    wait_for_copies();
    Triangle a;
    const bool differs = load<Whole>(args, memory.matrix, a) != 0;
    std::int32_t status = 0;
    if (__any_sync(whole_warp, differs)) status = inspect<1>(args, system(), 0);
    const bool far = diagonal_far_bits<float, L>(0, a) != 0;
    const bool some_far = __any_sync(whole_warp, far);
    if (some_far) scale_rows<float, L>(args, system(), 0, far, a);
    float pivots[N];
    sweep(a, pivots);
    if (args.pivot_numbers) store_pivots<float, L>(args, system(), args.n, mine(), 0, far, pivots);
    if (some_far) scale_rows<float, L>(args, system(), 0, far, a);
    const bool bad = !is_good(a, pivots);
    if (__any_sync(whole_warp, bad)) {
      const int bad_pivot = first_bad_pivot<float, L>(0, pivots);
      const std::int32_t reason = explain_failure<1>(args, system(), bad_pivot, 0);
      if (bad && status == 0) status = reason;
    }
    if (mine()) {
      args.to.info[system()] = status;
      if (status != 0) forget_pivots(args, system());
    }
    if (__any_sync(whole_warp, status != 0))
#pragma unroll
      for (int i = 0; i < N; ++i)
#pragma unroll
        for (int j = 0; j <= i; ++j) a[i][j] = status != 0 ? not_a_number<float>() : a[i][j];
    const int own = first_place(fresh(threadIdx.x));
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      Vector<float, P> out;
#pragma unroll
      for (int c = 0; c < P; ++c) {
        const int i = p * P / N, j = p * P % N + c;
        out.value[c] = -(i > j ? a[i][j] : a[j][i]);
      }
      *reinterpret_cast<Vector<float, P>*>(memory.inverse + place(own, p)) = out;
    }
    __syncwarp();  // the inverses are complete
    if (Whole && reinterpret_cast<std::uintptr_t>(args.to.x) % 16 == 0 && args.to.x_stride % P == 0) {
      float* const x = args.to.x + first() * args.to.x_stride;
      visit_pieces(args.to.x_stride, systems_of(args, first()), [&](int at, std::int64_t e) {
        *reinterpret_cast<float4*>(x + e) = *reinterpret_cast<const float4*>(memory.inverse + at);
      });
    } else {
#pragma unroll 1
      for (int s = 0; s < warp_lanes && first() + s < args.count; ++s)
#pragma unroll 1
        for (int e = fresh(threadIdx.x); e < args.n * args.n; e += warp_lanes) {
          const int i = e / args.n, j = e % args.n;
          args.to.x[(first() + s) * args.to.x_stride + e] =
              memory.inverse[place(first_place(s), (i * N + j) / P) + j % P];
        }
    }
    const auto copy_next = [&]() __attribute__((always_inline)) {
      __syncwarp();  // all lanes have read A
      if (task + gridDim.x < args.tasks) copy_systems<Whole>(args, task + gridDim.x, memory.matrix);
    };
    if (is_judged(args)) {
      const InverseNorms norms = judge<Whole>(args, memory, copy_next);
      if (mine()) tell(args, system(), status, differs, norms, Factors{});
    } else {
      copy_next();
    }
    __syncwarp();  // the inverses have been read
  }
}

}  // namespace

cudaError_t launch_lane_sweep(const SpdBatch<float>& batch, const SpdSolution<float>& solution, Mark* marks,
                              double resolve_above, cudaStream_t stream) {
  Arguments<float> arguments = arguments_of(batch, solution, marks);
  arguments.resolve_above = static_cast<float>(resolve_above);
  const bool whole = arguments.vectors && batch.shape.storage == Storage::dense;
  return launch(whole ? lane_sweep_kernel<true> : lane_sweep_kernel<false>, warp_lanes, arguments, stream);
}

}  // namespace smallbatch
