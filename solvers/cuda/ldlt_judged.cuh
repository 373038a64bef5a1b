// Solutions of plain systems of 32 rows by L D L^T with their backward errors, in one pass over A: all that stays in
// shared memory until the answers are judged is the lower triangle, so that as many warps find room as for x alone.
// Takes whole matrices in double precision and packed triangles, which lie at multiples of 16 bytes, with one
// right-hand side; what is not plain it marks for the general kernel (ldlt_general.cu). Private to solvers/cuda.
//
// Of whole matrices these are the blocks of 8 x 8 on the diagonal and below it. Where the other triangle counts, the
// blocks above come three of a system at a time, to be compared, and are gone when the elimination begins. The
// judgement reads them as columns of the lower triangle, in the order of all other kernels: the bits are the same.
#pragma once

#include <cstddef>

#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

constexpr int judged_rows = 32;

/// Systems of 32 rows of which `Numbers` stay in shared memory.
template <class T, int Numbers>
struct KeptTile : Tile<T, judged_rows, LdltPlan<T, judged_rows>::lanes, false> {
  static constexpr int staged_numbers = Numbers;
};

/// The lower triangles of whole matrices in double precision, by blocks of 8 x 8, one after the other by rows. In a row
/// of a block pieces lie at the place of their number exclusive-or a key of the row, so that lanes that read along rows
/// and lanes that read down columns all meet every bank once. Dense: the other triangle is to be the same.
template <class T, bool Dense>
struct BlocksKept {
  static_assert(sizeof(T) == sizeof(double), "of floats whole matrices in shared memory are as fast or faster");
  static constexpr int edge = 8, blocks = judged_rows / edge, block_numbers = edge * edge;
  static constexpr int pitch = blocks * (blocks + 1) / 2 * block_numbers + 8;
  using L = KeptTile<T, pitch>;
  static constexpr int stored_numbers = judged_rows * judged_rows;
  static constexpr int P = L::piece, G = L::lanes;
  static_assert(edge % G == 0 && judged_rows % edge == 0 && blocks == 4);
  // Blocks that are compared lie as they come; in every other system neighbouring rows change places, for the banks.
  static constexpr int compared_pitch = 3 * block_numbers;
  static constexpr int compared_numbers = Dense ? L::systems * compared_pitch : 0;
  static __device__ __forceinline__ int compared_row(int system, int row) { return (row ^ (system & 1)) * edge; }

  static __device__ __forceinline__ constexpr int key(int row) { return row / 4 & 1 | row & 2; }
  static __device__ __forceinline__ constexpr int block(int i, int j) { return (i * (i + 1) / 2 + j) * block_numbers; }
  /// Piece q of a row of a block.
  static __device__ __forceinline__ constexpr int piece(int row, int q) { return row * edge + (q ^ key(row)) * P; }

  /// Starts to copy what is kept, and the blocks right of the first, to be compared.
  template <class Source>
  static __device__ __forceinline__ void fetch(Source&& source, TileMemory<T, L>& memory, T* compared) {
    unrolled<blocks>([&](auto index) __attribute__((always_inline)) {
      constexpr int band = index;
      copy_blocks<band, 0, band + 1>(
          source, [&](int s, int row, int j, int q)
                      __attribute__((always_inline)) { return memory.matrix[s] + block(band, j) + piece(row, q); });
    });
    if constexpr (Dense) copy_compared<0, 0>(source, compared);
  }

