// A = L D L^T and what follows from it for 32 < n <= 64 in double precision, on tensor cores: a warp keeps the lower
// triangle of a system in registers as B (B + 1) / 2 blocks of 8 x 8 numbers.
//
// One file, because the parts share how blocks lie in registers and in shared memory.
//
// A block lies there as mma.m8n8k4 has its accumulators: two numbers a lane. Row and column 4 q + i of a block, q = 0,
// 1, are the instruction's row and column 2 i + q, so that lane 4 r + j has the elements (row, j) and (row, 4 + j),
// row = r / 2 + 4 (r % 2). That is also how the instruction wants both factors of C -= V L^T, first the columns 0 .. 3,
// then the columns 4 .. 7: no number moves between lanes for that.
//
// Block column K, right-looking: V_IK = A_IK L_KK^-T by substitution within the four lanes that share a row, with
// multipliers from the diagonal block, half of it by tensor cores; L_IK = V_IK D_K^-1; A_IJ -= V_IK L_JK^T. All lanes
// compute the 4 x 4 corners on the diagonal, whose reciprocals are the chain from one column to the next. A right-hand
// side goes along as a block of equal rows.
//
// The steps of all K are one loop: what depends on K by the registers that it names is a case each.
#include <nv/target>

#include "solvers/cuda/device.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/pivot_numbers.cuh"

namespace smallbatch {

namespace {

constexpr int block_size = 8;
/// Where block (i, j) of a lower triangle is among its blocks, by rows.
constexpr int block_place(int i, int j) { return i * (i + 1) / 2 + j; }

/// Column and row of the block that is the one `index` by columns.
constexpr int column_of_block(int blocks, int index) {
  int column = 0;
  for (; index >= blocks - column; ++column) index -= blocks - column;
  return column;
}
constexpr int row_of_block(int blocks, int index) {
  int column = 0;
  for (; index >= blocks - column; ++column) index -= blocks - column;
  return column + index;
}

/// How many warps share a multiprocessor; how many numbers a lane loads at once to compare the triangles.
template <int B, bool Full>
struct BlocksPlan {
  static constexpr int compared = B == 7 ? 7 : block_place(B, 0);
  static constexpr int warps = B == 8 || (Full && B == 7) ? 8 : B >= 6 ? 12 : 16;
};

/// The lane's elements (row, j) and (row, 4 + j) of a block.
struct Block {
  double v[2];
};

/// c += a b^T over four columns of a and b, of which the lane has one element each.
__device__ __forceinline__ void add_product(Block& c, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c.v[0]), "+d"(c.v[1])
      : "d"(a), "d"(b));
}
__device__ __forceinline__ void add_product(Block& c, const Block& a, const Block& b) {
  add_product(c, a.v[0], b.v[0]);
  add_product(c, a.v[1], b.v[1]);
}
/// The same for two blocks of a block column at once, where there is an instruction for it, which takes as long as the
/// one for a single block.
__device__ __forceinline__ void add_products(Block& c0, Block& c1, double a0, double a1, double b) {
  NV_IF_ELSE_TARGET(
      NV_PROVIDES_SM_90,
      (asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
           : "+d"(c0.v[0]), "+d"(c0.v[1]), "+d"(c1.v[0]), "+d"(c1.v[1])
           : "d"(a0), "d"(a1), "d"(b));),
      (add_product(c0, a0, b); add_product(c1, a1, b);))
}
__device__ __forceinline__ void add_products(Block& c0, Block& c1, const Block& a0, const Block& a1, const Block& b) {
  add_products(c0, c1, a0.v[0], a1.v[0], b.v[0]);
  add_products(c0, c1, a0.v[1], a1.v[1], b.v[1]);
}
__device__ __forceinline__ Block negative(const Block& a) { return {-a.v[0], -a.v[1]}; }

/// What the lanes of a warp are to a block.
struct BlockLane {
  int lane, j, row;
  __device__ __forceinline__ BlockLane() : lane(threadIdx.x), j(lane & 3), row((lane >> 3) | (lane & 4)) {}
};

__device__ __forceinline__ double choose(int j, double v0, double v1, double v2, double v3) {
  const double low = (j & 1) != 0 ? v1 : v0, high = (j & 1) != 0 ? v3 : v2;
  return (j & 2) != 0 ? high : low;
}

