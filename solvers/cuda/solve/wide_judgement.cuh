// Backward errors from a lower triangle in the shared memory of a block. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/solve/wide_system.cuh"

namespace smallbatch {

namespace {

constexpr int judged_together = 4;  // columns of x

/// Adds up the residuals of the lanes that share a row. The whole warp calls.
__device__ __forceinline__ double sum_of_residuals(Residual<float> r) { return sum_of_group<4>(r.sum); }
__device__ __forceinline__ double sum_of_residuals(Residual<double> r) {
  return sum_of_group<4>(r.high) + sum_of_group<4>(r.low);
}

/// Largest norms over columns of x, for a backward error like that of common/stored_judgement.cuh. For a
/// solution, `residual` is the largest ||r||_1 / ||x||_1. For an inverse, `residual` is the largest ||r||_1 and
/// `solution` the largest ||x||_1.
struct Largest {
  double residual = 0, solution = 0;
};
/// Judges the columns first .. first + C - 1 of x, as far as they exist. The whole block calls.
template <int C, class T>
__device__ __forceinline__ void judge_columns(const Wide<T>& w, int first, double a_factor, double x_factor,
                                              Largest& largest) {
  using Factor = typename Residual<T>::Factor;
  const Arguments<T>& args = w.args;
  const int n = args.n, columns = w.columns_of_x(), lane = lane_of_warp();
  const T* const x = args.to.x + w.system * args.to.x_stride + first;
  auto* const factors = reinterpret_cast<Factor*>(w.work);  // [C][padded]
  const auto of_x = [&](int row, int c) -> T {
    return row < n && first + c < columns ? x[static_cast<std::int64_t>(row) * columns + c] : T(0);
  };
  double factor[C], norm[C];
#pragma unroll
  for (int c = 0; c < C; ++c) {
    factor[c] = x_factor;
    if (sizeof(T) == sizeof(double) && !args.inverse) {
      T top = 0;
      for (int row = threadIdx.x; row < n; row += blockDim.x) top = max(top, abs(of_x(row, c)));
      factor[c] = power_of_two<double>(normalizing_exponent(max_of_block(top)));
    }
    norm[c] = 0;
    for (int row = threadIdx.x; row < w.padded(); row += blockDim.x) {
      const double value = static_cast<double>(of_x(row, c)) * factor[c];
      norm[c] += abs(value);
      factors[c * w.padded() + row] = Residual<T>::factor(value);
    }
  }
  __syncthreads();  // the columns are stored
  double of_residual[C]{};
#pragma unroll 1
  for (int I = warp_of_block(); I < w.a.columns; I += warps_of_block()) {
    const int row = lane_row(I);
    Residual<T> residual[C];
#pragma unroll
    for (int c = 0; c < C; ++c) {
      double right = 0;
      if (lane % 4 != 0 || row >= n || first + c >= columns)
        right = 0;
      else if (args.inverse)
        right = row == first + c ? 1 : 0;
      else
        right = args.b[w.system * args.b_step + static_cast<std::int64_t>(row) * columns + first + c];
      residual[c] = Residual<T>(with_factors(right, a_factor, factor[c]));
    }
    visit_row(w, I, [&](int J, const Tile<T>& a) {
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        const int column = lane_column(J, q);
#pragma unroll
        for (int c = 0; c < C; ++c)
          residual[c].subtract(static_cast<double>(a.v[q]) * a_factor, factors[c * w.padded() + column]);
      }
    });
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const double of_row = sum_of_residuals(residual[c]);
      if (row < n && lane % 4 == 0) of_residual[c] += abs(of_row);
    }
  }
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const double r = sum_of_block(of_residual[c]), solution = sum_of_block(norm[c]);
    if (first + c >= columns) continue;
    largest.solution = max(largest.solution, solution);
    const double ratio = args.inverse || r == 0 ? r : r / solution;
    if (ratio > largest.residual || ratio != ratio) largest.residual = ratio;  // keeps a NaN
  }
  __syncthreads();  // the columns have been read
}

/// Returns the backward error of all of x, which is stored already. The whole block calls.
template <class T>
__device__ __forceinline__ double judge(const Wide<T>& w) {
  const int n = w.args.n, columns = w.columns_of_x();
  const MatrixNorm of_a = norm_of(w);
  double x_factor = 1;  // a power of two, which cancels in the result
  if (sizeof(T) == sizeof(double) && w.args.inverse) {
    T top = 0;
    for (int row = threadIdx.x; row < n; row += blockDim.x)
      top = max(top, abs(w.args.to.x[w.system * w.args.to.x_stride + row * (n + 1)]));
    x_factor = power_of_two<double>(normalizing_exponent(max_of_block(top)));
  }
  const double a_factor = power_of_two<double>(-of_a.exponent);
  Largest largest;
  if (columns == 1) {
    judge_columns<1>(w, 0, a_factor, x_factor, largest);
  } else {
#pragma unroll 1
    for (int first = 0; first < columns; first += judged_together)
      judge_columns<judged_together>(w, first, a_factor, x_factor, largest);
  }
  if (largest.residual == 0) return 0;
  return largest.residual / (w.args.inverse ? of_a.norm * largest.solution : of_a.norm);
}

}  // namespace

}  // namespace smallbatch
