// Solutions by factors in shared memory, of four vectors at a time: each has a quarter of its system's lanes, one alone
// where these are four, and no matrix in registers. What a lane needs of L is read in pieces of 16 bytes, ahead of time, as
// it does not depend on the vectors. Where a vector has several lanes several rows are exchanged at once and solved by all
// of them alike. The order of sums, and so each bit, is that of substitute_forward() and substitute_back(), and of
// NormEstimate. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/norm_estimate.cuh"
#include "solvers/cuda/plain_systems.cuh"

namespace smallbatch {

namespace {

/// How L lies there: tiles of `edge` rows and four columns, those at and below the diagonal by rows. L: the layout of
/// the kernel that has made it.
template <class T, class L>
struct KeptFactors {
  static constexpr int N = L::size, P = L::piece;
  static constexpr int vectors = 4;
  static constexpr int lanes = L::lanes / vectors;    // of a vector
  static constexpr int rows = N / lanes;              // of a lane: lanes m + its own number
  static constexpr int slot = L::lanes * L::shares;   // rows whose sums are made together
  static constexpr int edge = L::lanes < 8 ? 4 : L::lanes / 2;  // rows of a tile, and rows solved at once
  static constexpr int tile = edge * 4;
  static_assert(L::shares == 1 && N % edge == 0 && slot % edge == 0 && edge % lanes == 0 && lanes <= 4);
  static constexpr int tiles_before(int band) { return edge / 4 * band * (band + 1) / 2; }
  static constexpr int numbers = tiles_before(N / edge) * tile;
  /// From one system to the next, such that lanes of several systems meet different banks.
  static constexpr int skew = lanes < 4 ? 4 : 16;
  static constexpr int pitch = numbers + (skew + 16 - numbers % 16) % 16;
  static constexpr int vector_pitch = N + 4, vectors_pitch = vectors * vector_pitch + 4;
  static constexpr int vectors_at = L::systems * pitch;  // behind the factors of a warp
  static constexpr int all_numbers = vectors_at + L::systems * vectors_pitch;

  /// Column `column` of row `row`.
  static constexpr int place(int row, int column) {
    return (tiles_before(row / edge) + column / 4) * tile + row % edge * 4 + column % 4;
  }

