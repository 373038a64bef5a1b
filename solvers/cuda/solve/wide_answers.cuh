// From the factors of a system, a block computes and stores solutions, the inverse, numbers, and the status.
// Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/pivot_numbers.cuh"
#include "solvers/cuda/common/status.cuh"
#include "solvers/cuda/solve/wide_elimination.cuh"

namespace smallbatch {

namespace {

/// Findings about the right-hand sides and the solutions, in the lane's part.
struct Outcome {
  bool bad = false;      // x has a number that is not finite
  bool bad_rhs = false;  // b has one
  bool tiny = false;     // a solution has underflowed
};

/// Multiplies right-hand side y by D and by a power of two that brings it near 1. Does nothing if A and y are near 1.
/// Returns the exponent of the power of two. y(i) is the number of row i. The whole warp calls.
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
__device__ __forceinline__ void solve_all(const Wide<T>& w, const int* carried_shift, Outcome& outcome) {
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

/// Computes the tiles (I, J) and (I + 1, J) of A^-1 from M. Calls visit(tile, i, j, value) for the lane's elements (i,
/// j) of the matrix; `tile` is 0 or 1. The whole warp calls.
template <class T, class Visit>
__device__ __forceinline__ void visit_inverse(const Wide<T>& w, int I, int J, Visit&& visit) {
  const Sums<T> sums = multiply_inverse(w, I, min(I + 1, w.a.columns - 1), J);
  const Tile<T> of[2]{sums.c0, sums.c1};
#pragma unroll
  for (int tile = 0; tile < 2; ++tile)
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const int i = lane_row(I + tile), j = lane_column(J, q);
      if (i < w.args.n && j < w.args.n) visit(tile, i, j, of[tile].v[q]);
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
    for (int J = 0; J <= min(I + 1, w.a.columns - 1); ++J)
      visit_inverse(w, I, J, [&](int, int i, int j, T value) {
        if (j > i) return;
        if (w.far) value = scale(value, w.exponent[i] + w.exponent[j]);
        bad |= not_finite(value);
        x[i * n + j] = value;
        x[j * n + i] = value;  // mirrored elements have the same bits
      });
  return bad;
}

/// Stores rcond = 1 / (||A||_1 ||A^-1||_1). If A^-1 overflows although all pivots are positive, A is singular to
/// working precision, and rcond is 0. The whole block calls.
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
    for (int J = 0; J < w.a.columns; ++J)
      visit_inverse(w, I, J, [&](int tile, int i, int j, T value) {
        bad |= not_finite(value);
        double magnitude = abs(static_cast<double>(value));
        if (w.far) magnitude = scale(magnitude, w.exponent[i] + w.exponent[j] - shift);
        sum[tile] += magnitude;
      });
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
  int first = INT32_MAX;
  for (int i = w.args.n - 1 - static_cast<int>(threadIdx.x); i >= 0; i -= static_cast<int>(blockDim.x))
    if (!(w.reciprocal[i] > 0 && w.reciprocal[i] < infinity<T>())) first = i + 1;
  return any_of_block(first != INT32_MAX) ? -max_of_block(-first) : 0;
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

}  // namespace

}  // namespace smallbatch