  /// Starts to copy the blocks first .. end - 1 of rows edge band .. edge (band + 1) - 1, two lanes or more a sector of
  /// 32 bytes. place(s, row, j, q): where piece q of that row of block j of system s goes.
  template <int band, int first, int end, class Source, class Place>
  static __device__ __forceinline__ void copy_blocks(Source&& source, Place&& place) {
    constexpr int per_row = edge / P, pieces = (end - first) * per_row;
    constexpr int together = pieces >= 8 ? 8 : pieces >= 4 ? 4 : 2, rest = pieces % together;
    copy_columns<band, first * per_row, end * per_row - rest, together>(source, place);
    if constexpr (rest > 0) copy_columns<band, end * per_row - rest, end * per_row, rest>(source, place);
  }
  template <int band, int first, int end, int together, class Source, class Place>
  static __device__ __forceinline__ void copy_columns(Source&& source, Place&& place) {
    constexpr int per_row = edge / P, rows = warp_lanes / together < edge ? warp_lanes / together : edge;
    constexpr int systems = warp_lanes / together / rows;
    static_assert((end - first) % together == 0);
    const int thread = fresh(threadIdx.x);
    const int column = thread % together, row = thread / together % rows, sub = thread / together / rows;
#pragma unroll
    for (int s = 0; s < L::systems; s += systems)
#pragma unroll
      for (int r = 0; r < edge; r += rows)
#pragma unroll
        for (int p = first; p < end; p += together) {
          const int at = p + column;
          copy_async<P>(place(s + sub, r + row, at / per_row, at % per_row),
                        source(s + sub) + (band * edge + r + row) * L::size + at * P);
        }
  }
  /// The same of the blocks right of that on the diagonal, which are compared; the first goes to place `to`.
  template <int band, int to, class Source>
  static __device__ __forceinline__ void copy_compared(Source&& source, T* compared) {
    copy_blocks<band, band + 1, blocks>(
        source, [&](int s, int row, int j, int q) __attribute__((always_inline)) {
          return compared + s * compared_pitch + (to + j - band - 1) * block_numbers + compared_row(s, row) + q * P;
        });
  }

  static __device__ __forceinline__ void load(const T* own, int lane, T (&a)[L::rows][L::size]) {
    unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
      constexpr int u = slot, i = G * u / edge, first = G * u % edge;
#pragma unroll
      for (int p = 0; p < L::columns(u) / P; ++p) {
        const auto in = *reinterpret_cast<const Vector<T, P>*>(own + block(i, p * P / edge) +
                                                               piece(first + lane, p * P % edge / P));
#pragma unroll
        for (int c = 0; c < P; ++c) a[u][p * P + c] = in.value[c];
      }
    });
  }

  /// visit(u, row, element): what lies above the diagonal, or on it, in the blocks on it, of the lane's columns.
  template <class Matrix, class Visit>
  static __device__ __forceinline__ void visit_diagonal_blocks(Matrix* own, int lane, Visit&& visit) {
    unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
      constexpr int u = slot, i = G * u / edge;
#pragma unroll
      for (int row = i * edge; row < G * (u + 1); ++row) {
        const int column = G * u % edge + lane;
        visit(u, row, own[block(i, i) + piece(row % edge, column / P) + column % P]);
      }
    });
  }

  /// Bits in which these blocks differ from the lower triangle, in the lane's columns.
  template <int band, int at>
  static __device__ __forceinline__ unsigned difference(const T* compared, int group, int lane,
                                                        const T (&a)[L::rows][L::size]) {
    const T* const own = compared + group * compared_pitch + lane;
    unsigned bits = 0;
    unrolled<edge>([&](auto index) __attribute__((always_inline)) {
      constexpr int row = index;
#pragma unroll
      for (int u = (band + 1) * edge / G; u < L::rows; ++u)
        bits |= differing_bits(
            a[u][band * edge + row],
            own[(at + G * u / edge - band - 1) * block_numbers + compared_row(group, row) + G * u % edge]);
    });
    return bits;
  }

  /// Loads the rows of the lower triangle; completes the blocks on the diagonal, or returns in which bits the triangles
  /// differ. The whole warp calls.
  template <class Source>
  static __device__ __forceinline__ unsigned take(Source&& source, TileMemory<T, L>& memory, T* compared, int group,
                                                  int lane, T (&a)[L::rows][L::size]) {
    T* const own = memory.matrix[group];
    load(own, lane, a);
    unsigned bits = 0;
    if constexpr (Dense) {
      bits |= difference<0, 0>(compared, group, lane, a);
      __syncwarp();  // these blocks have been read, whose place the others take
      copy_compared<1, 0>(source, compared);
      copy_compared<2, 2>(source, compared);
      visit_diagonal_blocks(
          own, lane, [&](int u, int row, const T& value) __attribute__((always_inline)) {
            bits |= differing_bits(a[u][row], value);
          });
      wait_for_copies();
      bits |= difference<1, 0>(compared, group, lane, a);
      bits |= difference<2, 2>(compared, group, lane, a);
    } else {
      __syncwarp();  // all rows have been read, and what they have above the diagonal
      visit_diagonal_blocks(
          own, lane, [&](int u, int row, T& value) __attribute__((always_inline)) {
            if (row < G * u + lane) value = a[u][row];
          });
    }
    __syncwarp();  // the blocks on the diagonal are complete, and those compared have been read
    return bits;
  }

  /// The columns G p .. G p + G - 1 of row G u + lane.
  static __device__ __forceinline__ void row_part(const T* own, int lane, int u, int p, T (&part)[G]) {
    const int i = G * u / edge, j = G * p / edge;
    if (i >= j) {
      const T* const from = own + block(i, j);
#pragma unroll
      for (int c = 0; c < G; c += P) {
        const auto in =
            *reinterpret_cast<const Vector<T, P>*>(from + piece(G * u % edge + lane, G * p % edge / P + c / P));
#pragma unroll
        for (int e = 0; e < P; ++e) part[c + e] = in.value[e];
      }
    } else {
      const int column = G * u % edge + lane;
#pragma unroll
      for (int c = 0; c < G; ++c) part[c] = own[block(j, i) + piece(G * p % edge + c, column / P) + column % P];
    }
  }
  static __device__ __forceinline__ T diagonal_element(const T* own, int row) {
    const int within = row % edge;
    return own[block(row / edge, row / edge) + piece(within, within / P) + within % P];
  }
};

