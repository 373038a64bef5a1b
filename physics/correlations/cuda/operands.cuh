// Operands of the tensor cores for correlations. A warp multiplies 16 inputs, the rows, with 8 inputs, the columns, and
// sums over some times (mma.sync). Real and imaginary parts of a sample are neighbours along the dimension that is
// summed over. With x_i = a + b i and x_j = c + d i,
//
//     Re V_ij = sum_t (a, b) . (c, d),     Im V_ij = sum_t (a, b) . (-d, c).
//
// Rows are therefore multiplied with columns as they are and with *turned* columns.
//
// int8: a multiplication sums over 16 times. A sample has 16 bits. The instruction ldmatrix transposes 8 x 8 samples.
// This turns the (time, input) order of the signal into the rows and columns that the multiplication needs. For d =
// -128, -d is not an int8. Turned columns therefore have the complement, -d - 1, and sum_t a is added to the imaginary
// part at the end.
//
// float32: a multiplication sums over 4 times. Each number is split into two of TF32's 11 bits: x = hi + lo with |lo|
// <= 2^-11 |x|. The product lo lo is left out (2^-22). The tensor cores round sums towards zero. So they sum over no
// more than these 4 times, and their results are added to the totals with rounding to nearest.
#pragma once

#include <cstdint>

namespace smallbatch {

struct Int8Signal {
  using Sum = int;
  static constexpr int bytes = 2;   ///< of a sample
  static constexpr int times = 16;  ///< times of one multiplication
};
struct Float32Signal {
  using Sum = float;
  static constexpr int bytes = 8;
  static constexpr int times = 4;
};

template <class Sum>
struct alignas(8) ComplexSum {
  Sum re, im;
};

/// Byte offset of the 16-byte chunk `chunk` of a time, in a tile of `Width` inputs in shared memory. The order of the
/// chunks of a row changes with the time. Lanes that read together therefore use different banks.
template <class Signal, int Width>
__device__ constexpr std::uint32_t place_of(std::uint32_t time, std::uint32_t chunk) {
  constexpr std::uint32_t row = Width * Signal::bytes / 16;
  if constexpr (Signal::bytes == 2)
    return 16 * (time * row + (chunk ^ (row >= 8 ? time & 7 : time * row / 8 & (row - 1))));
  return 16 * (time * row + (chunk ^ (2 * (row >= 8 ? time & 3 : time >> 1 & 1))));
}

/// A lane's registers of the 16 rows.
template <class Signal>
struct Rows;
template <>
struct Rows<Int8Signal> {
  std::uint32_t a[4];
};
template <>
struct Rows<Float32Signal> {
  std::uint32_t hi[4], lo[4];
};
/// A lane's registers of the 8 columns.
template <class Signal>
struct Columns;
template <>
struct Columns<Int8Signal> {
  std::uint32_t b[2];
};
template <>
struct Columns<Float32Signal> {
  std::uint32_t hi[2], lo[2];
};

__device__ inline Columns<Int8Signal> turned(const Columns<Int8Signal>& c) {
  return {{__byte_perm(c.b[0], 0, 0x2301) ^ 0x00ff00ffu, __byte_perm(c.b[1], 0, 0x2301) ^ 0x00ff00ffu}};
}
__device__ inline Columns<Float32Signal> turned(const Columns<Float32Signal>& c) {
  return {{c.hi[1] ^ 0x80000000u, c.hi[0]}, {c.lo[1] ^ 0x80000000u, c.lo[0]}};
}

__device__ inline void multiply_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/// Adds a product to the first `Used` of a lane's sums. The other sums belong to rows that do not exist.
template <int Used>
__device__ inline void add_product(int (&d)[4], const Rows<Int8Signal>& a, const Columns<Int8Signal>& b) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a.a[0]), "r"(a.a[1]), "r"(a.a[2]), "r"(a.a[3]), "r"(b.b[0]), "r"(b.b[1]));
}
template <int Used>
__device__ inline void add_product(float (&d)[4], const Rows<Float32Signal>& a, const Columns<Float32Signal>& b) {
  float sum[4] = {0, 0, 0, 0};
  multiply_tf32(sum, a.lo, b.hi);
  multiply_tf32(sum, a.hi, b.lo);
  multiply_tf32(sum, a.hi, b.hi);
#pragma unroll
  for (int k = 0; k < Used; ++k) d[k] += sum[k];
}

