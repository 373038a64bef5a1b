// ||A^-1||_1 from the factors of A: exact for few rows, and else estimated from below by a few solutions (N. J. Higham,
// F. Tisseur, "A block algorithm for matrix 1-norm estimation", SIAM J. Matrix Anal. Appl. 21, 2000, two columns at a
// time, with the first vectors of LAPACK's dlacn2). Private to solvers/cuda.
#pragma once

#include "solvers/cuda/device.cuh"

namespace smallbatch {

namespace {

/// Of the lane's system, turn by turn: prepare(), a solution with both vectors, take(). The whole warp calls.
template <class T, class L>
struct NormEstimate {
  static constexpr int exact_up_to = rows_of_lanes<T>;
  static constexpr int estimating_turns = 5;  // at most
  static constexpr int turns = exact_up_to / 2 > estimating_turns ? exact_up_to / 2 : estimating_turns;

  double norm = 0;
  int first = -1, second = -1;  // the columns of A^-1 that are looked at
  bool going = true;

  __device__ __forceinline__ void prepare(int turn, int n, int lane, T (&y)[2][L::rows]) {
    const bool exact = n <= exact_up_to, columns = exact || (turn > 0 && turn % 2 == 0);
    if (exact) {
      first = 2 * turn;
      second = 2 * turn + 1;
    }
    const T start = T(1) / static_cast<T>(n > 0 ? n : 1), slope = T(1) / static_cast<T>(n > 1 ? n - 1 : 1);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = L::lanes * u + lane;
      const T far = fma(static_cast<T>(row), slope, T(1)), alternating = row % 2 == 0 ? far : -far;
      y[0][u] = columns ? static_cast<T>(row == first) : turn == 0 ? start : y[0][u] < 0 ? T(-1) : T(1);
      y[1][u] = columns ? static_cast<T>(row == second) : turn == 0 ? alternating : y[1][u] < 0 ? T(-1) : T(1);
      if (row >= n) y[0][u] = y[1][u] = 0;
    }
  }

  /// y: A^-1 times the vectors. Whether a system of the warp needs another turn.
  __device__ __forceinline__ bool take(int turn, int n, int lane, const T (&y)[2][L::rows]) {
    const bool exact = n <= exact_up_to;
    if (turn % 2 == 0 || __any_sync(whole_warp, exact)) {
      double sum[2]{};
#pragma unroll
      for (int c = 0; c < 2; ++c) {
#pragma unroll
        for (int u = 0; u < L::rows; ++u)
          if (L::lanes * u + lane < n) sum[c] += abs(static_cast<double>(y[c][u]));
        sum[c] = sum_of_group<L::lanes>(sum[c]);
      }
      if (turn == 0 && !exact) sum[1] *= 2.0 / (3 * n);
      if (exact || turn % 2 == 0) take_norms(turn, exact, sum);
    }
    if (turn % 2 == 1 && __any_sync(whole_warp, !exact)) {
      const int one = largest(n, lane, y[0], -1), other = largest(n, lane, y[1], one);
      if (!exact) {
        if (one == first && other == second) going = false;
        first = one;
        second = other;
      }
    }
    if (exact ? 2 * (turn + 1) >= n : turn + 1 == estimating_turns) going = false;
    return __any_sync(whole_warp, going);
  }

 private:
  /// A norm that is not a number counts: then the factors do not give a bound.
  __device__ __forceinline__ void take_norms(int turn, bool exact, const double (&sum)[2]) {
    const double found = !(sum[0] >= sum[1]) ? sum[1] : sum[0];
    if (exact || going) {
      const bool better = norm == norm && !(found <= norm);
      if (better) norm = found;
      if (!better && !exact && turn > 0) going = false;
    }
  }
  /// The row, not `but`, of the element that is largest in magnitude; the first of them.
  __device__ __forceinline__ static int largest(int n, int lane, const T (&y)[L::rows], int but) {
    T most = -1;
#pragma unroll
    for (int u = 0; u < L::rows; ++u)
      if (const int row = L::lanes * u + lane; row < n && row != but) most = max(most, abs(y[u]));
    most = max_of_group<L::lanes>(most);
    int where = L::size;
#pragma unroll
    for (int u = L::rows - 1; u >= 0; --u)
      if (const int row = L::lanes * u + lane; row < n && row != but && abs(y[u]) == most) where = row;
    return min_of_group<L::lanes>(where);
  }
};

/// rcond of A from ||2^-e A||_1 and ||2^-f A^-1||_1; 0 where the factors have given no norm of A^-1: A is singular to
/// working precision. A system without rows has 1.
template <class T>
__device__ __forceinline__ T rcond_of_norms(int n, double norm, int e, double norm_inverse, int f) {
  if (n == 0) return 1;
  const double rcond = scale(1 / norm / norm_inverse, -e - f);
  return rcond > 0 ? static_cast<T>(min(rcond, 1.0)) : T(0);
}

}  // namespace

}  // namespace smallbatch
