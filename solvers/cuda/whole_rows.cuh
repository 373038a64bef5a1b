// The way of whole rows from global memory through the shared memory of their warp into registers, and what is found
// out about the input on that way: for Gauss-Jordan elimination, and for inverses. Private to solvers/*.cu.
//
// The matrix stays in shared memory until the answer is judged (for n > 32 it comes back for that). The usual system,
// symmetric to the bit and with numbers near 1, costs one comparison per element. All others, and all that fail, take
// slow paths that decide exactly; a system's numbers never depend on which path its neighbours take.
#pragma once

#include "solvers/cuda/tile.cuh"

namespace smallbatch {

namespace {

/// Lanes per system of whole rows, in registers or, for N = 64, in shared memory; measured to be best.
template <class T, int N>
inline constexpr int lanes_for_whole_rows = N == 8    ? 4
                                            : N == 16 ? 4
                                            : N == 32 ? (sizeof(T) == 4 ? 8 : 16)
                                                      : 32;

template <class T, int N>
struct WholeRows : Dealt<T, N, lanes_for_whole_rows<T, N>> {
  using Dealt<T, N, lanes_for_whole_rows<T, N>>::piece;
  // Distances in shared memory, in numbers: the rows of neighbouring lanes lie in different banks, and behind each row
  // there is room for four numbers that are no part of A.
  static constexpr int row_pitch = N + (sizeof(T) == 4 ? N == 16 ? 8 : 4 : N >= 32 ? 6 : 4);
  static constexpr int system_pitch = N * row_pitch + (N == 32 ? 2 : N == 64 ? 4 : 1) * piece;
  // Warps per multiprocessor that shared memory leaves room for; what registers may be spent on.
  static constexpr int resident_warps = N == 8           ? 16
                                        : N == 16        ? (sizeof(T) == 4 ? 12 : 8)
                                        : N == 64        ? 6
                                        : sizeof(T) == 4 ? 11
                                                         : 8;
};

/// The shared memory of a warp that works on whole rows, C right-hand sides at a time.
template <class T, class L, int C>
struct alignas(16) WarpMemory {
  T matrix[L::systems][L::system_pitch];  // A, rows L::row_pitch apart
  union {
    T rhs[L::systems][C * L::size + L::lanes];       // b, one right-hand side after the other, until it is in registers
    T pivot_row[2][L::systems][L::size + L::lanes];  // of the step under way and of the next
  };
};

/// Element e of a vector that lies in the room behind the rows of a matrix, four numbers behind each: 4N in all.
template <class L, class T>
__device__ __forceinline__ T* behind(T* matrix, int e) {
  return matrix + e / 4 * L::row_pitch + L::size + e % 4;
}
template <class L>
inline constexpr int powers_at = L::size;  // of two: the diagonal of D, where a system of the warp is scaled
/// The distance in memory from element e to element e + by; `by` is a multiple of 4, or e is and `by` is not negative.
template <class L>
__device__ constexpr int further(int by) {
  return by / 4 * L::row_pitch + by % 4;
}

/// Identity rows for the padding, which the copies leave alone.
template <class T, class L, int C>
__device__ void fill_padding(const Arguments<T>& args, WarpMemory<T, L, C>& memory) {
  if (args.n == L::size) return;
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s)
    for (int e = threadIdx.x; e < L::size * L::size; e += warp_lanes)
      memory.matrix[s][e / L::size * L::row_pitch + e % L::size] = e / L::size == e % L::size ? T(1) : T(0);
  __syncwarp();  // the padding is written before copies land beside it
}

/// Starts to copy the matrices of systems first .. first + L::systems - 1 (beyond the end: the last one again).
template <class T, class L, int C>
__device__ __forceinline__ void stage_matrices(const Arguments<T>& args, std::int64_t first,
                                               WarpMemory<T, L, C>& memory) {
  const int lane = fresh(threadIdx.x);
  const T* source = args.a + first * args.a_step;
  const auto last = static_cast<int>(min(args.count - 1 - first, std::int64_t{L::systems - 1}));
  if (args.vectors) {
    // The warp copies one system, or a few small ones, per turn; the loop keeps a single pointer alive.
    constexpr int per_row = L::size / L::piece, per_system = L::size * per_row;
    constexpr int at_once = per_system < warp_lanes ? warp_lanes / per_system : 1;
    const int piece = lane % per_system;
    T* to = &memory.matrix[lane / per_system][piece / per_row * L::row_pitch + piece % per_row * L::piece];
    source += piece * L::piece;
#pragma unroll 1
    for (int s = lane / per_system; s < L::systems; s += at_once) {
      const T* from = source + min(s, last) * args.a_step;
#pragma unroll
      for (int q = 0; q < per_system; q += warp_lanes)
        copy_async<L::piece>(to + q / per_row * L::row_pitch, from + q * L::piece);
      to += at_once * L::system_pitch;
    }
    return;
  }
  const bool packed = args.storage == Storage::packed_lower;
  const int numbers = packed ? args.n * (args.n + 1) / 2 : args.n * args.n;
  float columns;
  asm volatile("rcp.approx.f32 %0, %1;" : "=f"(columns) : "f"(static_cast<float>(args.n)));
#pragma unroll 1
  for (int e = lane; e < numbers; e += warp_lanes) {
    const int row = packed ? packed_row(e) : static_cast<int>((static_cast<float>(e) + 0.5F) * columns);
    const int place = row * L::row_pitch + e - (packed ? row * (row + 1) / 2 : row * args.n);
#pragma unroll
    for (int s = 0; s < L::systems; ++s)
      copy_async<1>(&memory.matrix[s][place], source + min(s, last) * args.a_step + e);
  }
}

/// Starts to copy right-hand sides first_rhs .. first_rhs + C - 1 of the lane's system; columns of the identity for the
/// inverse, zeros where there is none. Every lane copies what it will read itself.
template <class T, class L, int C>
__device__ __forceinline__ void stage_rhs(const Arguments<T>& args, std::int64_t system, int group, int lane,
                                          int first_rhs, WarpMemory<T, L, C>& memory) {
  const T* source = args.b + min(system, args.count - 1) * args.b_step + first_rhs;
  const int own = fresh(lane);
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int row = L::lanes * u + own;
#pragma unroll
    for (int c = 0; c < C; ++c) {
      T* place = &memory.rhs[group][c * L::size + row];
      if (row < args.n && first_rhs + c < args.nrhs)
        copy_async<1>(place, source + static_cast<std::int64_t>(row) * args.nrhs + c);
      else
        *place = args.inverse && row == first_rhs + c ? T(1) : T(0);
    }
  }
}

