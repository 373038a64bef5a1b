// The norm ||A^-1||_1 from the factors of A. For few rows it is exact. For more rows it is a lower bound: A^-1 is
// applied to four vectors, two at a time. Private to solvers/cuda. (Source: N. J. Higham, F. Tisseur, "A block
// algorithm for matrix 1-norm estimation", SIAM J. Matrix Anal. Appl. 21, 2000.)
//
// The norm is at least that of any column of A^-1. It is also at least the largest element of A^-1 v, where all
// elements of v are 1 or -1. If this element has index i, column i of A^-1 is likely to have a large norm. The first
// vector is all ones: it gives the exact norm if A^-1 has no negative element. The second is the unit vector e_k of the
// smallest pivot d_k: the norm of column k is at least 1 / d_k.
#pragma once

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

/// Returns the largest magnitude in y, ignoring row `but`. G lanes have the n rows of y; a lane has the rows G u +
/// lane. The whole warp calls.
template <int G, class T, int R>
__device__ __forceinline__ T largest_magnitude(int n, int lane, const T (&y)[R], int but) {
  T most = -1;
#pragma unroll
  for (int u = 0; u < R; ++u)
    if (const int row = G * u + lane; row < n && row != but) most = max(most, abs(y[u]));
  return max_of_group<G>(most);
}

/// Returns the row of y with the largest magnitude, ignoring row `but`. If there are several, it is the first.
template <int G, class T, int R>
__device__ __forceinline__ int row_of_largest(int n, int lane, const T (&y)[R], int but) {
  const T most = largest_magnitude<G>(n, lane, y, but);
  int where = G * R;
#pragma unroll
  for (int u = R - 1; u >= 0; --u)
    if (const int row = G * u + lane; row < n && row != but && abs(y[u]) == most) where = row;
  return min_of_group<G>(where);
}

/// Raises the norm to `bound` if it is smaller. If `bound` is NaN, the factors give no norm, and the norm becomes NaN.
__device__ __forceinline__ void raise(double& norm, double bound) {
  if (norm == norm && !(bound <= norm)) norm = bound;
}

/// Estimate for the lane's system. Each turn is prepare(), a solution with both vectors, and take(). The whole warp
/// calls.
template <class T, class L>
struct NormEstimate {
  static constexpr int exact_up_to = rows_of_lanes<T>;
  // Turn 0 takes the vector of ones, and a unit vector. Turn 1 takes another unit vector, and the signs of the column
  // of A^-1 that turn 0 has computed.
  static constexpr int estimating_turns = 2;
  static constexpr int turns = exact_up_to / 2 > estimating_turns ? exact_up_to / 2 : estimating_turns;

  double norm = 0;
  int first = -1, second = -1;  // the columns of A^-1 that are computed

  /// Must be called before the first turn. `reciprocals` are 1 / d, or multiples of 1 / d with one common factor.
  __device__ __forceinline__ void begin(int n, int lane, const T (&reciprocals)[L::rows]) {
    second = row_of_largest<L::lanes>(n, lane, reciprocals, -1);
  }

  __device__ __forceinline__ void prepare(int turn, int n, int lane, T (&y)[2][L::rows]) {
    const bool exact = n <= exact_up_to;
    if (exact) {
      first = 2 * turn;
      second = 2 * turn + 1;
    }
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = L::lanes * u + lane;
      y[0][u] = has_signs(0, turn, n) ? T(1) : static_cast<T>(row == first);
      y[1][u] = !has_signs(1, turn, n) ? static_cast<T>(row == second) : y[1][u] < 0 ? T(-1) : T(1);
      if (row >= n) y[0][u] = y[1][u] = 0;
    }
  }

  /// Takes y, which is A^-1 times the vectors. Returns whether a system of the warp needs another turn.
  __device__ __forceinline__ bool take(int turn, int n, int lane, const T (&y)[2][L::rows]) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      double sums[L::shares]{};
#pragma unroll
      for (int u = 0; u < L::rows; ++u)
        if (L::lanes * u + lane < n) sums[u % L::shares] += abs(static_cast<double>(y[c][u]));
      const double sum = sum_of_shares<L>(sums);
      raise(norm, has_signs(c, turn, n) && sum == sum ? norm : sum);
    }
    if (__any_sync(whole_warp, has_signs(0, turn, n))) {
      const int column = row_of_largest<L::lanes>(n, lane, y[0], second);
      if (has_signs(0, turn, n)) first = column;
    }
    if (__any_sync(whole_warp, has_signs(1, turn, n))) {
      const T most = largest_magnitude<L::lanes>(n, lane, y[1], -1);
      if (has_signs(1, turn, n)) raise(norm, static_cast<double>(most));
    }
    return __any_sync(whole_warp, n <= exact_up_to ? 2 * (turn + 1) < n : turn + 1 < estimating_turns);
  }

 private:
  /// Returns whether vector c has only elements 1 and -1. For vector 1, the largest element of its product with A^-1
  /// also is a bound of the norm. Vector 0 needs no such bound: the column with the index of this element is computed
  /// anyway, and the norm of the column is no smaller.
  __device__ __forceinline__ static bool has_signs(int c, int turn, int n) { return n > exact_up_to && turn == c; }
};

/// Returns rcond of A from ||2^-e A||_1 and ||2^-f A^-1||_1. It is 0 if the factors gave no norm of A^-1: A is singular
/// to working precision. A system without rows has rcond 1.
template <class T>
__device__ __forceinline__ T rcond_of_norms(int n, double norm, int e, double norm_inverse, int f) {
  if (n == 0) return 1;
  const double rcond = scale(1 / norm / norm_inverse, -e - f);
  return rcond > 0 ? static_cast<T>(min(rcond, 1.0)) : T(0);
}

}  // namespace

}  // namespace smallbatch
