// The norm of A^-1 from factors in shared memory. A^-1 is applied to two vectors at a time; each half of a system's
// lanes has one vector. The registers hold no matrix. Pieces of 16 bytes of L are read ahead of time, because they do
// not depend on the vectors. Lanes exchange several rows at a time, and every lane solves all of these rows. Few
// shuffles then wait for each other. The order of sums, and so each bit, is that of substitute_forward(),
// substitute_back() and NormEstimate. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/plain_systems.cuh"
#include "solvers/cuda/solve/norm_estimate.cuh"

namespace smallbatch {

namespace {

/// Layout of L in shared memory: tiles of `edge` rows and four columns. The tiles at and below the diagonal are stored
/// by rows. `L` is the layout of the kernel that computed the factors.
template <class T, class L>
struct KeptFactors {
  static constexpr int N = L::size, P = L::piece;
  static constexpr int lanes = L::lanes / 2;  ///< lanes that have one vector
  static constexpr int rows = N / lanes;      ///< how many rows a lane has: lane, lane + lanes, ...
  /// Number of rows that get the sums of later rows before the first of them is solved.
  static constexpr int slot = L::lanes * L::shares;
  static constexpr int edge = lanes < 4 ? 4 : lanes;  ///< rows of a tile, and rows solved at once
  static constexpr int tile = edge * 4;
  static_assert(N % edge == 0 && slot % edge == 0);
  static constexpr int tiles_before(int band) { return edge / 4 * band * (band + 1) / 2; }
  static constexpr int numbers = tiles_before(N / edge) * tile;
  /// Distance from one system to the next, chosen so that lanes of several systems meet different banks.
  static constexpr int skew = lanes == 2 ? 8 : lanes == 4 && sizeof(T) == sizeof(double) ? 4 : 16;
  static constexpr int pitch = numbers + (skew + 16 - numbers % 16) % 16;
  static constexpr int all_numbers = L::systems * pitch;  // numbers of a warp

  /// Returns the offset of element (row, column).
  static constexpr int place(int row, int column) {
    return (tiles_before(row / edge) + column / 4) * tile + row % edge * 4 + column % 4;
  }

  /// Stores the rows of the lane. `own` is where the factors of its system begin.
  static __device__ __forceinline__ void store(T* own, int lane, const T (&a)[L::rows][N]) {
    constexpr int G = L::lanes;
    unrolled<L::rows>([&](auto index) __attribute__((always_inline)) {
      constexpr int u = index, band = G * u / edge;
      const int beyond = G > edge ? lane / edge : 0;  // the lane's row of tiles is number band + beyond
      T* const row = own + tiles_before(band) * tile + beyond * (edge / 4 * tile * (band + 1)) + lane % edge * 4;
#pragma unroll
      for (int c = 0; c < L::columns(u); c += P) {
        if (!has_row<L>(lane, u) || (c >= edge * (band + 1) && beyond == 0)) continue;
        Vector<T, P> out;
#pragma unroll
        for (int p = 0; p < P; ++p) out.value[p] = a[u][c + p];
        *reinterpret_cast<Vector<T, P>*>(row + c / 4 * tile + c % 4) = out;
      }
    });
  }

  /// Argument `columns` of factor(): stores each column when it is finished.
  struct Columns {
    T* own;
    /// Stores four columns of a turn, from `first` on, for the rows of this slot and of the slots below.
    template <int first_slot, int first>
    __device__ __forceinline__ void keep(int lane, int turn, const T (&l)[L::rows][4]) const {
      constexpr int G = L::lanes;
      static_assert(P == 4 && G == 2 * edge);
      const int beyond = lane / edge;  // the lane's row of tiles is number band + beyond
#pragma unroll
      for (int u = first_slot; u < L::rows; ++u) {
        if (u == first_slot && beyond < turn) continue;
        const int band = G * u / edge;
        T* const to = own + (tiles_before(band) + (G * first_slot + first) / 4) * tile +
                      beyond * (edge / 4 * tile * (band + 1)) + turn * (edge / 4 * tile) + lane % edge * 4;
        Vector<T, 4> out;
#pragma unroll
        for (int c = 0; c < 4; ++c) out.value[c] = l[u][c];
        *reinterpret_cast<Vector<T, 4>*>(to) = out;
      }
    }
  };

