// Gauss-Jordan with a block per system, after V. Volkov, "Unrolling parallel loops" (2011). Here the right-hand side is
// carried along. Step k eliminates the unknown k from all other equations:
//
//     a_ij -= (a_ik / a_kk) a_kj     for i != k, j > k;     b_i -= (a_ik / a_kk) b_k
//
// The solution is x_i = b_i / a_ii.
//
// Thread (x, y) has column x of A, rows Rows y .. Rows y + Rows - 1. If fewer threads share a system, each does more
// work per fetched operand and per barrier. More systems then share a multiprocessor.
#include "bench/solve_steps.hpp"

namespace smallbatch {

namespace {

constexpr int n = 32;

/// A and b stay in shared memory, and every operand is fetched from there. In step k, no thread writes an element that
/// another thread reads, so one barrier per step is enough. Column k keeps its values in step k; its thread updates b
/// instead.
template <class T, int Rows>
__global__ void __launch_bounds__(n* n / Rows) in_shared_memory(const T* a, const T* b, T* x) {
  __shared__ T s[n][n + 1];  // rows of A, with b in the last column
  const std::int64_t system = blockIdx.x;
  const int column = threadIdx.x, first = Rows * threadIdx.y;
#pragma unroll
  for (int u = 0; u < Rows; ++u) s[first + u][column] = a[(system * n + first + u) * n + column];
  if (threadIdx.y == 0) s[column][n] = b[system * n + column];
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    __syncthreads();  // step k-1 is complete
    const int j = column == k ? n : column;
    if (j < k) continue;
#pragma unroll
    for (int u = 0; u < Rows; ++u) {
      const int i = first + u;
      if (i != k) s[i][j] -= s[i][k] / s[k][k] * s[k][j];
    }
  }
  __syncthreads();  // the last step is complete
  if (threadIdx.y == 0) x[system * n + column] = s[column][n] / s[column][column];
}

/// Each thread keeps its part of A in registers. Only row k and column k pass through shared memory. The first warp
/// keeps b, one row per lane.
template <class T, int Rows>
__global__ void __launch_bounds__(n* n / Rows) in_registers(const T* a, const T* b, T* x) {
  __shared__ T pivot_row[2][n + 1];  // shared, for even and odd steps: row k, b_k
  __shared__ T pivot_column[2][n];   // shared, for even and odd steps
  const std::int64_t system = blockIdx.x;
  const int column = threadIdx.x, first = Rows * threadIdx.y;
  T local[Rows];  // registers: the thread's rows of its column
#pragma unroll
  for (int u = 0; u < Rows; ++u) local[u] = a[(system * n + first + u) * n + column];
  T rhs = threadIdx.y == 0 ? b[system * n + column] : T(0), diagonal = 1;
#pragma unroll
  for (int k = 0; k < n; ++k) {
    T *row = pivot_row[k % 2], *of_column = pivot_column[k % 2];
    if (threadIdx.y == k / Rows) row[column] = local[k % Rows];
    if (threadIdx.y == 0 && column == k) row[n] = rhs;
    if (column == k)
#pragma unroll
      for (int u = 0; u < Rows; ++u) of_column[first + u] = local[u];
    __syncthreads();  // row and column k are stored; those of step k-1 have been read
    const T inverse = 1 / row[k], pivot = row[column];
#pragma unroll
    for (int u = 0; u < Rows; ++u)
      if (first + u != k) local[u] -= of_column[first + u] * inverse * pivot;
    if (column == k)
      diagonal = row[k];
    else if (threadIdx.y == 0)
      rhs -= of_column[column] * inverse * row[n];
  }
  if (threadIdx.y == 0) x[system * n + column] = rhs / diagonal;
}

template <class T, int Rows>
void launch_in_shared_memory(const T* a, const T* b, T* x, std::int64_t count, cudaStream_t stream) {
  in_shared_memory<T, Rows><<<static_cast<unsigned>(count), dim3(n, n / Rows), 0, stream>>>(a, b, x);
}

template <class T, int Rows>
void launch_in_registers(const T* a, const T* b, T* x, std::int64_t count, cudaStream_t stream) {
  in_registers<T, Rows><<<static_cast<unsigned>(count), dim3(n, n / Rows), 0, stream>>>(a, b, x);
}

}  // namespace

template <class T>
std::vector<SolveStep<T>> solve_steps_by_blocks() {
  return {
      {"rows_per_thread_1", "a block per system, one element per thread, every operand through shared memory",
       launch_in_shared_memory<T, 1>},
      {"rows_per_thread_2", "the parallel loop over rows unrolled: half the threads, twice the work each",
       launch_in_shared_memory<T, 2>},
      {"rows_per_thread_4", "unrolled by 4", launch_in_shared_memory<T, 4>},
      {"rows_per_thread_8", "unrolled by 8", launch_in_shared_memory<T, 8>},
      {"rows_per_thread_16", "unrolled by 16", launch_in_shared_memory<T, 16>},
      {"rows_per_thread_8_in_registers", "local copies: only pivot row and column pass through shared memory",
       launch_in_registers<T, 8>},
  };
}

template std::vector<SolveStep<float>> solve_steps_by_blocks();

}  // namespace smallbatch
