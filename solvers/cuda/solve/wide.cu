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

/// How many blocks, with the largest systems, fit into the shared memory of a multiprocessor.
template <class T>
constexpr int resident_blocks = sizeof(T) == sizeof(float) ? 5 : 3;

/// Multiplies y, a row of a solution, by 2^exponent. Returns whether underflow changes the solution by more than a few
/// roundings. The whole block calls.
template <class T>
__device__ bool rescale_of_block(T& y, int exponent) {
  constexpr int lowest = -8 * Traits<T>::exponent_bias;
  const int top = max_of_block(y != 0 ? exponent_of(y) + exponent : lowest);  // exponent of the largest result
  const T value = y;
  y = scale(value, exponent);
  if (!(top > lowest && top < Traits<T>::mantissa_bits - Traits<T>::exponent_bias)) return false;
  const T exact = scale(value, exponent - top);
  const T lost = sum_of_block(abs(exact - scale(y, -top))), norm = sum_of_block(abs(exact));
  return lost > 4 * Traits<T>::eps * norm;
}

/// Findings about the right-hand sides.
struct Outcome {
  bool bad = false, bad_rhs = false;  // the thread's part of x (`bad`) or b (`bad_rhs`) has a number that is not finite
  bool tiny = false;                  // a solution has underflowed
};

/// Solves right-hand sides first .. first + R - 1, as far as they exist.
template <int R, class T>
__device__ __forceinline__ void solve_columns(const Wide<T>& w, int first, Outcome& outcome) {
  const std::int64_t nrhs = w.args.nrhs;
  const bool mine = w.row < w.rows;
  T y[R];
  bool far = false;
#pragma unroll
  for (int c = 0; c < R; ++c) {
    y[c] = mine && first + c < nrhs ? w.args.b[w.system * w.args.b_step + w.row * nrhs + first + c] : T(0);
    far |= is_far(y[c], Traits<T>::rhs_window);
    outcome.bad_rhs |= not_finite(y[c]);
  }
  int shift[R];
  const bool scaled = any_of_block(far || w.far);
  if (scaled) {
#pragma unroll
    for (int c = 0; c < R; ++c) {
      constexpr int lowest = -4 * Traits<T>::exponent_bias;
      const int top = max_of_block(y[c] != 0 ? exponent_of(y[c]) + w.exponent() : lowest);
      shift[c] = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
      y[c] = scale(y[c], w.exponent() + shift[c]);
    }
  }
  solve<R>(w, y);
  if (scaled) {
#pragma unroll
    for (int c = 0; c < R; ++c)
      if (rescale_of_block(y[c], w.exponent() - shift[c])) outcome.tiny = true;
  }
#pragma unroll
  for (int c = 0; c < R; ++c) {
    outcome.bad |= mine && not_finite(y[c]);
    if (mine && first + c < nrhs) w.args.to.x[w.system * w.args.to.x_stride + w.row * nrhs + first + c] = y[c];
  }
}

template <class T>
__device__ __forceinline__ Outcome solve_all(const Wide<T>& w) {
  Outcome outcome;
  if (w.args.nrhs == 1) {
    solve_columns<1>(w, 0, outcome);
  } else {
#pragma unroll 1
    for (int first = 0; first < w.args.nrhs; first += together) solve_columns<together>(w, first, outcome);
  }
  return outcome;
}

/// Stores A^-1, computed from Y^T. Returns whether a number is not finite.
template <class T>
__device__ __forceinline__ bool store_inverse(const Wide<T>& w) {
  T* const x = w.args.to.x + w.system * w.args.to.x_stride;
  bool bad = false;
  visit_inverse(w, [&](int j, T value) {
    if (w.row >= w.rows) return;
    if (w.far) value = scale(value, w.memory.exponent[w.row] + w.memory.exponent[j]);
    bad |= not_finite(value);
    x[j * w.args.n + w.row] = value;  // the mirrored element, so that neighbouring threads store next to each other
  });
  return bad;
}

