// Whole rows in shared memory, a system of n > 32 per warp, for condition numbers. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/tile.cuh"

namespace smallbatch {

namespace {

template <class T, int N>
struct WholeRows : Dealt<T, N, warp_lanes> {
  static_assert(N == 64);
  using Dealt<T, N, warp_lanes>::piece;
  // Distances in shared memory, in numbers: the rows of neighbouring lanes lie in different banks, and behind each row
  // there is room for four numbers that are no part of A.
  static constexpr int row_pitch = N + (sizeof(T) == 4 ? 4 : 6);
  static constexpr int system_pitch = N * row_pitch + 4 * piece;
  static constexpr int resident_warps = 6;  // that shared memory leaves room for
};

template <class T, class L>
struct alignas(16) WarpMemory {
  T matrix[L::systems][L::system_pitch];  // A, rows L::row_pitch apart
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
template <class T, class L>
__device__ void fill_padding(const Arguments<T>& args, WarpMemory<T, L>& memory) {
  if (args.n == L::size) return;
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s)
    for (int e = threadIdx.x; e < L::size * L::size; e += warp_lanes)
      memory.matrix[s][e / L::size * L::row_pitch + e % L::size] = e / L::size == e % L::size ? T(1) : T(0);
  __syncwarp();  // the padding is written before copies land beside it
}

/// Starts to copy the matrices of systems first .. first + L::systems - 1 (beyond the end: the last one again).
template <class T, class L>
__device__ __forceinline__ void stage_matrices(const Arguments<T>& args, std::int64_t first, WarpMemory<T, L>& memory) {
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

// exact scaling: D A D

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
}  // namespace

}  // namespace smallbatch