template <class T, class L>
__device__ __forceinline__ void load_rows(const T* matrix, int lane, T (&a)[L::rows][L::size]) {
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
#pragma unroll
    for (int i = 0; i < L::lanes * (u + 1); i += L::piece) {
      const auto loaded =
          *reinterpret_cast<const Vector<T, L::piece>*>(matrix + (L::lanes * u + lane) * L::row_pitch + i);
#pragma unroll
      for (int c = 0; c < L::piece; ++c) a[u][i + c] = loaded.value[c];
    }
}

/// Where the rows take most of a lane's registers, barriers keep the compiler from loading a whole pivot column at
/// once, into registers that are not there.
template <class T, class L>
inline constexpr bool crowded = L::rows* L::size * sizeof(T) >= (L::size > 32 || sizeof(T) == 8 ? 512 : 1 << 30);

/// Whole rows, of which what lies above the diagonal comes from the lower triangle.
template <class T, class L>
__device__ __forceinline__ void load_whole_rows(const T* matrix, int lane, T (&a)[L::rows][L::size]) {
  load_rows<T, L>(matrix, lane, a);
#pragma unroll
  for (int i = 1; i < L::size; ++i) {
    if (crowded<T, L> && i % 4 == 0) __syncwarp();
#pragma unroll
    for (int u = 0; u < L::rows && L::lanes * u < i; ++u)
      if (i >= L::lanes * (u + 1) || i > L::lanes * u + lane) a[u][i] = matrix[i * L::row_pitch + L::lanes * u + lane];
  }
}