/// The factors of a 4 x 4 corner on the diagonal.
struct Corner {
  double pivot[4], inverse[4];
  double l10, l20, l30, l21, l31, l32;
};
/// Element (i, k) is v of lane 8 i + first + k. The whole warp calls.
__device__ __forceinline__ Corner factor_corner(double v, int first) {
  const auto at = [&](int i, int k) __attribute__((always_inline)) {
    return shuffle(v, 8 * i + first + k, warp_lanes);
  };
  const double a10 = at(1, 0), a20 = at(2, 0), a30 = at(3, 0), a21 = at(2, 1), a31 = at(3, 1), a32 = at(3, 2);
  Corner c;
  c.pivot[0] = at(0, 0);
  c.inverse[0] = reciprocal(c.pivot[0]);
  c.l10 = a10 * c.inverse[0];
  c.l20 = a20 * c.inverse[0];
  c.l30 = a30 * c.inverse[0];
  c.pivot[1] = fma(-a10, c.l10, at(1, 1));
  c.inverse[1] = reciprocal(c.pivot[1]);
  const double v21 = fma(-a20, c.l10, a21), v31 = fma(-a30, c.l10, a31);
  c.l21 = v21 * c.inverse[1];
  c.l31 = v31 * c.inverse[1];
  c.pivot[2] = fma(-v21, c.l21, fma(-a20, c.l20, at(2, 2)));
  c.inverse[2] = reciprocal(c.pivot[2]);
  const double v32 = fma(-v31, c.l21, fma(-a30, c.l20, a32));
  c.l32 = v32 * c.inverse[2];
  c.pivot[3] = fma(-v32, c.l32, fma(-v31, c.l31, fma(-a30, c.l30, at(3, 3))));
  c.inverse[3] = reciprocal(c.pivot[3]);
  return c;
}

/// What V = A L^-T takes of a diagonal block L.
struct Multipliers {
  double low[3];   ///< L(j, k), 0 where k >= j
  double middle;   ///< -L(row, j) of the rows 4 .. 7, 0 of the others
  double high[3];  ///< L(4 + j, 4 + k), 0 where k >= j
};
/// The part of a substitution within four columns.
__device__ __forceinline__ void substitute(double& v, const double (&l)[3]) {
#pragma unroll
  for (int k = 0; k < 3; ++k) v = fma(-shuffle(v, k, 4), l[k], v);
}
/// a becomes a L^-T.
__device__ __forceinline__ void substitute(Block& a, const Multipliers& l) {
  substitute(a.v[0], l.low);
  add_product(a, a.v[0], l.middle);
  substitute(a.v[1], l.high);
}
__device__ __forceinline__ void substitute(Block& a0, Block& a1, const Multipliers& l) {
  substitute(a0.v[0], l.low);
  substitute(a1.v[0], l.low);
  add_products(a0, a1, a0.v[0], a1.v[0], l.middle);
  substitute(a0.v[1], l.high);
  substitute(a1.v[1], l.high);
}
__device__ __forceinline__ void multipliers_of(int j, const Corner& c, double (&l)[3]) {
  l[0] = choose(j, 0, c.l10, c.l20, c.l30);
  l[1] = choose(j, 0, 0, c.l21, c.l31);
  l[2] = choose(j, 0, 0, 0, c.l32);
}

/// Numbers of a vector that a lane has: of the rows lane, lane + 32.
template <int B>
inline constexpr int rows_of_lane = (block_size * B + warp_lanes - 1) / warp_lanes;

/// The shared memory of a warp.
template <int B>
struct BlocksMemory {
  double diagonal[B][block_size * block_size];  // blocks of L by rows; above their diagonals anything
  double inverse[B * block_size];               // 1 / d
  double pivot[B * block_size];
  double rhs[warp_lanes * rows_of_lane<B>], x[warp_lanes * rows_of_lane<B>];
};
template <int B>
struct KeptMemory {
  alignas(16) double matrix[block_place(B, 0)][2 * warp_lanes];  // blocks as lanes have them, whole on the diagonal
  Halves x[B * block_size];
};
struct NoMemory {};

/// The sum over the lanes of a row, in all four of them.
__device__ __forceinline__ double sum_of_row(double v) {
  v += __shfl_xor_sync(whole_warp, v, 1);
  return v + __shfl_xor_sync(whole_warp, v, 2);
}
/// The sums over rows of v[0] of column j, and of v[1] of column 4 + j: that of column c in the lanes with lane % 8 =
/// c.
__device__ __forceinline__ double sum_of_columns(int lane, const Block& b) {
  const bool high = (lane & 4) != 0;
  double sum = high ? b.v[1] : b.v[0];
  sum += __shfl_xor_sync(whole_warp, high ? b.v[0] : b.v[1], 4);
  sum += __shfl_xor_sync(whole_warp, sum, 8);
  return sum + __shfl_xor_sync(whole_warp, sum, 16);
}
/// Of a number for each row, that of row c in the lanes with lane % 8 = c.
__device__ __forceinline__ double by_columns(int lane, double of_row) {
  return shuffle(of_row, 8 * (lane & 3) + (lane & 4), warp_lanes);
}

