// Solves by A = L D L^T for 32 < n <= 64 in double precision, on tensor cores. A warp keeps the lower triangle of a
// system in registers as B (B + 1) / 2 blocks of 8 x 8 numbers.
//
// This is one file, because its parts share the layout of blocks in registers and in shared memory.
//
// A block has the register layout of an accumulator of mma.m8n8k4: two numbers per lane. Row and column 4 q + i of a
// block, q = 0, 1, are the instruction's row and column 2 i + q. Lane 4 r + j therefore has the elements (row, j) and
// (row, 4 + j) with row = r / 2 + 4 (r % 2). The instruction takes both factors of C -= V L^T in this layout, first the
// columns 0 .. 3, then the columns 4 .. 7. No number has to move between lanes.
//
// The elimination is right-looking, by block columns K:
//
// - V_IK = A_IK L_KK^-T by substitution within the four lanes that share a row; tensor cores do half of it. The
//   multipliers come from the diagonal block.
// - L_IK = V_IK D_K^-1
// - A_IJ -= V_IK L_JK^T
//
// All lanes compute the 4 x 4 corners on the diagonal; the reciprocals of their pivots form the chain of dependences
// from one column to the next. If registers suffice, the next corners are computed while the rest of a column is
// finished. Row 0 of a diagonal block is not needed after the first corner of the block is factored. The first
// right-hand side is carried along in this row.
//
// Dense matrices are copied to shared memory by bulk copies, with rows as they are stored, and then loaded into
// registers.
#include <nv/target>

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/device.cuh"
#include "solvers/cuda/common/pivot_numbers.cuh"
#include "solvers/cuda/common/stored_systems.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

constexpr int block_size = 8;
/// Returns the position of block (i, j) among the blocks of a lower triangle, by rows.
constexpr int block_place(int i, int j) { return i * (i + 1) / 2 + j; }

/// Plan of a kernel. `warps`: how many warps a multiprocessor holds.
template <int B, bool Full>
struct BlocksPlan {
  static constexpr int warps =
      row_of(ScalarType::float64, Family::blocks, block_size* B, Full ? Asked::pivots : Asked::x, Arrival::anywhere)
          .warps.here;
  // Whether the next block on the diagonal is factored while a column is finished. This needs free registers, and code
  // that fits into the instruction cache.
  static constexpr bool ahead = B > 5 || Full;
};

/// Whether the whole matrix stays in shared memory until it has been judged.
template <int B, bool Full>
inline constexpr bool matrix_stays = Full&& B == 5;

/// The lane's elements (row, j) and (row, 4 + j) of a block.
struct Block {
  double v[2];
};

/// Adds a b^T to c over four columns of a and b; the lane has one element of each.
__device__ __forceinline__ void add_product(Block& c, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c.v[0]), "+d"(c.v[1])
      : "d"(a), "d"(b));
}
__device__ __forceinline__ void add_product(Block& c, const Block& a, const Block& b) {
  add_product(c, a.v[0], b.v[0]);
  add_product(c, a.v[1], b.v[1]);
}
/// Adds products to two blocks of a block column at once. If one instruction does both, it takes no longer than the
/// instruction for one block.
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

/// The lane's position in a block.
struct BlockLane {
  int lane, j, row;
  __device__ __forceinline__ BlockLane() : lane(fresh(threadIdx.x)), j(lane & 3), row((lane >> 3) | (lane & 4)) {}
};

__device__ __forceinline__ double choose(int j, double v0, double v1, double v2, double v3) {
  const double low = (j & 1) != 0 ? v1 : v0, high = (j & 1) != 0 ? v3 : v2;
  return (j & 2) != 0 ? high : low;
}

/// Returns 1 / v; the last place may be wrong.
__device__ __forceinline__ double reciprocal_nearly(double v) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(v));
  const double e = fma(-v, y, 1.0);
  return fma(y, fma(e, e, e), y);
}

/// The factors of a 4 x 4 corner on the diagonal.
struct Corner {
  double inverse[4];  // reciprocals of the pivots
  double l10, l20, l30, l21, l31, l32;
};
/// Factors a corner. Element (i, k) is v of lane 8 i + first + k. The whole warp calls.
__device__ __forceinline__ Corner factor_corner(double v, int first) {
  const auto at = [&](int i, int k) __attribute__((always_inline)) {
    return shuffle(v, 8 * i + first + k, warp_lanes);
  };
  const double a10 = at(1, 0), a20 = at(2, 0), a30 = at(3, 0), a21 = at(2, 1), a31 = at(3, 1), a32 = at(3, 2);
  Corner c;
  // Two pivots at a time. The second pivot is the determinant of both rows and columns, divided by the first pivot.
  // Both reciprocals are therefore computed at the same time.
  const auto two_pivots = [&](int i, double p0, double p10, double p11) __attribute__((always_inline)) {
    const double determinant = fma(p0, p11, -(p10 * p10));
    c.inverse[i] = reciprocal_nearly(p0);
    c.inverse[i + 1] = p0 * reciprocal_nearly(determinant);
    return p10 * c.inverse[i];
  };
  const double a00 = at(0, 0), a11 = at(1, 1), a22 = at(2, 2), a33 = at(3, 3);
  c.l10 = two_pivots(0, a00, a10, a11);
  c.l20 = a20 * c.inverse[0];
  c.l30 = a30 * c.inverse[0];
  const double v21 = fma(-a20, c.l10, a21), v31 = fma(-a30, c.l10, a31);
  c.l21 = v21 * c.inverse[1];
  c.l31 = v31 * c.inverse[1];
  const double p2 = fma(-v21, c.l21, fma(-a20, c.l20, a22));
  const double p32 = fma(-v31, c.l21, fma(-a30, c.l20, a32));
  const double p3 = fma(-v31, c.l31, fma(-a30, c.l30, a33));
  c.l32 = two_pivots(2, p2, p32, p3);
  return c;
}

