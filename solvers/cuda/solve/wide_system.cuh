// A system of more than 64 rows in the shared memory of a block: its layout, loading it, and reductions over the block.
// Private to solvers/cuda.
//
// A block of 128 threads has one system, and a thread has one row. The lower triangle lies in panels of 8 columns,
// column after column. Threads of neighbouring rows therefore read neighbouring numbers. Threads read 16 bytes of a
// column at a time. Padding between columns avoids bank conflicts when threads read neighbouring columns of one row.
// Identity rows pad n to whole panels.
#pragma once

#include <type_traits>

#include "solvers/cuda/common/status.cuh"

namespace smallbatch {

namespace {

constexpr int block_threads = max_system_size, block_warps = block_threads / warp_lanes;
constexpr int panel_columns = 8, tile_side = 4;
constexpr int together = 8;  // right-hand sides that are solved at a time, if there are several

constexpr int padded_rows(int n) { return (n + panel_columns - 1) / panel_columns * panel_columns; }

/// A lower triangle in shared memory. Its diagonal blocks have their upper triangles, too.
template <class T>
struct Panels {
  // Elements in a 16-byte access, and padding elements between columns.
  static constexpr int piece = 16 / sizeof(T), padding = piece;
  T* first;
  int rows;  // rows after padding

  static constexpr int size(int rows) {
    const int panels = rows / panel_columns;
    return panel_columns * panels * (rows + padding) - panel_columns * panel_columns / 2 * panels * (panels - 1);
  }
  /// Returns the address that element (0, j) would have.
  [[nodiscard]] __device__ __forceinline__ T* column(int j) const {
    const int before = j & ~(panel_columns - 1);
    return first + before * (rows + padding) - before * (before - panel_columns) / 2 +
           (j - before) * (rows - before + padding) - before;
  }
  /// Returns element (i, j), with j <= i, or with both in one diagonal block.
  [[nodiscard]] __device__ __forceinline__ T& at(int i, int j) const { return column(j)[i]; }
};

/// Loads numbers in 16-byte accesses, from `First` on.
template <int First = 0, int Count, class T>
__device__ __forceinline__ void load_run(const T* from, T (&to)[Count]) {
  constexpr int piece = Panels<T>::piece;
#pragma unroll
  for (int i = First; i < Count; i += piece) {
    const auto part = *reinterpret_cast<const Vector<T, piece>*>(from + i);
#pragma unroll
    for (int k = 0; k < piece; ++k) to[i + k] = part.value[k];
  }
}
template <int Count, class T>
__device__ __forceinline__ void store_run(const T (&from)[Count], T* to) {
  constexpr int piece = Panels<T>::piece;
#pragma unroll
  for (int i = 0; i < Count; i += piece) {
    Vector<T, piece> part;
#pragma unroll
    for (int k = 0; k < piece; ++k) part.value[k] = from[i + k];
    *reinterpret_cast<Vector<T, piece>*>(to + i) = part;
  }
}

// Reductions over the block; all threads call.

/// Results of each warp; the reductions share this memory.
union Parts {
  double of_double[block_warps];
  float of_float[block_warps];
  int of_int[block_warps];
};
template <class V>
__device__ V* parts_of(Parts& parts) {
  if constexpr (std::is_same_v<V, double>) return parts.of_double;
  if constexpr (std::is_same_v<V, float>) return parts.of_float;
  if constexpr (std::is_same_v<V, int>) return parts.of_int;
}
template <class V, class Join>
__device__ __forceinline__ V joined(V of_warp, Join&& join) {
  __shared__ Parts memory;
  V* const parts = parts_of<V>(memory);
  __syncthreads();  // the previous reduction has been read
  if (threadIdx.x % warp_lanes == 0) parts[threadIdx.x / warp_lanes] = of_warp;
  __syncthreads();  // all parts are stored
  V all = parts[0];
#pragma unroll
  for (int w = 1; w < block_warps; ++w) all = join(all, parts[w]);
  return all;
}
template <class V>
__device__ V sum_of_block(V value) {
  return joined(sum_of_group<warp_lanes>(value), [](V a, V b) { return a + b; });
}
template <class V>
__device__ V max_of_block(V value) {
  return joined(max_of_group<warp_lanes>(value), [](V a, V b) { return max(a, b); });
}
__device__ bool any_of_block(bool value) { return __syncthreads_or(static_cast<int>(value)) != 0; }

/// Data of a system that a block keeps besides its triangle.
template <class T>
struct alignas(16) WideMemory {
  static constexpr int judged_together = sizeof(T) == sizeof(float) ? 4 : 1;  // columns of x that are judged at a time
  struct Substitution {
    T right[2][panel_columns * together];             // the rows of the right-hand sides in a panel
    T solved[block_warps][panel_columns * together];  // these rows, solved; each warp solves them for itself
  };
  T reciprocal[block_threads];  // 1 / d
  short exponent[block_threads];
  // These are in shared memory to save registers.
  double norm;  // ||A||_1 2^-norm_exponent, if it is wanted
  int norm_exponent;
  std::int32_t of_input;  // the status of the input, if its triangles differ
  bool differ;
  union {
    T diagonal[panel_columns][panel_columns];  // diagonal block of a panel as [column][row]
    Substitution substitution;
    typename Residual<T>::Factor x[judged_together][block_threads];
  };
};

/// A system and the thread's row in it, as all steps use them.
template <class T>
struct Wide {
  const Arguments<T>& args;
  std::int64_t system;
  Panels<T> a;
  WideMemory<T>& memory;
  int rows;  // n of the system; args.n may be larger
  int row;   // row of the thread
  bool far;  // whether the system is scaled

