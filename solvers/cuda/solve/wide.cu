// Solves systems of more than 64 rows by A = L D L^T, one block per system, with everything that can be computed from
// the factors. One kernel computes all wanted numbers. For the residual, A is loaded again.
#include <algorithm>
#include <limits>

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/pivot_numbers.cuh"
#include "solvers/cuda/common/stored_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/wide_elimination.cuh"
#include "solvers/cuda/solve/wide_judgement.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

/// Findings about the right-hand sides and the solutions, in the lane's part.
struct Outcome {
  bool bad = false, bad_rhs = false;  // x (`bad`) or b (`bad_rhs`) has a number that is not finite
  bool tiny = false;                  // a solution has underflowed
};

/// Makes right-hand side y ready for substitution: multiplies it by D, and by a power of two that brings it near 1, if
/// one of both is far from 1. Returns the exponent of the power of two. y(i) is the number of row i. The whole warp
/// calls.
template <class T, class Y>
__device__ __forceinline__ int scale_rhs(const Wide<T>& w, bool& bad, Y&& y) {
  constexpr int lowest = -4 * Traits<T>::exponent_bias;
  bool far = w.far;
  for (int i = lane_of_warp(); i < w.padded(); i += warp_lanes) {
    far |= is_far(y(i), Traits<T>::rhs_window);
    bad |= not_finite(y(i));
  }
  if (!__any_sync(whole_warp, far)) return 0;
  int top = lowest;
  for (int i = lane_of_warp(); i < w.padded(); i += warp_lanes)
    if (y(i) != 0) top = max(top, exponent_of(y(i)) + w.exponent_of_row(i));
  top = max_of_group<warp_lanes>(top);
  const int shift = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
  for (int i = lane_of_warp(); i < w.padded(); i += warp_lanes) y(i) = scale(y(i), w.exponent_of_row(i) + shift);
  return shift;
}
/// Undoes scale_rhs() in a solution. Returns whether underflow changes the solution by more than a few roundings. The
/// whole warp calls.
template <class T>
__device__ bool unscale_solution(const Wide<T>& w, T* y, int shift) {
  if (!w.far && shift == 0) return false;
  constexpr int lowest = -8 * Traits<T>::exponent_bias;
  int top = lowest;  // exponent of the largest result
  for (int i = lane_of_warp(); i < w.padded(); i += warp_lanes)
    if (y[i] != 0) top = max(top, exponent_of(y[i]) + w.exponent_of_row(i) - shift);
  top = max_of_group<warp_lanes>(top);
  const bool low = top > lowest && top < Traits<T>::mantissa_bits - Traits<T>::exponent_bias;
  T lost = 0, norm = 0;
  for (int i = lane_of_warp(); i < w.padded(); i += warp_lanes) {
    const int exponent = w.exponent_of_row(i) - shift;
    const T value = y[i];
    y[i] = scale(value, exponent);
    if (!low) continue;
    const T exact = scale(value, exponent - top);
    lost += abs(exact - scale(y[i], -top));
    norm += abs(exact);
  }
  return low && sum_of_group<warp_lanes>(lost) > 4 * Traits<T>::eps * sum_of_group<warp_lanes>(norm);
}

/// Scales the right-hand sides that are rows of tiles. Stores the exponents of their powers of two.
template <class T>
__device__ __forceinline__ void scale_carried(const Wide<T>& w, int (&shift)[carried_rhs], Outcome& outcome) {
  for (int c = warp_of_block(); c < min(w.args.nrhs, carried_rhs); c += warps_of_block()) {
    const int of_c = scale_rhs(w, outcome.bad_rhs, [&](int i) -> T& { return w.a.at(w.padded() + c, i); });
    if (lane_of_warp() == 0) shift[c] = of_c;
  }
}

