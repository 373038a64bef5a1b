// A system of more than 64 rows in the shared memory of a block: its layout, loading it, and reductions over the block.
// Private to solvers/cuda.
//
// The lower triangle is in tiles of 8 x 8 numbers, which lie column after column of tiles. Tiles are stored by rows. In
// a column of tiles, row i therefore begins 8 numbers behind row i - 1. Tiles on the diagonal have their upper
// triangles, too. Identity rows pad n to whole tiles. Up to 8 right-hand sides are one more row of tiles: right-hand
// side r is row r of these tiles.
#pragma once

#include "solvers/cuda/common/status.cuh"
#include "solvers/cuda/solve/wide_products.cuh"

namespace smallbatch {

namespace {

constexpr int most_warps = 8;           // of a block
constexpr int carried_rhs = tile_rows;  // right-hand sides that may be a row of tiles

__device__ __forceinline__ int warps_of_block() { return static_cast<int>(blockDim.x) / warp_lanes; }
__device__ __forceinline__ int warp_of_block() { return static_cast<int>(threadIdx.x) / warp_lanes; }

/// How often loops with loads are unrolled. More doubles would need too many registers.
template <class T>
constexpr int unrolls = sizeof(T) == sizeof(float) ? 4 : 2;

constexpr int tiles_of(int n) { return (n + tile_rows - 1) / tile_rows; }

/// The tiles of a system. Tile (I, K) has I >= K. There is one more row than columns if right-hand sides are carried
/// along. If the tiles do not fit into shared memory, the columns from `kept` on are in global memory.
template <class T>
struct Tiles {
  T* first;
  int rows, columns;
  T* beyond;  // in global memory; null if all tiles fit
  int kept;

  /// Returns the number of tiles in the first columns.
  static constexpr int count(int rows, int columns) { return columns * rows - columns * (columns - 1) / 2; }
  /// Returns an address from which tile (I, K) begins 64 I numbers on.
  [[nodiscard]] __device__ __forceinline__ T* column(int K) const {
    T* const begin = beyond != nullptr && K >= kept ? beyond - tile_numbers * count(rows, kept) : first;
    return begin + tile_numbers / 2 * K * (2 * rows - K - 1);
  }
  [[nodiscard]] __device__ __forceinline__ T* tile(int I, int K) const { return column(K) + tile_numbers * I; }
  /// Returns element (i, j), where j <= i or both are in one tile.
  [[nodiscard]] __device__ __forceinline__ T& at(int i, int j) const {
    return column(j / tile_rows)[tile_rows * i + j % tile_rows];
  }
};

/// Loads `Count` numbers in accesses of 16 bytes.
template <int Count, class T>
__device__ __forceinline__ void load_run(const T* from, T (&to)[Count]) {
  constexpr int piece = 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < Count; i += piece) {
    const auto part = *reinterpret_cast<const Vector<T, piece>*>(from + i);
#pragma unroll
    for (int k = 0; k < piece; ++k) to[i + k] = part.value[k];
  }
}
template <int Count, class T>
__device__ __forceinline__ void store_run(const T (&from)[Count], T* to) {
  constexpr int piece = 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < Count; i += piece) {
    Vector<T, piece> part;
#pragma unroll
    for (int k = 0; k < piece; ++k) part.value[k] = from[i + k];
    *reinterpret_cast<Vector<T, piece>*>(to + i) = part;
  }
}

// Reductions over the block; all threads call.

