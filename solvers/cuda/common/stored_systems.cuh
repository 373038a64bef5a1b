// The layout of plain systems in shared memory that keeps matrices as they are stored in global memory. Matrices are
// packed, or dense with rows that are not a whole number of 16-byte pieces. They may lie at any address. Private to
// solvers/cuda.
//
// A matrix is one contiguous run of numbers, and is copied in 16-byte pieces of global memory. Its first number
// therefore has the same offset in a piece of shared memory as in the piece of global memory.
#pragma once

#include <array>

#include "solvers/cuda/common/plain_systems.cuh"

namespace smallbatch {

namespace {

template <class T, int N, int Lanes, int Shares = 1>
struct StoredLayout : Tile<T, N, Lanes, false> {
  using Base = Tile<T, N, Lanes, false>;
  using Base::piece, Base::rows;
  static constexpr int shares = Shares;       // as in PlainLayout
  static constexpr int width = Lanes * rows;  // rows that the lanes have room for; at least N
  static constexpr int numbers = 2 * width;
  // Four lanes per system mean eight systems per warp. The distance between their columns is an odd number of pieces,
  // so they begin in different banks.
  static constexpr int column_pitch = Lanes == 4 ? (Base::column_pitch / piece | 1) * piece : Base::column_pitch;
};

/// Returns the warp's matrices, in dynamic shared memory.
template <class T>
__device__ __forceinline__ T* stored_matrices() {
  extern __shared__ uint4 matrices_memory[];
  return reinterpret_cast<T*>(matrices_memory);
}

/// The rows of one system in shared memory.
template <class T>
struct StoredRows {
  const T* matrix;
  int n;  // numbers in a row; 0 if the lower triangle is packed
  [[nodiscard]] __device__ __forceinline__ int begin(int row) const { return n == 0 ? row * (row + 1) / 2 : row * n; }
};

/// Returns the offset of `place` in its 16-byte piece, in elements.
template <class T>
__device__ __forceinline__ int beyond_piece(const T* place) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(place) % 16 / sizeof(T));
}

/// Returns the distance from one system to the next in shared memory, in elements. It is a whole number of pieces, and
/// leaves room for `numbers` elements wherever the first element lies in its piece. The step is the one with the fewest
/// bank conflicts when lanes read a column of their rows, and when they read along a row.
template <class T>
int stored_step(const SpdBatch<T>& batch, int lanes, int numbers) {
  constexpr int piece = 16 / sizeof(T), banks = 32 / (sizeof(T) / 4);
  const bool packed = batch.shape.storage == Storage::packed_lower;
  const int n = batch.shape.n, first = (numbers + 2 * (piece - 1)) / piece * piece;
  int best = first, fewest = 2 * banks + 1;
  for (int step = first; step < first + banks; step += piece) {
    std::array<int, banks> down{}, along{};
    for (int place = 0; place < banks; ++place) {
      const int system = place / lanes, row = lanes + place % lanes;
      const int begin = system * step + static_cast<int>(system * batch.a_step() % piece);
      ++down[(begin + (packed ? row * (row + 1) / 2 : row * n)) % banks];
      ++along[(begin + row) % banks];
    }
    const int most = *std::max_element(down.begin(), down.end()) + *std::max_element(along.begin(), along.end());
    if (most < fewest) best = step, fewest = most;
  }
  return best;
}

/// Starts to copy the stored numbers of systems with `size(s)` rows; system s goes to memory + s args.kept_step.
template <class T, class L, class Source, class Size>
__device__ __forceinline__ void copy_as_stored(const Arguments<T>& args, Source&& source, Size&& size, T* memory) {
  constexpr int P = L::piece, most = L::size * L::size / P + 2;  // pieces
  constexpr int width = most <= 8 ? 8 : most <= 16 ? 16 : warp_lanes, at_once = warp_lanes / width;
  const int thread = fresh(threadIdx.x), own = thread % width;
#pragma unroll 1
  for (int s = thread / width; s < L::systems; s += at_once) {
    const T* const from = source(s);
    const int n = size(s), skipped = beyond_piece(from);
    const int end = skipped + (args.storage == Storage::packed_lower ? n * (n + 1) / 2 : n * args.n);
    T* const to = memory + s * args.kept_step;
    if (args.vectors) {
#pragma unroll 4
      for (int e = own * P; e + P <= end; e += width * P) copy_async<P>(to + e, from - skipped + e);
      // The last piece may end beyond the batch, so its numbers are copied one by one.
      if (const int e = end / P * P + own; own < P && e < end) copy_async<1>(to + e, from - skipped + e);
    } else {
#pragma unroll 4
      for (int e = skipped + own; e < end; e += width) copy_async<1>(to + e, from - skipped + e);
    }
  }
}