/// Solves all right-hand sides, each by one warp. The first are rows of tiles, which the elimination has reached. The
/// whole block calls.
template <class T>
__device__ __forceinline__ void solve_all(const Wide<T>& w, const int (&carried_shift)[carried_rhs], Outcome& outcome) {
  const std::int64_t nrhs = w.args.nrhs;
  const int carried = (w.a.rows - w.a.columns) * carried_rhs;
  T* const y = w.vector(warp_of_block());
#pragma unroll 1
  for (int c = warp_of_block(); c < nrhs; c += warps_of_block()) {
    int shift = 0;
    if (c < carried) {
      for (int i = lane_of_warp(); i < w.padded(); i += warp_lanes) y[i] = w.a.at(w.padded() + c, i);
      shift = carried_shift[c];
      __syncwarp();  // the right-hand side is stored
    } else {
      const T* const b = w.args.b + w.system * w.args.b_step + c;
      for (int i = lane_of_warp(); i < w.padded(); i += warp_lanes) y[i] = i < w.args.n ? b[i * nrhs] : T(0);
      shift = scale_rhs(w, outcome.bad_rhs, [&](int i) -> T& { return y[i]; });
      __syncwarp();  // the right-hand side is stored
      substitute_forward(w, y);
    }
    substitute_back(w, y);
    outcome.tiny |= unscale_solution(w, y, shift);
    T* const x = w.args.to.x + w.system * w.args.to.x_stride + c;
    for (int i = lane_of_warp(); i < w.args.n; i += warp_lanes) {
      outcome.bad |= not_finite(y[i]);
      x[i * nrhs] = y[i];
    }
    __syncwarp();  // y has been read
  }
}

/// Stores A^-1, computed from M. Returns whether a number is not finite, in the lane's part.
template <class T>
__device__ __forceinline__ bool store_inverse(const Wide<T>& w) {
  const int n = w.args.n;
  T* const x = w.args.to.x + w.system * w.args.to.x_stride;
  bool bad = false;
#pragma unroll 1
  for (int I = 2 * warp_of_block(); I < w.a.columns; I += 2 * warps_of_block())
#pragma unroll 1
    for (int J = 0; J <= min(I + 1, w.a.columns - 1); ++J) {
      const Sums<T> sums = multiply_inverse(w, I, min(I + 1, w.a.columns - 1), J);
      const Tile<T> of[2]{sums.c0, sums.c1};
#pragma unroll
      for (int tile = 0; tile < 2; ++tile)
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          const int i = tile_rows * (I + tile) + lane_of_warp() / 4, j = tile_rows * J + 2 * (lane_of_warp() % 4) + q;
          if (i >= n || j > i) continue;
          T value = of[tile].v[q];
          if (w.far) value = scale(value, w.exponent[i] + w.exponent[j]);
          bad |= not_finite(value);
          x[i * n + j] = value;
          x[j * n + i] = value;  // mirrored elements have the same bits
        }
    }
  return bad;
}

/// Stores rcond = 1 / (||A||_1 ||A^-1||_1). If A has no inverse in T although its pivots are positive, A is singular to
/// working precision and rcond is 0. The whole block calls.
template <class T>
__device__ __forceinline__ void store_rcond(const Wide<T>& w, const MatrixNorm& of_a) {
  const int n = w.args.n;
  int shift = 0;  // exponent of the largest element of A^-1, if it is far from 1
  if (w.far) {
    // A^-1 has diagonal elements of at least 1 / a_ii; the exponent of the largest 1 / a_ii is near enough.
    shift = -4 * Traits<T>::exponent_bias;
    for (int i = threadIdx.x; i < n; i += blockDim.x) shift = max(shift, 2 * w.exponent[i]);
    shift = max_of_block(shift);
  }
  double largest = 0;
  bool bad = false;
#pragma unroll 1
  for (int I = 2 * warp_of_block(); I < w.a.columns; I += 2 * warps_of_block()) {
    double sum[2]{};
#pragma unroll 1
    for (int J = 0; J < w.a.columns; ++J) {
      const Sums<T> sums = multiply_inverse(w, I, min(I + 1, w.a.columns - 1), J);
      const Tile<T> of[2]{sums.c0, sums.c1};
#pragma unroll
      for (int tile = 0; tile < 2; ++tile)
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          const int i = tile_rows * (I + tile) + lane_of_warp() / 4, j = tile_rows * J + 2 * (lane_of_warp() % 4) + q;
          if (i >= n || j >= n) continue;
          bad |= not_finite(of[tile].v[q]);
          double magnitude = abs(static_cast<double>(of[tile].v[q]));
          if (w.far) magnitude = scale(magnitude, w.exponent[i] + w.exponent[j] - shift);
          sum[tile] += magnitude;
        }
    }
#pragma unroll
    for (double of_row : sum) largest = max(largest, sum_of_group<4>(of_row));
  }
  bad = any_of_block(bad);
  const double rcond = scale(1 / of_a.norm / max_of_block(largest), -of_a.exponent - shift);
  if (threadIdx.x == 0) w.args.to.rcond[w.system] = !bad && rcond > 0 ? static_cast<T>(rcond) : T(0);
}

