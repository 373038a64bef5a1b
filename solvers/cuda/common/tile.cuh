// The layout of systems in a warp for L D L^T, Gauss-Jordan and the sweep. The lower triangle is in registers; both
// triangles are staged in shared memory on the way in and out. Private to solvers/cuda.
//
// Lane l has row G u + l of the lower triangle in the registers a[u][0 .. G (u + 1) - 1]. The elements above the
// diagonal in the G x G diagonal blocks may have any values, because no result depends on them. Only Gauss-Jordan uses
// them.
//
// In shared memory, rows follow each other without gaps, in pieces of 16 bytes. Eight pieces are a line, which spans
// all banks. The position of a piece in its line is the number of the piece, exclusive-or a key of row and system.
// Lanes that read a column, one row each, then meet every bank once. Lanes that read along a row of their systems meet
// every bank once, too.
#pragma once

#include "solvers/cuda/common/status.cuh"

namespace smallbatch {

namespace {

/// Shape of lower triangles in a warp. With `Split`, shared memory has room for only three quarters of the rows. The
/// first quarter is copied after the last quarter has been read.
template <class T, int N, int Lanes, bool Split>
struct Tile : Dealt<T, N, Lanes> {
  using Dealt<T, N, Lanes>::lanes, Dealt<T, N, Lanes>::piece, Dealt<T, N, Lanes>::rows;
  static constexpr int shares = 1;       // sums are added in the order of lanes * shares lanes
  static constexpr int quarter = N / 4;  // rows
  static constexpr bool split = Split;
  static constexpr int staged_rows = split ? 3 * quarter : N;
  static constexpr int staged_numbers = staged_rows * N;  // of a system
  static constexpr int pieces_per_row = N / piece, pieces = N * pieces_per_row;
  static constexpr int column_pitch = lanes * rows + 4;  // elements between the columns of neighbouring systems, chosen
                                                         // to avoid bank conflicts
  static_assert(!split || quarter % lanes == 0);

  /// Returns the number of columns that rows of slot u have in registers.
  static constexpr int columns(int u) { return lanes * (u + 1) < N ? lanes * (u + 1) : N; }

  /// Returns the index of a row among the staged rows.
  static constexpr int place(int row) { return !split ? row : row < quarter ? row + 2 * quarter : row - quarter; }

  // line() and key() return the line and the key of piece p of the staged row `place`. The callers' arguments are sums
  // of a compile-time part and a part that depends on the lane, without common bits. For such sums, line() is the sum
  // of the parts' lines, and key() is the exclusive or of the parts' keys.
  static constexpr int line(int place, int p) {
    return pieces_per_row < 8 ? place / (8 / pieces_per_row) : place * (pieces_per_row / 8) + p / 8;
  }
  static constexpr int key(int place, int p) {
    constexpr int per_line = pieces_per_row < 8 ? 8 / pieces_per_row : 1;  // rows in a line
    return (place % per_line * pieces_per_row ^ p ^ place / per_line) & 7;
  }
  /// Returns the key of a system. Systems that are read together differ in key bits that do not vary among the pieces
  /// read. Bit 0 of the system's number becomes the first of these bits.
  static constexpr int system_key(int system) {
    constexpr int first = pieces_per_row >= 8 ? 2 : pieces_per_row == 4 ? 1 : 0;
    return (system & 1) << first | (system >> 1 & 1) << (first + 2) % 3 | (system >> 2 & 1) << (first + 1) % 3;
  }
};

/// The shared memory of a warp that works on lower triangles.
template <class T, class L>
struct alignas(16) TileMemory {
  T matrix[L::systems][L::staged_numbers];
  T rhs[L::systems * L::column_pitch];
  // Pivot columns of the current and of the next step. Lanes also store elements of finished rows. These elements
  // are not used, but they may lie in front of a column, hence L::lanes additional numbers.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][L::size + 2];  // solutions to be judged
  };
};

/// Returns element (row, column) of the lane's matrix in shared memory, for any row and column.
template <class L, class T>
__device__ __forceinline__ T& staged(T* matrix, int group, int row, int column) {
  const int place = L::place(row), p = column / L::piece;
  return matrix[(L::line(place, p) * 8 + (L::key(place, p) ^ L::system_key(group))) * L::piece + column % L::piece];
}

/// Starts to copy a number if `copied` is true, otherwise to write a zero.
template <class T>
__device__ __forceinline__ void copy_async_or_zero(T* shared, const T* global, bool copied) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(sizeof(T)),
               "r"(copied ? static_cast<int>(sizeof(T)) : 0)
               : "memory");
}
/// Starts to copy the first `count` numbers of a 16-byte piece. The remaining numbers of the piece become zeros.
template <class T>
__device__ __forceinline__ void copy_async_or_zeros(T* shared, const T* global, int count) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
               "r"(count * static_cast<int>(sizeof(T)))
               : "memory");
}
/// Makes one group of all copies that the lane has started since the previous group.
__device__ __forceinline__ void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until all lanes see what all lanes have copied, except for the last `Later` groups of each lane. The whole
/// warp calls.
template <int Later>
__device__ __forceinline__ void wait_for_groups_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory");
  __syncwarp();  // the copies of the other lanes are complete, too
}
/// Waits until all lanes see what all lanes have copied. The whole warp calls.
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();  // the copies of the other lanes are complete, too
}

