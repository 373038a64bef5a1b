// The sums of a warp's tile of inputs with another tile, or with itself. This file multiplies operands (operands.cuh)
// and stores the sums from the registers. Sums pass through shared memory, so that a warp stores whole rows. Separate
// stores of 8 bytes would take a quarter of the kernel's time.
#pragma once

#include <cstdint>

#include "core/signals.hpp"
#include "physics/correlations/cuda/operands.cuh"

namespace smallbatch {

/// sum_t Re x_i(t) of a warp's rows. The imaginary parts of integers lack this amount, because turned columns hold the
/// complement of d (operands.cuh).
template <class Signal, int RowBlocks>
class RealSums {
 public:
  __device__ void clear() {
#pragma unroll
    for (int r = 0; r < RowBlocks; ++r) sum_[r][0] = sum_[r][1] = 0;
  }
  __device__ void add(int block, const Rows<Int8Signal>& rows) {
    constexpr int real_parts = 0x00010001;
#pragma unroll
    for (int k = 0; k < 4; ++k)
      sum_[block][k & 1] = __dp4a(static_cast<int>(rows.a[k]), real_parts, sum_[block][k & 1]);
  }
  /// Loads the sums of these rows, which store_reals() of another tile has stored.
  __device__ void load(const int* real_sums, int rows) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int r = 0; r < RowBlocks; ++r)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = 16 * r + 8 * half + lane / 4;
        sum_[r][half] = (lane & 3) == 0 && row < rows ? real_sums[row] : 0;
      }
  }
  /// Returns the sum of this lane's row in half `half` of a block. All lanes of the warp call this function together.
  __device__ int of(int block, int half) const {
    int sum = sum_[block][half];
    sum += __shfl_xor_sync(~0u, sum, 1);
    return sum + __shfl_xor_sync(~0u, sum, 2);
  }

 private:
  int sum_[RowBlocks][2];
};
template <int RowBlocks>
class RealSums<Float32Signal, RowBlocks> {
 public:
  __device__ void clear() {}
  __device__ void add(int, const Rows<Float32Signal>&) {}
  __device__ void load(const int*, int) {}
  __device__ float of(int, int) const { return 0; }
};

/// Sums of a warp in registers: 16 RowBlocks inputs with 8 ColumnBlocks other inputs, or with themselves
/// (`IsTriangle`). For each block of 16 rows, a triangle leaves out the columns above the diagonal block. If
/// `AddsReals`, the tile also sums the real parts of its rows; otherwise load_reals() loads these sums.
template <class Signal, int RowBlocks, int ColumnBlocks, bool IsTriangle, bool AddsReals>
class WarpTile {
 public:
  using Sum = typename Signal::Sum;
  static constexpr int loads = (ColumnBlocks + 1) / 2, halves = ColumnBlocks == 1 ? 1 : 2;
  static constexpr bool reads_ahead = Signal::bytes == 2;  // float32 has too few registers for it
  /// Whether columns are copied from the rows. A copy is faster than splitting the same numbers again, but it needs
  /// registers.
  static constexpr bool columns_are_rows = IsTriangle && Signal::bytes == 8 && RowBlocks <= 2;

  /// Numbers that are read before a multiplication begins: the rows, and the first columns if columns are read ahead.
  struct Operands {
    Rows<Signal> rows[RowBlocks];
    Columns<Signal> columns[2];
  };

  __device__ void clear() {
#pragma unroll
    for (int b = 0; b < blocks; ++b)
#pragma unroll
      for (int k = 0; k < 4; ++k) re_[b][k] = im_[b][k] = 0;
    reals_.clear();
  }
  template <class RowReader, class ColumnReader>
  __device__ static void load(Operands& operands, const RowReader& rows, const ColumnReader& columns,
                              std::uint32_t row_tile, std::uint32_t column_tile, int time) {
    if constexpr (reads_ahead) columns.columns(operands.columns, column_tile, 0, time);
#pragma unroll
    for (int r = 0; r < RowBlocks; ++r) rows.rows(operands.rows[r], row_tile, r, time);
  }
  template <class Reader>
  __device__ void add(const Operands& operands, const Reader& reader, std::uint32_t column_tile, int time) {
    if (AddsReals) {
#pragma unroll
      for (int r = 0; r < RowBlocks; ++r) reals_.add(r, operands.rows[r]);
    }
    if constexpr (reads_ahead) {
      Columns<Signal> next[2] = {operands.columns[0], operands.columns[1]};
#pragma unroll
      for (int m = 0; m < loads; ++m) {
        const Columns<Signal> columns[2] = {next[0], next[1]};
        if (m + 1 < loads) reader.columns(next, column_tile, m + 1, time);
#pragma unroll
        for (int half = 0; half < halves; ++half) add_columns(operands, 2 * m + half, columns[half]);
      }
    } else {
#pragma unroll
      for (int n = 0; n < ColumnBlocks; ++n) {
        Columns<Signal> columns;
        const Rows<Signal>& x = operands.rows[n / 2];
        if constexpr (columns_are_rows)
          columns = {{x.hi[n & 1], x.hi[2 + (n & 1)]}, {x.lo[n & 1], x.lo[2 + (n & 1)]}};
        else
          reader.columns(columns, column_tile, n / 2, n & 1, time);
        add_columns(operands, n, columns);
      }
    }
  }