  /// Replaces y by A^-1 y or, with `half`, by L^-T y. A lane has `rows` rows of its vector. The array `own` is L,
  /// `lane` is the position among the lanes of the vector, and `inverse` has 1 / d of the lane's rows.
  static __device__ __forceinline__ void solve(const T* own, int lane, const T (&inverse)[rows], T (&y)[rows],
                                               bool half) {
    const T* const own_rows = own + lane * 4;
    __syncwarp();  // makes the compiler read L again; it would otherwise keep L in registers, which do not suffice
    T z[edge];     // rows that are solved together
    const auto share = [&]<int first>() __attribute__((always_inline)) {
#pragma unroll
      for (int i = 0; i < edge; ++i) z[i] = shuffle(y[(first + i) / lanes], i % lanes, lanes);
    };
    const auto take_back = [&]<int first>() __attribute__((always_inline)) {
#pragma unroll
      for (int m = 0; m < edge / lanes; ++m) {
        T value[lanes];
#pragma unroll
        for (int i = 0; i < lanes; ++i) value[i] = z[lanes * m + i];
#pragma unroll
        for (int step = 1; step < lanes; step *= 2)
#pragma unroll
          for (int i = 0; i < lanes; i += 2 * step) value[i] = (lane & step) != 0 ? value[i + step] : value[i];
        y[first / lanes + m] = value[0];
      }
    };
    if (!half) {
      unrolled<N / edge>([&](auto index) __attribute__((always_inline)) {
        constexpr int first = edge * index;
        share.template operator()<first>();
#pragma unroll
        for (int i = 1; i < edge; ++i)
#pragma unroll
          for (int c = 0; c < i; c += P) {
            const auto l = *reinterpret_cast<const Vector<T, P>*>(own + place(first + i, first + c));
#pragma unroll
            for (int p = 0; p < P; ++p)
              if (c + p < i) z[i] = fma(-l.value[p], z[c + p], z[i]);
          }
        take_back.template operator()<first>();
#pragma unroll
        for (int m = (first + edge) / lanes; m < rows; ++m)
#pragma unroll
          for (int c = 0; c < edge; c += P) {
            const auto l = *reinterpret_cast<const Vector<T, P>*>(own_rows + place(lanes * m, first + c));
#pragma unroll
            for (int p = 0; p < P; ++p) y[m] = fma(-l.value[p], z[c + p], y[m]);
          }
      });
#pragma unroll
      for (int m = 0; m < rows; ++m) {
        y[m] *= inverse[m];
        now(y[m]);
      }
    }
    __syncwarp();  // makes the compiler read L again
    unrolled<(N + slot - 1) / slot>([&](auto index) __attribute__((always_inline)) {
      constexpr int begin = ((N + slot - 1) / slot - 1 - index) * slot, end = begin + slot < N ? begin + slot : N;
      if constexpr (end < N) {
        unrolled<slot / edge>([&](auto part) __attribute__((always_inline)) {
          subtract_sums<begin + edge * part, end>(own_rows, lane, y);
        });
      }
      unrolled<(end - begin) / edge>([&](auto part) __attribute__((always_inline)) {
        constexpr int first = end - edge * (part + 1);
        share.template operator()<first>();
#pragma unroll
        for (int i = edge - 1; i > 0; --i)
#pragma unroll
          for (int c = 0; c < i; c += P) {
            const auto l = *reinterpret_cast<const Vector<T, P>*>(own + place(first + i, first + c));
#pragma unroll
            for (int p = 0; p < P; ++p)
              if (c + p < i) z[c + p] = fma(-l.value[p], z[i], z[c + p]);
          }
        take_back.template operator()<first>();
#pragma unroll
        for (int m = begin / lanes; m < first / lanes; ++m)
#pragma unroll
          for (int i = edge - 1; i >= 0; --i) {
            const T l = lanes < 4 ? own[place(first + i, lanes * m) + lane]
                                  : own[place(first + i, lanes * m) + lane / 4 * tile + lane % 4];
            y[m] = fma(-l, z[i], y[m]);
          }
      });
    });
  }