/// Returns the row of element e of a lower triangle packed by rows; e < 2080.
__device__ inline int packed_row(int e) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(static_cast<float>(8 * e + 1)));
  return static_cast<int>((root - 0.99F) * 0.5F);
}

/// Writes rows of the identity to the rows first_row .. end_row - 1. Copies of the matrix then replace all numbers
/// except the padding.
template <class T, class L>
__device__ void fill_padding(const Arguments<T>& args, TileMemory<T, L>& memory, int first_row = 0,
                             int end_row = L::size) {
  if (args.n == L::size) return;
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s)
#pragma unroll 1
    for (int e = first_row * L::size + threadIdx.x; e < end_row * L::size; e += warp_lanes)
      staged<L>(memory.matrix[s], s, e / L::size, e % L::size) = e / L::size == e % L::size ? T(1) : T(0);
  __syncwarp();  // the padding is written before copies land beside it
}

/// The `size` function of stage_matrix() for systems with N rows and columns.
template <class L>
struct WholeSize {
  constexpr int operator()(int) const { return L::size; }
};

/// Starts to copy rows first_row .. end_row - 1 of the warp's systems, 16 bytes at a time. The address of the warp's
/// system s in global memory is source(s). It has size(s) rows and columns; the rows and columns beyond become zeros.
template <int first_row, int end_row, class T, class L, class Source, class Size = WholeSize<L>>
__device__ __forceinline__ void stage_matrix(Source&& source, T (&matrix)[L::systems][L::staged_numbers],
                                             Size&& size = {}) {
  constexpr bool whole = std::is_same_v<std::remove_cvref_t<Size>, WholeSize<L>>;
  constexpr int P = L::piece, per_row = L::pieces_per_row;
  constexpr int at_once = L::pieces < warp_lanes ? warp_lanes / L::pieces : 1;  // systems
  const int thread = fresh(threadIdx.x), sub = thread / L::pieces, own = thread % L::pieces;
  T* const first_line = matrix[sub] + L::line(own / per_row, own % per_row) * 8 * P;
  const int key = L::key(own / per_row, own % per_row) ^ L::system_key(sub);
  constexpr bool strided = std::is_same_v<std::remove_cvref_t<Source>, Strided<T>>;
  const T* from = source(sub) + own * P;
  std::int64_t step = 0;
  if constexpr (strided) step = renewed(source.step * at_once);
#pragma unroll
  for (int s = 0; s < L::systems; s += at_once) {
    if constexpr (!strided) from = source(s + sub) + own * P;
    const int n = size(s + sub);
    const int rows = n - own / per_row, count = max(0, min(P, n - own % per_row * P));  // rows and numbers to be copied
#pragma unroll
    for (int q = first_row * per_row; q < end_row * per_row; q += warp_lanes) {
      const int place = L::place(q / per_row);
      T* const to = first_line + s * L::staged_numbers + L::line(place, 0) * 8 * P +
                    (key ^ L::key(place, 0) ^ L::system_key(s)) * P;
      if constexpr (whole)
        copy_async<P>(to, from + q * P);
      else
        copy_async_or_zeros(to, from + q * P, q / per_row < rows ? count : 0);
    }
    if constexpr (strided) from = renewed(from + step);  // avoids a multiplication per system
  }
}
template <int first_row, int end_row, class T, class L, class Source, class Size = WholeSize<L>>
__device__ __forceinline__ void stage_pieces(Source&& source, TileMemory<T, L>& memory, Size&& size = {}) {
  stage_matrix<first_row, end_row, T, L>(source, memory.matrix, size);
}

/// Writes ones on the diagonal beyond n. The whole warp calls.
template <int first_row, int end_row, class T, class L>
__device__ __forceinline__ void complete_rows(int n, int group, int lane, T* matrix) {
#pragma unroll
  for (int row = first_row; row < end_row; row += L::lanes)
    if (row + lane >= n) staged<L>(matrix, group, row + lane, row + lane) = 1;
  __syncwarp();  // the padding is complete
}

