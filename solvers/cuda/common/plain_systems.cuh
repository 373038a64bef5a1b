// Plain systems in shared memory: their layout, and the functions that copy them there. A warp keeps its matrices there
// from the copy to the judgement. Matrices may have any size up to N, any storage and any alignment. Private to
// solvers/cuda.
//
// A row is a whole number of 16-byte pieces. If the number of pieces in a row is a power of two, they are arranged as
// in Tile. Otherwise the distance between rows is an odd number of pieces, which avoids bank conflicts equally well. A
// matrix smaller than N is filled up with rows of the identity.
#pragma once

#include "solvers/cuda/common/tile.cuh"

namespace smallbatch {

namespace {

/// Layout of plain systems. Sums are added in the order of a kernel with `Shares` times as many lanes. With two shares,
/// lane l has the rows of lanes l and l + Lanes of that kernel, and a separate sum for each.
template <class T, int N, int Lanes, int Shares = 1>
struct PlainLayout : Tile<T, N, Lanes, false> {
  static constexpr int shares = Shares;
  using Base = Tile<T, N, Lanes, false>;
  using Base::lanes, Base::piece, Base::pieces_per_row, Base::systems;
  static constexpr bool keyed = (pieces_per_row & (pieces_per_row - 1)) == 0 && N * pieces_per_row >= 8;
  static constexpr int row_pitch = (keyed ? pieces_per_row : pieces_per_row | 1) * piece;
  // The gaps `apart` and `skew` put rows of neighbouring systems that are read together into different banks, and
  // likewise their columns.
  static constexpr int apart = lanes == 8 && piece == 4 ? 2 : 4;  // pieces of a system beyond whole lines of 8
  static constexpr int skew = lanes == 4 ? 4 / piece : 0;         // pieces left free after every second system
  static constexpr int system_pieces = keyed ? N * pieces_per_row : (N * row_pitch / piece - apart + 7) / 8 * 8 + apart;
  static constexpr int begin(int system) { return (system * system_pieces + (keyed ? 0 : system / 2 * skew)) * piece; }
  static constexpr int numbers = begin(systems);
};

/// Returns element (row, column) of the matrix of `group`, which begins at `matrix`.
template <class L, class T>
__device__ __forceinline__ T& kept(T* matrix, int group, int row, int column) {
  if constexpr (L::keyed)
    return staged<L>(matrix, group, row, column);
  else
    return matrix[row * L::row_pitch + column];
}

/// Returns piece p of row G u + lane.
template <class T, class L>
__device__ __forceinline__ Vector<T, L::piece> kept_piece(const T* matrix, int group, int lane, int u, int p) {
  constexpr int G = L::lanes, P = L::piece;
  const T* from;
  if constexpr (L::keyed)
    from = matrix + L::line(lane, 0) * 8 * P + ((L::key(lane, 0) ^ L::system_key(group)) ^ L::key(G * u, p)) * P +
           L::line(G * u, p) * 8 * P;
  else
    from = matrix + lane * L::row_pitch + (G * u * L::row_pitch + p * P);
  return *reinterpret_cast<const Vector<T, P>*>(from);
}

/// Returns whether the lane's row of slot u is one of the N rows.
template <class L>
__device__ __forceinline__ bool has_row(int lane, int u) {
  return L::size % L::lanes == 0 || L::lanes * (u + 1) <= L::size || L::lanes * u + lane < L::size;
}

/// Loads the lane's rows of the lower triangle. A slot without a row (has_row()) gets zeros.
template <class T, class L>
__device__ __forceinline__ void load_kept(const T* matrix, int group, int lane, T (&a)[L::rows][L::size]) {
  constexpr int P = L::piece;
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = slot;
    if (L::size % L::lanes != 0 && u + 1 == L::rows) {
#pragma unroll
      for (int c = 0; c < L::columns(u); ++c) a[u][c] = 0;
    }
    if (has_row<L>(lane, u)) {
#pragma unroll
      for (int p = 0; p < L::columns(u) / P; ++p) {
        const Vector<T, P> in = kept_piece<T, L>(matrix, group, lane, u, p);
#pragma unroll
        for (int c = 0; c < P; ++c) a[u][p * P + c] = in.value[c];
      }
    }
  });
}

/// Visits the elements of the lane's columns on and above the diagonal. Calls visit(u, row, value) for element (row, G
/// u + lane), which equals a[u][row] by symmetry.
template <class T, class L, class Matrix, class Visit>
__device__ __forceinline__ void visit_kept(Matrix* matrix, int group, int lane, Visit&& visit) {
  if constexpr (L::keyed) {
    visit_columns<0, L::size, T, L>(matrix, group, lane, visit);
  } else {
    unrolled<L::size>([&](auto index) __attribute__((always_inline)) {
      constexpr int row = index;
#pragma unroll
      for (int u = row / L::lanes; u < L::rows; ++u)
        if (has_row<L>(lane, u)) visit(u, row, matrix[row * L::row_pitch + L::lanes * u + lane]);
    });
  }
}

