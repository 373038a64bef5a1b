// Backward errors, and the numbers that are computed from pivots. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/pivot_numbers.cuh"
#include "solvers/cuda/common/stored_systems.cuh"

namespace smallbatch {

namespace {

/// Returns v 2^-896 in double precision. The bits of v move three places to the right, and the sign stays. `shift` is
/// 2^29, but the compiler does not know. If v is not finite, the result is meaningless.
__device__ __forceinline__ double scaled_down(float v, int shift) {
  unsigned long long bits;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(bits) : "r"(__float_as_int(v)), "r"(shift));
  return __hiloint2double(static_cast<int>(bits >> 32) & 0x8fffffff, static_cast<int>(bits));
}

/// Backward error ||b - A x||_1 / (||A||_1 ||x||_1) of the lane's current system. The residual has twice the precision
/// of T's numbers. The values x[u] and b[u] belong to row G u + lane. The elements of this row may be added in any
/// order. The whole warp calls.
///
/// With `Mixed`, integer instructions convert floats to double in every fourth slot. With conversion instructions
/// alone, the kernel would wait for the unit that executes them.
template <class T, class L, bool Mixed = false>
struct Judgement {
  using Factor = typename Residual<T>::Factor;
  double a_factor = 1, x_factor = 1;  // powers of two, which cancel in the result
  int shift = 1 << 29;
  double norms_x[L::shares]{}, row_sum[L::rows];
  Residual<T> residual[L::rows];

  /// Starts a judgement. The function diagonal(row) returns a diagonal element of A. Afterwards `places` holds x for
  /// all rows.
  template <class Diagonal>
  __device__ __forceinline__ Judgement(int n, int lane, Diagonal&& diagonal, Factor* places, const T (&x)[L::rows],
                                       const T (&b)[L::rows]) {
    if (sizeof(T) == sizeof(double)) {
      T largest_a = 0, largest_x = 0;
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        const int row = L::lanes * u + lane;
        if (row < n) largest_a = max(largest_a, abs(diagonal(row)));
        largest_x = max(largest_x, abs(x[u]));
      }
      a_factor = power_of_two<double>(normalizing_exponent(max_of_group<L::lanes>(largest_a)));
      x_factor = power_of_two<double>(normalizing_exponent(max_of_group<L::lanes>(largest_x)));
    }
    __syncwarp();  // the memory for x has been read
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      const double value = static_cast<double>(x[u]) * x_factor;
      if (has_row<L>(lane, u)) places[L::lanes * u + lane] = Residual<T>::factor(value);
      norms_x[u % L::shares] += abs(value);
      residual[u] =
          Residual<T>(with_factors(static_cast<double>(b[u]), by_integers(u) ? 0x1p-896 : a_factor, x_factor));
      row_sum[u] = 0;
    }
    if (Mixed) shift = fresh(shift);
    __syncwarp();  // x is complete
  }

  __device__ __forceinline__ void add(int u, T element, const Factor& x) {
    if constexpr (Mixed && sizeof(T) == sizeof(double)) {
      row_sum[u] = fma(abs(element), a_factor, row_sum[u]);
      residual[u].subtract(element, a_factor, x);
    } else {
      double value = 0;
      if constexpr (sizeof(T) == sizeof(double))
        value = element * a_factor;
      else
        value = by_integers(u) ? scaled_down(element, shift) : static_cast<double>(element);
      row_sum[u] += abs(value);
      residual[u].subtract(value, x);
    }
  }

  /// Gives each lane the residuals of its own rows, through `places`. This is needed if add(u, ...) was called for
  /// row(u, lane) instead of row G u + lane.
  template <class Row>
  __device__ __forceinline__ void take_own_rows(int lane, Row&& row, double* places) {
    __syncwarp();  // x has been read
#pragma unroll
    for (int u = 0; u < L::rows; ++u) places[row(u, lane)] = residual[u].value();
    __syncwarp();  // the residuals are complete
#pragma unroll
    for (int u = 0; u < L::rows; ++u) residual[u] = Residual<T>(places[L::lanes * u + lane]);
  }

  /// Returns the backward error, and stores ||A||_1 in `norm_a`.
  __device__ __forceinline__ double result(int n, int lane, double& norm_a) {
    double norm = 0, sums[L::shares]{};
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      if (L::lanes * u + lane >= n) continue;
      const double up = by_integers(u) ? 0x1p896 : 1;
      norm = max(norm, row_sum[u] * up);
      sums[u % L::shares] += abs(residual[u].value()) * up;
    }
    const double sum = sum_of_shares<L>(sums), norm_x = sum_of_shares<L>(norms_x);
    norm = max_of_group<L::lanes>(norm);
    norm_a = norm / a_factor;
    return sum == 0 ? 0 : sum / (norm * norm_x);
  }

 private:
  static constexpr bool by_integers(int u) { return Mixed && sizeof(T) == sizeof(float) && u % 4 == 3; }
};