/// The calls of body(constant k) for the k that is `index`.
template <int Count, class Body>
__device__ __forceinline__ void in_case(int index, Body&& body) {
  unrolled<Count>([&](auto k) __attribute__((always_inline)) {
    if (index == k) body(k);
  });
}

template <int B>
using Blocks = Block[block_place(B, 0)];

/// Loads the lower triangle, rows of the identity behind row m - 1; what is not zero where the triangles differ or a
/// diagonal element is far from 1.
template <class T, int B, bool Packed>
__device__ __forceinline__ unsigned load_blocks(const Arguments<T>& args, const T* from, int m, int once,
                                                Blocks<B>& a) {
  const BlockLane own;
  const int n = args.n;
  // Row `row` of block I begins at from + start(row) + (n, or of a packed triangle 8 row + 8 (8 I + 1) / 2) I.
  const auto start = [&](int row) { return Packed ? row * (row + 1) / 2 : row * n; };
  const auto further = [&](int I, int row) {
    return Packed ? block_size * I * row + 4 * I * (block_size * I + 1) : block_size * I * n;
  };
  const T* const line = from + start(own.row) + own.j;
  unrolled<B>([&](auto index) __attribute__((always_inline)) {
    constexpr int I = index;
    const bool inside = block_size * I + own.row < m;
    const T* const own_line = line + further(I, own.row);
#pragma unroll
    for (int J = 0; J < I; ++J)
#pragma unroll
      for (int q = 0; q < 2; ++q) a[block_place(I, J)].v[q] = inside ? own_line[block_size * J + 4 * q] : T(0);
  });
  unsigned odd = 0;
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    const int column = 4 * q + own.j, high = max(own.row, column), low = min(own.row, column);
    const T* const element = from + start(high) + low;
#pragma unroll
    for (int I = 0; I < B; ++I) {
      const T value =
          block_size * I + high < m ? element[further(I, high) + block_size * I] : T(own.row == column ? 1 : 0);
      a[block_place(I, I)].v[q] = value;
      if (own.row == column) odd |= far_bits(value);
    }
  }
  if (Packed || args.storage != Storage::dense) return odd;
  // The mirrored elements, many loads at a time before the first of them is looked at.
  constexpr int blocks = block_place(B, 0), at_once = BlocksPlan<B, false>::compared;
  unrolled<2 * blocks / at_once>([&](auto index) __attribute__((always_inline)) {
    constexpr int q = at_once * index / blocks, first = at_once * index % blocks;
    const int column = 4 * q + own.j;
    const T* const mirrored = from + column * n + own.row;
    T value[at_once];
    unrolled<at_once>([&](auto step) __attribute__((always_inline)) {
      constexpr int J = column_of_block(B, first + step), I = row_of_block(B, first + step);
      const bool inside = (I == J ? max(own.row, column) : own.row) < m - block_size * I;
      value[step] = inside ? mirrored[block_size * J * n + block_size * I] : static_cast<T>(a[block_place(I, J)].v[q]);
    });
    apart(
        once, [&]() __attribute__((always_inline)) {
          unrolled<at_once>([&](auto step) __attribute__((always_inline)) {
            constexpr int J = column_of_block(B, first + step), I = row_of_block(B, first + step);
            odd |= differing_bits(static_cast<T>(a[block_place(I, J)].v[q]), value[step]);
          });
        });
  });
  return odd;
}

/// A right-hand side, zeros behind row m - 1.
template <class T, int B>
__device__ __forceinline__ void load_rhs(const Arguments<T>& args, unsigned system, int column, int m,
                                         T (&rhs)[rows_of_lane<B>]) {
  const T* const b = args.b + system * args.b_step + column;
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    const int row = warp_lanes * i + static_cast<int>(threadIdx.x);
    rhs[i] = row < m && column < args.nrhs ? b[row * args.nrhs] : T(0);
  }
}
/// Puts it into shared memory; whether a number is far from 1.
template <class T, int B>
__device__ __forceinline__ bool keep_rhs(const T (&rhs)[rows_of_lane<B>], double* to) {
  bool far = false;
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    far |= is_far(rhs[i], Traits<T>::rhs_window);
    to[warp_lanes * i + threadIdx.x] = rhs[i];
  }
  return far;
}

/// Of block K of a right-hand side, `sum` of which has the lane's part of sum_J L_KJ z_J: z_K = L_KK^-1 (b_K - sum), of
/// which the lane gets the rows j and 4 + j.
__device__ __forceinline__ Block rest_of_rhs(const BlockLane& own, const double* rhs, double sum) {
  sum = sum_of_row(sum);
  return {{rhs[own.j] - shuffle(sum, 8 * own.j, warp_lanes), rhs[4 + own.j] - shuffle(sum, 8 * own.j + 4, warp_lanes)}};
}