/// Stores rcond = 1 / (||A||_1 ||A^-1||_1). If A has no inverse in T although its pivots are positive, A is singular to
/// working precision and rcond is 0.
template <class T>
__device__ __forceinline__ void store_rcond(const Wide<T>& w) {
  int shift = 0;  // exponent of the largest element of A^-1, if it is far from 1
  if (w.far) {
    // A^-1 has diagonal elements of at least 1 / a_ii; the exponent of the largest 1 / a_ii is near enough.
    shift = max_of_block(w.row < w.rows ? 2 * w.memory.exponent[w.row] : -4 * Traits<T>::exponent_bias);
  }
  double sum = 0;
  bool bad = false;
  visit_inverse(w, [&](int j, T value) {
    if (w.row >= w.rows) return;
    bad |= not_finite(value);
    double magnitude = abs(static_cast<double>(value));
    if (w.far) magnitude = scale(magnitude, w.memory.exponent[w.row] + w.memory.exponent[j] - shift);
    sum += magnitude;
  });
  bad = any_of_block(bad);
  const double rcond = scale(1 / w.memory.norm / max_of_block(sum), -w.memory.norm_exponent - shift);
  if (w.row == 0) w.args.to.rcond[w.system] = !bad && rcond > 0 ? static_cast<T>(rcond) : T(0);
}

/// Returns the first pivot that is not positive, counted from 1; 0 if there is none.
template <class T>
__device__ int first_bad_pivot_of_block(const Wide<T>& w) {
  const T inverse = w.row < w.rows ? w.memory.reciprocal[w.row] : T(1);
  const bool bad = !(inverse > 0 && inverse < infinity<T>());
  if (!any_of_block(bad)) return 0;
  return -max_of_block(bad ? -(w.row + 1) : -block_threads);
}

template <class T>
__device__ void store_pivot_numbers(const Wide<T>& w) {
  PivotNumbers<T> numbers;
  if (w.row < w.rows) numbers.add(w.a.at(w.row, w.row), w.exponent());
  numbers.template combine<warp_lanes>();
  numbers.smallest = joined(numbers.smallest, [](T a, T b) { return min(a, b); });
  numbers.log_determinant = joined(numbers.log_determinant, [](double a, double b) { return a + b; });
  if (w.row == 0) numbers.store(w.args, w.system);
}

/// Returns the status of a system. The whole block calls.
template <class T>
__device__ std::int32_t status_of(const Wide<T>& w, bool bad, bool tiny, int bad_pivot) {
  bad = any_of_block(bad || bad_pivot != 0);
  const std::int32_t of_input = w.memory.of_input;
  if (of_input != 0 || !(bad || tiny)) return of_input;
  return explain_failure<warp_lanes>(w.args, w.system, bad_pivot, w.lane(),
                                     bad ? info_result_not_finite : info_result_underflowed);
}

/// Stores NaN in x if the system failed, and 0 beyond its rows and columns. The whole block calls.
template <class T>
__device__ void fill_x(const Wide<T>& w, bool failed) {
  const Arguments<T>& args = w.args;
  if (args.to.x == nullptr || !(failed || w.rows < args.n)) return;
  const std::int64_t columns = w.columns_of_x(), numbers = args.n * columns;
#pragma unroll 1
  for (std::int64_t e = w.row; e < numbers; e += block_threads) {
    const bool inside = e < w.rows * columns && !(args.inverse && e % columns >= w.rows);
    T& x = args.to.x[w.system * args.to.x_stride + e];
    if (!inside)
      x = T(0);
    else if (failed)
      x = not_a_number<T>();
  }
}

/// Stores the answer of a system without rows, or with a size out of range.
template <class T>
__device__ void settle_without_rows(Wide<T> w) {
  const Arguments<T>& args = w.args;
  const bool failed = w.rows < 0;
  w.rows = failed ? args.n : 0;  // so that all of x is filled
  fill_x(w, failed);
  if (w.row != 0) return;
  args.to.info[w.system] = failed ? info_size_out_of_range : 0;
  if (args.to.backward_error != nullptr) args.to.backward_error[w.system] = failed ? not_a_number<T>() : T(0);
  if (args.to.rcond != nullptr) args.to.rcond[w.system] = failed ? not_a_number<T>() : T(1);
  if (failed) {
    forget_pivots(args, w.system);
  } else {
    PivotNumbers<T> of_identity;
    of_identity.smallest = 1;
    of_identity.store(args, w.system);
  }
}

