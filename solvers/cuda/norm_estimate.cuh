// ||A^-1||_1 from the factors of A: exact for few rows, and else estimated from below by the norms of four columns. One is
// that of the smallest pivot d_k, which has at least 1 / d_k. The others are where three vectors L^-T c are largest, all of
// them A^-1 times some vector, and each half a solution: c has the elements +- 1/d, whose signs let the vector grow from
// row to row, or let it in every other row alone, or are those of a fixed sequence. (In place of the two columns at a time
// of N. J. Higham, F. Tisseur, "A block algorithm for matrix 1-norm estimation", SIAM J. Matrix Anal. Appl. 21, 2000; signs
// on the way as A. K. Cline, C. B. Moler, G. W. Stewart, J. H. Wilkinson, "An estimate for the condition number of a
// matrix", SIAM J. Numer. Anal. 16, 1979, have them.) Private to solvers/cuda.
#pragma once

#include <climits>

#include "solvers/cuda/device.cuh"

namespace smallbatch {

namespace {

/// v and as much as g away from zero, or towards it where g is negative.
__device__ __forceinline__ float pushed(float v, float g) {
  return v + __int_as_float((__float_as_int(v) & INT_MIN) ^ __float_as_int(g));
}
__device__ __forceinline__ double pushed(double v, double g) {
  return v + __hiloint2double((__double2hiint(v) & INT_MIN) ^ __double2hiint(g), __double2loint(g));
}

/// The vectors that are half solved.
struct HalfVectors {
  static constexpr int count = 3;
  /// What row `row` of vector v is to be pushed by, in units of 1/d of that row; both do for all rows that are as odd.
  static __device__ __forceinline__ constexpr int push(int v, int row) {
    return v == 0 || (v == 1 && row % 2 != 0) ? 1 : v == 1 ? -1 : 0;
  }
  /// What it begins with.
  static __device__ __forceinline__ constexpr int begin(int v, int row) {
    return v != 2 ? 0 : static_cast<unsigned>(row) * 0x9e3779b9U >> 31 == 0 ? 1 : -1;
  }
};

/// The columns of A^-1 that are looked at.
template <int N>
class FourColumns {
  unsigned columns_ = 0xffffffffU;  // a byte each

 public:
  using Mask = std::conditional_t<(N > 32), std::uint64_t, std::uint32_t>;
  __device__ __forceinline__ void add(int column) { columns_ = columns_ << 8 | static_cast<unsigned>(column); }
  /// The latest is 0.
  [[nodiscard]] __device__ __forceinline__ int operator[](int i) const {
    return static_cast<int>(columns_ >> 8 * i & 0xff);
  }
  /// Bit i: row i is one of them.
  [[nodiscard]] __device__ __forceinline__ Mask rows() const {
    Mask mask = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (const int row = (*this)[i]; row < N) mask |= Mask{1} << row;
    return mask;
  }
};

/// Of the lane's system: begin(); where a system of the warp is to be estimated, half(), the vectors half solved,
/// take_halves(); and turn by turn prepare(), a solution with both vectors, take(). The whole warp calls.
template <class T, class L>
struct NormEstimate {
  static constexpr int exact_up_to = rows_of_lanes<T>;
  static constexpr int estimating_turns = 2;
  static constexpr int turns = exact_up_to / 2 > estimating_turns ? exact_up_to / 2 : estimating_turns;

  double norm = 0;
  FourColumns<L::size> columns;

  static __device__ __forceinline__ bool exact(int n) { return n <= exact_up_to; }

  /// Before all else. reciprocals: of the pivots, in proportion.
  __device__ __forceinline__ void begin(int n, int lane, const T (&reciprocals)[L::rows]) {
    columns.add(largest(n, lane, reciprocals));
  }

  /// Half-solved vector v, of which the lane has the rows.
  __device__ __forceinline__ void take_half(int n, int lane, const T (&y)[L::rows]) {
    columns.add(largest(n, lane, y));
  }

  __device__ __forceinline__ void prepare(int turn, int n, int lane, T (&y)[2][L::rows]) {
    const int first = exact(n) ? 2 * turn : columns[2 * turn % 4];
    const int second = exact(n) ? 2 * turn + 1 : columns[(2 * turn + 1) % 4];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = L::lanes * u + lane;
      y[0][u] = static_cast<T>(row == first && row < n);
      y[1][u] = static_cast<T>(row == second && row < n);
    }
  }

  /// y: A^-1 times the vectors. Whether a system of the warp needs another turn.
  __device__ __forceinline__ bool take(int turn, int n, int lane, const T (&y)[2][L::rows]) {
    // Turns that only its neighbours need repeat columns.
#pragma unroll
    for (int c = 0; c < 2; ++c) add(n, lane, y[c]);
    return __any_sync(whole_warp, exact(n) ? 2 * (turn + 1) < n : turn + 1 < estimating_turns);
  }

 private:
  __device__ __forceinline__ void add(int n, int lane, const T (&y)[L::rows]) {
    double sums[L::shares]{};
#pragma unroll
    for (int u = 0; u < L::rows; ++u)
      if (L::lanes * u + lane < n) sums[u % L::shares] += abs(static_cast<double>(y[u]));
    const double sum = sum_of_shares<L>(sums);
    // A norm that is not a number counts: then the factors do not give a bound.
    if (norm == norm && !(sum <= norm)) norm = sum;
  }

  /// The row, none of the columns, of the element that is largest in magnitude; the first of them, where they agree in
  /// the bits that leave room for the row.
  __device__ __forceinline__ int largest(int n, int lane, const T (&y)[L::rows]) const {
    const auto looked_at = columns.rows() >> lane;
    unsigned most = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u)
      if (const int row = L::lanes * u + lane; row < n && (looked_at >> L::lanes * u & 1) == 0)
        most = max(most, (high_bits(y[u]) & 0x7fffffc0U) | static_cast<unsigned>(max_row - row));
    return max_row - static_cast<int>(max_of_group<L::lanes>(most) & max_row);
  }
  static constexpr int max_row = 63;
  static __device__ __forceinline__ unsigned high_bits(float v) { return static_cast<unsigned>(__float_as_int(v)); }
  static __device__ __forceinline__ unsigned high_bits(double v) { return static_cast<unsigned>(__double2hiint(v)); }
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