/// Loads from shared memory: from `first` + At if value <= Bound, otherwise from `second` + Or. Offsets are in bytes.
/// Two predicated loads cost less than selecting an address.
template <int Bound, int At, int Or>
__device__ __forceinline__ void load_either(int value, unsigned first, unsigned second, float& to) {
  asm volatile(
      "{\n\t.reg .pred chosen;\n\tsetp.le.s32 chosen, %1, %4;\n\t@chosen ld.shared.f32 %0, [%2 + %5];\n\t"
      "@!chosen ld.shared.f32 %0, [%3 + %6];\n\t}"
      : "=f"(to)
      : "r"(value), "r"(first), "r"(second), "n"(Bound), "n"(At), "n"(Or));
}
template <int Bound, int At, int Or>
__device__ __forceinline__ void load_either(int value, unsigned first, unsigned second, double& to) {
  asm volatile(
      "{\n\t.reg .pred chosen;\n\tsetp.le.s32 chosen, %1, %4;\n\t@chosen ld.shared.f64 %0, [%2 + %5];\n\t"
      "@!chosen ld.shared.f64 %0, [%3 + %6];\n\t}"
      : "=d"(to)
      : "r"(value), "r"(first), "r"(second), "n"(Bound), "n"(At), "n"(Or));
}

/// Returns the offset of row `row` in a packed triangle.
__device__ __forceinline__ constexpr int packed_begin(int row) { return row * (row + 1) / 2; }

/// Returns element c of row G u + lane of the symmetric matrix with the packed lower triangle `own`; c is a constant.
template <int G, int u, class T>
__device__ __forceinline__ T packed_element(const T* own, int lane, int c) {
  const int high = max(lane, c - G * u), low = min(lane, c - G * u);
  if (c < G * u) return own[packed_begin(G * u) + packed_begin(lane) + G * u * lane + c];
  if (c >= G * (u + 1)) return own[packed_begin(c) + G * u + lane];
  return own[packed_begin(G * u) + packed_begin(high) + G * u * high + G * u + low];
}

/// Loads columns first .. first + Columns - 1 of row G u + lane of the symmetric matrix with the packed lower triangle
/// `own`.
template <int G, int u, class T, int Columns>
__device__ __forceinline__ void packed_row_part(const T* own, int lane, int first, T (&part)[Columns]) {
  const auto address = [](const T* place) __attribute__((always_inline)) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
  };
  const unsigned along = address(own + packed_begin(lane) + G * u * lane + first);
  unrolled<Columns>([&](auto index) __attribute__((always_inline)) {
    constexpr int c = index, bytes = sizeof(T);
    const unsigned down = address(own + packed_begin(first + c) + lane);
    load_either<G * u, (packed_begin(G * u) + c) * bytes, G * u * bytes>(first + c - lane, along, down, part[c]);
  });
}

