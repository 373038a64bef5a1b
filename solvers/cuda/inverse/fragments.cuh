// 8 x 8 tiles of double precision numbers in the registers of a warp, and their products on the tensor cores. Private
// to solvers/cuda.
//
// Lane l has row l / 4 of a tile, columns 2 (l % 4) and 2 (l % 4) + 1. That is where mma.m8n8k4 leaves a product. It
// takes four columns of the left factor, and four rows of the right one, in any order, as long as both have the same:
// with the even columns first and then the odd ones, a tile is a left factor as it is, and the transpose of a right
// one. So a b^T needs no exchange between lanes.
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

/// c0 += a0 b^T and c1 += a1 b^T; where there is an instruction for both at once, it takes as long as that for one.
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

/// c += a b^T of N, one or two, tiles a and c.
template <int N>
__device__ __forceinline__ void multiply_add(const Fragment (&a)[N], const Fragment& b, Fragment (&c)[N]) {
  if constexpr (N == 2)
    multiply_add(a[0], a[1], b, c[0], c[1]);
  else
    multiply_add(a[0], b, c[0]);
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