 private:
  /// Subtracts from rows first .. first + edge - 1 of y what rows `below` .. N - 1 of L and y contribute to these rows
  /// of L^T y.
  template <int first, int below>
  static __device__ __forceinline__ void subtract_sums(const T* own_rows, int lane, T (&y)[rows]) {
    // A lane does the work of several lanes of a kernel without shares, and keeps one sum for each of them.
    constexpr int sums = slot / lanes;
    T p[sums][edge];
    bool has[sums]{};
#pragma unroll
    for (int m = rows - 1; m >= below / lanes; --m) {
#pragma unroll
      for (int c = 0; c < edge; c += P) {
        const auto l = *reinterpret_cast<const Vector<T, P>*>(own_rows + place(lanes * m, first + c));
#pragma unroll
        for (int i = 0; i < P; ++i) {
          T& sum = p[m % sums][c + i];
          sum = has[m % sums] ? fma(l.value[i], y[m], sum) : l.value[i] * y[m];
        }
      }
      has[m % sums] = true;
    }
#pragma unroll
    for (int s = 0; s < sums; ++s)
      if (!has[s])
#pragma unroll
        for (int c = 0; c < edge; ++c) p[s][c] = 0;
    // Lanes form groups of at most 8. In each group, sums of lanes at half the group's size are added first, then at a
    // quarter, and so on. If there are two groups, their sums are added last.
    constexpr int last = slot > 8 ? 8 : slot;
#pragma unroll
    for (int step = last / 2 / lanes; step > 0; step /= 2)
#pragma unroll
      for (int s = 0; s < sums; ++s)
        if ((s & step) == 0 && s % (last / lanes) < 2 * step)
#pragma unroll
          for (int c = 0; c < edge; ++c) p[s][c] += p[s + step][c];
#pragma unroll
    for (int m = 0; m < edge / lanes; ++m) {
      T of_lane[slot / last];
#pragma unroll
      for (int s = 0; s < slot / last; ++s) {
        T part[lanes];
#pragma unroll
        for (int i = 0; i < lanes; ++i) part[i] = p[s * (last / lanes)][lanes * m + i];
        of_lane[s] = sum_for_each<lanes, lanes>(lane, part);
      }
      if constexpr (slot / last == 2) of_lane[0] += of_lane[1];
      y[first / lanes + m] -= of_lane[0];
    }
  }
};

/// Returns the norm of A^-1, with the same bits as NormEstimate. The systems have n rows, and factors in shared memory.
/// The size n must be larger than NormEstimate::exact_up_to. The whole warp calls.
///
/// - lane_of_system: number of the lane in its system.
/// - own: L.
/// - reciprocals: 1 / d, or a multiple of it, in shared memory.
/// - answer: null, or D^-1 L^-1 b in shared memory. The function replaces it by x.
template <class T, class L>
__device__ __forceinline__ double norm_of_kept(int n, int lane_of_system, const T* own, const T* reciprocals,
                                               T* answer) {
  using Kept = KeptFactors<T, L>;
  using Estimate = NormEstimate<T, L>;
  constexpr int H = Kept::lanes, R = Kept::rows, sums_of_lane = Kept::slot / H;
  static_assert(L::size > Estimate::exact_up_to);
  const int lane = lane_of_system % H;
  const bool second = lane_of_system >= H;  // whether the lane works on the second vector
  T inverse[R], y[R];
#pragma unroll
  for (int m = 0; m < R; ++m) inverse[m] = reciprocals[H * m + lane];
  int column = row_of_largest<H>(n, lane, inverse, -1);  // column of A^-1 that is computed
  double norm = 0;
#pragma unroll 1
  for (int turn = answer != nullptr ? -1 : 0; turn < Estimate::estimating_turns; ++turn) {
    const bool has_signs = turn == static_cast<int>(second);
#pragma unroll
    for (int m = 0; m < R; ++m) {
      const int row = H * m + lane;
      if (turn < 0)
        y[m] = answer[row];
      else if (has_signs)
        y[m] = row >= n ? T(0) : turn == 1 && y[m] < 0 ? T(-1) : T(1);
      else
        y[m] = static_cast<T>(row == column);
    }
    Kept::solve(own, lane, inverse, y, turn < 0);
    if (turn < 0) {
      __syncwarp();  // both halves of the lanes have read `answer`
#pragma unroll
      for (int m = 0; m < R; ++m)
        if (!second) answer[H * m + lane] = y[m];
      continue;
    }
    double sums[sums_of_lane]{};
#pragma unroll
    for (int m = 0; m < R; ++m) sums[m % sums_of_lane] += abs(static_cast<double>(y[m]));
#pragma unroll
    for (int step = sums_of_lane / 2; step > 0; step /= 2)
#pragma unroll
      for (int s = 0; s < step; ++s) sums[s] += sums[s + step];
    const double sum = sum_of_group<H>(sums[0]);
    raise(norm, has_signs && sum == sum ? norm : sum);
    if (turn == 1) {
      const T most = largest_magnitude<H>(n, lane, y, -1);
      if (second) raise(norm, static_cast<double>(most));
    }
    // Passing `column` excludes the column of the smallest pivot, which has just been computed.
    if (turn == 0) column = row_of_largest<H>(n, lane, y, column);
  }
  const double other = shuffle(norm, H, 2 * H);
  norm = shuffle(norm, 0, 2 * H);
  return norm == norm && !(other <= norm) ? other : norm;
}

}  // namespace

}  // namespace smallbatch