/// Packed lower triangles as they are.
template <class T>
struct PackedKept {
  using L = KeptTile<T, packed_pitch<KeptTile<T, 0>>>;
  static constexpr int G = L::lanes, compared_numbers = 0;
  static constexpr int stored_numbers = judged_rows * (judged_rows + 1) / 2;
  template <class Source>
  static __device__ __forceinline__ void fetch(Source&& source, TileMemory<T, L>& memory, T*) {
    stage_packed(source, memory);
  }
  template <class Source>
  static __device__ __forceinline__ unsigned take(Source&&, TileMemory<T, L>& memory, T*, int group, int lane,
                                                  T (&a)[L::rows][L::size]) {
    load_packed<T, L>(memory.matrix[group], lane, a);
    return 0;
  }
  static __device__ __forceinline__ constexpr int begin(int row) { return row * (row + 1) / 2; }
  static __device__ __forceinline__ void row_part(const T* own, int lane, int u, int p, T (&part)[G]) {
    const int row = G * u + lane;
    const T* const along = own + begin(row) + G * p;
    const T* const down = own + begin(G * p) + row;
#pragma unroll
    for (int c = 0; c < G; ++c) {
      const T* const beyond = down + c * G * p + begin(c);  // element (G p + c, row)
      part[c] = *(u > p || (u == p && lane >= c) ? along + c : beyond);
    }
  }
  static __device__ __forceinline__ T diagonal_element(const T* own, int row) { return own[begin(row) + row]; }
};

/// The backward error, from the kept triangle. A loop that is not unrolled: the code of the elimination alone fills the
/// instruction cache.
template <class T, class L, class Kept>
__device__ __forceinline__ double judge_triangle(int lane, const T* own, typename Residual<T>::Factor* places,
                                                 const T (&x)[L::rows], const T (&b)[L::rows]) {
  constexpr int G = L::lanes;
  Judgement<T, L> judgement(
      L::size, lane, [&](int row) { return Kept::diagonal_element(own, row); }, places, x, b);
#pragma unroll 1
  for (int p = 0; p < L::size / G; ++p) {
    T part[L::rows][G];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) Kept::row_part(own, lane, u, p, part[u]);
#pragma unroll
    for (int c = 0; c < G; ++c) {
      const auto known = places[G * p + c];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) judgement.add(u, part[u][c], known);
    }
  }
  double norm_a;
  return judgement.result(L::size, lane, norm_a);
}