/// The elements of a diagonal block L that V = A L^-T needs.
struct Multipliers {
  double low[3];   ///< L(j, k), 0 if k >= j
  double middle;   ///< -L(row, j) in rows 4 .. 7, 0 in rows 0 .. 3
  double high[3];  ///< L(4 + j, 4 + k), 0 if k >= j
};
/// Replaces v by v L^-T for four columns; each of four lanes has one number of the row v.
__device__ __forceinline__ void substitute(double& v, const double (&l)[3]) {
#pragma unroll
  for (int k = 0; k < 3; ++k) v = fma(-shuffle(v, k, 4), l[k], v);
}
/// Replaces a by a L^-T.
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

/// Number of a vector's elements in each lane: those of the rows `lane` and `lane` + 32.
template <int B>
inline constexpr int rows_of_lane = (block_size * B + warp_lanes - 1) / warp_lanes;

/// The shared memory of a warp.
template <int B>
struct BlocksMemory {
  static constexpr int places = warp_lanes * rows_of_lane<B>;  // numbers that a vector has room for
  double diagonal[B][block_size * block_size];  // diagonal blocks of L by rows; undefined above their diagonals
  double inverse[B * block_size];               // 1 / d
  double rhs[places], x[places];
  double next_rhs[places];  // the next right-hand side, being copied
  std::uint64_t arrivals;   // of bulk copies
};
template <int B>
struct KeptMemory {
  Halves x[B * block_size];
};
/// Bytes of the blocks that are kept for the judgement in dynamic shared memory. The rows of the matrix pass through
/// this memory first, on their way to the registers. A kept block is stored lane by lane, the lane's two numbers side
/// by side. Diagonal blocks have both triangles.
template <int B>
inline constexpr int kept_blocks_bytes = block_place(B, 0) * 2 * warp_lanes* static_cast<int>(sizeof(double));
__device__ __forceinline__ double* kept_block(int place) { return stored_matrices<double>() + 2 * warp_lanes * place; }
struct NoMemory {};

/// Returns the sum over the four lanes of a row, in all four.
__device__ __forceinline__ double sum_of_row(double v) {
  v += __shfl_xor_sync(whole_warp, v, 1);
  return v + __shfl_xor_sync(whole_warp, v, 2);
}
/// Returns the sums of the columns of a block. Lanes with lane % 8 = c get the sum of column c.
__device__ __forceinline__ double sum_of_columns(int lane, const Block& b) {
  const bool high = (lane & 4) != 0;
  double sum = high ? b.v[1] : b.v[0];
  sum += __shfl_xor_sync(whole_warp, high ? b.v[0] : b.v[1], 4);
  sum += __shfl_xor_sync(whole_warp, sum, 8);
  return sum + __shfl_xor_sync(whole_warp, sum, 16);
}
/// Exchanges one number per row, `of_row`: lanes with lane % 8 = c get the number of row c.
__device__ __forceinline__ double by_columns(int lane, double of_row) {
  return shuffle(of_row, 8 * (lane & 3) + (lane & 4), warp_lanes);
}

/// Calls body(k) with the compile-time constant k that equals `index`, if index < Count.
template <int Count, class Body>
__device__ __forceinline__ void in_case(int index, Body&& body) {
  unrolled<Count>([&](auto k) __attribute__((always_inline)) {
    if (index == k) body(k);
  });
}

template <int B>
using Blocks = Block[block_place(B, 0)];

/// Additional arguments of the kernel.
template <class T>
struct BlocksArguments : Arguments<T> {
  int kept_rows = 0;  ///< rows of a dense matrix that fit into shared memory at a time; a multiple of block_size
};

/// Loads a packed lower triangle, with rows of the identity behind row m - 1. Returns a nonzero value if a diagonal
/// element is far from 1.
template <class T, int B>
__device__ __forceinline__ unsigned load_packed_blocks(const T* from, int m, Blocks<B>& a) {
  const BlockLane own;
  // Row `row` of block I begins at from + start(row) + further(I, row).
  const auto start = [](int row) { return row * (row + 1) / 2; };
  const auto further = [](int I, int row) { return block_size * I * row + 4 * I * (block_size * I + 1); };
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
  return odd;
}