/// Starts to copy rows of the warp's systems number by number, for any storage and size.
template <class T, class L, class Source>
__device__ __forceinline__ void stage_numbers(const Arguments<T>& args, Source&& source, TileMemory<T, L>& memory,
                                              int first_row = 0, int end_row = L::size) {
  const bool packed = args.storage == Storage::packed_lower;
  const int numbers = packed ? args.n * (args.n + 1) / 2 : args.n * args.n;
  float columns;
  asm volatile("rcp.approx.f32 %0, %1;" : "=f"(columns) : "f"(static_cast<float>(args.n)));
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s) {
    const T* const from = source(s);
#pragma unroll 2
    for (int e = threadIdx.x; e < numbers; e += warp_lanes) {
      const int row = packed ? packed_row(e) : static_cast<int>((static_cast<float>(e) + 0.5F) * columns);
      const int column = e - (packed ? row * (row + 1) / 2 : row * args.n);
      if (row < first_row || row >= end_row) continue;
      copy_async<1>(&staged<L>(memory.matrix[s], s, row, column), from + e);
    }
  }
}

/// Starts to copy the only right-hand side of the lane's system, N numbers at `source`. Every lane copies the numbers
/// that it will read.
template <class T, class L>
__device__ __forceinline__ void stage_rhs(const T* source, int group, int lane, TileMemory<T, L>& memory) {
  T* const to = memory.rhs + group * L::column_pitch + lane;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) copy_async<1>(to + L::lanes * u, source + L::lanes * u + lane);
}

/// Starts to copy a right-hand side of n numbers, followed by zeros.
template <class T, class L>
__device__ __forceinline__ void stage_rhs_below(int n, const T* source, int group, int lane, TileMemory<T, L>& memory) {
  T* const to = memory.rhs + group * L::column_pitch + lane;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const bool copied = L::lanes * u + lane < n;
    copy_async_or_zero(to + L::lanes * u, source + (copied ? L::lanes * u + lane : 0), copied);
  }
}

/// Loads rows first_row .. end_row - 1 of the lower triangle; both are multiples of G.
template <int first_row, int end_row, class T, class L>
__device__ __forceinline__ void load_rows(const T* matrix, int group, int lane, T (&a)[L::rows][L::size]) {
  constexpr int G = L::lanes, P = L::piece;
  const T* const first_line = matrix + L::line(lane, 0) * 8 * P;
  const int key = L::key(lane, 0) ^ L::system_key(group);
  unrolled<(end_row - first_row) / G>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = first_row / G + slot, place = L::place(G * u);
#pragma unroll
    for (int p = 0; p < G * (u + 1) / P; ++p) {
      const auto in =
          *reinterpret_cast<const Vector<T, P>*>(first_line + (key ^ L::key(place, p)) * P + L::line(place, p) * 8 * P);
#pragma unroll
      for (int c = 0; c < P; ++c) a[u][p * P + c] = in.value[c];
    }
  });
}

/// Visits the elements of the lane's columns on and above the diagonal, in rows first_row .. end_row - 1. Calls
/// visit(u, row, value) for element (row, G u + lane), which equals a[u][row] by symmetry.
template <int first_row, int end_row, class T, class L, class Matrix, class Visit>
__device__ __forceinline__ void visit_columns(Matrix* matrix, int group, int lane, Visit&& visit) {
  constexpr int G = L::lanes, P = L::piece;
  Matrix* const first_line = matrix + L::line(0, lane / P) * 8 * P + lane % P;
  const int key = L::key(0, lane / P) ^ L::system_key(group);
  unrolled<end_row - first_row>([&](auto index) __attribute__((always_inline)) {
    constexpr int row = first_row + index, place = L::place(row);
#pragma unroll
    for (int u = row / G; u < L::rows; ++u)
      visit(u, row, first_line[(key ^ L::key(place, G * u / P)) * P + L::line(place, G * u / P) * 8 * P]);
  });
}

/// Number of elements in a packed lower triangle.
template <class L>
inline constexpr int packed_numbers = L::size*(L::size + 1) / 2;
/// Distance between packed triangles in shared memory, in elements. With this distance, the lanes of a warp that read
/// from neighbouring rows meet every bank once.
template <class L>
inline constexpr int packed_pitch = packed_numbers<L> +
                                    (32 * L::piece / 4 + L::lanes - packed_numbers<L> % (32 * L::piece / 4)) %
                                        (32 * L::piece / 4);

/// Starts to copy the packed triangles of the warp's systems, 16 bytes at a time.
template <class T, class L, class Source>
__device__ __forceinline__ void stage_packed(Source&& source, TileMemory<T, L>& memory) {
  static_assert(packed_pitch<L> <= L::staged_numbers && packed_numbers<L> % L::piece == 0);
  constexpr int P = L::piece, pieces = packed_numbers<L> / P;
  const int thread = fresh(threadIdx.x);
  T* const to = memory.matrix[0] + thread * P;
#pragma unroll
  for (int s = 0; s < L::systems; ++s) {
    const T* const from = source(s) + thread * P;
#pragma unroll
    for (int q = 0; q < pieces; q += warp_lanes)
      if (q + warp_lanes <= pieces || thread < pieces - q)
        copy_async<P>(to + s * packed_pitch<L> + q * P, from + q * P);
  }
}

