// The exact status of a system, decided from its input in global memory by the lanes that share it. Only few systems
// need it. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

/// Returns element (i, j). If only the lower triangle is stored, j <= i.
template <class T>
__device__ T element(const Arguments<T>& args, std::int64_t system, int i, int j) {
  return args.a[system * args.a_step + (args.storage == Storage::packed_lower ? i * (i + 1) / 2 : i * args.n) + j];
}

/// Returns whether a right-hand side has a number that is not finite. The whole warp calls.
template <int Lanes, class T>
__device__ bool rhs_not_finite(const Arguments<T>& args, std::int64_t system, int lane) {
  bool bad = false;
#pragma unroll 1
  for (std::int64_t e = lane; e < static_cast<std::int64_t>(rows_of(args, system)) * args.nrhs; e += Lanes)
    bad |= not_finite(args.b[system * args.b_step + e]);
  return any_of_group<Lanes>(bad);
}

/// Returns the status of the input of a system with differing triangles. The order of core/systems.hpp holds: not
/// finite, then not symmetric, then the right-hand sides. The whole warp calls.
template <int Lanes, class T>
__device__ std::int32_t inspect(const Arguments<T>& args, std::int64_t system, int lane) {
  const int n = rows_of(args, system);
  bool bad = false, asymmetric = false;
#pragma unroll 1
  for (int i = lane; i < n; i += Lanes) {
    const T bound = static_cast<T>(n) * Traits<T>::eps * sqrt(abs(element(args, system, i, i)));
#pragma unroll 1
    for (int j = 0; j < n; ++j) {
      const T value = element(args, system, i, j), mirrored = element(args, system, j, i);
      bad |= not_finite(value);
      asymmetric |= abs(value - mirrored) > bound * sqrt(abs(element(args, system, j, j)));
    }
  }
  bad = any_of_group<Lanes>(bad);
  asymmetric = any_of_group<Lanes>(asymmetric);
  const bool bad_rhs = rhs_not_finite<Lanes>(args, system, lane);
  return bad ? info_matrix_not_finite : asymmetric ? info_matrix_not_symmetric : bad_rhs ? info_rhs_not_finite : 0;
}

/// Returns the number, counted from 1, of the first pivot of the lane's system that is not positive and finite. Returns
/// 0 if there is none. Reciprocals of the pivots may be given instead. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ int first_bad_pivot(int lane, const T (&pivots)[L::rows]) {
  int first = INT32_MAX;
#pragma unroll
  for (int u = L::rows - 1; u >= 0; --u)
    if (!(pivots[u] > 0 && pivots[u] < infinity<T>())) first = L::lanes * u + lane + 1;
  if (!__any_sync(whole_warp, first != INT32_MAX)) return 0;
  first = min_of_group<L::lanes>(first);
  return first == INT32_MAX ? 0 : first;
}

/// Returns the status of a system without a usable answer. If the input has a number that is not finite, the status
/// says so. Otherwise it is `first_bad_pivot`, or `otherwise` if `first_bad_pivot` is 0. The whole warp calls.
template <int Lanes, class T>
__device__ std::int32_t explain_failure(const Arguments<T>& args, std::int64_t system, int first_bad_pivot, int lane,
                                        std::int32_t otherwise = info_result_not_finite) {
  bool bad = false;
#pragma unroll 1
  for (int i = 0, n = rows_of(args, system); i < n; ++i)
#pragma unroll 1
    for (int j = lane; j < (args.storage == Storage::dense ? n : i + 1); j += Lanes)
      bad |= not_finite(element(args, system, i, j));
  bad = any_of_group<Lanes>(bad);
  const bool bad_rhs = rhs_not_finite<Lanes>(args, system, lane);
  return bad                    ? info_matrix_not_finite
         : bad_rhs              ? info_rhs_not_finite
         : first_bad_pivot != 0 ? first_bad_pivot
                                : otherwise;
}

/// Returns the exponent of row `row` in a diagonal matrix D of powers of two. If the system is `far`, D brings the
/// diagonal of D A D near 1; otherwise the exponent is 0.
template <class T>
__device__ __forceinline__ int scaling_exponent(const Arguments<T>& args, std::int64_t system, int row, bool far) {
  if (!far || row >= rows_of(args, system)) return 0;
  const T diagonal = element(args, system, row, row);
  return diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0;
}

/// Multiplies y_u by 2^exponent(u); each y_u is a row of the lane's solution. Returns whether underflow changes the
/// solution by more than a few roundings. The lane's rows go through shared memory, because the matrix occupies the
/// registers. They begin at `place`, and the distance between them is L::lanes elements. The whole warp calls.
template <class T, class L, class Exponent>
__device__ __forceinline__ bool rescale(T (&y)[L::rows], T* place, Exponent&& exponent) {
#pragma unroll
  for (int u = 0; u < L::rows; ++u) place[L::lanes * u] = y[u];
  constexpr int lowest = -8 * Traits<T>::exponent_bias;
  int top = lowest;  // exponent of the largest result
#pragma unroll 1
  for (int u = 0; u < L::rows; ++u)
    if (const T value = place[L::lanes * u]; value != 0) top = max(top, exponent_of(value) + exponent(u));
  top = max_of_group<L::lanes>(top);
  const bool low = top > lowest && top < Traits<T>::mantissa_bits - Traits<T>::exponent_bias;
  T lost = 0, norm = 0;
#pragma unroll 1
  for (int u = 0; u < L::rows; ++u) {
    const T value = place[L::lanes * u], rounded = scale(value, exponent(u));
    place[L::lanes * u] = rounded;
    if (!low) continue;
    const T exact = scale(value, exponent(u) - top);
    lost += abs(exact - scale(rounded, -top));
    norm += abs(exact);
  }
#pragma unroll
  for (int u = 0; u < L::rows; ++u) y[u] = place[L::lanes * u];
  if (!__any_sync(whole_warp, low)) return false;
  return sum_of_group<L::lanes>(lost) > 4 * Traits<T>::eps * sum_of_group<L::lanes>(norm);
}

}  // namespace

}  // namespace smallbatch