/// Starts to copy rows `first` to `end - 1` of a dense matrix, in whole 16-byte pieces. Neighbouring numbers of the
/// batch are copied, too, and ignored. The distance between rows is args.kept_pitch. `to` is the address for the piece
/// in which the first row begins.
template <class T>
__device__ __forceinline__ void copy_block_rows(const BlocksArguments<T>& args, const T* from, int first, int end,
                                                T* to, std::uint64_t& arrivals) {
  constexpr int P = 16 / sizeof(T);
  const int thread = fresh(threadIdx.x), n = args.n;
  const int skipped = beyond_piece(from), stop = skipped + (end - first) * n;
  const T* const matrix = from - skipped + first * n;
  if constexpr (has_bulk_copies()) {
    if (args.kept_pitch != n) {
      const int bytes = n * static_cast<int>(sizeof(T));
      if (thread == 0) expect_bytes((end - first) * bytes, arrivals);
      __syncwarp();  // the bytes are announced
      for (int row = thread; row < end - first; row += warp_lanes)
        start_bulk_copy(to + row * args.kept_pitch, matrix + row * n, bytes, arrivals);
      return;
    }
    // The first piece may begin before the batch, and the last may end beyond it. From these pieces only the matrix's
    // numbers are copied.
    const int begun = first == 0 && from == args.a && skipped > 0 ? 1 : 0;
    const bool cut = end == n && from == args.a + (args.count - 1) * args.a_step;
    const int pieces = cut ? stop / P : (stop + P - 1) / P;
    if (thread == 0) {
      expect_bytes((pieces - begun) * 16, arrivals);
      start_bulk_copy(to + begun * P, matrix + begun * P, (pieces - begun) * 16, arrivals);
    }
    if (const int e = skipped + thread; begun > 0 && e < P) copy_async<1>(to + e, matrix + e);
    if (const int e = pieces * P + thread; e < stop) copy_async<1>(to + e, matrix + e);
  } else {
#pragma unroll 4
    for (int e = skipped + thread; e < stop; e += warp_lanes) copy_async<1>(to + e, matrix + e);
  }
}

/// Starts to copy the last rows of a matrix, up to args.kept_rows of them. load_blocks() takes these rows first.
template <class T, int B>
__device__ __forceinline__ void begin_rows(const BlocksArguments<T>& args, const T* from, T* to,
                                           std::uint64_t& arrivals) {
  copy_block_rows(args, from, max(block_size * B - args.kept_rows, 0), args.n, to, arrivals);
}

/// Loads the lower triangle, with rows of the identity behind row m - 1. Returns a nonzero value if the triangles
/// differ or a diagonal element is far from 1. begin_rows() has started the copies of the last rows.
template <class T, int B>
__device__ __forceinline__ unsigned load_blocks(const BlocksArguments<T>& args, const T* from, int m, T* place,
                                                std::uint64_t& arrivals, unsigned& turn, Blocks<B>& a) {
  const BlockLane own;
  const int pitch = args.kept_pitch;
  const bool dense = args.storage == Storage::dense;
  const auto wait = [&]() __attribute__((always_inline)) {
    if constexpr (has_bulk_copies()) wait_for_bulk_copies(arrivals, turn);
    turn ^= 1;
    wait_for_copies();
  };
  int first = max(block_size * B - args.kept_rows, 0), once = args.once;
  unsigned odd = 0;
  const T* const rows = place + beyond_piece(from);
  wait();
  unrolled<B>([&](auto index) __attribute__((always_inline)) {
    constexpr int I = B - 1 - index;
    if (block_size * I < first) {
      const int end = first;
      first = max(end - args.kept_rows, 0);
      leave_to_bulk_copies();
      __syncwarp();  // the rows have been read: the rows before them take their place
      copy_block_rows(args, from, first, end, place, arrivals);
      wait();
    }
    const T* const block_row = rows + (block_size * I - first) * pitch;
    const T* const line = block_row + own.row * pitch + own.j;
    const bool inside = block_size * I + own.row < m;
#pragma unroll
    for (int J = 0; J < I; ++J)
#pragma unroll
      for (int q = 0; q < 2; ++q) a[block_place(I, J)].v[q] = inside ? line[block_size * J + 4 * q] : T(0);
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const int column = 4 * q + own.j, high = max(own.row, column), low = min(own.row, column);
      const T value =
          block_size * I + high < m ? block_row[high * pitch + block_size * I + low] : T(own.row == column ? 1 : 0);
      a[block_place(I, I)].v[q] = value;
      if (own.row == column) odd |= far_bits(value);
    }
    if (!dense) return;
    apart(
        once, [&]() __attribute__((always_inline)) {
#pragma unroll
          for (int q = 0; q < 2; ++q) {
            const int column = 4 * q + own.j;
            const T* const mirrored = block_row + column * pitch + own.row;
#pragma unroll
            for (int J = I; J < B; ++J)
              if (block_size * J + (J == I ? max(own.row, column) : own.row) < m)
                odd |= differing_bits(static_cast<T>(a[block_place(J, I)].v[q]), mirrored[block_size * J]);
          }
        });
  });
  return odd;
}