template <class T, class L>
__device__ __forceinline__ void load_packed(const T* triangle, int lane, T (&a)[L::rows][L::size]) {
  constexpr int G = L::lanes;
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = slot, above = G * u * (G * u + 1) / 2;
    const T* const row = triangle + above + G * u * lane + lane * (lane + 1) / 2;
#pragma unroll
    for (int i = 0; i < G * (u + 1); ++i) a[u][i] = row[i];
  });
}

/// Returns the diagonal element of the lane's row in slot u.
template <class T, class L>
__device__ __forceinline__ T diagonal(int lane, int u, const T (&a)[L::rows][L::size]) {
  T value = a[u][L::lanes * u];
#pragma unroll
  for (int i = 1; i < L::lanes; ++i) value = lane == i ? a[u][L::lanes * u + i] : value;
  return value;
}

/// Stores rows first_row .. end_row - 1 of the symmetric matrix that has the lower triangle -a. Both row numbers are
/// multiples of G.
template <int first_row, int end_row, class T, class L>
__device__ __forceinline__ void store_negative(T* matrix, int group, int lane, const T (&a)[L::rows][L::size]) {
  constexpr int G = L::lanes, P = L::piece;
  T* const first_line = matrix + L::line(lane, 0) * 8 * P;
  const int key = L::key(lane, 0) ^ L::system_key(group);
  unrolled<(end_row - first_row) / G>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = first_row / G + slot, place = L::place(G * u);
    unrolled<G*(u + 1) / P>([&](auto index) __attribute__((always_inline)) {
      constexpr int p = index;
      Vector<T, P> out;
#pragma unroll
      for (int c = 0; c < P; ++c) out.value[c] = -a[u][p * P + c];
      *reinterpret_cast<Vector<T, P>*>(first_line + (key ^ L::key(place, p)) * P + L::line(place, p) * 8 * P) = out;
    });
  });
  __syncwarp();  // the rows are stored; their numbers above the diagonal are replaced next
  T* const first_column = matrix + L::line(0, lane / P) * 8 * P + lane % P;
  const int column_key = L::key(0, lane / P) ^ L::system_key(group);
  unrolled<end_row - first_row>([&](auto index) __attribute__((always_inline)) {
    constexpr int row = first_row + index, place = L::place(row);
#pragma unroll
    for (int u = row / G; u < L::rows; ++u)
      if (u > row / G || lane > row % G)
        first_column[(column_key ^ L::key(place, G * u / P)) * P + L::line(place, G * u / P) * 8 * P] = -a[u][row];
  });
}

/// Returns a nonzero value if a diagonal element of the lane's rows needs scaling: it is far from 1, or not positive.
template <class T, class L>
__device__ __forceinline__ unsigned diagonal_far_bits(int lane, const T (&a)[L::rows][L::size]) {
  unsigned bits = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) bits |= far_bits(diagonal<T, L>(lane, u, a));
  return bits;
}

/// Scales the lane's system in registers to 2^(-2 shift) D A D; D is the identity unless the system is `far`. The whole
/// warp calls. It costs nothing if no system is far.
template <class T, class L>
__device__ __forceinline__ void scale_rows(const Arguments<T>& args, std::int64_t system, int lane, bool far,
                                           T (&a)[L::rows][L::size], int shift = 0) {
  T power[L::rows];
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int row = L::lanes * u + lane, exponent = scaling_exponent(args, system, row, far) - shift;
    power[u] = power_of_two<T>(row < args.n ? max(exponent, 1 - Traits<T>::exponent_bias) : 0);
  }
  // Each loop has one turn or none, and covers a few columns of a large matrix. A single branch around all columns
  // would move all registers.
  const int turns = __any_sync(whole_warp, far) ? 1 : 0;
  constexpr int columns = L::size > 32 ? 8 : L::size;
  unrolled<L::size / columns>([&](auto index) __attribute__((always_inline)) {
#pragma unroll 1
    for (int turn = fresh(turns); turn > 0; --turn)
#pragma unroll
      for (int i = columns * index; i < columns * (index + 1); ++i) {
        const T other = shuffle(power[i / L::lanes], i % L::lanes, L::lanes);
#pragma unroll
        for (int u = i / L::lanes; u < L::rows; ++u) a[u][i] = a[u][i] * power[u] * other;
      }
  });
}

}  // namespace

}  // namespace smallbatch
