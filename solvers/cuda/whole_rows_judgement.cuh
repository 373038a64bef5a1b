// How good an answer is, and what its pivots say, from whole rows in shared memory. Private to solvers/*.cu.
#pragma once

#include "solvers/cuda/gauss_jordan_elimination.cuh"
#include "solvers/cuda/pivot_numbers.cuh"
#include "solvers/cuda/stored_judgement.cuh"

namespace smallbatch {

namespace {

/// ||b - A x||_1, ||A||_1 (the largest row sum: A is symmetric) and ||x||_1 of C right-hand sides, all times powers of
/// two that cancel in the backward error.
template <int C>
struct Norms {
  double residual[C], matrix, solution[C];
};

/// The residuals of the lane's system in twice the precision of T; A from its lower triangle in shared memory. x[c][u]
/// and b[c][u] belong to row G u + lane. The whole warp calls.
template <class T, class L, int C>
__device__ __forceinline__ Norms<C> judge(int n, int group, int lane, WarpMemory<T, L, C>& memory,
                                          const T (&x)[C][L::rows], const T (&b)[C][L::rows]) {
  constexpr int G = L::lanes, P = L::piece;
  T* matrix = memory.matrix[group];
  double a_factor = 1, x_factor[C];
#pragma unroll
  for (int c = 0; c < C; ++c) x_factor[c] = 1;
  if (sizeof(T) == sizeof(double)) {
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
      x_factor[c] = power_of_two<double>(normalizing_exponent(max_of_group<G>(largest)));
    }
  }
  Norms<C> norms;
  Residual<T> residual[C][L::rows];
  double row_sum[L::rows];
  __syncwarp();  // the reads of what lay in the place of x are over
#pragma unroll
  for (int c = 0; c < C; ++c) {
    norms.solution[c] = 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const double scaled = static_cast<double>(x[c][u]) * x_factor[c];
      if constexpr (sizeof(T) == sizeof(double)) {
        const Halves halves = Residual<T>::factor(scaled);
        behind<L>(matrix, lane)[further<L>(2 * c * L::size + G * u)] = halves.high;
        behind<L>(matrix, lane)[further<L>((2 * c + 1) * L::size + G * u)] = halves.low;
      } else {
        behind<L>(matrix, lane)[further<L>(c * L::size + G * u)] = static_cast<T>(scaled);
      }
      norms.solution[c] += abs(scaled);
      residual[c][u] = Residual<T>(with_factors(static_cast<double>(b[c][u]), a_factor, x_factor[c]));
    }
  }
#pragma unroll
  for (int u = 0; u < L::rows; ++u) row_sum[u] = 0;
  __syncwarp();  // x is complete
  const auto known = [&](int j, int c) __attribute__((always_inline))->typename Residual<T>::Factor {
    const T* const places = behind<L>(matrix, j / P * P) + j % P;
    if constexpr (sizeof(T) == sizeof(double))
      return {places[further<L>(2 * c * L::size)], places[further<L>((2 * c + 1) * L::size)]};
    else
      return places[further<L>(c * L::size)];
  };
  const auto add = [&](int u, int j, T stored) __attribute__((always_inline)) {
    const double value = static_cast<double>(stored) * a_factor;
    row_sum[u] += abs(value);
#pragma unroll
    for (int c = 0; c < C; ++c) residual[c][u].subtract(value, known(j, c));
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
    for (int u = 0; u < L::rows; ++u) norms.residual[c] += abs(residual[c][u].value());
    norms.residual[c] = sum_of_group<G>(norms.residual[c]);
    norms.solution[c] = sum_of_group<G>(norms.solution[c]);
  }
  return norms;
}

/// What the pivots of the lane's system say, none of which was raised; they lie behind the rows. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void store_pivots(const Arguments<T>& args, std::int64_t system, bool mine, int lane,
                                             bool scaled, const T* matrix) {
  PivotNumbers<T> numbers;
  const T* const pivots = behind<L>(const_cast<T*>(matrix), lane);
#pragma unroll 1
  for (int u = 0; u < L::rows; ++u)
    if (const int row = L::lanes * u + lane; row < args.n)
      numbers.add(pivots[further<L>(pivots_at<L> + L::lanes * u)], scaling_exponent<T, L>(matrix, row, scaled));
  numbers.template combine<L::lanes>();
  if (mine && lane == 0) numbers.store(args, system);
}

}  // namespace

}  // namespace smallbatch