/// Stores whether the triangles differ and, if so, the status of the input.
template <class T>
__device__ void compare_triangles(const Wide<T>& w) {
  const bool differ = w.args.storage == Storage::dense && triangles_differ(w);
  const std::int32_t of_input = differ ? inspect<warp_lanes>(w.args, w.system, w.lane()) : 0;
  if (w.row == 0) {
    w.memory.differ = differ;
    w.memory.of_input = of_input;
  }
}

template <class T>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>) wide_ldlt_kernel(Arguments<T> args) {
  __shared__ WideMemory<T> memory;
  Wide<T> w = block_system(args, memory);
  if (w.rows <= 0) {
    settle_without_rows(w);
    return;
  }
  load_triangle(w);
  compare_triangles(w);
  if (args.to.rcond != nullptr) find_norm(w);
  w.far = scale_triangle<false>(w);
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  Outcome outcome;
  if (args.nrhs > 0) outcome = solve_all(w);
  if (args.inverse || args.to.rcond != nullptr) {
    invert_factor(w);
    if (args.inverse) outcome.bad = store_inverse(w);
    if (args.to.rcond != nullptr) store_rcond(w);
  }
  const std::int32_t status = status_of(w, outcome.bad, outcome.tiny, bad_pivot);
  double error = 0;
  fill_x(w, status != 0);
  if (status != 0) {
    error = not_a_number<double>();
  } else if (args.to.backward_error != nullptr && args.to.x != nullptr) {
    if (memory.differ) {
      error =
          judge_as_stored<warp_lanes>(args, w.system, w.lane(), 0, args.inverse ? w.rows : args.nrhs).backward_error;
    } else {
      load_triangle(w);
      error = judge(w);
    }
  }
  if (w.row != 0) return;
  args.to.info[w.system] = status;
  if (args.to.backward_error != nullptr) args.to.backward_error[w.system] = static_cast<T>(error);
  if (status == 0) return;
  if (args.to.rcond != nullptr) args.to.rcond[w.system] = not_a_number<T>();
  forget_pivots(args, w.system);
}

/// Factors systems; the factors, packed by rows, go to args.to.x.
template <class T>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>) wide_factor_kernel(Arguments<T> args) {
  __shared__ WideMemory<T> memory;
  Wide<T> w = block_system(args, memory);
  load_triangle(w);
  compare_triangles(w);
  w.far = scale_triangle<false>(w);
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  // Stores the factors of A itself. The factors of the scaled matrix differ from them by powers of two.
  bool overflows = false, underflows = false;
#pragma unroll 1
  for (int i = w.row / warp_lanes; i < args.n; i += block_warps)
#pragma unroll 1
    for (int j = w.lane(); j <= i; j += warp_lanes) {
      const T value = w.a.at(i, j);
      T stored = value;
      if (w.far) {
        const int of_row = memory.exponent[i], exponent = i == j ? -2 * of_row : memory.exponent[j] - of_row;
        stored = scale(value, exponent);
        underflows |= i == j && scale(stored, -exponent) != value;
      }
      overflows |= not_finite(stored);
      args.to.x[w.system * args.to.x_stride + i * (i + 1) / 2 + j] = stored;
    }
  const bool tiny = any_of_block(underflows);
  const std::int32_t status = status_of(w, overflows, tiny, bad_pivot);
  for (int e = w.row; status != 0 && e < args.n * (args.n + 1) / 2; e += block_threads)
    args.to.x[w.system * args.to.x_stride + e] = not_a_number<T>();
  if (w.row != 0) return;
  args.to.info[w.system] = status;
  if (status != 0) forget_pivots(args, w.system);
}