/// A = L D L^T, and of the first right-hand side z = L^-1 b in place of x. Whether the system is not plain: it is not
/// as the lane knows already, or a pivot is not positive, finite and normal.
template <int B>
__device__ __forceinline__ bool factor_blocks(bool odd, Blocks<B>& a, BlocksMemory<B>& memory) {
  constexpr unsigned least_normal = 0x00100000U, infinite = 0x7ff00000U;  // high words
  const BlockLane own;
  unsigned worst = odd ? infinite : 0;
  Block diagonal = a[0];
  double own_sum = 0;
#pragma unroll 1
  for (int K = 0; K < B; ++K) {
    Multipliers l;
    const auto keep = [&](const Corner& c, int first) __attribute__((always_inline)) {
#pragma unroll
      for (int i = 0; i < 4; ++i) worst = max(worst, static_cast<unsigned>(__double2hiint(c.pivot[i])) - least_normal);
      const double inverse = choose(own.j, c.inverse[0], c.inverse[1], c.inverse[2], c.inverse[3]);
      const double pivot = choose(own.j, c.pivot[0], c.pivot[1], c.pivot[2], c.pivot[3]);
      if (own.lane < 4) {
        memory.inverse[block_size * K + first + own.j] = inverse;
        memory.pivot[block_size * K + first + own.j] = pivot;
      }
      return inverse;
    };
    Block z = rest_of_rhs(own, memory.rhs + block_size * K, own_sum);
    const Corner low = factor_corner(diagonal.v[0], 0);
    multipliers_of(own.j, low, l.low);
    Block inverse;
    inverse.v[0] = keep(low, 0);
    substitute(diagonal.v[0], l.low);
    const double l_low = diagonal.v[0] * inverse.v[0];
    l.middle = own.row >= 4 ? -l_low : 0.0;
    add_product(diagonal, diagonal.v[0], l.middle);
    const Corner high = factor_corner(diagonal.v[1], 4);
    multipliers_of(own.j, high, l.high);
    inverse.v[1] = keep(high, 4);
    substitute(diagonal.v[1], l.high);
    memory.diagonal[K][block_size * own.row + own.j] = l_low;
    memory.diagonal[K][block_size * own.row + 4 + own.j] = diagonal.v[1] * inverse.v[1];
    substitute(z, l);
    if (own.lane < 4) {
      memory.x[block_size * K + own.j] = z.v[0];
      memory.x[block_size * K + 4 + own.j] = z.v[1];
    }
    __syncwarp();  // z is there for the sum of the next block
    in_case<B - 1>(
        K, [&](auto index) __attribute__((always_inline)) {
          constexpr int k = index;
          const auto finish = [&](int I) __attribute__((always_inline)) {
            Block& block = a[block_place(I, k)];
            const Block v = negative(block);
            block = {{block.v[0] * inverse.v[0], block.v[1] * inverse.v[1]}};
            return v;
          };
          // Rows 2 p and 2 p + 1 together; by itself the first or the last that has no such neighbour.
          unrolled<B - 1 - k>([&](auto below) __attribute__((always_inline)) {
            constexpr int I = k + 1 + below;
            if constexpr (I % 2 == 0 && I + 1 < B) {
              substitute(a[block_place(I, k)], a[block_place(I + 1, k)], l);
              const Block v = finish(I), next = finish(I + 1);
#pragma unroll
              for (int J = k + 1; J <= I; ++J)
                add_products(a[block_place(I, J)], a[block_place(I + 1, J)], v, next, a[block_place(J, k)]);
              add_product(a[block_place(I + 1, I + 1)], next, a[block_place(I + 1, k)]);
            } else if constexpr (I % 2 == 0 || I == k + 1) {
              substitute(a[block_place(I, k)], l);
              const Block v = finish(I);
#pragma unroll
              for (int J = k + 1; J <= I; ++J) add_product(a[block_place(I, J)], v, a[block_place(J, k)]);
            }
          });
          diagonal = a[block_place(k + 1, k + 1)];
          own_sum = 0;
#pragma unroll
          for (int J = 0; J <= k; ++J) {
            const Block& block = a[block_place(k + 1, J)];
            const double* const z_of = memory.x + block_size * J + own.j;
            own_sum = fma(block.v[1], z_of[4], fma(block.v[0], z_of[0], own_sum));
          }
        });
  }
  return worst >= infinite - least_normal;
}

