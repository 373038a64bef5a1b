// How good an answer is, and what its pivots say, from lower triangles in registers. Private to solvers/*.cu.
#pragma once

#include "solvers/cuda/pivot_numbers.cuh"
#include "solvers/cuda/plain_systems.cuh"

namespace smallbatch {

namespace {

/// ||b - A x||_1 / (||A||_1 ||x||_1) of the lane's system, the residual in twice the precision of T; A from the lower
/// triangle in shared memory. norm_a: ||A||_1. x[u] and b[u] belong to row G u + lane; places: for x, of all rows. The
/// whole warp calls.
template <class T, class L>
__device__ __forceinline__ double judge_kept(int n, int group, int lane, const T* matrix,
                                             typename Residual<T>::Factor* places, const T (&x)[L::rows],
                                             const T (&b)[L::rows], double& norm_a, int once) {
  constexpr int G = L::lanes, P = L::piece, chunk = sizeof(T) == sizeof(double) || L::size % 8 != 0 ? 4 : 8;  // columns
  double a_factor = 1, x_factor = 1;  // powers of two, which cancel
  if (sizeof(T) == sizeof(double)) {
    T largest_a = 0, largest_x = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = G * u + lane;
      if (row < n) largest_a = max(largest_a, abs(kept<L>(matrix, group, row, row)));
      largest_x = max(largest_x, abs(x[u]));
    }
    a_factor = power_of_two<double>(normalizing_exponent(max_of_group<G>(largest_a)));
    x_factor = power_of_two<double>(normalizing_exponent(max_of_group<G>(largest_x)));
  }
  double norm_x = 0, row_sum[L::rows];
  Residual<T> residual[L::rows];
  __syncwarp();  // the reads of what lay in the place of x are over
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const double value = static_cast<double>(x[u]) * x_factor;
    if (has_row<L>(lane, u)) places[G * u + lane] = Residual<T>::factor(value);
    norm_x += abs(value);
    residual[u] = Residual<T>(with_factors(static_cast<double>(b[u]), a_factor, x_factor));
    row_sum[u] = 0;
  }
  __syncwarp();  // x is complete
  unrolled<L::size / chunk>([&](auto index) __attribute__((always_inline)) {
    apart(
        once, [&]() __attribute__((always_inline)) {
#pragma unroll
          for (int p = chunk * index / P; p < chunk * (index + 1) / P; ++p) {
            const int block = P * p / G;
            typename Residual<T>::Factor known[P];
#pragma unroll
            for (int c = 0; c < P; ++c) known[c] = places[P * p + c];
#pragma unroll
            for (int u = 0; u < L::rows; ++u) {
              Vector<T, P> row{};
              if (u >= block && has_row<L>(lane, u)) row = kept_piece<T, L>(matrix, group, lane, u, p);
#pragma unroll
              for (int c = 0; c < P; ++c) {
                const int column = P * p + c;
                T stored = row.value[c];
                // Above the diagonal the element comes from the column that it mirrors.
                if (u < block || (u == block && G * u + lane < column))
                  stored = kept<L>(matrix, group, column, G * u + lane);
                const double value = static_cast<double>(stored) * a_factor;
                row_sum[u] += abs(value);
                residual[u].subtract(value, known[c]);
              }
            }
          }
        });
  });
  double norm = 0, sum = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    if (G * u + lane < n) norm = max(norm, row_sum[u]);
    sum += abs(residual[u].value());
  }
  sum = sum_of_group<G>(sum);
  norm = max_of_group<G>(norm);
  norm_x = sum_of_group<G>(norm_x);
  norm_a = norm / a_factor;
  return sum == 0 ? 0 : sum / (norm * norm_x);
}

/// What the pivots of the lane's system say, none of which was raised. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void store_pivots(const Arguments<T>& args, std::int64_t system, int rows, bool mine,
                                             int lane, bool far, const T (&pivots)[L::rows]) {
  PivotNumbers<T> numbers;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (const int row = L::lanes * u + lane; row < rows)
      numbers.add(pivots[u], scaling_exponent(args, system, row, far));
  numbers.template combine<L::lanes>();
  if (mine && lane == 0) numbers.store(args, system);
}

}  // namespace

}  // namespace smallbatch