/// Returns the first pivot that is not positive, counted from 1; 0 if there is none. The whole block calls.
template <class T>
__device__ int first_bad_pivot_of_block(const Wide<T>& w) {
  int first = 0;  // negative, so that the largest is that of the first pivot
  for (int i = w.args.n - 1 - static_cast<int>(threadIdx.x); i >= 0; i -= static_cast<int>(blockDim.x))
    if (!(w.reciprocal[i] > 0 && w.reciprocal[i] < infinity<T>())) first = i - max_system_size;
  if (!any_of_block(first != 0)) return 0;
  return -max_of_block(first == 0 ? -max_system_size - 1 : -(first + max_system_size) - 1);
}

/// Stores the numbers that come from the pivots. The whole block calls.
template <class T>
__device__ void store_pivot_numbers(const Wide<T>& w) {
  PivotNumbers<T> numbers;
  for (int i = threadIdx.x; i < w.args.n; i += blockDim.x) numbers.add(w.pivot[i], w.exponent_of_row(i));
  numbers.template combine<warp_lanes>();
  numbers.smallest = joined(numbers.smallest, [](T a, T b) { return min(a, b); });
  numbers.log_determinant = joined(numbers.log_determinant, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) numbers.store(w.args, w.system);
}

/// Findings about the input of a system.
struct Input {
  bool differ = false;      // the triangles differ
  std::int32_t status = 0;  // of the input, if its triangles differ
};
/// Compares the triangles of a dense matrix. The whole block calls.
template <class T>
__device__ __forceinline__ Input compare_triangles(const Wide<T>& w) {
  Input input;
  input.differ = w.args.storage == Storage::dense && triangles_differ(w);
  if (input.differ) input.status = inspect<warp_lanes>(w.args, w.system, lane_of_warp());
  return input;
}

/// Returns the status of a system. The whole block calls.
template <class T>
__device__ std::int32_t status_of(const Wide<T>& w, const Input& input, bool bad, bool tiny, int bad_pivot) {
  bad = any_of_block(bad || bad_pivot != 0);
  tiny = any_of_block(tiny);
  if (input.status != 0 || !(bad || tiny)) return input.status;
  return explain_failure<warp_lanes>(w.args, w.system, bad_pivot, lane_of_warp(),
                                     bad ? info_result_not_finite : info_result_underflowed);
}

/// Stores NaN in all numbers of x. The whole block calls.
template <class T>
__device__ void forget_x(const Wide<T>& w) {
  if (w.args.to.x == nullptr) return;
  const std::int64_t numbers = static_cast<std::int64_t>(w.args.n) * w.columns_of_x();
  for (std::int64_t e = threadIdx.x; e < numbers; e += blockDim.x)
    w.args.to.x[w.system * w.args.to.x_stride + e] = not_a_number<T>();
}

/// Vectors in shared memory behind the tiles: pivots, their reciprocals, and vectors to work with. Several right-hand
/// sides and inverses need more of them.
constexpr int work_vectors(bool several) { return several ? tile_rows : 2; }
template <class T>
constexpr std::size_t bytes_of_block(int rows, int columns, int kept, bool several) {
  const int padded = tile_rows * columns;
  return (static_cast<std::size_t>(tile_numbers) * Tiles<T>::count(rows, kept) +
          static_cast<std::size_t>(2 + work_vectors(several)) * padded) *
             sizeof(T) +
         padded * sizeof(short);
}