/// Starts to copy exactly the elements `first` to `end - 1` of each of the warp's systems. Element e of system s goes
/// to `memory + s * args.kept_step + e - first + to + beyond_piece(source(s))`. The batch begins at a multiple of 16
/// bytes. `first` and `to` are multiples of a piece.
template <class T, class L, class Source>
__device__ __forceinline__ void copy_run(const Arguments<T>& args, Source&& source, int first, int end, int to,
                                         T* memory) {
  constexpr int P = L::piece;
  const int thread = fresh(threadIdx.x);
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s) {
    const T* const matrix = source(s);
    const int skipped = beyond_piece(matrix), stop = skipped + end - first, whole = skipped > 0 ? P : 0;
    const T* const from = matrix - skipped + first;
    T* const place = memory + s * args.kept_step + to;
#pragma unroll 4
    for (int e = whole + thread * P; e + P <= stop; e += warp_lanes * P) copy_async<P>(place + e, from + e);
    // The run may fill its first and last piece only partly; the last may also end beyond the batch. The numbers of
    // these pieces are copied one by one.
    if (thread >= skipped && thread < whole) copy_async<1>(place + thread, from + thread);
    if (const int e = stop / P * P + thread; thread < P && e < stop) copy_async<1>(place + e, from + e);
  }
}

/// Initializes `arrivals`, which counts the bytes of bulk copies that `Copies` lanes start at a time. The caller must
/// synchronize all lanes afterwards.
template <int Copies>
__device__ __forceinline__ void expect_bulk_copies(std::uint64_t& arrivals) {
  const auto counted = static_cast<unsigned>(__cvta_generic_to_shared(&arrivals));
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(counted), "n"(Copies) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Announces bulk copies of `bytes` bytes; each of the `Copies` lanes calls this.
__device__ __forceinline__ void expect_bytes(int bytes, std::uint64_t& arrivals) {
  const auto counted = static_cast<unsigned>(__cvta_generic_to_shared(&arrivals));
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(counted), "r"(bytes) : "memory");
}
/// Starts a bulk copy of `bytes`, which must have been announced. It copies whole 16-byte pieces between addresses that
/// are multiples of 16.
template <class T>
__device__ __forceinline__ void start_bulk_copy(T* shared, const T* global, int bytes, std::uint64_t& arrivals) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const auto counted = static_cast<unsigned>(__cvta_generic_to_shared(&arrivals));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(global), "r"(bytes), "r"(counted)
               : "memory");
}
/// Announces and starts a bulk copy, for a lane that has only one.
template <class T>
__device__ __forceinline__ void copy_in_bulk(T* shared, const T* global, int bytes, std::uint64_t& arrivals) {
  expect_bytes(bytes, arrivals);
  start_bulk_copy(shared, global, bytes, arrivals);
}
/// Allows bulk copies to overwrite memory that the lane has read or written. All lanes call it before the __syncwarp()
/// that precedes the copies. Bulk copies access memory through another proxy, and a barrier alone does not order
/// accesses through different proxies.
__device__ __forceinline__ void leave_to_bulk_copies() {
  if constexpr (has_bulk_copies()) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Waits until the copies of all lanes are complete. `parity` is 0 the first time, then alternates between 1 and 0.
__device__ __forceinline__ void wait_for_bulk_copies(std::uint64_t& arrivals, unsigned parity) {
  const auto counted = static_cast<unsigned>(__cvta_generic_to_shared(&arrivals));
  asm volatile(
      "{\n\t.reg .pred complete;\n\tagain:\n\tmbarrier.try_wait.parity.shared.b64 complete, [%0], %1;\n\t"
      "@!complete bra again;\n\t}" ::"r"(counted),
      "r"(parity)
      : "memory");
}

/// Starts to copy the same numbers as copy_run(), to the same addresses, by one bulk copy of whole pieces for each
/// system. Numbers of the first and last piece outside the run are copied, too. The last piece of the batch may end
/// beyond it, so its numbers are copied one by one. `arrivals` comes from expect_bulk_copies().
template <class T, class L, class Source>
__device__ __forceinline__ void copy_run_in_bulk(const Arguments<T>& args, Source&& source, int first, int end, int to,
                                                 T* memory, std::uint64_t& arrivals) {
  constexpr int P = L::piece;
  const int thread = fresh(threadIdx.x);
  const T* const last = args.a + (args.count - 1) * args.a_step;
  if (thread < L::systems) {
    const T* const matrix = source(thread);
    const int skipped = beyond_piece(matrix), stop = skipped + end - first;
    const int pieces = matrix == last ? stop / P : (stop + P - 1) / P;
    copy_in_bulk(memory + thread * args.kept_step + to, matrix - skipped + first, pieces * 16, arrivals);
  }
  if (source(L::systems - 1) != last) return;
  const int s = thread / P;
  if (s >= L::systems || source(s) != last) return;
  const int skipped = beyond_piece(last), stop = skipped + end - first, e = stop / P * P + thread % P;
  if (e < stop) copy_async<1>(memory + s * args.kept_step + to + e, last - skipped + first + e);
}

/// Returns the distance between rows of n elements, in elements. It is an odd number of 16-byte pieces.
template <class T>
constexpr int apart_pitch(int n) {
  constexpr int piece = 16 / sizeof(T);
  return (n / piece | 1) * piece;
}
/// Returns the distance between systems of `rows` rows with this distance, in elements. It is a multiple of 128 bytes,
/// plus `lanes` elements.
template <class T>
constexpr int apart_step(int n, int rows, int lanes) {
  constexpr int banks = 128 / sizeof(T);
  return (rows * apart_pitch<T>(n) + banks - 1 - lanes) / banks * banks + lanes;
}

/// Starts to copy rows `first` to `end - 1` of each of the warp's systems; rows are whole 16-byte pieces. Row r of
/// system s goes to `memory + s * step + (r - first + to) * pitch`.
template <class T, class L, class Source>
__device__ __forceinline__ void copy_rows_apart(int n, int pitch, int step, Source&& source, int first, int end, int to,
                                                T* memory) {
  constexpr int P = L::piece, width = L::size / P <= 8 ? 8 : 16, at_once = warp_lanes / width;  // lanes per row; rows
  static_assert(L::size / P <= 16);
  const int thread = fresh(threadIdx.x), column = thread % width * P, row = thread / width;
  if (column >= n) return;
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s) {
    const T* from = source(s) + (first + row) * n + column;
    T* place = memory + s * step + (to + row) * pitch + column;
#pragma unroll 8
    for (int r = first + row; r < end; r += at_once) {
      copy_async<P>(place, from);
      from += at_once * n;
      place += at_once * pitch;
    }
  }
}

