// Sums over all pairs of two arrays in device memory: sum_i sum_j pair(a_i, b_j) for any function of two elements. This
// is physics/pair_sum.hpp on the GPU, with the same order of additions. It needs a CUDA compiler.
//
// A block computes one piece. A thread keeps four rows in registers, and all four use each column that it reads from
// shared memory. Atomic additions would add the pieces in a random order. Each block therefore stores the sum of its
// piece, and a second launch of one block adds these sums.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "physics/pair_sum.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

namespace {

/// Adds the values of a block as a tree. The result is valid in thread 0.
template <int Threads>
__device__ double add_values_as_tree(double mine) {
  __shared__ double values[Threads];
  values[threadIdx.x] = mine;
  for (int half = Threads / 2; half > 0; half /= 2) {
    __syncthreads();  // the sums of the previous round are there
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
  }
  return values[0];
}

template <class A, class B, class Pair>
__global__ void __launch_bounds__(pair_sum_threads)
    pair_sum_kernel(const A* a, std::int64_t rows, const B* b, std::int64_t columns, Pair pair, double* partial) {
  using Term = decltype(pair(*a, *b));
  constexpr int staged = pair_sum_threads;
  static_assert(staged % pair_sum_terms == 0 && pair_sum_columns % staged == 0);
  __shared__ alignas(16) unsigned char memory[staged * sizeof(B)];  // holds columns
  B* const column = reinterpret_cast<B*>(memory);
  const PairSumPieces pieces(rows, columns);
  const std::int64_t row0 = blockIdx.x % pieces.of_rows * pair_sum_rows + threadIdx.x;
  const std::int64_t column0 = blockIdx.x / pieces.of_rows * pair_sum_columns;
  const auto count = static_cast<int>(min(columns - column0, pair_sum_columns));
  A row[pair_sum_rows_per_thread];
  double of_row[pair_sum_rows_per_thread] = {};
#pragma unroll
  for (int k = 0; k < pair_sum_rows_per_thread; ++k) row[k] = a[min(row0 + k * pair_sum_threads, rows - 1)];
#pragma unroll 1
  for (int begin = 0; begin < count; begin += staged) {
    __syncthreads();  // all threads have read the previous columns
    if (begin + static_cast<int>(threadIdx.x) < count) column[threadIdx.x] = b[column0 + begin + threadIdx.x];
    __syncthreads();  // the new columns are there
    const int here = min(staged, count - begin);
#pragma unroll 1
    for (int first = 0; first < here; first += pair_sum_terms) {
      Term sum[pair_sum_rows_per_thread] = {};
      const auto add = [&](int j) {
        const B& of_column = column[j];
#pragma unroll
        for (int k = 0; k < pair_sum_rows_per_thread; ++k) sum[k] += pair(row[k], of_column);
      };
      if (first + pair_sum_terms <= here)
#pragma unroll 4
        for (int j = first; j < first + pair_sum_terms; ++j) add(j);
      else
#pragma unroll 1
        for (int j = first; j < here; ++j) add(j);
#pragma unroll
      for (int k = 0; k < pair_sum_rows_per_thread; ++k) of_row[k] += static_cast<double>(sum[k]);
    }
  }
  double mine = 0;
#pragma unroll
  for (int k = 0; k < pair_sum_rows_per_thread; ++k)
    if (row0 + k * pair_sum_threads < rows) mine += of_row[k];
  mine = add_values_as_tree<pair_sum_threads>(mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = mine;
}

__global__ void __launch_bounds__(pair_sum_adders)
    add_pieces_kernel(std::int64_t pieces, const double* partial, double* result) {
  double mine = 0;
  for (std::int64_t piece = threadIdx.x; piece < pieces; piece += pair_sum_adders) mine += partial[piece];
  mine = add_values_as_tree<pair_sum_adders>(mine);
  if (threadIdx.x == 0) *result = mine;
}

}  // namespace

/// Bytes of device memory that pair_sum() needs for `rows` rows and `columns` columns.
inline std::size_t pair_sum_workspace_bytes(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(PairSumPieces(rows, columns).count()) * sizeof(double);
}

/// Computes the sum asynchronously on `stream` and allocates nothing. All pointers are to device memory. The workspace
/// has pair_sum_workspace_bytes() bytes. `pair` must be callable on the device. Returns the status of the launches. For
/// `rows` or `columns` below 0 and for more than 2^31 pieces it launches nothing and returns cudaErrorInvalidValue.
template <class A, class B, class Pair>
cudaError_t pair_sum(const A* a, std::int64_t rows, const B* b, std::int64_t columns, const Pair& pair, void* workspace,
                     double* result, cudaStream_t stream) {
  const std::int64_t pieces = PairSumPieces(rows, columns).count();
  if (rows < 0 || columns < 0 || pieces > 0x7fffffff) return cudaErrorInvalidValue;
  auto* const partial = static_cast<double*>(workspace);
  cudaLaunchConfig_t launch{};
  launch.stream = stream;
  if (pieces > 0) {
    launch.gridDim = dim3(static_cast<unsigned>(pieces));
    launch.blockDim = dim3(pair_sum_threads);
    const cudaError_t status =
        cudaLaunchKernelEx(&launch, pair_sum_kernel<A, B, Pair>, a, rows, b, columns, pair, partial);
    if (status != cudaSuccess) return status;
  }
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(pair_sum_adders);
  return cudaLaunchKernelEx(&launch, add_pieces_kernel, pieces, static_cast<const double*>(partial), result);
}

}  // namespace smallbatch
#pragma GCC visibility pop
