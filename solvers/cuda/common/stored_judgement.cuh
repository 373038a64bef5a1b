// Backward errors from data in global memory. Every element of A is used as it is stored; in dense storage, these are
// the elements of both triangles. This is slow. It is used for the few systems with triangles that differ by rounding,
// and for repaired systems. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/status.cuh"

namespace smallbatch {

namespace {

/// The backward error, and ||A||_1 = 2^exponent norm.
struct StoredJudgement {
  double backward_error, norm;
  int exponent;
};

/// Judges the solutions of right-hand sides first .. end - 1, or the whole inverse. The lanes that share the system
/// divide the work. The whole warp calls.
template <int Lanes, class T>
__device__ StoredJudgement judge_as_stored(const Arguments<T>& args, std::int64_t system, int lane, int first,
                                           int end) {
  const int n = max(rows_of(args, system), 0), columns = args.inverse ? args.n : args.nrhs;
  const auto a = [&](int i, int j) -> double {
    return args.storage == Storage::dense ? element(args, system, i, j) : element(args, system, max(i, j), min(i, j));
  };
  const auto x = [&](std::int64_t j, int c) -> double {
    return args.to.x[system * args.to.x_stride + j * columns + c];
  };

  double largest_a = 0, largest_x = 0, norm_a = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    largest_a = max(largest_a, abs(a(i, i)));
    if (args.inverse) largest_x = max(largest_x, abs(x(i, i)));
  }
  // These powers of two keep products in range; they cancel in the result.
  const int a_exponent = normalizing_exponent(largest_a);
  const double a_factor = power_of_two<double>(a_exponent);
  double x_factor = power_of_two<double>(normalizing_exponent(largest_x));
#pragma unroll 1
  for (int j = lane; j < n; j += Lanes) {
    double sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) sum += abs(a(i, j) * a_factor);
    norm_a = max(norm_a, sum);
  }
  norm_a = max_of_group<Lanes>(norm_a);

  double worst = 0, worst_residual = 0, norm_inverse = 0;
#pragma unroll 1
  for (int c = first; c < end; ++c) {
    if (!args.inverse) {
      largest_x = 0;
#pragma unroll 1
      for (int i = 0; i < n; ++i) largest_x = max(largest_x, abs(x(i, c)));
      x_factor = power_of_two<double>(normalizing_exponent(largest_x));
    }
    double residual = 0, norm_x = 0;
#pragma unroll 1
    for (int i = lane; i < n; i += Lanes) {
      const double right = args.inverse ? (i == c ? 1.0 : 0.0)
                                        : args.b[system * args.b_step + static_cast<std::int64_t>(i) * args.nrhs + c];
      Residual<T> of_row(with_factors(right, a_factor, x_factor));
#pragma unroll 1
      for (int j = 0; j < n; ++j) of_row.subtract(a(i, j) * a_factor, Residual<T>::factor(x(j, c) * x_factor));
      residual += abs(of_row.value());
      norm_x += abs(x(i, c) * x_factor);
    }
    residual = sum_of_group<Lanes>(residual);
    norm_x = sum_of_group<Lanes>(norm_x);
    if (residual != 0) worst = max(worst, residual / (norm_a * norm_x));
    worst_residual = max(worst_residual, residual);
    norm_inverse = max(norm_inverse, norm_x);
  }
  if (args.inverse) worst = worst_residual == 0 ? 0 : worst_residual / (norm_a * norm_inverse);
  return {worst, norm_a, -a_exponent};
}

}  // namespace

}  // namespace smallbatch