/// z = L^-1 b in place of x.
template <int B>
__device__ __forceinline__ void substitute_forward(const Blocks<B>& a, BlocksMemory<B>& memory) {
  const BlockLane own;
  double sum[B] = {}, own_sum = 0;
#pragma unroll 1
  for (int K = 0; K < B; ++K) {
    Multipliers l;
    const double* const diagonal = memory.diagonal[K];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      l.low[k] = k < own.j ? diagonal[block_size * own.j + k] : 0.0;
      l.high[k] = k < own.j ? diagonal[block_size * (4 + own.j) + 4 + k] : 0.0;
    }
    l.middle = own.row >= 4 ? -diagonal[block_size * own.row + own.j] : 0.0;
    Block z = rest_of_rhs(own, memory.rhs + block_size * K, own_sum);
    substitute(z, l);
    if (own.lane < 4) {
      memory.x[block_size * K + own.j] = z.v[0];
      memory.x[block_size * K + 4 + own.j] = z.v[1];
    }
    in_case<B - 1>(
        K, [&](auto index) __attribute__((always_inline)) {
          constexpr int k = index;
#pragma unroll
          for (int I = k + 1; I < B; ++I) {
            const Block& block = a[block_place(I, k)];
            sum[I] = fma(block.v[1], z.v[1], fma(block.v[0], z.v[0], sum[I]));
          }
          own_sum = sum[k + 1];
        });
  }
}

/// z becomes x = L^-T D^-1 z.
template <int B>
__device__ __forceinline__ void substitute_back(const Blocks<B>& a, BlocksMemory<B>& memory) {
  const BlockLane own;
  const int c = own.lane % block_size;
  Block sum[B] = {}, own_sum = {};
#pragma unroll 1
  for (int K = B - 1; K >= 0; --K) {
    double y = memory.x[block_size * K + c] * memory.inverse[block_size * K + c] - sum_of_columns(own.lane, own_sum);
#pragma unroll
    for (int k = block_size - 1; k > 0; --k) {
      const double l = c < k ? memory.diagonal[K][block_size * k + c] : 0.0;
      y = fma(-l, shuffle(y, k, warp_lanes), y);
    }
    __syncwarp();  // z of the block has been read, whose place x takes
    if (own.lane < block_size) memory.x[block_size * K + c] = y;
    const double of_row = shuffle(y, own.row, warp_lanes);
    in_case<B - 1>(
        K - 1, [&](auto index) __attribute__((always_inline)) {
          constexpr int k = index + 1;
#pragma unroll
          for (int J = 0; J < k; ++J)
#pragma unroll
            for (int q = 0; q < 2; ++q) sum[J].v[q] = fma(a[block_place(k, J)].v[q], of_row, sum[J].v[q]);
          own_sum = sum[k - 1];
        });
  }
}