/// Whether a bit of the upper triangle differs from the lower one in the lane's rows.
template <class T, class L>
__device__ __forceinline__ bool differs_above(const T* matrix, int lane, const T (&a)[L::rows][L::size]) {
  unsigned bits[4]{};  // four chains instead of a long one
#pragma unroll
  for (int i = 0; i < L::size; ++i) {
    if (crowded<T, L> && i % 4 == 0) __syncwarp();
#pragma unroll
    for (int u = i / L::lanes; u < L::rows; ++u)
      bits[u % 4] |= differing_bits(a[u][i], matrix[i * L::row_pitch + L::lanes * u + lane]);
  }
  return (bits[0] | bits[1] | bits[2] | bits[3]) != 0;
}

/// Whether a diagonal element of the lane's rows asks for scaling.
template <class T, class L>
__device__ __forceinline__ bool diagonal_is_far(const T* matrix, int lane) {
  bool far = false;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const T diagonal = matrix[(L::lanes * u + lane) * (L::row_pitch + 1)];
    far |= diagonal > 0 && is_far(diagonal, Traits<T>::diagonal_window);
  }
  return far;
}

// exact scaling: D A D y = 2^t D b, x = 2^-t D y

/// The exponent of row `row` of D, which brings the diagonal of A next to 1 where `scaled`, and is 0 elsewhere.
template <class T, class L>
__device__ __forceinline__ int scaling_exponent(const T* matrix, int row, bool scaled) {
  const T diagonal = matrix[row * (L::row_pitch + 1)];
  return scaled && diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0;
}

/// The diagonal of D, powers of two, behind the rows. The caller lets all lanes pass.
template <class T, class L>
__device__ void store_powers(int lane, bool scaled, T* matrix) {
#pragma unroll 1
  for (int u = 0; u < L::rows; ++u)
    *behind<L>(matrix, powers_at<L> + L::lanes * u + lane) =
        power_of_two<T>(scaling_exponent<T, L>(matrix, L::lanes * u + lane, scaled));
}
/// D A D in registers, whole rows; A stays in shared memory.
template <class T, class L>
__device__ __forceinline__ void scale_rows(T* matrix, int lane, T (&a)[L::rows][L::size]) {
#pragma unroll
  for (int i = 0; i < L::size; ++i)
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      a[u][i] = a[u][i] * *behind<L>(matrix, powers_at<L> + L::lanes * u + lane) * *behind<L>(matrix, powers_at<L> + i);
      now(a[u][i]);
    }
}

/// 2^t D b; t, which is 0 unless D b lies far from 1, into `shift`. The whole warp calls.
template <class T, class L, int C>
__device__ __forceinline__ void scale_rhs(const T* matrix, int lane, bool scaled, T (&b)[C][L::rows], int (&shift)[C]) {
  constexpr int lowest = -4 * Traits<T>::exponent_bias;
#pragma unroll
  for (int c = 0; c < C; ++c) {
    int top = lowest;
#pragma unroll
    for (int u = 0; u < L::rows; ++u)
      if (b[c][u] != 0)
        top = max(top, exponent_of(b[c][u]) + scaling_exponent<T, L>(matrix, L::lanes * u + lane, scaled));
    top = max_of_group<L::lanes>(top);
    shift[c] = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
#pragma unroll
    for (int u = 0; u < L::rows; ++u)
      b[c][u] = scale(b[c][u], scaling_exponent<T, L>(matrix, L::lanes * u + lane, scaled) + shift[c]);
  }
}

}  // namespace

}  // namespace smallbatch
