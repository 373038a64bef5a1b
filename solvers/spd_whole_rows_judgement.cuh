// How good an answer is, and what its pivots say, from whole rows in shared memory. Private to solvers/*.cu.
#pragma once

#include "solvers/gauss_jordan_elimination.cuh"

namespace smallbatch {

namespace {

/// ||b - A x||_1, ||A||_1 (the largest row sum: A is symmetric) and ||x||_1 of C right-hand sides, all times powers of
/// two that cancel in the backward error.
template <int C>
struct Norms {
  double residual[C], matrix, solution[C];
};

/// The residuals of the lane's system in double precision; A from its lower triangle in shared memory. x[c][u] and
/// b[c][u] belong to row G u + lane. `wide`: the numbers may lie far from 1. The powers of two are the same for all
/// columns of an inverse. The whole warp calls.
template <class T, class L, int C>
__device__ __forceinline__ Norms<C> judge(int n, int group, int lane, WarpMemory<T, L, C>& memory, bool wide,
                                          bool inverse, const T (&x)[C][L::rows], const T (&b)[C][L::rows]) {
  constexpr int G = L::lanes, P = L::piece;
  T* matrix = memory.matrix[group];
  double a_factor = 1, x_factor[C];
#pragma unroll
  for (int c = 0; c < C; ++c) x_factor[c] = 1;
  if (sizeof(T) == sizeof(double) && wide) {
    T largest = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u)
      if (G * u + lane < n) largest = max(largest, abs(matrix[(G * u + lane) * (L::row_pitch + 1)]));
    a_factor = power_of_two<double>(normalizing_exponent(max_of_group<G>(largest)));
#pragma unroll
    for (int c = 0; c < C; ++c) {
      largest = 0;
#pragma unroll
      for (int u = 0; u < L::rows; ++u) largest = max(largest, abs(x[c][u]));
      x_factor[c] = inverse ? 1 / a_factor : power_of_two<double>(normalizing_exponent(max_of_group<G>(largest)));
    }
  }
  Norms<C> norms;
  double residual[C][L::rows], row_sum[L::rows];
  __syncwarp();  // the reads of what lay in the place of x are over
#pragma unroll
  for (int c = 0; c < C; ++c) {
    norms.solution[c] = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const double scaled = static_cast<double>(x[c][u]) * x_factor[c];
      behind<L>(matrix, lane)[further<L>(c * L::size + G * u)] = static_cast<T>(scaled);
      norms.solution[c] += abs(scaled);
      residual[c][u] = static_cast<double>(b[c][u]) * a_factor * x_factor[c];
    }
  }
#pragma unroll
  for (int u = 0; u < L::rows; ++u) row_sum[u] = 0;
  __syncwarp();  // x is complete
  const auto add = [&](int u, int j, T stored) __attribute__((always_inline)) {
    const double value = static_cast<double>(stored) * a_factor;
    row_sum[u] += abs(value);
#pragma unroll
    for (int c = 0; c < C; ++c)
      residual[c][u] = fma(-value, static_cast<double>(behind<L>(matrix, j / P * P)[further<L>(c * L::size) + j % P]),
                           residual[c][u]);
  };
#pragma unroll
  for (int block = 0; block < L::rows; ++block)  // columns G block .. G (block + 1) - 1
#pragma unroll
    for (int i = 0; i < G; i += P) {
      const int j = G * block + i;
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        Vector<T, P> row{};
        if (u >= block) row = *reinterpret_cast<const Vector<T, P>*>(matrix + (G * u + lane) * L::row_pitch + j);
#pragma unroll
        for (int p = 0; p < P; ++p) {
          T value = row.value[p];
          if (u < block || (u == block && i + p > lane)) value = matrix[(j + p) * L::row_pitch + G * u + lane];
          add(u, j + p, value);
        }
      }
    }
  norms.matrix = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (G * u + lane < n) norms.matrix = max(norms.matrix, row_sum[u]);
  norms.matrix = max_of_group<G>(norms.matrix);