/// Returns the backward error of systems with both triangles in shared memory, and stores ||A||_1 in `norm_a`. The loop
/// is not unrolled, because the elimination alone fills the instruction cache.
template <class T, class L>
__device__ __forceinline__ double judge_kept(int n, int group, int lane, const T* matrix,
                                             typename Residual<T>::Factor* places, const T (&x)[L::rows],
                                             const T (&b)[L::rows], double& norm_a) {
  constexpr int P = L::piece;
  Judgement<T, L> judgement(
      n, lane, [&](int row) { return kept<L>(matrix, group, row, row); }, places, x, b);
#pragma unroll 1
  for (int p = 0; p < L::size / P; ++p) {
    typename Residual<T>::Factor known[P];
#pragma unroll
    for (int c = 0; c < P; ++c) known[c] = places[P * p + c];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      if (!has_row<L>(lane, u)) continue;
      const Vector<T, P> row = kept_piece<T, L>(matrix, group, lane, u, p);
#pragma unroll
      for (int c = 0; c < P; ++c) judgement.add(u, row.value[c], known[c]);
    }
  }
  return judgement.result(n, lane, norm_a);
}

/// Returns the backward error with the same bits as judge_kept(), for a matrix that is no longer in shared memory. The
/// matrix and b are in global memory. The matrix has N rows and is symmetric to the bit. It is read again from the
/// second-level cache, row by row; the pieces of a row are dealt out to the lanes. A lane thus has columns, which are
/// rows by symmetry.
template <class T, class L>
__device__ __forceinline__ double judge_read_again(int lane, const T* matrix, const T* b,
                                                   typename Residual<T>::Factor* places, const T (&x)[L::rows],
                                                   double& norm_a) {
  constexpr int P = L::piece, N = L::size, pieces = L::rows / P;  // of one lane
  constexpr int at_once = 16 / pieces;                            // rows in progress
  static_assert(L::lanes * L::rows == N && L::rows % P == 0 && N % at_once == 0);
  const auto first_of = [&](int piece) __attribute__((always_inline)) { return (L::lanes * piece + lane) * P; };
  T b_of_columns[L::rows];
#pragma unroll
  for (int c = 0; c < L::rows; ++c) b_of_columns[c] = b[first_of(c / P) + c % P];
  Judgement<T, L> judgement(
      N, lane, [&](int row) { return matrix[row * N + row]; }, places, x, b_of_columns);
#pragma unroll 1
  for (int first = 0; first < N; first += at_once) {
    Vector<T, P> in[at_once][pieces];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int p = 0; p < pieces; ++p)
        in[i][p] = *reinterpret_cast<const Vector<T, P>*>(matrix + (first + i) * N + first_of(p));
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const auto known = places[first + i];
#pragma unroll
      for (int c = 0; c < L::rows; ++c) judgement.add(c, in[i][c / P].value[c % P], known);
    }
  }
  judgement.take_own_rows(
      lane, [&](int c, int) { return first_of(c / P) + c % P; }, reinterpret_cast<double*>(places));
  return judgement.result(N, lane, norm_a);
}