  /// Puts the rows of the lane there. own: where those of its system begin.
  static __device__ __forceinline__ void store(T* own, int lane, const T (&a)[L::rows][N]) {
    constexpr int G = L::lanes;
    unrolled<L::rows>([&](auto index) __attribute__((always_inline)) {
      constexpr int u = index, band = G * u / edge;
      const int beyond = G > edge ? lane / edge : 0;  // bands
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

  /// For factor(): puts each column there when it is done.
  struct Columns {
    T* own;
    /// Four columns of a turn, from `first` on, of the rows of this slot and those below.
    template <int first_slot, int first>
    __device__ __forceinline__ void keep(int lane, int turn, const T (&l)[L::rows][4]) const {
      constexpr int G = L::lanes;
      static_assert(P == 4 && G == 2 * edge);
      const int beyond = lane / edge;  // bands
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

  /// y becomes D^-1 L^-1 y, of which the lane has its rows. own: L; lane: of the vector; reciprocals: of the pivots, of
  /// all rows, in shared memory.
  static __device__ __forceinline__ void forward(const T* own, int lane, const T* reciprocals, T (&y)[rows]) {
    const T* const own_rows = own + lane * 4;
    __syncwarp();  // the compiler, which would keep L in registers that are not there, reads it again
    unrolled<N / edge>([&](auto index) __attribute__((always_inline)) {
      constexpr int first = edge * index;
      T z[edge];
      share<first>(y, z);
#pragma unroll
      for (int i = 1; i < edge; ++i)
#pragma unroll
        for (int c = 0; c < i; c += P) {
          const auto l = *reinterpret_cast<const Vector<T, P>*>(own + place(first + i, first + c));
#pragma unroll
          for (int p = 0; p < P; ++p)
            if (c + p < i) z[i] = fma(-l.value[p], z[c + p], z[i]);
        }
      take_back<first>(lane, z, y);
#pragma unroll
      for (int m = (first + edge) / lanes; m < rows; ++m)
#pragma unroll
        for (int c = 0; c < edge; c += P) {
          const auto l = *reinterpret_cast<const Vector<T, P>*>(own_rows + place(lanes * m, first + c));
#pragma unroll
          for (int p = 0; p < P; ++p) y[m] = fma(-l.value[p], z[c + p], y[m]);
        }
    });
    T inverse[rows];
    load(reciprocals, lane, inverse);
#pragma unroll
    for (int m = 0; m < rows; ++m) {
      y[m] *= inverse[m];
      now(y[m]);
    }
  }

  /// y becomes L^-T y; each row is pushed by even or odd / d when it is known.
  static __device__ __forceinline__ void back(const T* own, int lane, const T* reciprocals, T even, T odd,
                                              T (&y)[rows]) {
    const T* const own_rows = own + lane * 4;
    __syncwarp();  // and again
    unrolled<(N + slot - 1) / slot>([&](auto index) __attribute__((always_inline)) {
      constexpr int begin = ((N + slot - 1) / slot - 1 - index) * slot, end = begin + slot < N ? begin + slot : N;
      if constexpr (end < N) {
        unrolled<slot / edge>([&](auto part) __attribute__((always_inline)) {
          subtract_sums<begin + edge * part, end>(own_rows, lane, y);
        });
      }
      unrolled<(end - begin) / edge>([&](auto part) __attribute__((always_inline)) {
        constexpr int first = end - edge * (part + 1);
        T z[edge];
        share<first>(y, z);
#pragma unroll
        for (int i = edge - 1; i >= 0; --i) {
          z[i] = pushed(z[i], reciprocals[first + i] * (i % 2 == 0 ? even : odd));
#pragma unroll
          for (int c = 0; c < i; c += P) {
            const auto l = *reinterpret_cast<const Vector<T, P>*>(own + place(first + i, first + c));
#pragma unroll
            for (int p = 0; p < P; ++p)
              if (c + p < i) z[c + p] = fma(-l.value[p], z[i], z[c + p]);
          }
        }
        take_back<first>(lane, z, y);
#pragma unroll
        for (int m = begin / lanes; m < first / lanes; ++m)
#pragma unroll
          for (int i = edge - 1; i >= 0; --i) {
            const T l = own[place(first + i, lanes * m) + lane];
            y[m] = fma(-l, z[i], y[m]);
          }
      });
    });
  }

  /// The lane's rows of a vector in shared memory, and back.
  static __device__ __forceinline__ void load(const T* from, int lane, T (&y)[rows]) {
    if constexpr (lanes == 1) {
#pragma unroll
      for (int m = 0; m < rows; m += P) {
        const auto in = *reinterpret_cast<const Vector<T, P>*>(from + m);
#pragma unroll
        for (int p = 0; p < P; ++p) y[m + p] = in.value[p];
      }
    } else {
#pragma unroll
      for (int m = 0; m < rows; ++m) y[m] = from[lanes * m + lane];
    }
  }
  static __device__ __forceinline__ void store(T* to, int lane, const T (&y)[rows]) {
    if constexpr (lanes == 1) {
#pragma unroll
      for (int m = 0; m < rows; m += P) {
        Vector<T, P> out;
#pragma unroll
        for (int p = 0; p < P; ++p) out.value[p] = y[m + p];
        *reinterpret_cast<Vector<T, P>*>(to + m) = out;
      }
    } else {
#pragma unroll
      for (int m = 0; m < rows; ++m) to[lanes * m + lane] = y[m];
    }
  }

  /// The sum of magnitudes, in double precision, in all lanes of the vector.
  static __device__ __forceinline__ double norm(const T (&y)[rows]) {
    constexpr int sums_of_lane = slot / lanes;
    double sums[sums_of_lane]{};
#pragma unroll
    for (int m = 0; m < rows; ++m) sums[m % sums_of_lane] += abs(static_cast<double>(y[m]));
#pragma unroll
    for (int step = sums_of_lane / 2; step > 0; step /= 2)
#pragma unroll
      for (int s = 0; s < step; ++s) sums[s] += sums[s + step];
    return sum_of_group<lanes>(sums[0]);
  }

 private:
  /// The rows first .. first + edge - 1 of the lanes of the vector, for all of them.
  template <int first>
  static __device__ __forceinline__ void share(const T (&y)[rows], T (&z)[edge]) {
#pragma unroll
    for (int i = 0; i < edge; ++i) {
      if constexpr (lanes == 1)
        z[i] = y[first + i];
      else
        z[i] = shuffle(y[(first + i) / lanes], i % lanes, lanes);
    }
  }
  template <int first>
  static __device__ __forceinline__ void take_back(int lane, const T (&z)[edge], T (&y)[rows]) {
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
  }

  /// The columns first .. first + edge - 1 less what the rows from `below` on have of them.
  template <int first, int below>
  static __device__ __forceinline__ void subtract_sums(const T* own_rows, int lane, T (&y)[rows]) {
    constexpr int sums = slot / lanes;  // of a lane: for the rows of each lane that a kernel has without shares
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
    // Up to 8 lanes are added up from the farthest to the nearest, and then those that are 8 apart.
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

}  // namespace

}  // namespace smallbatch