  [[nodiscard]] __device__ int columns_of_x() const { return args.inverse ? args.n : args.nrhs; }
  [[nodiscard]] __device__ int lane() const { return row % warp_lanes; }
  [[nodiscard]] __device__ int exponent() const { return far ? memory.exponent[row] : 0; }
  [[nodiscard]] __device__ const T* row_of_a(int i) const {
    return args.a + system * args.a_step + (args.storage == Storage::packed_lower ? i * (i + 1) / 2 : i * args.n);
  }
};

/// Loads the lower triangle from global memory.
template <class T>
__device__ void load_triangle(const Wide<T>& w) {
  const int n = w.rows;
  // Copies row by row, because rows are contiguous in global memory.
#pragma unroll 2
  for (int i = w.row / warp_lanes; i < n; i += block_warps) {
    const T* const from = w.row_of_a(i);
#pragma unroll
    for (int u = 0; u < block_warps; ++u) {
      const int j = warp_lanes * u + w.lane();
      if (j > i) continue;
      const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&w.a.at(i, j)));
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from + j), "n"(sizeof(T)) : "memory");
    }
  }
  if (w.row < w.a.rows)
    for (int i = max(n, w.row & ~(panel_columns - 1)); i < w.a.rows; ++i) w.a.at(i, w.row) = i == w.row ? T(1) : T(0);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();  // the triangle is complete
}

/// Returns whether the triangles of a dense matrix differ in a bit.
template <class T>
__device__ bool triangles_differ(const Wide<T>& w) {
  const int n = w.rows;
  unsigned bits = 0;
#pragma unroll 4
  for (int i = w.row / warp_lanes; i < n; i += block_warps) {
    const T *const from = w.row_of_a(i), *const column = w.a.column(i);
#pragma unroll
    for (int u = 0; u < block_warps; ++u)
      if (const int j = warp_lanes * u + w.lane(); j > i && j < n) bits |= differing_bits(from[j], column[j]);
  }
  return any_of_block(bits != 0);
}

/// Computes ||A||_1 from the triangle, in double precision.
template <class T>
__device__ void find_norm(const Wide<T>& w) {
  const int n = w.rows;
  int exponent = 0;
  if constexpr (sizeof(T) == sizeof(double))
    exponent = -normalizing_exponent(max_of_block(w.row < n ? abs(w.a.at(w.row, w.row)) : T(0)));
  const double factor = power_of_two<double>(-exponent);
  double sum = 0;
  if (w.row < n)
#pragma unroll 4
    for (int j = 0; j < n; ++j) sum += abs(static_cast<double>(w.a.at(max(w.row, j), min(w.row, j))) * factor);
  sum = max_of_block(sum);
  if (w.row == 0) {
    w.memory.norm = sum;
    w.memory.norm_exponent = exponent;
  }
}

/// Scales the triangle to D A D, if the diagonal is far from 1. With `Factors`, the triangle holds the factors of A,
/// and becomes the factors of D A D. Returns whether it was scaled.
template <bool Factors, class T>
__device__ bool scale_triangle(const Wide<T>& w) {
  const bool mine = w.row < w.rows;
  const T diagonal = mine ? w.a.at(w.row, w.row) : T(1);
  if (!any_of_block(far_bits(diagonal) != 0)) return false;
  w.memory.exponent[w.row] = static_cast<short>(diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0);
  __syncthreads();  // the exponents are stored
  if (mine) {
    const T power = power_of_two<T>(w.memory.exponent[w.row]);
#pragma unroll 1
    for (int j = 0; j <= w.row; ++j) {
      const int other = w.memory.exponent[j];
      T& value = w.a.at(w.row, j);
      value = value * power * power_of_two<T>(Factors && j < w.row ? -other : other);
    }
  }
  __syncthreads();  // the triangle is scaled
  return true;
}

extern __shared__ uint4 block_memory[];

/// Returns the block's system.
template <class T>
__device__ Wide<T> block_system(const Arguments<T>& args, WideMemory<T>& memory) {
  const int rows = rows_of(args, blockIdx.x);
  return {args,   blockIdx.x, {reinterpret_cast<T*>(block_memory), padded_rows(rows)},
          memory, rows,       static_cast<int>(threadIdx.x),
          false};
}

}  // namespace

}  // namespace smallbatch