/// Writes rows of the identity. Row r begins at `identity + L::width - r`. With `shift`, the 1 of row r is in column
/// `r + shift`.
template <class T, class L>
__device__ __forceinline__ void make_identity(T* identity, int shift = 0) {
  for (int e = static_cast<int>(threadIdx.x); e < 2 * L::width; e += warp_lanes)
    identity[e] = static_cast<T>(e == L::width + shift);
}

/// Loads the rows of the lower triangle; from `size` on, rows of the identity.
template <class T, class L>
__device__ __forceinline__ void load_stored(const StoredRows<T>& rows, int size, const T* identity, int lane,
                                            T (&a)[L::rows][L::size]) {
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = slot;
    const int row = L::lanes * u + lane;
    const T* const from = row < size ? rows.matrix + rows.begin(row) : identity + (L::width - row);
#pragma unroll
    for (int c = 0; c < L::columns(u); ++c) a[u][c] = from[c];
  });
}

/// Returns the bits in which the triangles of dense matrices differ, in the lane's columns.
template <class T, class L>
__device__ __forceinline__ unsigned stored_difference(const StoredRows<T>& rows, int size, int lane,
                                                      const T (&a)[L::rows][L::size]) {
  unsigned all = 0;
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = slot;
    unsigned bits = 0;
    const T* place = rows.matrix + (L::lanes * u + lane);
#pragma unroll
    for (int column = 0; column < L::columns(u); ++column) {
      if (column < size) bits |= differing_bits(a[u][column], *place);
      place += rows.n;
    }
    if (L::lanes * u + lane < size) all |= bits;
  });
  return all;
}

}  // namespace

}  // namespace smallbatch