/// Arguments of a kernel, and what it needs to know if the tiles of a system do not fit into shared memory.
template <class T>
struct WideArguments : Arguments<T> {
  int kept = 0;              ///< columns of tiles in shared memory
  T* beyond = nullptr;       ///< the other columns of all blocks
  std::int64_t beyond_step;  ///< numbers from one block to the next
};

extern __shared__ uint4 block_memory[];

/// Returns system `system`, for the block.
template <bool Fits, class T>
__device__ __forceinline__ Wide<T> system_of_block(const WideArguments<T>& args, std::int64_t system, bool carried,
                                                   bool several) {
  const int columns = tiles_of(args.n), rows = columns + (carried ? 1 : 0), padded = tile_rows * columns;
  T* const first = reinterpret_cast<T*>(block_memory);
  T* const vectors = first + tile_numbers * Tiles<T>::count(rows, Fits ? columns : args.kept);
  T* const work = vectors + 2 * padded;
  return {args,
          system,
          {first, rows, columns, Fits ? nullptr : args.beyond + blockIdx.x * args.beyond_step, args.kept},
          vectors,
          vectors + padded,
          reinterpret_cast<short*>(work + work_vectors(several) * padded),
          work};
}
/// Calls work(system) for the systems of the block. If the tiles fit, a block has one system.
template <bool Fits, class T, class Work>
__device__ __forceinline__ void for_each_system(const Arguments<T>& args, Work&& work) {
  if constexpr (Fits) {
    work(std::int64_t{blockIdx.x});
  } else {
#pragma unroll 1
    for (std::int64_t system = blockIdx.x; system < args.count; system += gridDim.x) {
      work(system);
      __syncthreads();  // the system is no longer needed
    }
  }
}

/// Returns whether a launch needs A^-1.
template <class T>
__host__ __device__ constexpr bool inverts(const Arguments<T>& args) {
  return args.inverse || args.to.rcond != nullptr;
}
/// Returns whether a launch needs all work vectors.
template <class T>
__host__ __device__ constexpr bool needs_several(const Arguments<T>& args) {
  return args.nrhs > 1 || inverts(args);
}

/// Solves a system. `Inverts`: whether A^-1 is needed. `Fits`: whether the tiles fit into shared memory.
template <class T, bool Inverts, bool Fits>
__device__ __forceinline__ void solve_system(const WideArguments<T>& args, std::int64_t system) {
  __shared__ int shift[carried_rhs];
  Wide<T> w = system_of_block<Fits>(args, system, args.nrhs > 0, needs_several(args));
  Outcome outcome;
  if (args.storage == Storage::dense) prefetch_matrix(w);
  begin_triangle(w);
  if (args.nrhs > 0) begin_rhs(w);
  finish_copies();
  const Input input = compare_triangles(w);
  MatrixNorm norm;
  if (Inverts && args.to.rcond != nullptr) norm = norm_of(w);
  w.far = scale_triangle(w);
  if (args.nrhs > 0) scale_carried(w, shift, outcome);
  __syncthreads();  // the right-hand sides are scaled
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  if (args.nrhs > 0) solve_all(w, shift, outcome);
  if (Inverts && inverts(args)) {
    invert_factor(w);
    if (args.inverse) outcome.bad = store_inverse(w);
    if (args.to.rcond != nullptr) store_rcond(w, norm);
  }
  const std::int32_t status = status_of(w, input, outcome.bad, outcome.tiny, bad_pivot);
  double error = 0;
  if (status != 0) {
    forget_x(w);
    error = not_a_number<double>();
  } else if (args.to.backward_error != nullptr && args.to.x != nullptr) {
    if (input.differ) {
      error = judge_as_stored<warp_lanes>(args, w.system, lane_of_warp(), 0, args.inverse ? args.n : args.nrhs)
                  .backward_error;
    } else {
      begin_triangle(w);
      finish_copies();
      error = judge(w);
    }
  }
  if (threadIdx.x != 0) return;
  args.to.info[w.system] = status;
  if (args.to.backward_error != nullptr) args.to.backward_error[w.system] = static_cast<T>(error);
  if (status == 0) return;
  if (args.to.rcond != nullptr) args.to.rcond[w.system] = not_a_number<T>();
  forget_pivots(args, w.system);
}
template <class T, bool Inverts, bool Fits>
__global__ void __launch_bounds__(most_warps* warp_lanes, 2) wide_ldlt_kernel(WideArguments<T> args) {
  for_each_system<Fits>(args, [&](std::int64_t system) { solve_system<T, Inverts, Fits>(args, system); });
}

