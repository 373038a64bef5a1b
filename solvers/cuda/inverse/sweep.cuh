// The symmetric sweep from A to -A^-1 in the registers of a warp, n <= 32 (J. H. Goodnight, "A tutorial on the SWEEP
// operator", 1979). Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/tile.cuh"

namespace smallbatch {

namespace {

/// Sweeps all pivots: the lower triangle of A becomes the lower triangle of -A^-1.
///
///     a_ij -= a_ik a_kj / d_k (i, j != k),  a_ik, a_ki <- a_ik / d_k,  a_kk <- -1 / d_k
///
/// A turn of the loop has G steps, which sweep the first G rows. These rows then become the last rows, each still in
/// its lane. All turns therefore have the same code. After N / G turns the rows are where they began. Until a row is
/// swept, its elements above the diagonal in its G x G block are not used. The sweep of a row creates its elements in
/// the columns behind this block. The pivots of the lane's system go to shared memory.
template <class T, class L>
__device__ __forceinline__ void sweep(int group, int lane, TileMemory<T, L>& memory, T (&a)[L::rows][L::size],
                                      T* pivots, int once) {
  constexpr int G = L::lanes, P = L::piece, N = L::size, R = L::rows;
  T* const columns[2] = {memory.column[0] + group * L::column_pitch, memory.column[1] + group * L::column_pitch};
#pragma unroll
  for (int u = 0; u < R; ++u) columns[0][G * u + lane] = a[u][0];
  T pivot = shuffle(a[0][0], 0, G);
#pragma unroll 1
  for (int first = 0; first < N; first += G) {
    T swept[N];  // columns from G on of the swept rows, which move behind the last row
    const auto step = [&](auto index) __attribute__((always_inline)) {
      constexpr int t = index, next = t + 1;
      const T inverse = reciprocal(pivot);
      const bool own = lane == t;
      if (own) pivots[first + t] = pivot;
      T factor[R];
#pragma unroll
      for (int u = 0; u < R; ++u) factor[u] = -a[u][t] * inverse;
      if (own) factor[0] = inverse;  // the pivot row starts from zero
      const T swept_factor = lane > t ? T(0) : factor[0];
      __syncwarp();  // the column is complete, and the column of the previous step has been read: the next column takes
                     // its place
      const T* const from = columns[t % 2];
      T* const to = columns[next % 2] + lane;
      unrolled<N / P>([&](auto piece) __attribute__((always_inline)) {
        constexpr int i = (next / P + piece) * P % N;
        const auto v = *reinterpret_cast<const Vector<T, P>*>(from + i);
#pragma unroll
        for (int p = 0; p < P; ++p) {
          const int c = i + p;
          if (c < G && c != t) a[0][c] = fma(factor[0], v.value[p], own ? T(0) : a[0][c]);
          if (c >= G) swept[c] = t == 0 ? swept_factor * v.value[p] : fma(swept_factor, v.value[p], swept[c]);
#pragma unroll
          for (int u = c < G ? 1 : c / G; u < R; ++u)
            if (c > t) a[u][c] = fma(factor[u], v.value[p], a[u][c]);
          if (c == next) {
            if (next < G) {
#pragma unroll
              for (int u = 0; u < R; ++u) to[G * u] = a[u][c];
              pivot = shuffle(a[0][c], next % G, G);
            } else {
#pragma unroll
              for (int u = 1; u < R; ++u) to[G * (u - 1)] = a[u][c];
              to[G * (R - 1)] = swept[c];
              pivot = shuffle(a[1][c], 0, G);
            }
          }
        }
      });
      a[0][t] = -factor[0];
    };
    unrolled<G>([&](auto index) __attribute__((always_inline)) {
      if constexpr (sizeof(T) == sizeof(double))
        apart(
            once, [&]() __attribute__((always_inline)) { step(index); });
      else
        step(index);
    });
    T diagonal_block[G];
#pragma unroll
    for (int c = 0; c < G; ++c) diagonal_block[c] = a[0][c];
#pragma unroll
    for (int u = 1; u < R; ++u)
#pragma unroll
      for (int c = G; c < G * (u + 1); ++c) a[u - 1][c - G] = a[u][c];
#pragma unroll
    for (int c = 0; c < N; ++c) a[R - 1][c] = c < N - G ? swept[(c + G) % N] : diagonal_block[c % G];
  }
}

/// Returns the system of a group of lanes in task `task`, or the last system of the batch if the task has fewer
/// systems.
template <class T, class L>
__device__ __forceinline__ std::int64_t system_of(const Arguments<T>& args, unsigned task, int group) {
  // computed again for each use, because matrices occupy the registers
  return min(std::int64_t{fresh(static_cast<int>(task))} * L::systems + group, args.count - 1);
}

/// Starts to copy whole matrices, 16 bytes at a time. Unlike in stage_pieces(), the number of pieces in a row need not
/// divide the number of lanes in a warp.
template <class T, class L, class Source>
__device__ __forceinline__ void stage_rows(Source&& source, TileMemory<T, L>& memory) {
  constexpr int P = L::piece, per_row = L::pieces_per_row;
  static_assert(L::systems * L::pieces % warp_lanes == 0);
  const int thread = fresh(threadIdx.x);
#pragma unroll
  for (int q = 0; q < L::systems * L::pieces; q += warp_lanes) {
    const int s = (q + thread) / L::pieces, own = (q + thread) % L::pieces;
    copy_async<P>(&staged<L>(memory.matrix[s], s, own / per_row, own % per_row * P), source(s) + own * P);
  }
}

/// Stages and loads lower triangles. Returns the bits in which the triangles differ, in the lane's columns. The whole
/// warp calls.
template <class T, class L>
__device__ __forceinline__ unsigned load_to_sweep(const Arguments<T>& args, unsigned task, TileMemory<T, L>& memory,
                                                  T (&a)[L::rows][L::size]) {
  unsigned bits = 0;
  const auto stage = [&]<int first, int end>() __attribute__((always_inline)) {
    const auto source = [&](int s) { return args.a + system_of<T, L>(args, task, s) * args.a_step; };
    __syncwarp();  // the previous contents of these rows have been read
    fill_padding<T, L>(args, memory, first, end);
    if (!args.vectors)
      stage_numbers(args, source, memory, first, end);
    else if constexpr (warp_lanes % L::pieces_per_row == 0)
      stage_pieces<first, end>(source, memory);
    else
      stage_rows<T, L>(source, memory);
  };
  const auto take = [&]<int first, int end>() __attribute__((always_inline)) {
    const int thread = fresh(threadIdx.x), lane = thread % L::lanes, group = thread / L::lanes;
    load_rows<first, end, T, L>(memory.matrix[group], group, lane, a);
    if (args.storage == Storage::dense)
      visit_columns<first, end, T, L>(memory.matrix[group], group, lane, [&](int u, int row, const T& value) {
        bits |= differing_bits(a[u][row], value);
      });
  };
  if constexpr (L::split) {
    constexpr int quarter = L::quarter;
    stage.template operator()<quarter, L::size>();
    wait_for_copies();
    take.template operator()<3 * quarter, L::size>();
    stage.template operator()<0, quarter>();
    take.template operator()<2 * quarter, 3 * quarter>();
    take.template operator()<quarter, 2 * quarter>();
    wait_for_copies();
    take.template operator()<0, quarter>();
  } else {
    stage.template operator()<0, L::size>();
    wait_for_copies();
    take.template operator()<0, L::size>();
  }
  return bits;
}

/// Returns whether the elements of the lower triangle in the lane's rows are finite.
template <class T, class L>
__device__ __forceinline__ bool is_finite(int lane, const T (&a)[L::rows][L::size]) {
  constexpr int G = L::lanes;
  T zero = 0;  // becomes NaN if an element is not finite
  unrolled<L::size>([&](auto index) __attribute__((always_inline)) {
    constexpr int i = index;
#pragma unroll
    for (int u = i / G; u < L::rows; ++u)
      if (u > i / G || lane >= i % G) zero = fma(a[u][i], T(0), zero);
  });
  return zero == 0;
}

}  // namespace

}  // namespace smallbatch