/// The factors become U = L^-T, block (J, I) of which takes the place of block (I, J); ||U D^-1 U^T||_1 = ||A^-1||_1.
template <int B>
__device__ __forceinline__ double norm_of_inverse(int m, Blocks<B>& a, BlocksMemory<B>& memory) {
  const BlockLane own;
  unrolled<B>([&](auto index) __attribute__((always_inline)) {
    constexpr int I = index;
    // U_II = L_II^-T from rows of the identity, and its transpose.
    Multipliers l;
    double* const diagonal = memory.diagonal[I];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      l.low[k] = k < own.j ? diagonal[block_size * own.j + k] : 0.0;
      l.high[k] = k < own.j ? diagonal[block_size * (4 + own.j) + 4 + k] : 0.0;
    }
    l.middle = own.row >= 4 ? -diagonal[block_size * own.row + own.j] : 0.0;
    Block& u = a[block_place(I, I)];
    u = {{own.row == own.j ? 1.0 : 0.0, own.row == 4 + own.j ? 1.0 : 0.0}};
    substitute(u, l);
    __syncwarp();  // the diagonal block has been read, whose place its inverse takes
    diagonal[block_size * own.row + own.j] = u.v[0];
    diagonal[block_size * own.row + 4 + own.j] = u.v[1];
    __syncwarp();  // the inverse is complete
    const Block transposed{{diagonal[block_size * own.j + own.row], diagonal[block_size * (4 + own.j) + own.row]}};
    // Of U, too, rows 2 p and 2 p + 1 together, as far as both have blocks.
    unrolled<(I + 1) / 2>([&](auto pair) __attribute__((always_inline)) {
      constexpr int J = 2 * pair;
      Block sum{}, next{}, product{}, next_product{};
      add_product(sum, a[block_place(J, J)], a[block_place(I, J)]);
      if constexpr (J + 1 < I) {
#pragma unroll
        for (int K = J + 1; K < I; ++K)
          add_products(sum, next, a[block_place(K, J)], a[block_place(K, J + 1)], a[block_place(I, K)]);
        add_products(product, next_product, negative(sum), negative(next), transposed);
        a[block_place(I, J + 1)] = next_product;
      } else {
        add_product(product, negative(sum), transposed);
      }
      a[block_place(I, J)] = product;
    });
  });
  // Rows of A^-1: what lies up to the diagonal block, and columns for the rest.
  Block column_sum[B] = {};
  double row_sum[B] = {};
  const auto count = [&](int J, int H, const Block& product) __attribute__((always_inline)) {
    row_sum[J] += abs(product.v[0]) + abs(product.v[1]);
    if (H == J) return;
#pragma unroll
    for (int q = 0; q < 2; ++q) column_sum[H].v[q] += abs(product.v[q]);
  };
  unrolled<(B + 1) / 2>([&](auto pair) __attribute__((always_inline)) {
    constexpr int J = 2 * pair;
    constexpr bool both = J + 1 < B;
    const auto scaled = [&](int row, int I) __attribute__((always_inline)) {
      const Block& u = a[block_place(I, row)];
      const double* const inverse = memory.inverse + block_size * I + own.j;
      return Block{{u.v[0] * inverse[0], u.v[1] * inverse[4]}};
    };
    const Block first = scaled(J, J);
    Block rest[B], next[B];
#pragma unroll
    for (int I = J + 1; I < B; ++I) {
      rest[I] = scaled(J, I);
      next[I] = scaled(J + 1, I);
    }
#pragma unroll
    for (int H = 0; H <= J; ++H) {
      Block product{}, below{};
      add_product(product, first, a[block_place(J, H)]);
#pragma unroll
      for (int I = J + 1; I < B; ++I) add_products(product, below, rest[I], next[I], a[block_place(I, H)]);
      count(J, H, product);
      if (both) count(J + 1, H, below);
    }
    if constexpr (both) {
      Block product{};
#pragma unroll
      for (int I = J + 1; I < B; ++I) add_product(product, next[I], a[block_place(I, J + 1)]);
      count(J + 1, J + 1, product);
    }
  });
  double norm = 0;
#pragma unroll
  for (int J = 0; J < B; ++J) {
    const double sum = by_columns(own.lane, sum_of_row(row_sum[J])) + sum_of_columns(own.lane, column_sum[J]);
    if (block_size * J + own.lane % block_size < m) norm = max(norm, sum);
  }
  return max_of_group<block_size>(norm);
}

/// Its exponent brings a vector next to 1 whose largest magnitude has this as its high word.
__device__ __forceinline__ int exponent_towards_one(int high_word) {
  return normalizing_exponent(__hiloint2double(high_word, 0));
}

/// ||b - A x||_1 / (||A||_1 ||x||_1), and ||A||_1. The residual as Residual<double> has it, but for powers of two; A, b
/// and x from shared memory.
template <int B>
__device__ __forceinline__ double judge_blocks(int m, const BlocksMemory<B>& memory, KeptMemory<B>& kept,
                                               double& norm_a) {
  constexpr int bits = Residual<double>::bits;
  const BlockLane own;
  const int c = own.lane % block_size;
  int high_a = 0, high_x = 0;
#pragma unroll
  for (int I = 0; I < B; ++I) {
    const double* const block = kept.matrix[block_place(I, I)] + 2 * own.lane;
    if ((own.row & 3) == own.j && block_size * I + own.row < m)
      high_a = max(high_a, __double2hiint(block[own.row >> 2]) & 0x7fffffff);
  }
  double x[rows_of_lane<B>];
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    const int row = warp_lanes * i + own.lane;
    x[i] = row < block_size * B ? memory.x[row] : 0.0;
    high_x = max(high_x, __double2hiint(x[i]) & 0x7fffffff);
  }
  const int a_exponent = exponent_towards_one(__reduce_max_sync(whole_warp, high_a));
  const double a_factor = power_of_two<double>(a_exponent), back = power_of_two<double>(-a_exponent);
  const double x_factor = power_of_two<double>(exponent_towards_one(__reduce_max_sync(whole_warp, high_x)));
  const double split = 1.5 * static_cast<double>(1LL << (52 - bits)) * back;  // of numbers times a_factor
  double norm_x = 0;
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    const int row = warp_lanes * i + own.lane;
    const double value = x[i] * x_factor;
    if (row < block_size * B) kept.x[row] = halved<bits>(value);
    norm_x += abs(value);
  }
  norm_x = sum_of_group<warp_lanes>(norm_x);
  __syncwarp();  // x is complete
  struct Sum {
    double high = 0, low = 0, norm = 0;
  };
  const auto add = [&](Sum & sum, double a, const Halves& of_x) __attribute__((always_inline)) {
    const double high = __dsub_rn(__dadd_rn(a, split), split), low = a - high;
    sum.high = fma(high, of_x.high, sum.high);
    sum.low = fma(low, of_x.high + of_x.low, sum.low);
    sum.low = fma(high, of_x.low, sum.low);
    sum.norm += abs(a);
  };
  double largest = 0, total = 0;