/// Factors a system; the factors, packed by rows, go to args.to.x.
template <class T, bool Fits>
__device__ __forceinline__ void factor_system(const WideArguments<T>& args, std::int64_t system) {
  Wide<T> w = system_of_block<Fits>(args, system, false, false);
  begin_triangle(w);
  finish_copies();
  const Input input = compare_triangles(w);
  w.far = scale_triangle(w);
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  // Stores the factors of A itself. The factors of the scaled matrix differ from them by powers of two.
  bool overflows = false, underflows = false;
  T* const factors = args.to.x + w.system * args.to.x_stride;
#pragma unroll 1
  for (int i = warp_of_block(); i < args.n; i += warps_of_block())
#pragma unroll 1
    for (int j = lane_of_warp(); j <= i; j += warp_lanes) {
      const T value = i == j ? w.pivot[i] : w.a.at(i, j);
      T stored = value;
      if (w.far) {
        const int exponent = i == j ? -2 * w.exponent[i] : w.exponent[j] - w.exponent[i];
        stored = scale(value, exponent);
        underflows |= i == j && scale(stored, -exponent) != value;
      }
      overflows |= not_finite(stored);
      factors[i * (i + 1) / 2 + j] = stored;
    }
  const std::int32_t status = status_of(w, input, overflows, underflows, bad_pivot);
  for (int e = threadIdx.x; status != 0 && e < args.n * (args.n + 1) / 2; e += blockDim.x)
    factors[e] = not_a_number<T>();
  if (threadIdx.x != 0) return;
  args.to.info[w.system] = status;
  if (status != 0) forget_pivots(args, w.system);
}

template <class T, bool Fits>
__global__ void __launch_bounds__(most_warps* warp_lanes, 2) wide_factor_kernel(WideArguments<T> args) {
  for_each_system<Fits>(args, [&](std::int64_t system) { factor_system<T, Fits>(args, system); });
}

/// Makes factors of A, in the tiles, those of the scaled matrix D A D, and computes 1 / d. The whole block calls.
template <class T>
__device__ __forceinline__ void take_factors(Wide<T>& w) {
  w.far = false;
  unsigned bits = 0;
  for (int i = threadIdx.x; i < w.padded(); i += blockDim.x) {
    const T d = w.a.at(i, i);
    bits |= far_bits(d);
    w.exponent[i] = static_cast<short>(d > 0 ? -(exponent_of(d) >> 1) : 0);
  }
  w.far = any_of_block(bits != 0);
  for (int i = threadIdx.x; i < w.padded(); i += blockDim.x) {
    const T power = power_of_two<T>(w.exponent_of_row(i));
    w.reciprocal[i] = reciprocal(w.a.at(i, i) * power * power);
  }
#pragma unroll 1
  for (TileWalk walk(w.a.columns); w.far && !walk.done(); walk.next())
#pragma unroll 1
    for (int e = lane_of_warp(); e < tile_numbers; e += warp_lanes) {
      const int i = tile_rows * walk.I + e / tile_rows, j = tile_rows * walk.J + e % tile_rows;
      T& value = w.a.tile(walk.I, walk.J)[e];
      value = value * power_of_two<T>(w.exponent[i]) * power_of_two<T>(-w.exponent[j]);
    }
  __syncthreads();  // the factors are complete
}