/// Loads a right-hand side, with zeros behind row m - 1.
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
/// Puts the right-hand side into shared memory. Returns whether a number is far from 1.
template <class T, int B>
__device__ __forceinline__ bool keep_rhs(const T (&rhs)[rows_of_lane<B>], double (&to)[BlocksMemory<B>::places]) {
  bool far = false;
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    far |= is_far(rhs[i], Traits<T>::rhs_window);
    to[warp_lanes * i + static_cast<int>(threadIdx.x)] = rhs[i];
  }
  return far;
}

/// Returns `b_K - sum_J L_KJ z_J` for block K of a right-hand side; L_KK^-1 times this is z_K. The argument `sum` is
/// the lane's part of the sum over J. The lane gets the rows j and 4 + j.
__device__ __forceinline__ Block rest_of_rhs(const BlockLane& own, const double* rhs, double sum) {
  sum = sum_of_row(sum);
  return {{rhs[own.j] - shuffle(sum, 8 * own.j, warp_lanes), rhs[4 + own.j] - shuffle(sum, 8 * own.j + 4, warp_lanes)}};
}

/// Factors A = L D L^T, and stores z = L^-1 b of the first right-hand side in memory.x. Returns true if the system is
/// not plain: if `odd`, or if a pivot is not positive, finite and normal.
template <int B, bool Full>
__device__ __forceinline__ bool factor_blocks(int n, bool odd, Blocks<B>& a, BlocksMemory<B>& memory) {
  constexpr unsigned least_normal = 0x00100000U, infinite = 0x7ff00000U;  // high words
  const BlockLane own;
  struct Factors {
    Multipliers l;
    Block inverse;  // reciprocals of the pivots
  } factors;
  // Computes L, D and z of block K. The products of earlier blocks have been subtracted from `diagonal`, but not from
  // the right-hand side. `sum` is the lane's part of the products that must be subtracted from the right-hand side.
  const auto factor_diagonal = [&](int K, Block diagonal, double sum) __attribute__((always_inline)) {
    auto& [l, inverse] = factors;
    const auto keep = [&](const Corner& c, int first) __attribute__((always_inline)) {
      const double inverse = choose(own.j, c.inverse[0], c.inverse[1], c.inverse[2], c.inverse[3]);
      if (own.lane < 4) memory.inverse[block_size * K + first + own.j] = inverse;
      return inverse;
    };
    const Block rest = rest_of_rhs(own, memory.rhs + block_size * K, sum);
    const Corner low = factor_corner(diagonal.v[0], 0);
    multipliers_of(own.j, low, l.low);
    if (own.row == 0) diagonal = rest;  // row 0 was needed only for the corner: it now carries b, which becomes z
    inverse.v[0] = keep(low, 0);
    substitute(diagonal.v[0], l.low);
    const double l_low = diagonal.v[0] * inverse.v[0];
    l.middle = own.row >= 4 ? -l_low : 0.0;
    add_product(diagonal, diagonal.v[0], l.middle);
    Corner high{{1, 1, 1, 1}, 0, 0, 0, 0, 0, 0};
    if (K + 1 < B || block_size * K + 4 < n) high = factor_corner(diagonal.v[1], 4);
    multipliers_of(own.j, high, l.high);
    inverse.v[1] = keep(high, 4);
    substitute(diagonal.v[1], l.high);
    memory.diagonal[K][block_size * own.row + own.j] = l_low;
    memory.diagonal[K][block_size * own.row + 4 + own.j] = diagonal.v[1] * inverse.v[1];
    if (own.lane < 4) {
      memory.x[block_size * K + own.j] = diagonal.v[0];
      memory.x[block_size * K + 4 + own.j] = diagonal.v[1];
    }
  };
  // Returns the lane's part of the products L_IJ z_J, J <= k, that are subtracted from block I = k + 1 of b.
  const auto sum_of_row = [&]<int k>() __attribute__((always_inline)) {
    double sum = 0;
#pragma unroll
    for (int J = 0; J <= k; ++J) {
      const Block& block = a[block_place(k + 1, J)];
      const double* const z_of = memory.x + block_size * J + own.j;
      sum = fma(block.v[1], z_of[4], fma(block.v[0], z_of[0], sum));
    }
    return sum;
  };
  // Finishes block column k, and subtracts its products from the columns behind it. Calls next() when the next block on
  // the diagonal is ready.
  const auto finish_column = [&]<int k>(const Factors& of_k, auto&& next) __attribute__((always_inline)) {
    const auto finish = [&](int I) __attribute__((always_inline)) {
      Block& block = a[block_place(I, k)];
      const Block v = negative(block);
      block = {{block.v[0] * of_k.inverse.v[0], block.v[1] * of_k.inverse.v[1]}};
      return v;
    };
    // Block rows 2 p and 2 p + 1 are handled together. If only one of the two is in this column, it is handled alone.
    unrolled<B - 1 - k>([&](auto below) __attribute__((always_inline)) {
      constexpr int I = k + 1 + below;
      if constexpr (I % 2 == 0 && I + 1 < B) {
        substitute(a[block_place(I, k)], a[block_place(I + 1, k)], of_k.l);
        const Block v = finish(I), v_below = finish(I + 1);
#pragma unroll
        for (int J = k + 1; J <= I; ++J)
          add_products(a[block_place(I, J)], a[block_place(I + 1, J)], v, v_below, a[block_place(J, k)]);
        if (below == 0) next();
        add_product(a[block_place(I + 1, I + 1)], v_below, a[block_place(I + 1, k)]);
      } else if constexpr (I % 2 == 0 || below == 0) {
        substitute(a[block_place(I, k)], of_k.l);
        const Block v = finish(I);
#pragma unroll
        for (int J = k + 1; J <= I; ++J) add_product(a[block_place(I, J)], v, a[block_place(J, k)]);
        if (below == 0) next();
      }
    });
  };
  if constexpr (BlocksPlan<B, Full>::ahead) {
    // Factoring a diagonal block takes many steps that wait for each other. Most of a column is finished meanwhile.
    factor_diagonal(0, a[0], 0);
    unrolled<B - 1>([&](auto column) __attribute__((always_inline)) {
      constexpr int k = column;
      __syncwarp();  // z of this block is complete: the sum for the next block reads it
      finish_column.template operator()<k>(
          Factors(factors), [&]() __attribute__((always_inline)) {
            factor_diagonal(k + 1, a[block_place(k + 1, k + 1)], sum_of_row.template operator()<k>());
          });
    });
  } else {
    Block diagonal = a[0];
    double sum = 0;
#pragma unroll 1
    for (int K = 0; K < B; ++K) {
      factor_diagonal(K, diagonal, sum);
      __syncwarp();  // z of this block is complete: the sum for the next block reads it
      in_case<B - 1>(
          K, [&](auto column) __attribute__((always_inline)) {
            constexpr int k = column;
            finish_column.template operator()<k>(factors, []() {});
            diagonal = a[block_place(k + 1, k + 1)];
            sum = sum_of_row.template operator()<k>();
          });
    }
  }
  __syncwarp();  // the reciprocals are stored
  bool bad = odd;
#pragma unroll
  for (int row = own.lane; row < block_size * B; row += warp_lanes)
    bad |= static_cast<unsigned>(__double2hiint(memory.inverse[row])) - least_normal >= infinite - least_normal;
  return bad;
}