/// Returns the bits in which the triangles differ, in the lane's columns.
template <class T, class L>
__device__ __forceinline__ unsigned kept_difference(const T* matrix, int group, int lane,
                                                    const T (&a)[L::rows][L::size]) {
  unsigned bits = 0;
  visit_kept<T, L>(matrix, group, lane,
                   [&](int u, int row, const T& value) { bits |= differing_bits(a[u][row], value); });
  return bits;
}

/// Copies the lower triangle from `a` to the upper triangle in shared memory. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void mirror_kept(T* matrix, int group, int lane, const T (&a)[L::rows][L::size]) {
  __syncwarp();  // all rows have been read, including their elements above the diagonal
  visit_kept<T, L>(matrix, group, lane, [&](int u, int row, T& value) {
    if (u > row / L::lanes || lane > row % L::lanes) value = a[u][row];
  });
}

/// Fills the part of the diagonal blocks of `a` above the diagonal, from the lower triangle in shared memory.
template <class T, class L>
__device__ __forceinline__ void mirror_blocks(const T* matrix, int group, int lane, T (&a)[L::rows][L::size]) {
  constexpr int G = L::lanes;
  unrolled<L::size>([&](auto index) __attribute__((always_inline)) {
    constexpr int row = index, u = row / G;
    if (lane < row % G) a[u][row] = kept<L>(matrix, group, row, G * u + lane);
  });
}

/// Starts to copy matrices of N rows, 16 bytes at a time. The address of the warp's system s is source(s).
template <class T, class L, class Source>
__device__ __forceinline__ void copy_pieces(Source&& source, T* memory) {
  constexpr int P = L::piece, per_row = L::pieces_per_row;
  const int thread = fresh(threadIdx.x);
#pragma unroll
  for (int q = 0; q < L::pieces; q += warp_lanes) {
    const int e = q + thread, row = e / per_row, p = e % per_row;
    const bool own = L::pieces % warp_lanes == 0 || q + warp_lanes <= L::pieces || e < L::pieces;
    int place;
    if constexpr (L::keyed)
      place = (L::line(row, p) * 8 + L::key(row, p)) * P;
    else
      place = row * L::row_pitch + p * P;
#pragma unroll
    for (int s = 0; s < L::systems; ++s)
      if (own)
        copy_async<P>(memory + L::begin(s) + (L::keyed ? place ^ L::system_key(s) * P : place), source(s) + e * P);
  }
}

/// Starts to copy matrices of any size up to N, 16 bytes at a time. Their rows in global memory must be whole pieces.
/// Rows and columns beyond `size(s)` become zeros.
template <class T, class L, class Source, class Size>
__device__ __forceinline__ void copy_row_pieces(const Arguments<T>& args, Source&& source, Size&& size, T* memory) {
  constexpr int P = L::piece, per_row = L::pieces_per_row;
  constexpr int width = per_row <= 2 ? 2 : per_row <= 4 ? 4 : per_row <= 8 ? 8 : per_row <= 16 ? 16 : 32;
  constexpr int at_once = warp_lanes / width;  // rows
  const int thread = fresh(threadIdx.x), first_row = thread / width, column = thread % width * P;
  if (column >= L::size) return;
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s) {
    const T* const from = source(s) + column;
    T* const to = memory + L::begin(s);
    const int n = size(s), count = max(0, min(P, n - column)), row_end = count > 0 ? n : 0;
#pragma unroll 4
    for (int i = 0; i < L::size; i += at_once) {
      const int row = i + first_row;
      if (L::size % at_once != 0 && row >= L::size) break;
      const bool copied = row < row_end;
      copy_async_or_zeros(&kept<L>(to, s, row, column), copied ? from + row * args.n : source(s), copied ? count : 0);
    }
  }
}

/// Starts to copy matrices row by row, for any storage, alignment and size. Rows and columns beyond `size(s)` become
/// zeros.
template <class T, class L, class Source, class Size>
__device__ __forceinline__ void copy_rows(const Arguments<T>& args, Source&& source, Size&& size, T* memory) {
  constexpr int width = L::size <= 4 ? 4 : L::size <= 8 ? 8 : L::size <= 16 ? 16 : 32;  // lanes for a row
  constexpr int at_once = warp_lanes / width;                                           // rows
  const bool packed = args.storage == Storage::packed_lower;
  const int thread = fresh(threadIdx.x), first_row = thread / width;
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s) {
    const int n = size(s);
    const T* const from = source(s);
    T* const to = memory + L::begin(s);
#pragma unroll
    for (int column = thread % width; column < L::size; column += width) {
      const int row_end = column < n ? n : 0;
#pragma unroll 4
      for (int i = 0; i < L::size; i += at_once) {
        const int row = i + first_row;
        if (L::size % at_once != 0 && row >= L::size) break;
        const int at = (packed ? row * (row + 1) / 2 : row * args.n) + column;
        const bool copied = row < row_end && (!packed || column <= row);
        copy_async_or_zero(&kept<L>(to, s, row, column), from + (copied ? at : 0), copied);
      }
    }
  }
}

}  // namespace

}  // namespace smallbatch