/// Solves and judges what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie
/// far from 1 or that fail. The last task begins where it ends with the batch: some systems are solved twice, alike.
template <class T, class Kept>
__global__ void __launch_bounds__(warp_lanes, QuickPlan<T, judged_rows>::warps) judged_kernel(Arguments<T> args) {
  using Plan = QuickPlan<T, judged_rows>;
  using L = typename Kept::L;
  constexpr int G = L::lanes;
  using Tiles = TileMemory<T, L>;
  constexpr int compared_at = L::systems * (L::staged_numbers + L::column_pitch);
  __shared__ union {
    Tiles tile;
    T numbers[compared_at + Kept::compared_numbers];  // what is compared lies where columns and answers are to come
  } shared;
  static_assert(offsetof(Tiles, column) == compared_at * sizeof(T));
  __shared__ unsigned char is_odd[L::systems];  // 1: the system is not plain
  Tiles& memory = shared.tile;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto begin = [&]() __attribute__((always_inline)) { return first_of_task<L::systems>(args, task); };
    T a[L::rows][L::size], b[1][L::rows], inverse[L::rows];
    const auto source = [&]() __attribute__((always_inline)) {
      return [first = args.a + begin() * args.a_step, &args](int s) { return first + s * args.a_step; };
    };
    __syncwarp();  // the last systems are done with
    Kept::fetch(source(), memory, shared.numbers + compared_at);
    stage_rhs(args.b + (begin() + group()) * args.b_step, group(), lane(), memory);
    if (threadIdx.x < L::systems) is_odd[threadIdx.x] = 0;
    wait_for_copies();
    unsigned odd = Kept::take(source(), memory, shared.numbers + compared_at, group(), lane(), a);
    odd |= diagonal_far_bits<T, L>(lane(), a);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    }
    if (odd != 0) is_odd[group()] = 1;
    const auto prefetch = [&]() __attribute__((always_inline)) {
      const auto next = static_cast<unsigned>(fresh(static_cast<int>(task))) + gridDim.x;
      if (const int s = fresh(threadIdx.x); next < args.tasks && s < L::systems)
        fetch_into_cache(args.a + (first_of_task<L::systems>(args, next) + s) * args.a_step,
                         static_cast<int>(Kept::stored_numbers * sizeof(T)));
    };
#if PFJ == 1
    prefetch();
#endif
    factor<L, Plan::turning, Plan::apart, false>(group(), lane(), memory, a, b[0],
                                                 ReciprocalsInRegisters<T, L>{inverse}, L::size, args.once);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded; the same in all kernels
    }
#if PFJ == 2
    prefetch();
#endif
    substitute_back<L, Plan::apart, false>(group(), lane(), memory, a, b, args.once);
    T zero = 0, least = inverse[0];  // zero becomes NaN where a number is not finite
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      zero = fma(inverse[u], T(0), fma(b[0][u], T(0), zero));
      least = min(least, inverse[u]);
    }
    if (!(zero == 0 && least > 0)) is_odd[group()] = 1;
    T* const x = args.to.x + (begin() + group()) * args.to.x_stride + lane();
    T right[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      x[G * u] = b[0][u];
      right[u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
    }
    const double error = judge_triangle<T, L, Kept>(lane(), memory.matrix[group()], memory.x[group()], b[0], right);
    __syncwarp();  // all know what is odd
    if (lane() != 0) continue;
    const std::int64_t place = begin() + group();
    args.to.backward_error[place] = static_cast<T>(error);
    args.to.info[place] = 0;
    args.marks[place] = is_odd[group()] == 0 ? Mark::settled : Mark::unsettled;
  }
}

}  // namespace

}  // namespace smallbatch