  /// Calls visit(row, column, V) for the lane's pairs, counted from the tile's first row and column.
  template <class Visit>
  __device__ void for_each(const Visit& visit) const {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int r = 0; r < RowBlocks; ++r)
#pragma unroll
      for (int half = 0; half < halves; ++half) {
        const Sum real = reals_.of(r, half);
#pragma unroll
        for (int n = 0; n < columns_of(r); ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            visit(16 * r + 8 * half + lane / 4, 8 * n + 2 * (lane & 3) + e, value(r, half, n, e, real));
      }
  }
  /// Loads the real parts' sums before anything is added, for a tile that does not add them.
  __device__ void load_reals(const int* real_sums, int rows) { reals_.load(real_sums, rows); }
  /// Stores the real parts' sums of the tile's rows in real_sums.
  __device__ void store_reals(int* real_sums, int rows) const {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int r = 0; r < RowBlocks; ++r)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = 16 * r + 8 * half + lane / 4, sum = reals_.of(r, half);
        if ((lane & 3) == 0 && row < rows) real_sums[row] = sum;
      }
  }

  /// Stores the rows [0, rows) of the tile into `visibility`, the triangle of all baselines. The tile begins with
  /// baseline (first_row, first_column). The warp's own 16 KiB of shared memory, `stage`, let it store whole rows.
  template <class Pair>
  __device__ void store(Pair* visibility, std::int64_t first_row, std::int64_t first_column, int rows,
                        std::uint32_t stage) const {
    static_assert(RowBlocks == 4);
    if constexpr (IsTriangle) {
      store_rows<0, 2, 32>(visibility, first_row, first_column, rows, stage);
      store_rows<2, 4, 64>(visibility, first_row, first_column, rows, stage);
    } else {
      store_rows<0, 4, 32>(visibility, first_row, first_column, rows, stage);
    }
  }

 private:
  static constexpr int used = ColumnBlocks == 1 ? 2 : 4;
  static constexpr int blocks = !IsTriangle         ? RowBlocks * ColumnBlocks
                                : ColumnBlocks == 1 ? 1
                                                    : RowBlocks * (RowBlocks + 1);
  __device__ static constexpr int block_of(int r, int n) { return IsTriangle ? r * (r + 1) + n : r * ColumnBlocks + n; }
  __device__ static constexpr int columns_of(int r) {
    return !IsTriangle ? ColumnBlocks : ColumnBlocks == 1 ? 1 : 2 * r + 2;
  }
  /// Stores the blocks First .. Last - 1 of 16 rows, which have `Width` columns.
  template <int First, int Last, int Width, class Pair>
  __device__ void store_rows(Pair* visibility, std::int64_t first_row, std::int64_t first_column, int rows,
                             std::uint32_t stage) const {
    static_assert(16 * (Last - First) * Width * sizeof(Pair) <= 16384);
    const int lane = threadIdx.x & 31;
    __syncwarp();  // all lanes have read what was staged before
#pragma unroll
    for (int r = First; r < Last; ++r)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = 16 * r + 8 * half + lane / 4;
        const Sum real = reals_.of(r, half);
        // Each store has 16 bytes. Consecutive rows alternate between halves of 128 bytes, to avoid bank conflicts.
        const std::uint32_t to = stage + 8 * ((row - 16 * First) * Width + ((2 * (lane & 3)) ^ (8 * (row & 1))));
#pragma unroll
        for (int n = 0; n < columns_of(r); ++n) {
          const Pair a = value(r, half, n, 0, real), b = value(r, half, n, 1, real);
          asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"((to + 64 * (n & ~1)) ^ (64 * (n & 1))),
                       "r"(bits(a.re)), "r"(bits(a.im)), "r"(bits(b.re)), "r"(bits(b.im))
                       : "memory");
        }
      }
    __syncwarp();  // all lanes have staged their part
    constexpr int at_once = 8, pieces = Width / 32;
    Pair* to = visibility + baseline_of(first_row + 16 * First, first_column) + lane;
#pragma unroll 1
    for (int begin = 16 * First; begin < 16 * Last; begin += at_once) {
      Pair v[at_once][pieces];
#pragma unroll
      for (int k = 0; k < at_once; ++k)
#pragma unroll
        for (int c = 0; c < pieces; ++c) {
          std::uint32_t re, im;
          asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];"
                       : "=r"(re), "=r"(im)
                       : "r"(stage + 8 * ((begin - 16 * First) * Width + (lane ^ (8 * (k & 1))) + k * Width + 32 * c))
                       : "memory");
          v[k][c] = {of_bits(re), of_bits(im)};
        }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const int row = begin + k;
#pragma unroll
        for (int c = 0; c < pieces; ++c) {
          const int column = 32 * c + lane;
          if (IsTriangle && column == row) v[k][c].im = 0;  // exactly 0, with any rounding
          if (row < rows && (!IsTriangle || column <= row)) to[32 * c] = v[k][c];
        }
        to += first_row + row + 1;
      }
    }
  }
  /// Adds the products of all rows with columns 8 n .. 8 n + 7.
  __device__ void add_columns(const Operands& operands, int n, const Columns<Signal>& columns) {
    const Columns<Signal> other = turned(columns);
#pragma unroll
    for (int r = IsTriangle ? n / 2 : 0; r < RowBlocks; ++r) {
      const int b = block_of(r, n);
      add_product<used>(re_[b], operands.rows[r], columns);
      add_product<used>(im_[b], operands.rows[r], other);
    }
  }
  __device__ ComplexSum<Sum> value(int r, int half, int n, int e, Sum real) const {
    const int b = block_of(r, n);
    return {re_[b][2 * half + e], im_[b][2 * half + e] + real};
  }
  __device__ static std::uint32_t bits(int x) { return static_cast<std::uint32_t>(x); }
  __device__ static std::uint32_t bits(float x) { return __float_as_uint(x); }
  __device__ static Sum of_bits(std::uint32_t x) {
    if constexpr (Signal::bytes == 8)
      return __uint_as_float(x);
    else
      return static_cast<int>(x);
  }

  Sum re_[blocks][4], im_[blocks][4];
  RealSums<Signal, RowBlocks> reals_;
};

}  // namespace smallbatch