/// Returns the backward error with the same bits as judge_kept(), for a matrix of n rows in shared memory as it is
/// stored. The matrix is symmetric to the bit. It is read by columns, which are rows by symmetry. With Late > 0, shared
/// memory holds only the first L::width - Late rows. Rows 0 .. Late - 1 begin Gap numbers after the end of the last of
/// these rows. `triangle` is the packed lower triangle of the last Late rows and columns. `AtOnce` is the number of
/// columns at a time.
template <class T, class L, int Late, int Gap, int AtOnce>
__device__ __forceinline__ double judge_stored_rows(int n, int lane, const T* rows, const T* triangle,
                                                    typename Residual<T>::Factor* places, const T (&x)[L::rows],
                                                    const T (&b)[L::rows], double& norm_a) {
  using Factor = typename Residual<T>::Factor;
  constexpr int G = L::lanes, kept = L::width - Late, at_once = AtOnce, together = 16 / sizeof(Factor);
  const auto begin_of = [&](int row) __attribute__((always_inline)) {
    return Late > 0 && row < Late ? rows + (row + kept) * n + Gap : rows + row * n;
  };
  Judgement<T, L> judgement(
      n, lane,
      [&](int row) {
        return Late == 0 || row < kept ? begin_of(row)[row] : triangle[packed_begin(row - kept) + row - kept];
      },
      places, x, b);
  const int end = Late == 0 ? n : kept;
  int column = 0;
#pragma unroll 1
  for (; column + at_once <= end; column += at_once) {
    const T* const from = begin_of(column) + lane;  // Late is a multiple of at_once
#pragma unroll
    for (int c = 0; c < at_once; c += together) {
      const auto known = *reinterpret_cast<const Vector<Factor, together>*>(places + column + c);
#pragma unroll
      for (int e = 0; e < together; ++e)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) judgement.add(u, from[(c + e) * n + G * u], known.value[e]);
    }
  }
  if constexpr (Late == 0) {
#pragma unroll 1
    for (; column < end; ++column) {
      const T* const from = begin_of(column) + lane;
      const auto known = places[column];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) judgement.add(u, from[G * u], known);
    }
  } else {
#pragma unroll 1
    for (; column < n; ++column) {
      const auto known = places[column];
#pragma unroll
      for (int u = 0; u < kept / G; ++u) {
        const int row = G * u + lane;
        judgement.add(u, begin_of(row)[column], known);
      }
      unrolled<Late / G>([&](auto slot) __attribute__((always_inline)) {
        constexpr int u = slot;
        T part[1];
        packed_row_part<G, u>(triangle, lane, column - kept, part);
        judgement.add(kept / G + u, part[0], known);
      });
    }
  }
  return judgement.result(n, lane, norm_a);
}

/// Returns the backward error with the same bits as judge_kept(), for a system of n rows in shared memory as it is
/// stored. The largest system of the warp has `all_n` rows.
template <class T, class L>
__device__ __forceinline__ double judge_stored(int n, int all_n, bool dense, int lane, const StoredRows<T>& rows,
                                               const T* identity, typename Residual<T>::Factor* places,
                                               const T (&x)[L::rows], const T (&b)[L::rows], double& norm_a) {
  Judgement<T, L> judgement(
      n, lane, [&](int row) { return rows.matrix[rows.begin(row) + row]; }, places, x, b);
  // Columns are rows by symmetry; beyond n they are rows of the identity.
  const auto column_of = [&](int column) __attribute__((always_inline)) {
    return column < n ? rows.matrix + rows.begin(column) : identity + (L::width - column);
  };
  if (dense) {
#pragma unroll 2
    for (int column = 0; column < all_n; ++column) {
      const T* const from = column_of(column) + lane;
      const auto known = places[column];
#pragma unroll
      for (int u = 0; u < L::rows; ++u) judgement.add(u, from[L::lanes * u], known);
    }
  } else {
    const T* own[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) own[u] = rows.matrix + rows.begin(max(0, min(L::lanes * u + lane, n - 1)));
#pragma unroll 2
    for (int column = 0; column < all_n; ++column) {
      const T* const from = column_of(column) + lane;
      const auto known = places[column];
#pragma unroll
      for (int u = 0; u < L::rows; ++u)
        judgement.add(u, *(L::lanes * u + lane >= column ? own[u] + column : from + L::lanes * u), known);
    }
  }
  return judgement.result(n, lane, norm_a);
}

/// Stores the numbers that are computed from the pivots of the lane's system, for a system without raised pivots. The
/// whole warp calls.
template <class T, class L>
__device__ __forceinline__ void store_pivots(const Arguments<T>& args, std::int64_t system, int rows, bool mine,
                                             int lane, bool far, const T (&pivots)[L::rows]) {
  PivotNumbers<T> numbers;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (const int row = L::lanes * u + lane; row < rows)
      numbers.add(pivots[u], scaling_exponent(args, system, row, far));
  numbers.template combine<L::lanes>();
  if (mine && lane == 0) numbers.store(args, system);
}

}  // namespace

}  // namespace smallbatch