#pragma unroll 1
  for (int I = 0; I < B; ++I) {
    Sum of_row, of_column[2];
    const double* block = kept.matrix[block_place(I, 0)] + 2 * own.lane;
#pragma unroll 2
    for (int J = 0; J <= I; ++J, block += 2 * warp_lanes) {
      const auto v = *reinterpret_cast<const Vector<double, 2>*>(block);
#pragma unroll
      for (int q = 0; q < 2; ++q) add(of_row, v.value[q], kept.x[block_size * J + 4 * q + own.j]);
    }
    block += 2 * warp_lanes * I;  // (I + 1, I)
#pragma unroll 2
    for (int J = I + 1; J < B; ++J) {
      const auto v = *reinterpret_cast<const Vector<double, 2>*>(block);
      const Halves of_x = kept.x[block_size * J + own.row];
#pragma unroll
      for (int q = 0; q < 2; ++q) add(of_column[q], v.value[q], of_x);
      block += 2 * warp_lanes * (J + 1);
    }
    const auto of_c = [&](double Sum::*member) __attribute__((always_inline)) {
      return by_columns(own.lane, sum_of_row(of_row.*member)) +
             sum_of_columns(own.lane, {{of_column[0].*member, of_column[1].*member}});
    };
    const int row = block_size * I + c;
    const Halves of_b = halved<2 * bits>(with_factors(memory.rhs[row], a_factor, x_factor));
    const double high = of_b.high * back - of_c(&Sum::high), low = of_b.low * back - of_c(&Sum::low);
    const double norm = of_c(&Sum::norm);
    if (row < m) {
      largest = max(largest, norm);
      total += abs(high + low);
    }
  }
  norm_a = max_of_group<block_size>(largest);
  total = sum_of_group<block_size>(total);
  return total == 0 ? 0 : total / (norm_a * norm_x);
}

/// The smallest pivot and ln det: one logarithm, of the product of all mantissas.
template <class T, int B>
__device__ __forceinline__ void store_pivot_numbers(const Arguments<T>& args, unsigned system, int m,
                                                    const BlocksMemory<B>& memory) {
  constexpr double ln_2 = 0.693147180559945309417;
  constexpr int mantissa_bits = Traits<double>::mantissa_bits;
  double smallest = infinity<double>(), product = 1;
  int exponents = 0;
#pragma unroll
  for (int row = threadIdx.x; row < block_size * B; row += warp_lanes) {
    const double pivot = memory.pivot[row];
    if (row >= m) continue;
    const int exponent = exponent_of(pivot);
    smallest = min(smallest, pivot);
    exponents += exponent;
    product *= __hiloint2double(__double2hiint(pivot) - (exponent << (mantissa_bits - 32)), __double2loint(pivot));
  }
  smallest = min_of_group<warp_lanes>(smallest);
  exponents = __reduce_add_sync(whole_warp, exponents);
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) product *= __shfl_xor_sync(whole_warp, product, step);
  PivotNumbers<T> numbers{static_cast<T>(smallest)};
  if (args.to.log_determinant != nullptr) numbers.log_determinant = fma(exponents, ln_2, log(product));
  if (threadIdx.x == 0) numbers.store(args, system);
}

/// Starts to bring `count` numbers into the second-level cache.
template <class T>
__device__ __forceinline__ void fetch_ahead(const T* from, int count) {
  constexpr int line = 128 / sizeof(T);
#pragma unroll 1
  for (int i = line * static_cast<int>(threadIdx.x); i < count; i += line * warp_lanes)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
}