/// Solves with the factors args.a, which are packed_lower.
template <class T>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>)
    wide_solve_factored_kernel(Arguments<T> args, const std::int32_t* factors_info) {
  __shared__ WideMemory<T> memory;
  Wide<T> w = block_system(args, memory);
  load_triangle(w);
  w.far = scale_triangle<true>(w);
  if (w.row < w.a.rows) memory.reciprocal[w.row] = reciprocal(w.a.at(w.row, w.row));
  const Outcome outcome = solve_all(w);
  const bool bad_rhs = any_of_block(outcome.bad_rhs), bad = any_of_block(outcome.bad);
  std::int32_t status = factors_info[args.a_step == 0 ? 0 : w.system];
  if (status == 0)
    status = bad_rhs ? info_rhs_not_finite : bad ? info_result_not_finite : outcome.tiny ? info_result_underflowed : 0;
  fill_x(w, status != 0);
  if (w.row == 0) args.to.info[w.system] = status;
}

/// Returns the arguments without the first `first` systems.
template <class T>
Arguments<T> without(std::int64_t first, Arguments<T> arguments) {
  const auto skip = [](auto*& array, std::int64_t numbers) {
    if (array != nullptr) array += numbers;
  };
  skip(arguments.a, first * arguments.a_step);
  skip(arguments.b, first * arguments.b_step);
  skip(arguments.sizes, first);
  skip(arguments.to.x, first * arguments.to.x_stride);
  skip(arguments.to.info, first);
  for_each_spd_number<T>([&](const auto& number) { skip(arguments.to.*number.in_solution, first); });
  arguments.count -= first;
  return arguments;
}

/// Launches one block per system, in as many launches as needed. `of_matrices` is the last
/// argument of some kernels: an array with one number per matrix.
template <class T, class... OfMatrix>
cudaError_t launch_blocks(void (*kernel)(Arguments<T>, const OfMatrix*...), const Arguments<T>& arguments,
                          cudaStream_t stream, const OfMatrix*... of_matrices) {
  if (arguments.count == 0) return cudaSuccess;
  constexpr int most = Panels<T>::size(max_system_size) * static_cast<int>(sizeof(T));
  static_assert(most + sizeof(WideMemory<T>) <= shared_bytes_everywhere);
  cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  const std::size_t bytes = Panels<T>::size(padded_rows(arguments.n)) * sizeof(T);
  constexpr std::int64_t most_blocks = std::numeric_limits<int>::max();
  for (std::int64_t first = 0; status == cudaSuccess && first < arguments.count; first += most_blocks) {
    const auto blocks = static_cast<unsigned>(std::min(most_blocks, arguments.count - first));
    kernel<<<blocks, block_threads, bytes, stream>>>(without(first, arguments),
                                                     of_matrices + (arguments.a_step == 0 ? 0 : first)...);
    status = cudaGetLastError();
  }
  return status;
}

}  // namespace

template <class T>
cudaError_t launch_wide_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  return launch_blocks<T>(wide_ldlt_kernel<T>, arguments_of(batch, solution), stream);
}

template <class T>
cudaError_t launch_wide_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, cudaStream_t stream) {
  const SpdBatch<T> matrices{
      {batch.shape.n, 0, batch.shape.storage, true}, batch.count, batch.a, nullptr, batch.a_stride};
  SpdSolution<T> to = of_pivots(factors);
  to.x = factors.factors;
  to.x_stride = factors.factors_step(batch.shape.n);
  return launch_blocks<T>(wide_factor_kernel<T>, arguments_of(matrices, to), stream);
}

template <class T>
cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                       cudaStream_t stream) {
  const SpdBatch<T> systems{batch.shape(), batch.count, batch.factors, batch.b, batch.factors_stride, batch.b_stride};
  return launch_blocks<T>(wide_solve_factored_kernel<T>, arguments_of(systems, solution), stream, batch.factors_info);
}

template cudaError_t launch_wide_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_wide_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<float>&, const SpdFactors<float>&, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<double>&, const SpdFactors<double>&, cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<float>&, const SpdSolution<float>&,
                                                cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<double>&, const SpdSolution<double>&,
                                                cudaStream_t);

}  // namespace smallbatch