/// Splits x = hi + lo, with hi rounded to nearest. If hi rounds to an infinity, the auto of the input is not finite,
/// and launch_status() sums the channel again.
__device__ inline void split(std::uint32_t x, std::uint32_t& hi, std::uint32_t& lo) {
  hi = (x + 0x1000u) & 0xffffe000u;
  lo = __float_as_uint(__uint_as_float(x) - __uint_as_float(hi));
}

/// Reads rows and columns of a warp from a tile of `Width` inputs. Blocks of 16 inputs are counted from the first row
/// and column.
template <class Signal, int Width>
class TileReader;

template <int Width>
class TileReader<Int8Signal, Width> {
 public:
  __device__ TileReader(int first_row, int first_column) {
    const std::uint32_t lane = threadIdx.x & 31, matrix = lane >> 3;
    // ldmatrix loads four 8 x 8 matrices. In the order of rows, the first two are times 0-7 of inputs 0-7 and of inputs
    // 8-15, and the other two are times 8-15 of these. In the order of columns, the second and the third matrix are
    // exchanged.
    row_ = place_of<Int8Signal, Width>((lane & 7) + 8 * (matrix >> 1), first_row / 8 + (Width >= 16 ? matrix & 1 : 0));
    column_ =
        place_of<Int8Signal, Width>((lane & 7) + 8 * (matrix & 1), first_column / 8 + (Width >= 16 ? matrix >> 1 : 0));
  }
  __device__ void rows(Rows<Int8Signal>& rows, std::uint32_t tile, int block, int time) const {
    load(rows.a, tile + (row_ ^ (32 * block)) + time * Width * 2);
    if (Width < 16) rows.a[1] = rows.a[3] = 0;
  }
  __device__ void columns(Columns<Int8Signal> (&columns)[2], std::uint32_t tile, int block, int time) const {
    std::uint32_t x[4];
    load(x, tile + (column_ ^ (32 * block)) + time * Width * 2);
    columns[0] = {{x[0], x[1]}};
    columns[1] = {{x[2], x[3]}};
  }

 private:
  __device__ static void load(std::uint32_t (&x)[4], std::uint32_t place) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(place)
                 : "memory");
  }
  std::uint32_t row_, column_;
};

template <int Width>
class TileReader<Float32Signal, Width> {
 public:
  __device__ TileReader(int first_row, int first_column) : row_(of(first_row)), column_(of(first_column)) {}
  __device__ void rows(Rows<Float32Signal>& rows, std::uint32_t tile, int block, int time) const {
    std::uint32_t x[4] = {0, 0, 0, 0};
#pragma unroll
    for (int half = 0; half < halves; ++half)
      load(x[half], x[2 + half], ((tile + row_ + time * Width * 8) ^ (64 * half)) + 128 * block);
#pragma unroll
    for (int k = 0; k < 4; ++k) split(x[k], rows.hi[k], rows.lo[k]);
  }
  /// Reads 8 inputs: half `half` of a block.
  __device__ void columns(Columns<Float32Signal>& columns, std::uint32_t tile, int block, int half, int time) const {
    std::uint32_t re, im;
    // The load is volatile. In a triangle, rows and columns hold the same numbers. Without volatile, the compiler would
    // copy many of these numbers into register pairs at once, and there are not enough registers for that.
    const std::uint32_t place = ((tile + column_ + time * Width * 8) ^ (64 * half)) + 128 * block;
    asm volatile("ld.volatile.shared.v2.b32 {%0,%1}, [%2];" : "=r"(re), "=r"(im) : "r"(place) : "memory");
    split(re, columns.hi[0], columns.lo[0]);
    split(im, columns.hi[1], columns.lo[1]);
  }

 private:
  static constexpr int halves = Width < 16 ? 1 : 2;  // halves of 8 inputs
  __device__ static std::uint32_t of(int first) {
    const std::uint32_t lane = threadIdx.x & 31, input = first + lane / 4;
    return place_of<Float32Signal, Width>(lane & 3, input / 2) + 8 * (input & 1);
  }
  __device__ static void load(std::uint32_t& re, std::uint32_t& im, std::uint32_t place) {
    asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(re), "=r"(im) : "r"(place) : "memory");
  }
  std::uint32_t row_, column_;
};

}  // namespace smallbatch