/// Solves what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie far from 1
/// or that fail. `Full`: besides x and the status, all numbers whose pointers are not null.
template <class T, int B, bool Full, bool Packed>
__global__ void __launch_bounds__(warp_lanes, BlocksPlan<B, Full>::warps) ldlt_blocks_kernel(Arguments<T> args) {
  __shared__ BlocksMemory<B> memory;
  __shared__ std::conditional_t<Full, KeptMemory<B>, NoMemory> kept;
  const int lane = threadIdx.x;
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const int size = rows_of(args, std::int64_t{task}), m = max(size, 0);
    const T* const from = args.a + task * args.a_step;
    T rhs[rows_of_lane<B>];
    load_rhs<T, B>(args, task, 0, m, rhs);
    Block a[block_place(B, 0)];
    unsigned odd = load_blocks<T, B, Packed>(args, from, m, args.once, a);
    odd |= static_cast<unsigned>(keep_rhs<T, B>(rhs, memory.rhs)) | static_cast<unsigned>(size <= 0);
    if (task + gridDim.x < args.tasks)
      fetch_ahead(from + gridDim.x * args.a_step, Packed ? args.n * (args.n + 1) / 2 : args.n * args.n);
    if constexpr (Full)
#pragma unroll
      for (int i = 0; i < block_place(B, 0); ++i)
        *reinterpret_cast<Vector<double, 2>*>(kept.matrix[i] + 2 * lane) = {{a[i].v[0], a[i].v[1]}};
    __syncwarp();  // the right-hand side is complete
    bool bad = factor_blocks<B>(odd != 0, a, memory);
    double error = 0, norm_a = 0;
    const int columns = Full ? max(args.nrhs, 1) : args.nrhs;
#pragma unroll 1
    for (int column = 0; column < columns; ++column) {
      if (column > 0) {
        __syncwarp();  // the right-hand side before has been read
        load_rhs<T, B>(args, task, column, m, rhs);
        bad |= keep_rhs<T, B>(rhs, memory.rhs);
        __syncwarp();  // the right-hand side is complete
        substitute_forward<B>(a, memory);
      }
      __syncwarp();  // z and the diagonal blocks are complete
      substitute_back<B>(a, memory);
      __syncwarp();  // x is complete
      T* const x = args.to.x + task * args.to.x_stride + column;
#pragma unroll
      for (int i = 0; i < rows_of_lane<B>; ++i) {
        const int row = warp_lanes * i + lane;
        if (row >= args.n) continue;
        const T value = static_cast<T>(memory.x[row]);
        bad |= not_finite(value);
        if (column < args.nrhs) x[row * args.nrhs] = value;
      }
      if constexpr (Full)
        if (args.to.backward_error != nullptr || args.to.rcond != nullptr)
          error = max(error, judge_blocks<B>(m, memory, kept, norm_a));
    }
    if constexpr (Full) {
      if (lane == 0 && args.to.backward_error != nullptr) args.to.backward_error[task] = static_cast<T>(error);
      if (args.pivot_numbers) store_pivot_numbers<T, B>(args, task, m, memory);
      if (args.to.rcond != nullptr) {
        const double norm_inverse = norm_of_inverse<B>(m, a, memory);
        const double rcond = 1 / norm_a / norm_inverse;
        if (lane == 0) args.to.rcond[task] = static_cast<T>(rcond > 0 ? rcond : 0);
      }
    }
    bad = __any_sync(whole_warp, bad);
    if (lane == 0) {
      args.to.info[task] = 0;
      args.marks[task] = bad ? Mark::unsettled : Mark::settled;
    }
    __syncwarp();  // what this system has left in shared memory has been read
  }
}

/// A kernel, and how many warps of it share a multiprocessor.
template <class T>
struct BlocksKernel {
  Kernel<Arguments<T>> kernel;
  int warps;
};
template <class T, int B>
BlocksKernel<T> blocks_kernel(bool full, bool packed) {
  if (full)
    return {packed ? ldlt_blocks_kernel<T, B, true, true> : ldlt_blocks_kernel<T, B, true, false>,
            BlocksPlan<B, true>::warps};
  return {packed ? ldlt_blocks_kernel<T, B, false, true> : ldlt_blocks_kernel<T, B, false, false>,
          BlocksPlan<B, false>::warps};
}

}  // namespace

template <class T>
cudaError_t launch_ldlt_blocks(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                               cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.tasks = static_cast<unsigned>(batch.count);
  const bool full = arguments.pivot_numbers || solution.backward_error != nullptr || solution.rcond != nullptr;
  const bool packed = batch.shape.storage == Storage::packed_lower;
  const int n = batch.shape.n;
  const auto [kernel, warps] = n <= 40   ? blocks_kernel<T, 5>(full, packed)
                               : n <= 48 ? blocks_kernel<T, 6>(full, packed)
                               : n <= 56 ? blocks_kernel<T, 7>(full, packed)
                                         : blocks_kernel<T, 8>(full, packed);
  int device = 0, multiprocessors = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  const auto resident = static_cast<unsigned>(multiprocessors * warps);
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(kernel, dim3(std::min(resident, arguments.tasks)), dim3(warp_lanes), parameters, 0, stream);
}

template cudaError_t launch_ldlt_blocks(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