#pragma unroll
  for (int c = 0; c < C; ++c) {
    norms.residual[c] = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) norms.residual[c] += abs(residual[c][u]);
    norms.residual[c] = sum_of_group<G>(norms.residual[c]);
    norms.solution[c] = sum_of_group<G>(norms.solution[c]);
  }
  return norms;
}

/// Smallest pivot, log-determinant and number of repaired pivots of the lane's system. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void store_pivots(const Arguments<T>& args, std::int64_t system, bool mine, int lane,
                                             bool scaled, const T* matrix, const T (&pivots)[L::rows]) {
  const int own = fresh(lane);
  if (args.smallest_pivot != nullptr) {
    T smallest = infinity<T>();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = L::lanes * u + own;
      const T pivot = scale(pivots[u], -2 * scaling_exponent<T, L>(matrix, row, scaled));
      if (row < args.n) smallest = min(smallest, pivot);
    }
    smallest = min_of_group<L::lanes>(smallest);
    if (mine && lane == 0) args.smallest_pivot[system] = smallest;
  }
  if (args.log_determinant != nullptr) {
    constexpr double ln_2 = 0.693147180559945309417;
    double sum = 0;
#pragma unroll 1
    for (int u = 0; u < L::rows; ++u) {
      const int row = L::lanes * u + own;
      if (row < args.n)
        sum +=
            log(static_cast<double>(behind<L>(const_cast<T*>(matrix), lane)[further<L>(pivots_at<L> + L::lanes * u)])) -
            2 * scaling_exponent<T, L>(matrix, row, scaled) * ln_2;
    }
    sum = sum_of_group<L::lanes>(sum);
    if (mine && lane == 0) args.log_determinant[system] = sum;
  }
  if (args.repaired != nullptr) {
    int repaired = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const int row = L::lanes * u + own;
      repaired += row < args.n && args.pivot_floor > 0 && pivots[u] == pivot_floor<T, L>(args, matrix, row, scaled);
    }
    repaired = sum_of_group<L::lanes>(repaired);
    if (mine && lane == 0) args.repaired[system] = repaired;
  }
}

/// The backward error of a system whose triangles differ by rounding, whose judgement must not take one of them for
/// both: with the whole of A, and x, from global memory, for right-hand side `column`. The lanes of a system work
/// together; slow.
template <class T, class L>
__device__ double judge_asymmetric(const Arguments<T>& args, std::int64_t system, int lane, int column) {
  const int n = args.n;
  const T* a = args.a + system * args.a_step;
  const auto x = [&](std::int64_t j) {
    return static_cast<double>(args.x[system * args.x_step + j * args.nrhs + column]);
  };
  double residual = 0, norm_x = 0, norm_a = 0, largest_x = 0, largest_a = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    largest_x = max(largest_x, abs(x(i)));
    largest_a = max(largest_a, abs(static_cast<double>(a[i * n + i])));
  }
  // The powers of two keep products in range; they cancel.
  const double x_factor = power_of_two<double>(normalizing_exponent(largest_x));
  const double a_factor = power_of_two<double>(normalizing_exponent(largest_a));
#pragma unroll 1
  for (int i = lane; i < n; i += L::lanes) {
    double sum = static_cast<double>(args.b[system * args.b_step + static_cast<std::int64_t>(i) * args.nrhs + column]) *
                 a_factor * x_factor;
    double column_sum = 0;
#pragma unroll 1
    for (int j = 0; j < n; ++j) {
      sum = fma(-static_cast<double>(a[i * n + j]) * a_factor, x(j) * x_factor, sum);
      column_sum += abs(static_cast<double>(a[j * n + i]) * a_factor);
    }
    residual += abs(sum);
    norm_x += abs(x(i) * x_factor);
    norm_a = max(norm_a, column_sum);
  }
  residual = sum_of_group<L::lanes>(residual);
  norm_x = sum_of_group<L::lanes>(norm_x);
  norm_a = max_of_group<L::lanes>(norm_a);
  return residual == 0 ? 0 : residual / (norm_a * norm_x);
}

}  // namespace

}  // namespace smallbatch