template <class V, class Join>
__device__ __forceinline__ V joined(V of_warp, Join&& join) {
  __shared__ V parts[most_warps];
  __syncthreads();  // the previous reduction has been read
  if (lane_of_warp() == 0) parts[warp_of_block()] = of_warp;
  __syncthreads();  // all parts are stored
  V all = parts[0];
#pragma unroll 1
  for (int w = 1; w < warps_of_block(); ++w) all = join(all, parts[w]);
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

/// A system, as all steps use it.
template <class T>
struct Wide {
  const Arguments<T>& args;
  std::int64_t system;
  Tiles<T> a;
  // Vectors in shared memory, each as long as the rows of tiles.
  T* pivot;          // d
  T* reciprocal;     // 1 / d
  short* exponent;   // D of the scaled matrix D A D has 2^exponent
  T* work;           // several vectors
  bool far = false;  // whether the system is scaled

  [[nodiscard]] __device__ int columns_of_x() const { return args.inverse ? args.n : args.nrhs; }
  [[nodiscard]] __device__ int padded() const { return tile_rows * a.columns; }
  [[nodiscard]] __device__ int exponent_of_row(int row) const { return far ? exponent[row] : 0; }
  [[nodiscard]] __device__ const T* row_of_a(int i) const {
    return args.a + system * args.a_step + (args.storage == Storage::packed_lower ? i * (i + 1) / 2 : i * args.n);
  }
  [[nodiscard]] __device__ T* vector(int v) const { return work + v * padded(); }
};

/// Copies a number. If all tiles fit into shared memory, it only starts the copy.
template <class T>
__device__ __forceinline__ void copy_number(const Tiles<T>& tiles, T* to, const T* from) {
  if (tiles.beyond != nullptr)
    *to = *from;
  else
    copy_async<1>(to, from);
}
/// Starts to copy 16 bytes to an address in shared memory.
template <class T>
__device__ __forceinline__ void start_piece(unsigned to, const T* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

/// Starts to bring a dense matrix into the L2 cache, if one instruction can do it. Later loads then wait less.
template <class T>
__device__ __forceinline__ void prefetch_matrix(const Wide<T>& w) {
  NV_IF_TARGET(NV_PROVIDES_SM_90,
               (if (threadIdx.x == 0 && w.args.vectors) asm volatile(
                    "cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(w.args.a + w.system * w.args.a_step),
                    "r"(w.args.n * w.args.n * static_cast<int>(sizeof(T))));))
}

/// Starts to load the lower triangle from global memory. Each warp loads rows of tiles.
template <class T>
__device__ __forceinline__ void begin_triangle(const Wide<T>& w) {
  const int n = w.args.n, lane = lane_of_warp(), last = w.a.columns - 1;
  if (w.args.vectors) {
    constexpr int P = 16 / sizeof(T), per_row = tile_rows / P, side_by_side = warp_lanes / (4 * per_row);
    constexpr int growth = tile_numbers * side_by_side * side_by_side * static_cast<int>(sizeof(T));
    const int column = lane % per_row * P, row = lane / per_row % 4, next = lane / (4 * per_row);
    const T* from = w.row_of_a(tile_rows * warp_of_block() + row) + tile_rows * next + column;
    const int to_next = tile_rows * warps_of_block() * n;
#pragma unroll 1
    for (int I = warp_of_block(); I <= last; I += warps_of_block(), from += to_next) {
      const int below = n - (tile_rows * I + row);  // rows of A from the lane's first row on
      const int end = below <= 0 ? 0 : min(I + 1, (n - column + tile_rows - 1) / tile_rows);  // behind the last tile
      // Tile (I, J + side_by_side) is `step` bytes behind tile (I, J).
      auto to = static_cast<unsigned>(__cvta_generic_to_shared(w.a.tile(I, next) + tile_rows * row + column));
      int step = (2 * w.a.rows - 2 * next - side_by_side - 1) * (growth / side_by_side / 2);
      const T *upper = from, *lower = from + 4 * n;
#pragma unroll(unrolls <T>)
      for (int J = next; J < end; J += side_by_side) {
        start_piece(to, upper);
        if (below > 4) start_piece(to + 4 * tile_rows * sizeof(T), lower);
        upper += tile_rows * side_by_side;
        lower += tile_rows * side_by_side;
        to += step;
        step -= growth;
      }
    }
  } else {
#pragma unroll 1
    for (int I = warp_of_block(); I <= last; I += warps_of_block())
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = tile_rows * I + 4 * half + lane / tile_rows, end = i < n ? min(tile_rows * (I + 1), n) : 0;
        const T* const from = w.row_of_a(i);
#pragma unroll 2
        for (int j = lane % tile_rows; j < end; j += tile_rows) {
          T* const to = w.a.tile(I, j / tile_rows) + warp_lanes * half + lane;
          if (j <= i)
            copy_number(w.a, to, from + j);
          else
            *to = 0;
        }
      }
  }
  for (int J = warp_of_block(); w.padded() > n && J <= last; J += warps_of_block())
    for (int e = lane; e < tile_numbers; e += warp_lanes) {
      const int i = tile_rows * last + e / tile_rows, j = tile_rows * J + e % tile_rows;
      if (i >= n || j >= n) w.a.tile(last, J)[e] = i == j ? T(1) : T(0);
    }
}
/// Starts to load the first right-hand sides into their row of tiles. The other rows of these tiles get zeros if some
/// of them lie in global memory. Rows do not affect each other.
template <class T>
__device__ __forceinline__ void begin_rhs(const Wide<T>& w) {
  const std::int64_t nrhs = w.args.nrhs;
  const T* const b = w.args.b + w.system * w.args.b_step;
#pragma unroll 1
  for (int i = threadIdx.x; i < w.padded(); i += blockDim.x) {
    T* const to = &w.a.at(w.padded(), i);
#pragma unroll 1
    for (int c = 0; c < (w.a.beyond != nullptr ? carried_rhs : min(w.args.nrhs, carried_rhs)); ++c)
      if (c < nrhs && i < w.args.n)
        copy_number(w.a, to + c * tile_rows, b + i * nrhs + c);
      else
        to[c * tile_rows] = 0;
  }
}
/// Waits for the copies. The whole block calls.
__device__ __forceinline__ void finish_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();  // the copies of all threads are complete
}

