// 8 x 8 tiles of double precision numbers in the registers of a warp, and their products on the tensor cores. Private
// to solvers/cuda.
//
// Lane l has row l / 4 of a tile, columns 2 (l % 4) and 2 (l % 4) + 1. That is where mma.m8n8k4 leaves a product. It
// takes four columns of the left factor, and four rows of the right one, in any order, as long as both have the same:
// with the even columns first and then the odd ones, a tile is a left factor as it is, and the transpose of a right
// one. So a b^T needs no exchange between lanes.
#pragma once

#include "solvers/cuda/device.cuh"

namespace smallbatch {

namespace {

constexpr int tile_rows = 8;
constexpr int tile_numbers = tile_rows * tile_rows;

struct alignas(16) Fragment {
  double value[2];
};

/// The lane's row of a tile, and the first of its columns.
__device__ __forceinline__ int fragment_row() { return static_cast<int>(threadIdx.x) / 4; }
__device__ __forceinline__ int fragment_column() { return static_cast<int>(threadIdx.x) % 4 * 2; }

/// c += a b^T, a and b with four columns, of which the lane has one.
__device__ __forceinline__ void multiply_add(double a, double b, Fragment& c) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c.value[0]), "+d"(c.value[1])
      : "d"(a), "d"(b));
}

/// c += a b^T.
__device__ __forceinline__ void multiply_add(const Fragment& a, const Fragment& b, Fragment& c) {
#pragma unroll
  for (int h = 0; h < 2; ++h) multiply_add(a.value[h], b.value[h], c);
}

/// The sum over the four lanes of a row. The whole warp calls.
__device__ __forceinline__ double sum_of_row(double part) {
  Fragment sums{};
  multiply_add(part, 1.0, sums);
  return sums.value[0];
}

/// Where a tile's number lies in shared memory, so that neither the tile nor its transpose meets a bank twice.
__device__ __forceinline__ int place_in_tile(int row, int column) {
  const int pair = column / 2;
  return (row / 2 * 8 + ((row ^ row / 2) & 1) * 4 + (pair ^ row / 4 * 2)) * 2 + column % 2;
}

/// The tile in shared memory, or its transpose.
__device__ __forceinline__ Fragment load_fragment(const double* tile) {
  return *reinterpret_cast<const Fragment*>(tile + place_in_tile(fragment_row(), fragment_column()));
}
__device__ __forceinline__ Fragment load_transposed(const double* tile) {
  const int row = fragment_row(), column = fragment_column();
  return {tile[place_in_tile(column, row)], tile[place_in_tile(column + 1, row)]};
}
__device__ __forceinline__ void store_fragment(double* tile, const Fragment& fragment) {
  *reinterpret_cast<Fragment*>(tile + place_in_tile(fragment_row(), fragment_column())) = fragment;
}

}  // namespace

}  // namespace smallbatch
