// 8 x 8 tiles of double precision numbers in the registers of a warp, and their products on the tensor cores. Private
// to solvers/cuda.
//
// Lane l has row l / 4 of a tile, and columns 2 (l % 4) and 2 (l % 4) + 1. The instruction mma.m8n8k4 leaves a product
// in this layout. It takes four columns of the left factor and four rows of the right factor, in any order that is the
// same for both. If it takes the even columns first, then the odd columns, a tile in this layout is a left factor. The
// tile is also the transpose of a right factor. A product a b^T therefore needs no exchange between lanes.
#pragma once

#include <nv/target>

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

constexpr int tile_rows = 8;
constexpr int tile_numbers = tile_rows * tile_rows;

struct alignas(16) Fragment {
  double value[2];
};

/// Returns the lane's row of a tile.
__device__ __forceinline__ int fragment_row() { return static_cast<int>(threadIdx.x) / 4; }
/// Returns the first of the lane's two columns of a tile.
__device__ __forceinline__ int fragment_column() { return static_cast<int>(threadIdx.x) % 4 * 2; }

/// Adds a b^T to c, where a and b have four columns; the lane has one element of each.
__device__ __forceinline__ void multiply_add(double a, double b, Fragment& c) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c.value[0]), "+d"(c.value[1])
      : "d"(a), "d"(b));
}

/// Adds a b^T to c.
__device__ __forceinline__ void multiply_add(const Fragment& a, const Fragment& b, Fragment& c) {
#pragma unroll
  for (int h = 0; h < 2; ++h) multiply_add(a.value[h], b.value[h], c);
}

/// Adds a0 b^T to c0, and a1 b^T to c1. If one instruction does both, it takes no longer than the instruction for one
/// product.
__device__ __forceinline__ void multiply_add(const Fragment& a0, const Fragment& a1, const Fragment& b, Fragment& c0,
                                             Fragment& c1) {
  NV_IF_ELSE_TARGET(
      NV_PROVIDES_SM_90,
      (asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
           "{%0, %1, %2, %3};"
           : "+d"(c0.value[0]), "+d"(c0.value[1]), "+d"(c1.value[0]), "+d"(c1.value[1])
           : "d"(a0.value[0]), "d"(a1.value[0]), "d"(a0.value[1]), "d"(a1.value[1]), "d"(b.value[0]),
             "d"(b.value[1]));),
      (multiply_add(a0, b, c0); multiply_add(a1, b, c1);))
}

/// Adds a b^T to c for N (one or two) tiles a and c.
template <int N>
__device__ __forceinline__ void multiply_add(const Fragment (&a)[N], const Fragment& b, Fragment (&c)[N]) {
  if constexpr (N == 2)
    multiply_add(a[0], a[1], b, c[0], c[1]);
  else
    multiply_add(a[0], b, c[0]);
}

/// Returns the sum over the four lanes of a row. The whole warp calls.
__device__ __forceinline__ double sum_of_row(double part) {
  Fragment sums{};
  multiply_add(part, 1.0, sums);
  return sums.value[0];
}

/// Returns the offset of element (row, column) of a tile in shared memory. Reading the tile and reading its transpose
/// are both free of bank conflicts.
__device__ __forceinline__ int place_in_tile(int row, int column) {
  const int pair = column / 2;
  return (row / 2 * 8 + ((row ^ row / 2) & 1) * 4 + (pair ^ row / 4 * 2)) * 2 + column % 2;
}

/// Returns a tile that is in shared memory.
__device__ __forceinline__ Fragment load_fragment(const double* tile) {
  return *reinterpret_cast<const Fragment*>(tile + place_in_tile(fragment_row(), fragment_column()));
}
/// Returns the transpose of a tile that is in shared memory.
__device__ __forceinline__ Fragment load_transposed(const double* tile) {
  const int row = fragment_row(), column = fragment_column();
  return {tile[place_in_tile(column, row)], tile[place_in_tile(column + 1, row)]};
}
__device__ __forceinline__ void store_fragment(double* tile, const Fragment& fragment) {
  *reinterpret_cast<Fragment*>(tile + place_in_tile(fragment_row(), fragment_column())) = fragment;
}

}  // namespace

}  // namespace smallbatch