/// Solves with the factors args.a, which are packed_lower.
template <class T, bool Fits>
__device__ __forceinline__ void solve_factored_system(const WideArguments<T>& args, const std::int32_t* factors_info,
                                                      std::int64_t system) {
  Wide<T> w = system_of_block<Fits>(args, system, false, args.nrhs > 1);
  begin_triangle(w);
  finish_copies();
  take_factors(w);
  Outcome outcome;
  const int shift[carried_rhs]{};
  solve_all(w, shift, outcome);
  const bool bad_rhs = any_of_block(outcome.bad_rhs), bad = any_of_block(outcome.bad),
             tiny = any_of_block(outcome.tiny);
  std::int32_t status = factors_info[args.a_step == 0 ? 0 : w.system];
  if (status == 0)
    status = bad_rhs ? info_rhs_not_finite : bad ? info_result_not_finite : tiny ? info_result_underflowed : 0;
  if (status != 0) forget_x(w);
  if (threadIdx.x == 0) args.to.info[w.system] = status;
}
template <class T, bool Fits>
__global__ void __launch_bounds__(most_warps* warp_lanes, 2)
    wide_solve_factored_kernel(WideArguments<T> args, const std::int32_t* factors_info) {
  for_each_system<Fits>(args, [&](std::int64_t system) { solve_factored_system<T, Fits>(args, factors_info, system); });
}

/// Returns the arguments without the first `first` systems.
template <class T>
WideArguments<T> without(std::int64_t first, WideArguments<T> arguments) {
  const auto skip = [](auto*& array, std::int64_t numbers) {
    if (array != nullptr) array += numbers;
  };
  skip(arguments.a, first * arguments.a_step);
  skip(arguments.b, first * arguments.b_step);
  skip(arguments.to.x, first * arguments.to.x_stride);
  skip(arguments.to.info, first);
  for_each_spd_number<T>([&](const auto& number) { skip(arguments.to.*number.in_solution, first); });
  arguments.count -= first;
  return arguments;
}

/// Returns the bytes of shared memory that a block of the current device can have, except for a few for variables.
std::size_t shared_bytes_of_device() {
  constexpr std::size_t variables = 1024;
  int device = 0, most = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess)
    return static_cast<std::size_t>(most) - variables;
  (void)cudaGetLastError();
  return shared_bytes_everywhere - variables;
}

/// The memory of a block, and of all blocks that run at a time if tiles do not fit.
template <class T>
struct WideMemory {
  int rows, columns;  // of tiles
  bool several;       // whether all work vectors are needed
  int kept;           // columns of tiles in shared memory

  static constexpr std::int64_t most_blocks = 256;  // that run at a time if tiles do not fit

  WideMemory(int n, bool carried, bool several_vectors)
      : rows(tiles_of(n) + (carried ? 1 : 0)), columns(tiles_of(n)), several(several_vectors), kept(columns) {
    const std::size_t most = shared_bytes_of_device();
    while (kept > 0 && bytes() > most) --kept;
  }
  [[nodiscard]] bool fits() const { return kept == columns; }
  [[nodiscard]] std::size_t bytes() const { return bytes_of_block<T>(rows, columns, kept, several); }
  /// Returns the numbers of a system that do not fit.
  [[nodiscard]] std::int64_t beyond() const {
    return std::int64_t{tile_numbers} * (Tiles<T>::count(rows, columns) - Tiles<T>::count(rows, kept));
  }
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t count) const {
    return static_cast<std::size_t>(std::min(count, most_blocks) * beyond()) * sizeof(T);
  }
};

/// Returns the warps of a block, as measured on an H200. More warps finish a system sooner, but wait longer for each
/// other.
template <class T>
constexpr int warps_for(int n) {
  if (sizeof(T) == sizeof(float)) return n <= 80 ? 1 : n <= 112 ? 2 : n <= 128 ? 3 : n <= 160 ? 4 : most_warps;
  return n <= 72 ? 2 : n <= 80 ? 3 : n <= 128 ? 4 : most_warps;
}