/// Stores z = L^-1 b in memory.x; b is in memory.rhs.
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

/// Replaces z in memory.x by x = L^-T D^-1 z.
template <int B>
__device__ __forceinline__ void substitute_back(int n, const Blocks<B>& a, BlocksMemory<B>& memory) {
  const BlockLane own;
  const int c = own.lane % block_size;
  Block sum[B] = {}, own_sum = {};
#pragma unroll 1
  for (int K = B - 1; K >= 0; --K) {
    double y = memory.x[block_size * K + c] * memory.inverse[block_size * K + c] - sum_of_columns(own.lane, own_sum);
    const auto solve = [&](int first) __attribute__((always_inline)) {
#pragma unroll
      for (int k = first + 3; k >= max(first, 1); --k) {
        const double l = c < k ? memory.diagonal[K][block_size * k + c] : 0.0;
        y = fma(-l, shuffle(y, k, warp_lanes), y);
      }
    };
    if (K + 1 < B || block_size * K + 4 < n) solve(4);
    solve(0);
    __syncwarp();  // z of the block has been read: x takes its place
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

/// Replaces the factors by U = L^-T. Block (J, I) of U is stored as block (I, J).
template <int B>
__device__ __forceinline__ void invert_factors(Blocks<B>& a, BlocksMemory<B>& memory) {
  const BlockLane own;
  unrolled<B>([&](auto index) __attribute__((always_inline)) {
    constexpr int I = index;
    // Computes U_II = L_II^-T from rows of the identity, and its transpose.
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
    __syncwarp();  // the diagonal block has been read: its inverse takes its place
    diagonal[block_size * own.row + own.j] = u.v[0];
    diagonal[block_size * own.row + 4 + own.j] = u.v[1];
    __syncwarp();  // the inverse is complete
    const Block transposed{{diagonal[block_size * own.j + own.row], diagonal[block_size * (4 + own.j) + own.row]}};
    // Block rows 2 p and 2 p + 1 of U are handled together if both have a block in this column.
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
}

/// Returns ||U D^-1 U^T||_1 = ||A^-1||_1, with U from invert_factors().
template <int B>
__device__ __forceinline__ double norm_of_inverse(int m, const Blocks<B>& a, const BlocksMemory<B>& memory) {
  const BlockLane own;
  // U D^-1 U^T is symmetric, so only its lower blocks are computed. The sum of a row covers the row of blocks up to the
  // diagonal and, by symmetry, the column of blocks below the diagonal.
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

/// Returns the exponent of the power of two that brings a vector near 1. `high_word` is the high word of its largest
/// magnitude.
__device__ __forceinline__ int exponent_towards_one(int high_word) {
  return normalizing_exponent(__hiloint2double(high_word, 0));
}

/// Powers of two that bring A and x near 1, and numbers derived from them.
struct JudgedScale {
  double a_factor, back, x_factor;  ///< `back` is 1 / a_factor
  double split;                     ///< constant that splits elements of A into halves, for products with a_factor
  double norm_x;                    ///< norm of x times x_factor
};
/// Computes the scale of a judgement, and puts x into shared memory in halves. The argument `high_a` is the largest
/// high word in the lane's part of the diagonal. The whole warp calls.
template <int B>
__device__ __forceinline__ JudgedScale scale_to_judge(int high_a, const BlocksMemory<B>& memory, KeptMemory<B>& kept) {
  constexpr int bits = Residual<double>::bits;
  const int lane = fresh(threadIdx.x);
  int high_x = 0;
  double x[rows_of_lane<B>];
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    const int row = warp_lanes * i + lane;
    x[i] = row < block_size * B ? memory.x[row] : 0.0;
    high_x = max(high_x, __double2hiint(x[i]) & 0x7fffffff);
  }
  JudgedScale scale;
  const int a_exponent = exponent_towards_one(__reduce_max_sync(whole_warp, high_a));
  scale.a_factor = power_of_two<double>(a_exponent), scale.back = power_of_two<double>(-a_exponent);
  scale.x_factor = power_of_two<double>(exponent_towards_one(__reduce_max_sync(whole_warp, high_x)));
  scale.split = 1.5 * static_cast<double>(1LL << (52 - bits)) * scale.back;
  double norm_x = 0;
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    const int row = warp_lanes * i + lane;
    const double value = x[i] * scale.x_factor;
    if (row < block_size * B) kept.x[row] = halved<bits>(value);
    norm_x += abs(value);
  }
  scale.norm_x = sum_of_group<warp_lanes>(norm_x);
  __syncwarp();  // x is complete
  return scale;
}

/// Returns ||b - A x||_1 / (||A||_1 ||x||_1), and stores ||A||_1 in `norm_a`. The residual is computed as in
/// Residual<double>, from numbers that are scaled by powers of two. A, b and x are in shared memory.
template <int B>
__device__ __forceinline__ double judge_blocks(int m, const BlocksMemory<B>& memory, KeptMemory<B>& kept,
                                               double& norm_a) {
  constexpr int bits = Residual<double>::bits;
  const BlockLane own;
  const int c = own.lane % block_size;
  int high_a = 0;
#pragma unroll
  for (int I = 0; I < B; ++I) {
    const double* const block = kept_block(block_place(I, I)) + 2 * own.lane;
    if ((own.row & 3) == own.j && block_size * I + own.row < m)
      high_a = max(high_a, __double2hiint(block[own.row >> 2]) & 0x7fffffff);
  }
  const auto [a_factor, back, x_factor, split, norm_x] = scale_to_judge(high_a, memory, kept);
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
    const double* block = kept_block(block_place(I, 0)) + 2 * own.lane;
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

/// Returns and stores what judge_blocks() does, for a matrix that is whole in shared memory (matrix_stays), with rows
/// as they are stored. A lane has a column, which is a row by symmetry.
template <int B>
__device__ __forceinline__ double judge_columns(int m, int pitch, const double* matrix, const BlocksMemory<B>& memory,
                                                KeptMemory<B>& kept, double& norm_a) {
  constexpr int bits = Residual<double>::bits, rest = block_size * B - warp_lanes, parts = warp_lanes / rest;
  static_assert(rest == block_size);
  const int lane = fresh(threadIdx.x);
  int high_a = 0;
#pragma unroll
  for (int i = 0; i < rows_of_lane<B>; ++i) {
    const int row = warp_lanes * i + lane;
    if (row < m) high_a = max(high_a, __double2hiint(matrix[row * pitch + row]) & 0x7fffffff);
  }
  const auto [a_factor, back, x_factor, split, norm_x] = scale_to_judge(high_a, memory, kept);
  struct Sum {
    double high = 0, low = 0, norm = 0;
    __device__ __forceinline__ void add(double a, const Halves& of_x, double split) {
      const double a_high = __dsub_rn(__dadd_rn(a, split), split);
      high = fma(a_high, of_x.high, high);
      low = fma(a, of_x.low, fma(a - a_high, of_x.high, low));
      norm += abs(a);
    }
    __device__ __forceinline__ double residual(double b, double back) const {
      const Halves of_b = halved<2 * bits>(b);
      return abs((of_b.high * back - high) + (of_b.low * back - low));
    }
  };
  Sum own;
  if (lane < m) {
    const double* from = matrix + lane;
#pragma unroll 4
    for (int row = 0; row < m; ++row, from += pitch) own.add(*from, kept.x[row], split);
  }
  Sum other;
  const int column = warp_lanes + lane % rest;
  if (column < m) {
    const double* from = matrix + lane / rest * pitch + column;
#pragma unroll 2
    for (int row = lane / rest; row < m; row += parts, from += parts * pitch) other.add(*from, kept.x[row], split);
  }
#pragma unroll
  for (int step = rest; step < warp_lanes; step *= 2) {
    other.high += __shfl_xor_sync(whole_warp, other.high, step);
    other.low += __shfl_xor_sync(whole_warp, other.low, step);
    other.norm += __shfl_xor_sync(whole_warp, other.norm, step);
  }
  double total = 0;
  if (lane < m) total = own.residual(with_factors(memory.rhs[lane], a_factor, x_factor), back);
  if (lane < rest && column < m) total += other.residual(with_factors(memory.rhs[column], a_factor, x_factor), back);
  norm_a = max_of_group<warp_lanes>(max(own.norm, other.norm));
  total = sum_of_group<warp_lanes>(total);
  return total == 0 ? 0 : total / (norm_a * norm_x);
}

/// Puts the lower triangle of a matrix of m rows into shared memory, and mirrors it above the diagonal.
template <class T, int B>
__device__ __forceinline__ void keep_both_triangles(int m, int pitch, const Blocks<B>& a, T* matrix) {
  const BlockLane own;
  unrolled<B>([&](auto index) __attribute__((always_inline)) {
    constexpr int I = index;
    const int row = block_size * I + own.row;
    if (row >= m) return;
#pragma unroll
    for (int J = 0; J <= I; ++J)
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        const int column = block_size * J + 4 * q + own.j;
        if (column > row) continue;
        matrix[row * pitch + column] = matrix[column * pitch + row] = a[block_place(I, J)].v[q];
      }
  });
}

/// Stores the smallest pivot and ln det. It needs one logarithm only, of the product of all mantissas.
template <class T, int B>
__device__ __forceinline__ void store_pivot_numbers(const Arguments<T>& args, unsigned system, int m,
                                                    const BlocksMemory<B>& memory) {
  constexpr double ln_2 = 0.693147180559945309417;
  constexpr int mantissa_bits = Traits<double>::mantissa_bits;
  double smallest = infinity<double>(), product = 1;
  int exponents = 0;
#pragma unroll
  for (int row = threadIdx.x; row < block_size * B; row += warp_lanes) {
    const double pivot = reciprocal(memory.inverse[row]);
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

/// Starts to load `count` numbers into the second-level cache.
template <class T>
__device__ __forceinline__ void fetch_ahead(const T* from, int count) {
  constexpr int line = 128 / sizeof(T);
#pragma unroll 1
  for (int i = line * static_cast<int>(threadIdx.x); i < count; i += line * warp_lanes)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
}

/// Solves plain systems, and marks all others: systems that are not symmetric to the bit, have numbers far from 1, or
/// fail. Full: besides x and the status, it stores all numbers with pointers that are not null.
template <class T, int B, bool Full, bool Packed>
__global__ void __launch_bounds__(warp_lanes, BlocksPlan<B, Full>::warps) ldlt_blocks_kernel(BlocksArguments<T> args) {
  __shared__ BlocksMemory<B> memory;
  __shared__ std::conditional_t<Full, KeptMemory<B>, NoMemory> kept;
  const int lane = threadIdx.x;
  constexpr bool stays = matrix_stays<B, Full>;
  unsigned turn = 0;  // parity of copies, 0 or 1
  if constexpr (has_bulk_copies())
    if (lane == 0) expect_bulk_copies<1>(memory.arrivals);
  __syncwarp();  // the counter of bulk copies is initialized
  const auto stage = [&](unsigned task) __attribute__((always_inline)) {
    begin_rows<T, B>(args, args.a + task * args.a_step, stored_matrices<T>(), memory.arrivals);
    const T* const b = args.b + task * args.b_step;
#pragma unroll
    for (int i = 0; i < rows_of_lane<B>; ++i) {
      const int row = warp_lanes * i + lane;
      const bool copied = row < args.n && args.nrhs > 0;
      copy_async_or_zero(memory.next_rhs + row, copied ? b + row * args.nrhs : args.a, copied);
    }
  };
  if (!Packed && !Full && blockIdx.x < args.tasks) stage(blockIdx.x);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    if constexpr (!Packed && Full) stage(task);
    const int size = rows_of(args, std::int64_t{task}), m = max(size, 0);
    const auto matrix = [&](unsigned which) {
      return args.a + std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(which)))} * args.a_step;
    };
    T rhs[rows_of_lane<B>];
    Block a[block_place(B, 0)];
    unsigned odd;
    if constexpr (Packed) {
      load_rhs<T, B>(args, task, 0, m, rhs);
      odd = load_packed_blocks<T, B>(matrix(task), m, a);
      if (const unsigned next = task + gridDim.x; next < args.tasks)
        fetch_ahead(matrix(next), args.n * (args.n + 1) / 2);
    } else {
      odd = load_blocks<T, B>(args, matrix(task), m, stored_matrices<T>(), memory.arrivals, turn, a);
#pragma unroll
      for (int i = 0; i < rows_of_lane<B>; ++i) {
        const int row = warp_lanes * i + lane;
        rhs[i] = row < m ? memory.next_rhs[row] : T(0);
      }
      if constexpr (!Full) leave_to_bulk_copies();
      __syncwarp();  // the matrix and the right-hand side have been read: those of the next task take their places
      if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks) {
        if constexpr (!Full) stage(next);
        fetch_ahead(matrix(next), (Full ? args.n : max(block_size * B - args.kept_rows, 0)) * args.n);
      }
    }
    odd |= static_cast<unsigned>(keep_rhs<T, B>(rhs, memory.rhs)) | static_cast<unsigned>(size <= 0);
    if constexpr (stays) {
      if (Packed || args.storage != Storage::dense)
        keep_both_triangles<T, B>(m, args.kept_pitch, a, stored_matrices<T>() + beyond_piece(matrix(task)));
    } else if constexpr (Full)
#pragma unroll
      for (int i = 0; i < block_place(B, 0); ++i)
        *reinterpret_cast<Vector<double, 2>*>(kept_block(i) + 2 * lane) = {{a[i].v[0], a[i].v[1]}};
    __syncwarp();  // the right-hand side is complete
    bool bad = factor_blocks<B, Full>(args.n, odd != 0, a, memory);
    double error = 0, norm_a = 0;
    const int columns = Full ? max(args.nrhs, 1) : args.nrhs;
#pragma unroll 1
    for (int column = 0; column < columns; ++column) {
      if (column > 0) {
        __syncwarp();  // the previous right-hand side has been read
        load_rhs<T, B>(args, task, column, m, rhs);
        bad |= keep_rhs<T, B>(rhs, memory.rhs);
        __syncwarp();  // the right-hand side is complete
        substitute_forward<B>(a, memory);
      }
      __syncwarp();  // z and the diagonal blocks are complete
      substitute_back<B>(args.n, a, memory);
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
          error = max(
              error, [&]() __attribute__((always_inline)) {
                if constexpr (stays)
                  return judge_columns<B>(m, args.kept_pitch, stored_matrices<T>() + beyond_piece(matrix(task)), memory,
                                          kept, norm_a);
                else
                  return judge_blocks<B>(m, memory, kept, norm_a);
              }());
    }
    if constexpr (Full) {
      if (lane == 0 && args.to.backward_error != nullptr) args.to.backward_error[task] = static_cast<T>(error);
      if (args.pivot_numbers) store_pivot_numbers<T, B>(args, task, m, memory);
      if (args.to.rcond != nullptr) {
        invert_factors<B>(a, memory);
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
    if constexpr (!Packed && Full) leave_to_bulk_copies();
    __syncwarp();  // all data of this system in shared memory have been read
  }
}

/// A kernel, and the shared memory of a warp: bytes besides the matrix, and bytes of the blocks that are judged. If the
/// matrix stays whole, no blocks are kept.
template <class T>
struct BlocksKernel {
  Kernel<BlocksArguments<T>> kernel;
  int own_bytes, blocks_bytes;
  bool stays;
};
}  // namespace

template <class T>
cudaError_t launch_blocks(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                          cudaStream_t stream) {
  BlocksArguments<T> arguments{arguments_of(batch, solution, marks)};
  arguments.tasks = static_cast<unsigned>(batch.count);
  const bool packed = batch.shape.storage == Storage::packed_lower;
  const int n = batch.shape.n;
  BlocksKernel<T> chosen{};
  with_row<T, Family::blocks>(row, [&]<std::size_t i>() {
    constexpr int B = solve_table[i].padded / block_size;
    constexpr bool full = solve_table[i].asked != bit_of(Asked::x);
    chosen = {packed ? ldlt_blocks_kernel<T, B, full, true> : ldlt_blocks_kernel<T, B, full, false>,
              static_cast<int>(sizeof(BlocksMemory<B>)), full ? kept_blocks_bytes<B> : 0, matrix_stays<B, full>};
  });
  int device = 0, multiprocessors = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  // Rows are copied into the memory of the kept blocks. Without kept blocks, they are copied into the shared memory
  // that is left if a multiprocessor holds row.warps.here warps. The whole 16-byte pieces at the ends of a run of rows
  // take up to `rests` more bytes.
  constexpr int number = sizeof(T), of_multiprocessor = 227 << 10, of_block = 1 << 10, rests = 32;
  const bool apart = n % 16 == 0 && lies_in_pieces(batch) && !packed && !chosen.stays;
  arguments.kept_pitch = apart ? n + block_size : n;  // without the extra block, rows of whole lines would all begin in
                                                      // one bank
  const int room = chosen.blocks_bytes > 0 ? chosen.blocks_bytes
                                           : of_multiprocessor / row.warps.here - of_block - chosen.own_bytes - rests;
  const int rows = chosen.stays ? n : room / (arguments.kept_pitch * number);
  arguments.kept_rows = rows >= n ? row.padded : rows / block_size * block_size;
  const int rows_bytes = std::min(arguments.kept_rows, n) * arguments.kept_pitch * number + rests;
  const auto dynamic = static_cast<std::size_t>(packed && !chosen.stays ? chosen.blocks_bytes
                                                                        : std::max(chosen.blocks_bytes, rows_bytes));
  const auto resident = static_cast<unsigned>(multiprocessors * row.warps.here);
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(chosen.kernel, dim3(std::min(resident, arguments.tasks)), dim3(warp_lanes), parameters,
                          dynamic, stream);
}

template cudaError_t launch_blocks(const SolveRow&, const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                   cudaStream_t);

}  // namespace smallbatch
