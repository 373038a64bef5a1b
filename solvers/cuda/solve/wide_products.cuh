// Products of 8 x 8 tiles by one warp, on tensor cores. Private to solvers/cuda.
//
// A warp holds a tile in registers: lane 4 g + t has the numbers (g, 2 t) and (g, 2 t + 1). The result of the
// instruction has this layout. Both factors can have it, too: the instruction then adds even columns before odd ones. A
// tile is in shared memory by rows, so lane l has the numbers 2 l and 2 l + 1.
//
// Tensor cores truncate floats to 11 significant bits and multiply these. Each float is split: a high part of 11 bits,
// truncated, and a low part, rounded to 11 bits. Four products therefore make a product of floats, with errors in its
// last two bits. Products of integers below 2^22 are exact. The instruction truncates sums, too. Ordinary additions
// therefore add the products of high parts to the result.
#pragma once

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

constexpr int tile_rows = 8, tile_numbers = tile_rows * tile_rows;

/// A tile, or the lane's numbers of it.
template <class T>
struct alignas(2 * sizeof(T)) Tile {
  T v[2]{};
};

__device__ __forceinline__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % warp_lanes; }
/// Returns the row of the lane's numbers of a tile in row I of tiles.
__device__ __forceinline__ int lane_row(int I) { return tile_rows * I + lane_of_warp() / 4; }
/// Returns the column of the lane's number q of a tile in column J of tiles.
__device__ __forceinline__ int lane_column(int J, int q) { return tile_rows * J + 2 * (lane_of_warp() % 4) + q; }

/// Loads a tile from memory.
template <class T>
__device__ __forceinline__ Tile<T> load_tile(const T* tile) {
  return reinterpret_cast<const Tile<T>*>(tile)[lane_of_warp()];
}
/// Loads the transpose of a tile.
template <class T>
__device__ __forceinline__ Tile<T> load_transposed(const T* tile) {
  const int g = lane_of_warp() / 4, t = lane_of_warp() % 4;
  return {tile[2 * t * tile_rows + g], tile[(2 * t + 1) * tile_rows + g]};
}
template <class T>
__device__ __forceinline__ void store_tile(const Tile<T>& from, T* tile) {
  reinterpret_cast<Tile<T>*>(tile)[lane_of_warp()] = from;
}

/// Stores the transpose of a tile.
template <class T>
__device__ __forceinline__ void store_transposed(const Tile<T>& from, T* tile) {
  const int g = lane_of_warp() / 4, t = lane_of_warp() % 4;
  tile[2 * t * tile_rows + g] = from.v[0];
  tile[(2 * t + 1) * tile_rows + g] = from.v[1];
}

/// A factor of a product.
template <class T>
struct Operand;
template <>
struct Operand<float> {
  unsigned high[2], low[2];
  __device__ __forceinline__ explicit Operand(const Tile<float>& tile) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      high[q] = __float_as_uint(tile.v[q]);
      // Half a unit is added in the last place that the instruction reads.
      low[q] = __float_as_uint(tile.v[q] - __uint_as_float(high[q] & 0xffffe000U)) + 0x1000U;
    }
  }
};
template <>
struct Operand<double> {
  double v[2];
  __device__ __forceinline__ explicit Operand(const Tile<double>& tile) : v{tile.v[0], tile.v[1]} {}
};

/// Two tiles c0 and c1, to which products are added.
template <class T>
struct Sums;
template <>
struct Sums<float> {
  Tile<float> c0, c1;
  float low[4]{};  // sum of the products with a low part; small, so that truncation does not matter

  /// Adds a0 b^T to c0, and a1 b^T to c1.
  __device__ __forceinline__ void add(const Operand<float>& a0, const Operand<float>& a1, const Operand<float>& b) {
    float high[4]{};
    add_halves(high, a0.high, a1.high, b.high);
    add_halves(low, a0.low, a1.low, b.low);
    add_halves(low, a0.low, a1.low, b.high);
    add_halves(low, a0.high, a1.high, b.low);
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      c0.v[q] += high[q];
      c1.v[q] += high[2 + q];
    }
  }
  /// Completes c0 and c1.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int q = 0; q < 2; ++q) c0.v[q] += low[q], c1.v[q] += low[2 + q];
  }

 private:
  static __device__ __forceinline__ void add_halves(float (&sum)[4], const unsigned (&a0)[2], const unsigned (&a1)[2],
                                                    const unsigned (&b)[2]) {
    float next[4];
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=f"(next[0]), "=f"(next[1]), "=f"(next[2]), "=f"(next[3])
        : "r"(a0[0]), "r"(a1[0]), "r"(a0[1]), "r"(a1[1]), "r"(b[0]), "r"(b[1]), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]),
          "f"(sum[3]));
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i] = next[i];
  }
};
template <>
struct Sums<double> {
  Tile<double> c0, c1;

  __device__ __forceinline__ void add(const Operand<double>& a0, const Operand<double>& a1, const Operand<double>& b) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      NV_IF_ELSE_TARGET(
          NV_PROVIDES_SM_90,
          (asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(c0.v[0]), "+d"(c0.v[1]), "+d"(c1.v[0]), "+d"(c1.v[1])
               : "d"(a0.v[q]), "d"(a1.v[q]), "d"(b.v[q]));),
          (asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c0.v[0]), "+d"(c0.v[1])
               : "d"(a0.v[q]), "d"(b.v[q]));
           asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c1.v[0]), "+d"(c1.v[1])
               : "d"(a1.v[q]), "d"(b.v[q]));))
    }
  }
  __device__ __forceinline__ void finish() {}
};

}  // namespace

}  // namespace smallbatch