/// Launches one block per system, in as many launches as needed. If tiles do not fit, blocks take several systems, and
/// `workspace` has room for the tiles. `of_matrices` is the last argument of some kernels: an array with one number per
/// matrix.
template <class T, class... OfMatrix>
cudaError_t launch_blocks(void (*kernel)(WideArguments<T>, const OfMatrix*...), const WideMemory<T>& memory,
                          const Arguments<T>& of_batch, void* workspace, cudaStream_t stream,
                          const OfMatrix*... of_matrices) {
  if (of_batch.count == 0) return cudaSuccess;
  WideArguments<T> arguments{of_batch, memory.kept, static_cast<T*>(workspace), memory.beyond()};
  if (!memory.fits() && workspace == nullptr) return cudaErrorNotSupported;
  arguments.vectors = memory.fits() && arguments.storage != Storage::packed_lower &&
                      arguments.n * sizeof(T) % 16 == 0 && lies_in_pieces(arguments.a, arguments.a_step);
  cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared_bytes_of_device()));
  const std::int64_t most_systems = memory.fits() ? std::numeric_limits<int>::max() : arguments.count;
  const std::int64_t most_blocks = memory.fits() ? most_systems : WideMemory<T>::most_blocks;
  for (std::int64_t first = 0; status == cudaSuccess && first < arguments.count; first += most_systems) {
    const auto blocks = static_cast<unsigned>(std::min(most_blocks, arguments.count - first));
    kernel<<<blocks, warps_for<T>(arguments.n) * warp_lanes, memory.bytes(), stream>>>(
        without(first, arguments), of_matrices + (arguments.a_step == 0 ? 0 : first)...);
    status = cudaGetLastError();
  }
  return status;
}

template <class T>
WideMemory<T> memory_for(const SpdShape& shape, bool rcond) {
  return {shape.n, shape.nrhs > 0, shape.nrhs > 1 || shape.wants_inverse() || rcond};
}

}  // namespace

template <class T>
std::size_t wide_workspace_bytes(const SpdShape& shape, std::int64_t count) {
  return memory_for<T>(shape, true).workspace_bytes(count);
}
template <class T>
std::size_t wide_factor_workspace_bytes(int n, std::int64_t count) {
  return std::max(WideMemory<T>(n, false, false).workspace_bytes(count),
                  WideMemory<T>(n, false, true).workspace_bytes(count));
}

template <class T>
cudaError_t launch_wide_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, void* workspace,
                             cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution);
  const WideMemory<T> memory = memory_for<T>(batch.shape, arguments.to.rcond != nullptr);
  const auto kernel = !memory.fits()       ? wide_ldlt_kernel<T, true, false>
                      : inverts(arguments) ? wide_ldlt_kernel<T, true, true>
                                           : wide_ldlt_kernel<T, false, true>;
  return launch_blocks<T>(kernel, memory, arguments, workspace, stream);
}

template <class T>
cudaError_t launch_wide_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, void* workspace,
                               cudaStream_t stream) {
  const SpdBatch<T> matrices{
      {batch.shape.n, 0, batch.shape.storage, true}, batch.count, batch.a, nullptr, batch.a_stride};
  SpdSolution<T> to = of_pivots(factors);
  to.x = factors.factors;
  to.x_stride = factors.factors_step(batch.shape.n);
  const WideMemory<T> memory(batch.shape.n, false, false);
  return launch_blocks<T>(memory.fits() ? wide_factor_kernel<T, true> : wide_factor_kernel<T, false>, memory,
                          arguments_of(matrices, to), workspace, stream);
}

template <class T>
cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                       void* workspace, cudaStream_t stream) {
  const SpdBatch<T> systems{batch.shape(), batch.count, batch.factors, batch.b, batch.factors_stride, batch.b_stride};
  const WideMemory<T> memory(batch.n, false, batch.nrhs > 1);
  return launch_blocks<T>(memory.fits() ? wide_solve_factored_kernel<T, true> : wide_solve_factored_kernel<T, false>,
                          memory, arguments_of(systems, solution), workspace, stream, batch.factors_info);
}

template std::size_t wide_workspace_bytes<float>(const SpdShape&, std::int64_t);
template std::size_t wide_workspace_bytes<double>(const SpdShape&, std::int64_t);
template std::size_t wide_factor_workspace_bytes<float>(int, std::int64_t);
template std::size_t wide_factor_workspace_bytes<double>(int, std::int64_t);
template cudaError_t launch_wide_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, void*, cudaStream_t);
template cudaError_t launch_wide_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, void*, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<float>&, const SpdFactors<float>&, void*, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<double>&, const SpdFactors<double>&, void*, cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<float>&, const SpdSolution<float>&, void*,
                                                cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<double>&, const SpdSolution<double>&, void*,
                                                cudaStream_t);

}  // namespace smallbatch