/// Returns the bits in which the triangles of a dense matrix differ, in the lane's part. Each lane reads pieces of rows
/// of the upper triangle. The lower triangle is in shared memory.
template <bool Vectors, class T>
__device__ __forceinline__ unsigned difference_of_triangles(const Wide<T>& w) {
  constexpr int P = 16 / sizeof(T), width = 4 * P;  // columns that a warp reads at a time
  const int n = w.args.n, row = lane_of_warp() / 4, column = lane_of_warp() % 4 * P;
  unsigned bits = 0;
#pragma unroll 1
  for (int I = warp_of_block(); I < w.a.columns; I += warps_of_block()) {
    const int i = tile_rows * I + row, first = tile_rows * I + column;
    const T *from = w.args.a + w.system * w.args.a_step + i * n + first, *lower = &w.a.at(first, i);
#pragma unroll(unrolls <T>)
    for (int left = i < n ? n - first : 0; left > 0; left -= width) {
      if constexpr (Vectors) {
        const auto upper = *reinterpret_cast<const Vector<T, P>*>(from);
#pragma unroll
        for (int q = 0; q < P; ++q) bits |= differing_bits(upper.value[q], lower[q * tile_rows]);
      } else {
#pragma unroll
        for (int q = 0; q < P; ++q)
          if (n - left + q > i && q < left) bits |= differing_bits(from[q], lower[q * tile_rows]);
      }
      from += width;
      lower += width * tile_rows;
    }
  }
  return bits;
}
/// Returns whether the triangles of a dense matrix differ in a bit. The whole block calls.
template <class T>
__device__ __forceinline__ bool triangles_differ(const Wide<T>& w) {
  return any_of_block((w.args.vectors ? difference_of_triangles<true>(w) : difference_of_triangles<false>(w)) != 0);
}

/// Calls visit(J, a) for the tiles of row I of the symmetric matrix.
template <class T, class Visit>
__device__ __forceinline__ void visit_row(const Wide<T>& w, int I, Visit&& visit) {
#pragma unroll(unrolls <T> / 2)
  for (int J = 0; J < I; ++J) visit(J, load_tile(w.a.tile(I, J)));
  {
    Tile<T> diagonal = load_tile(w.a.tile(I, I));
    const Tile<T> transposed = load_transposed(w.a.tile(I, I));
#pragma unroll
    for (int q = 0; q < 2; ++q)
      if (lane_column(0, q) > lane_row(0)) diagonal.v[q] = transposed.v[q];
    visit(I, diagonal);
  }
#pragma unroll(unrolls <T> / 2)
  for (int J = I + 1; J < w.a.columns; ++J) visit(J, load_transposed(w.a.tile(J, I)));
}

/// A norm 2^exponent norm.
struct MatrixNorm {
  double norm = 0;
  int exponent = 0;
};
/// Computes ||A||_1 from the triangle, in double precision. The whole block calls.
template <class T>
__device__ __forceinline__ MatrixNorm norm_of(const Wide<T>& w) {
  MatrixNorm found;
  if constexpr (sizeof(T) == sizeof(double)) {
    T largest = 0;
    for (int i = threadIdx.x; i < w.args.n; i += blockDim.x) largest = max(largest, abs(w.a.at(i, i)));
    found.exponent = -normalizing_exponent(max_of_block(largest));
  }
  const double factor = power_of_two<double>(-found.exponent);
#pragma unroll 1
  for (int I = warp_of_block(); I < w.a.columns; I += warps_of_block()) {
    double sum = 0;
    visit_row(w, I, [&](int J, const Tile<T>& a) {
#pragma unroll
      for (int q = 0; q < 2; ++q)
        if (lane_column(J, q) < w.args.n) sum += abs(static_cast<double>(a.v[q]) * factor);
    });
    sum = sum_of_group<4>(sum);
    if (lane_row(I) < w.args.n) found.norm = max(found.norm, sum);
  }
  found.norm = max_of_block(found.norm);
  return found;
}

/// Scales the triangle to D A D, if the diagonal is far from 1. With `Factors`, the triangle holds the factors of A,
/// and becomes the factors of D A D. Returns whether it was scaled. The whole block calls.
template <bool Factors, class T>
__device__ __forceinline__ bool scale_triangle(const Wide<T>& w) {
  unsigned bits = 0;
  for (int i = threadIdx.x; i < w.padded(); i += blockDim.x) bits |= far_bits(w.a.at(i, i));
  if (!any_of_block(bits != 0)) return false;
  for (int i = threadIdx.x; i < w.padded(); i += blockDim.x) {
    const T diagonal = w.a.at(i, i);
    w.exponent[i] = static_cast<short>(diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0);
  }
  __syncthreads();  // the exponents are stored
#pragma unroll 1
  for (int i = warp_of_block(); i < w.padded(); i += warps_of_block())
#pragma unroll 1
    for (int j = lane_of_warp(); j <= i; j += warp_lanes) {
      const int other = w.exponent[j];
      T& value = w.a.at(i, j);
      value = value * power_of_two<T>(w.exponent[i]) * power_of_two<T>(Factors && j < i ? -other : other);
    }
  __syncthreads();  // the triangle is scaled
  return true;
}

}  // namespace

}  // namespace smallbatch
