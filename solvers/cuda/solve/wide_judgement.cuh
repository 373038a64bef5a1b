// Backward errors from a lower triangle in the shared memory of a block. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/solve/wide_system.cuh"

namespace smallbatch {

namespace {

/// Largest norms over columns of x and rows of A, for a backward error like that of common/stored_judgement.cuh. For a
/// solution, `residual` is the largest ||r||_1 / ||x||_1. For an inverse, `residual` is the largest ||r||_1 and
/// `solution` the largest ||x||_1. `matrix` is ||A||_1.
struct Largest {
  double residual = 0, solution = 0, matrix = 0;
};
template <int C, class T>
__device__ __forceinline__ void judge_columns(const Wide<T>& w, int first, double a_factor, double x_factor,
                                              Largest& largest) {
  const Arguments<T>& args = w.args;
  const int n = w.rows, columns = w.columns_of_x(), used = args.inverse ? n : columns;
  const bool mine = w.row < n;
  Residual<T> residual[C];
  double norm[C];
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const bool there = mine && first + c < used;
    const T x =
        there ? args.to.x[w.system * args.to.x_stride + static_cast<std::int64_t>(w.row) * columns + first + c] : T(0);
    double factor = x_factor;
    if (sizeof(T) == sizeof(double) && !args.inverse)
      factor = power_of_two<double>(normalizing_exponent(max_of_block(abs(x))));
    double right = 0;
    if (args.inverse)
      right = w.row == first + c ? 1 : 0;
    else if (there)
      right = args.b[w.system * args.b_step + static_cast<std::int64_t>(w.row) * columns + first + c];
    const double value = static_cast<double>(x) * factor;
    w.memory.x[c][w.row] = Residual<T>::factor(value);
    norm[c] = abs(value);
    residual[c] = Residual<T>(with_factors(right, a_factor, factor));
  }
  __syncthreads();  // the columns are stored
  double sum = 0;
  if (mine) {
    const T* const own_column = w.a.column(w.row);
#pragma unroll 4
    for (int j = 0; j < n; ++j) {
      const double value = static_cast<double>(j <= w.row ? w.a.at(w.row, j) : own_column[j]) * a_factor;
      sum += abs(value);
#pragma unroll
      for (int c = 0; c < C; ++c) residual[c].subtract(value, w.memory.x[c][j]);
    }
  }
  largest.matrix = max(largest.matrix, sum);  // sum of the thread's row; the other norms are those of the block
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const bool counts = first + c < used;
    const double of_residual = sum_of_block(counts && mine ? abs(residual[c].value()) : 0.0);
    const double of_solution = sum_of_block(norm[c]);
    largest.solution = max(largest.solution, of_solution);
    if (of_residual != 0)
      largest.residual = max(largest.residual, args.inverse ? of_residual : of_residual / of_solution);
  }
  __syncthreads();  // the columns have been read
}

/// Returns the backward error of all of x, which is stored already.
template <class T>
__device__ __forceinline__ double judge(const Wide<T>& w) {
  const int n = w.rows, columns = w.args.inverse ? n : w.args.nrhs;
  double a_factor = 1, x_factor = 1;  // powers of two, which cancel in the result
  if constexpr (sizeof(T) == sizeof(double)) {
    a_factor = power_of_two<double>(normalizing_exponent(max_of_block(w.row < n ? abs(w.a.at(w.row, w.row)) : T(0))));
    if (w.args.inverse)
      x_factor = power_of_two<double>(normalizing_exponent(
          max_of_block(w.row < n ? abs(w.args.to.x[w.system * w.args.to.x_stride + w.row * (w.args.n + 1)]) : T(0))));
  }
  Largest largest;
  if (columns == 1) {
    judge_columns<1>(w, 0, a_factor, x_factor, largest);
  } else {
    constexpr int C = WideMemory<T>::judged_together;
#pragma unroll 1
    for (int first = 0; first < columns; first += C) judge_columns<C>(w, first, a_factor, x_factor, largest);
  }
  const double norm_a = max_of_block(largest.matrix);
  if (largest.residual == 0) return 0;
  return largest.residual / (w.args.inverse ? norm_a * largest.solution : norm_a);
}

}  // namespace

}  // namespace smallbatch
