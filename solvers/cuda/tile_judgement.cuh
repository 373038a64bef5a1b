// How good an answer is, and what its pivots say, from lower triangles in registers. Private to solvers/*.cu.
#pragma once

#include "solvers/cuda/pivot_numbers.cuh"
#include "solvers/cuda/tile.cuh"

namespace smallbatch {

namespace {

/// ||b - A x||_1 / (||A||_1 ||x||_1) of the lane's system, the residual in twice the precision of T; A from shared
/// memory, `Whole` or from its lower triangle. x[u] and b[u] belong to row G u + lane. The whole warp calls.
template <bool Whole, class T, class L>
__device__ __forceinline__ double judge(int n, int group, int lane, TileMemory<T, L>& memory, const T (&x)[L::rows],
                                        const T (&b)[L::rows], int once) {
  constexpr int G = L::lanes, P = L::piece, chunk = sizeof(T) == sizeof(double) ? 4 : 8;  // columns
  const T* matrix = memory.matrix[group];
  double a_factor = 1, x_factor = 1;  // powers of two, which cancel
  if (sizeof(T) == sizeof(double)) {
    T largest_a = 0, largest_x = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = G * u + lane;
      if (row < n) largest_a = max(largest_a, abs(staged<L>(matrix, group, row, row)));
      largest_x = max(largest_x, abs(x[u]));
    }
    a_factor = power_of_two<double>(normalizing_exponent(max_of_group<G>(largest_a)));
    x_factor = power_of_two<double>(normalizing_exponent(max_of_group<G>(largest_x)));
  }
  double norm_x = 0, column_sum[L::rows];
  Residual<T> residual[L::rows];
  __syncwarp();  // the reads of what lay in the place of x are over
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const double value = static_cast<double>(x[u]) * x_factor;
    memory.x[group][G * u + lane] = Residual<T>::factor(value);
    norm_x += abs(value);
    residual[u] = Residual<T>(with_factors(static_cast<double>(b[u]), a_factor, x_factor));
    column_sum[u] = 0;
  }
  __syncwarp();  // x is complete
  const auto add = [&](int u, int column, T stored) __attribute__((always_inline)) {
    const double value = static_cast<double>(stored) * a_factor;
    if (!Whole) column_sum[u] += abs(value);  // of the row, which is the same
    residual[u].subtract(value, memory.x[group][column]);
  };
  const T* const first_line = matrix + L::line(lane, 0) * 8 * P;
  const int key = L::key(lane, 0) ^ L::system_key(group);
  unrolled<L::size / chunk>([&](auto index) __attribute__((always_inline)) {
    if constexpr (Whole)
      apart(
          once, [&]() __attribute__((always_inline)) {
            visit_columns<chunk * index, chunk*(index + 1), true, T, L>(
                matrix, group, lane,
                [&](int u, int row, T stored) { column_sum[u] += abs(static_cast<double>(stored) * a_factor); });
          });
    apart(
        once, [&]() __attribute__((always_inline)) {
#pragma unroll
          for (int p = chunk * index / P; p < chunk * (index + 1) / P; ++p) {
            const int block = P * p / G;
#pragma unroll
            for (int u = 0; u < L::rows; ++u) {
              Vector<T, P> row{};
              if (Whole || u >= block)
                row = *reinterpret_cast<const Vector<T, P>*>(first_line + (key ^ L::key(G * u, p)) * P +
                                                             L::line(G * u, p) * 8 * P);
#pragma unroll
              for (int c = 0; c < P; ++c) {
                const int column = P * p + c;
                T value = row.value[c];
                // Above the diagonal the element comes from the column that it mirrors.
                if (!Whole && (u < block || (u == block && G * u + lane < column)))
                  value = staged<L>(matrix, group, column, G * u + lane);
                add(u, column, value);
              }
            }
          }
        });
  });
  double norm_a = 0, sum = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    if (G * u + lane < n) norm_a = max(norm_a, column_sum[u]);
    sum += abs(residual[u].value());
  }
  sum = sum_of_group<G>(sum);
  norm_a = max_of_group<G>(norm_a);
  norm_x = sum_of_group<G>(norm_x);
  return sum == 0 ? 0 : sum / (norm_a * norm_x);
}

/// What the pivots of the lane's system say, none of which was raised. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void store_pivots(const Arguments<T>& args, std::int64_t system, bool mine, int lane,
                                             bool far, const T (&pivots)[L::rows]) {
  PivotNumbers<T> numbers;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (const int row = L::lanes * u + lane; row < args.n)
      numbers.add(args, pivots[u], scaling_exponent(args, system, row, far));
  numbers.template combine<L::lanes>();
  if (mine && lane == 0) numbers.store(args, system);
}

}  // namespace

}  // namespace smallbatch
