// A^-1 in place by the symmetric sweep (J. H. Goodnight, "A tutorial on the SWEEP operator", 1979), its reciprocal
// condition number, and the judgement of inverses.
//
// The lower triangle is swept in registers (n <= 32), or whole rows in shared memory. The result takes the place of A
// in shared memory, and leaves in whole rows, both triangles from one.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/tile_judgement.cuh"
#include "solvers/cuda/whole_rows_judgement.cuh"

namespace smallbatch {

namespace {

/// |v| in double precision, which holds all sums of floats; doubles are times a power of two that keeps them in range.
template <class T>
__device__ __forceinline__ double magnitude(T v, double factor) {
  return sizeof(T) == sizeof(double) ? abs(static_cast<double>(v) * factor) : abs(static_cast<double>(v));
}

/// The largest row sum of the magnitudes of the lane's system in registers, which is its 1-norm. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ double norm1(int n, int lane, const T (&a)[L::rows][L::size], double factor, int once) {
  constexpr int G = L::lanes, width = G < 8 ? G : 8;
  double largest = 0;
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int s = slot;
    // Of row G s + lane: what the lane has itself, and the column that mirrors the rest, of which all have something.
    double sum = 0;
#pragma unroll
    for (int i = 0; i < G * s; ++i) sum += magnitude(a[s][i], factor);
    unrolled<G / width>([&](auto part) __attribute__((always_inline)) {
      constexpr int first = width * part;
      apart(
          once, [&]() __attribute__((always_inline)) {
            double below[width];
#pragma unroll
            for (int i = 0; i < width; ++i) {
              const double value = magnitude(a[s][G * s + first + i], factor);
              sum += first + i <= lane ? value : 0.0;
              below[i] = first + i < lane ? value : 0.0;
#pragma unroll
              for (int u = s + 1; u < L::rows; ++u) below[i] += magnitude(a[u][G * s + first + i], factor);
            }
            const double mirrored = sum_for_each<G, width>(lane, below);
            if (lane / width == part) sum += mirrored;
          });
    });
    if (G * s + lane < n) largest = max(largest, sum);
  });
  return max_of_group<G>(largest);
}

/// The same of a lower triangle in shared memory.
template <class T, class L>
__device__ double norm1(int n, int lane, const T* matrix, double factor) {
  double largest = 0;
#pragma unroll 1
  for (int row = lane; row < n; row += L::lanes) {
    double sum = 0;
#pragma unroll 4
    for (int j = 0; j < n; ++j) sum += magnitude(matrix[max(row, j) * L::row_pitch + min(row, j)], factor);
    largest = max(largest, sum);
  }
  return max_of_group<L::lanes>(largest);
}

/// rcond of A from ||2^-e A||_1 and ||2^-f A^-1||_1. Where the sweep found no inverse although A has positive pivots, A
/// is singular to working precision: 0.
template <class T>
__device__ T rcond_of(double norm, int e, double norm_inverse, int f, bool has_inverse) {
  const double rcond = scale(1 / norm / norm_inverse, -e - f);
  return has_inverse && rcond > 0 ? static_cast<T>(rcond) : T(0);
}

/// How the sweep lays systems out; measured to be best.
template <class T, int N>
struct SweepPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  using L = Tile<T, N, N == 32 && !single ? 16 : 4, N == 32 && single>;
  static constexpr int resident_warps = N == 8 ? 16 : N == 16 ? (single ? 12 : 10) : 8;
};

/// The sweep of all pivots: the lower triangle of A becomes that of -A^-1.
///     a_ij -= a_ik a_kj / d_k (i, j != k),  a_ik, a_ki <- a_ik / d_k,  a_kk <- -1 / d_k
/// The G steps of a turn of the loop sweep the first G rows, which then turn to be the last ones, each still in its
/// lane: all turns are the same code, and after N / G of them the rows are where they were. Until a row is swept, what
/// lies above the diagonal in its G x G block is not used; its elements in the other columns begin with the sweep.
/// pivots: of the rows of the lane's system, in shared memory.
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
    T swept[N];  // the rows to come behind the last, from column G on
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
      __syncwarp();  // the column is complete; and that of the step before is read, whose place the next takes
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

template <class T, class L>
__device__ __forceinline__ T largest_diagonal(int n, int lane, const T (&a)[L::rows][L::size]) {
  T largest = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (L::lanes * u + lane < n) largest = max(largest, abs(diagonal<T, L>(lane, u, a)));
  return max_of_group<L::lanes>(largest);
}

/// The exponent of the largest diagonal element, and so of the largest, of D a D; 0 where it is not `far`.
template <class T, class L>
__device__ __forceinline__ int inverse_exponent(const Arguments<T>& args, std::int64_t system, int lane, bool far,
                                                const T (&a)[L::rows][L::size]) {
  int largest = -4 * Traits<T>::exponent_bias;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int row = L::lanes * u + lane;
    if (row < args.n)
      largest = max(largest, exponent_of(diagonal<T, L>(lane, u, a)) + 2 * scaling_exponent(args, system, row, far));
  }
  largest = max_of_group<L::lanes>(largest);
  return far ? largest : 0;
}

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, SweepPlan<T, N>::resident_warps) sweep_kernel(Arguments<T> args) {
  using L = typename SweepPlan<T, N>::L;
  constexpr int G = L::lanes, P = L::piece;
  __shared__ TileMemory<T, L> memory;
  __shared__ double norms[L::systems];
  __shared__ int exponents[L::systems];  // of those norms
  __shared__ std::int32_t states[L::systems];
  const int n = args.n;
  // Whose work a lane does; computed again where it is asked for: the matrices take the registers.
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  // Of the rows of the lane's system, while the matrix is in registers.
  const auto pivots = [&]() __attribute__((always_inline)) { return memory.matrix[group()]; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system_of = [&](int s) __attribute__((always_inline)) {
      return min(std::int64_t{fresh(static_cast<int>(task))} * L::systems + s, args.count - 1);
    };
    const auto mine = [&]() __attribute__((always_inline)) {
      return std::int64_t{fresh(static_cast<int>(task))} * L::systems + group() < args.count;
    };
    T a[L::rows][N];
    unsigned bits = 0;  // in which the triangles differ
    const auto stage = [&]<int first, int end>() __attribute__((always_inline)) {
      const auto source = [&](int s) { return args.a + system_of(s) * args.a_step; };
      __syncwarp();  // what lay in the place of these rows has been read
      fill_padding<T, L>(args, memory, first, end);
      if (args.vectors)
        stage_pieces<first, end>(source, memory);
      else
        stage_numbers(args, source, memory, first, end);
    };
    const auto take = [&]<int first, int end>() __attribute__((always_inline)) {
      const int own = lane(), g = group();
      load_rows<first, end, T, L>(memory.matrix[g], g, own, a);
      if (args.storage == Storage::dense)
        visit_columns<first, end, false, T, L>(memory.matrix[g], g, own, [&](int u, int row, const T& value) {
          bits |= differing_bits(a[u][row], value);
        });
    };
    if constexpr (L::split) {
      constexpr int quarter = L::quarter;
      stage.template operator()<quarter, N>();
      wait_for_copies();
      take.template operator()<3 * quarter, N>();
      stage.template operator()<0, quarter>();
      take.template operator()<2 * quarter, 3 * quarter>();
      take.template operator()<quarter, 2 * quarter>();
      wait_for_copies();
      take.template operator()<0, quarter>();
    } else {
      stage.template operator()<0, N>();
      wait_for_copies();
      take.template operator()<0, N>();
    }
    const bool differs = any_of_group<G>(bits != 0);
    if (lane() == 0) states[group()] = 0;
    if (__any_sync(whole_warp, differs)) {
      const std::int32_t status = inspect<G>(args, system_of(group()), lane());
      if (lane() == 0) states[group()] = status;
    }
    int far = any_of_group<G>(diagonal_far_bits<T, L>(lane(), a) != 0);
    if (args.rcond != nullptr) {
      int exponent = 0;
      if (sizeof(T) == sizeof(double) && __any_sync(whole_warp, far)) {
        exponent = -normalizing_exponent(largest_diagonal<T, L>(n, lane(), a));
        if (!far) exponent = 0;
      }
      const double norm = norm1<T, L>(n, lane(), a, power_of_two<double>(-fresh(exponent)), args.once);
      if (lane() == 0) {
        norms[group()] = norm;
        exponents[group()] = exponent;
      }
    }
    scale_rows<T, L>(args, system_of(group()), lane(), far, a);
    __syncwarp();  // the matrices have been read, whose place the pivots take
    sweep<T, L>(group(), lane(), memory, a, pivots(), args.once);
    __syncwarp();  // the last pivots are there
    T pivot[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) pivot[u] = pivots()[G * u + lane()];
    const int bad_pivot = first_bad_pivot<T, L>(lane(), pivot);
    if (args.x != nullptr && args.pivot_numbers)
      store_pivots<T, L>(args, system_of(group()), mine(), lane(), far, pivot);
    // Back to A^-1, as far as it is wanted; for rcond alone times a power of two that keeps it in range.
    int exponent = 0;  // of its largest element, where it is far from 1
    if (args.rcond != nullptr && __any_sync(whole_warp, far))
      exponent = inverse_exponent<T, L>(args, system_of(group()), lane(), far, a);
    const int shift = args.x == nullptr ? exponent >> 1 : 0;
    scale_rows<T, L>(args, system_of(group()), lane(), far, a, shift);
    T zero = 0;  // becomes NaN where an element is not finite
    unrolled<N>([&, own = lane() ](auto index) __attribute__((always_inline)) {
      constexpr int i = index;
#pragma unroll
      for (int u = i / G; u < L::rows; ++u)
        if (u > i / G || own >= i % G) zero = fma(a[u][i], T(0), zero);
    });
    const bool bad = any_of_group<G>(!(zero == 0) || bad_pivot != 0);
    if (__any_sync(whole_warp, bad)) {
      const std::int32_t reason = explain_failure<G>(args, system_of(group()), bad_pivot, lane());
      if (lane() == 0 && bad && states[group()] == 0) states[group()] = reason;
    }
    __syncwarp();  // the status is known to all lanes, and the pivots have been read
    if (args.rcond != nullptr) {
      const int rest = sizeof(T) == sizeof(double) ? min(max(exponent - 2 * shift, -1022), 1022) : 0;
      const double norm_inverse = norm1<T, L>(n, lane(), a, power_of_two<double>(-fresh(rest)), args.once);
      const bool solved = args.x != nullptr ? states[group()] == 0 : args.info[system_of(group())] == 0;
      if (mine() && lane() == 0)
        args.rcond[system_of(group())] = solved ? rcond_of<T>(norms[group()], exponents[group()], norm_inverse,
                                                              2 * shift + rest, states[group()] == 0)
                                                : not_a_number<T>();
    }
    if (args.x == nullptr) continue;
    if (mine() && lane() == 0) {
      args.info[system_of(group())] = states[group()];
      if (states[group()] != 0) forget_pivots(args, system_of(group()));
    }
    const auto deliver = [&]<int first, int end>() __attribute__((always_inline)) {
      const bool in_pieces = n == N && reinterpret_cast<std::uintptr_t>(args.x) % 16 == 0 && args.x_step % P == 0;
      store_negative<first, end, T, L>(memory.matrix[group()], group(), lane(), a);
      __syncwarp();  // these rows of A^-1 are complete
#pragma unroll 1
      for (int s = 0; s < L::systems && std::int64_t{task} * L::systems + s < args.count; ++s) {
        const bool solved = states[s] == 0;
        T* const x = args.x + system_of(s) * args.x_step;
        if (in_pieces && solved) {
#pragma unroll
          for (int q = first * L::pieces_per_row; q < end * L::pieces_per_row; q += warp_lanes) {
            const int own = q + static_cast<int>(threadIdx.x);
            if (end * L::pieces_per_row - q >= warp_lanes || own < end * L::pieces_per_row)
              *reinterpret_cast<Vector<T, P>*>(x + own * P) = *reinterpret_cast<const Vector<T, P>*>(
                  &staged<L>(memory.matrix[s], s, own / L::pieces_per_row, own % L::pieces_per_row * P));
          }
        } else {
#pragma unroll 1
          for (int e = first * n + static_cast<int>(threadIdx.x); e < min(end, n) * n; e += warp_lanes)
            x[e] = solved ? staged<L>(memory.matrix[s], s, e / n, e % n) : not_a_number<T>();
        }
      }
    };
    if constexpr (L::split) {
      deliver.template operator()<L::quarter, N>();
      __syncwarp();  // the last of these rows have been read, whose place the others take
      deliver.template operator()<0, L::quarter>();
    } else {
      deliver.template operator()<0, N>();
    }
  }
}

/// The same for n > 32: whole rows in shared memory, where the result takes the place of A.
template <class T>
__global__ void __launch_bounds__(warp_lanes, std::min(8, WholeRows<T, 64>::resident_warps))
    wide_sweep_kernel(Arguments<T> args) {
  constexpr int N = 64;
  using L = WholeRows<T, N>;
  __shared__ WarpMemory<T, L, 1> memory;
  const int lane = threadIdx.x, n = args.n;
  T* const matrix = memory.matrix[0];
  static_assert(L::systems == 1);
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t system = task;
    __syncwarp();  // the last inverse has been read
    fill_padding<T, L>(args, memory);
    stage_matrices<T, L>(args, system, memory);
    wait_for_copies();
    T a[L::rows][N];
    load_rows<T, L>(matrix, lane, a);
    std::int32_t status = 0;
    if (args.storage == Storage::dense && __any_sync(whole_warp, differs_above<T, L>(matrix, lane, a)))
      status = inspect<L::lanes>(args, system, lane);
    double norm_a = 0;
    int a_exponent = 0;
    if (args.rcond != nullptr) {
      T largest = 0;
#pragma unroll 1
      for (int row = lane; row < n; row += L::lanes) largest = max(largest, abs(matrix[row * (L::row_pitch + 1)]));
      a_exponent = -normalizing_exponent(max_of_group<L::lanes>(largest));
      norm_a = norm1<T, L>(n, lane, matrix, power_of_two<double>(-fresh(a_exponent)));
    }
    const bool far = __any_sync(whole_warp, diagonal_is_far<T, L>(matrix, lane));
    __syncwarp();  // A has been read for its norm, the last system's pivots too
    store_powers<T, L>(lane, far, matrix);
    __syncwarp();  // the powers are complete
    T pivots[L::rows];
    scale_in_shared_memory<T, L>(lane, matrix);
    eliminate_in_shared_memory<T, L, 1, true>(lane, matrix, nullptr);
    collect_pivots<T, L>(matrix, lane, pivots);
    // Back to A^-1, as far as it is wanted; for rcond alone times a power of two that keeps it in range.
    int exponent = 0, shift = 0;
    if (args.rcond != nullptr && far) {
      exponent = -4 * Traits<T>::exponent_bias;
#pragma unroll 1
      for (int row = lane; row < n; row += L::lanes)
        exponent = max(exponent, exponent_of(matrix[row * (L::row_pitch + 1)]) +
                                     2 * exponent_of(*behind<L>(matrix, powers_at<L> + row)));
      exponent = max_of_group<L::lanes>(exponent);
      __syncwarp();  // the powers have been read
      if (args.x == nullptr) {
        shift = exponent >> 1;
#pragma unroll 1
        for (int row = lane; row < n; row += L::lanes) {
          T& power = *behind<L>(matrix, powers_at<L> + row);
          power = power_of_two<T>(max(exponent_of(power) - shift, 1 - Traits<T>::exponent_bias));
        }
      }
      __syncwarp();  // the powers are complete
    }
#pragma unroll 1
    for (int i = 0; i < N; ++i)
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        const int j = L::lanes * u + lane;
        T& value = matrix[i * L::row_pitch + j];
        value = -value * *behind<L>(matrix, powers_at<L> + i) * *behind<L>(matrix, powers_at<L> + j);
      }
    __syncwarp();  // A^-1 is complete
    bool bad = false;
#pragma unroll 1
    for (int row = lane; row < n; row += L::lanes)
#pragma unroll 4
      for (int j = 0; j <= row; ++j) bad |= not_finite(matrix[row * L::row_pitch + j]);
    const int bad_pivot = first_bad_pivot<T, L>(lane, pivots);
    if (__any_sync(whole_warp, bad || bad_pivot != 0)) {
      const std::int32_t reason = explain_failure<L::lanes>(args, system, bad_pivot, lane);
      if (status == 0) status = reason;
    }
    if (args.rcond != nullptr) {
      const int rest = sizeof(T) == sizeof(double) ? min(max(exponent - 2 * shift, -1022), 1022) : 0;
      const double norm_inverse = norm1<T, L>(n, lane, matrix, power_of_two<double>(-fresh(rest)));
      const bool solved = args.x != nullptr ? status == 0 : args.info[system] == 0;
      if (lane == 0)
        args.rcond[system] =
            solved ? rcond_of<T>(norm_a, a_exponent, norm_inverse, 2 * shift + rest, status == 0) : not_a_number<T>();
    }
    if (args.x == nullptr) continue;
    // Both triangles from one: the inverse is exactly symmetric.
    T* const x = args.x + system * args.x_step;
    for (int e = lane; e < n * n; e += warp_lanes)
      x[e] = status == 0 ? matrix[max(e / n, e % n) * L::row_pitch + min(e / n, e % n)] : not_a_number<T>();
    if (args.pivot_numbers) {
      __syncwarp();  // A^-1 has been stored; store_pivots() wants the diagonal of A
      stage_matrices<T, L>(args, system, memory);
      wait_for_copies();
      store_pivots<T, L>(args, system, true, lane, far, matrix, pivots);
    }
    if (lane == 0) {
      args.info[system] = status;
      if (status != 0) forget_pivots(args, system);
    }
  }
}

/// A^-1 = U D^-1 U^T of the lane's system, in place of what L D L^T has left as its solution: U = L^-T, unit upper
/// triangular, with 1 / d on the diagonal. The whole warp calls; the matrix in shared memory is overwritten.
template <class T, class L>
__device__ void multiply_factors(int n, int lane, bool mine, T* x, T* matrix) {
#pragma unroll 1
  for (int i = lane; mine && i < n; i += L::lanes)
#pragma unroll 1
    for (int c = i; c < n; ++c) matrix[i * L::row_pitch + c] = x[i * n + c];
  __syncwarp();  // U is complete
#pragma unroll 1
  for (int i = lane; mine && i < n; i += L::lanes)
#pragma unroll 1
    for (int j = 0; j <= i; ++j) {
      T sum = matrix[i * (L::row_pitch + 1)];
      if (j < i) sum *= matrix[j * L::row_pitch + i];
#pragma unroll 4
      for (int c = i + 1; c < n; ++c)
        sum = fma(matrix[i * L::row_pitch + c] * matrix[c * (L::row_pitch + 1)], matrix[j * L::row_pitch + c], sum);
      x[i * n + j] = x[j * n + i] = sum;
    }
  __syncwarp();  // A^-1 is complete, and U is read
}

/// Whether a bit of the two triangles in shared memory differs in the lane's rows.
template <class T, class L>
__device__ bool triangles_differ(const T* matrix, int lane) {
  unsigned bits = 0;
#pragma unroll 1
  for (int i = lane; i < L::size; i += L::lanes)
#pragma unroll 4
    for (int j = 0; j < i; ++j) bits |= differing_bits(matrix[i * L::row_pitch + j], matrix[j * L::row_pitch + i]);
  return bits != 0;
}

/// Multiplies factors, if the inverses are still factors; then ||I - A X||_1 / (||A||_1 ||X||_1), two columns of X at a
/// time, if backward errors are wanted.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, Layout<T, N>::resident_warps) judge_inverse_kernel(Arguments<T> args) {
  using L = Layout<T, N>;
  constexpr int C = 2;
  __shared__ WarpMemory<T, L, C> memory;
  const int lane = threadIdx.x % L::lanes, group = threadIdx.x / L::lanes, n = args.n;
  T* matrix = memory.matrix[group];

  fill_padding<T, L>(args, memory);
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t first_system = std::int64_t{task} * L::systems;
    const std::int64_t system = first_system + group;
    const bool mine =
        system < args.count && (!args.only_marked || args.backward_error[system] == T(marked_for_judgement));
    if (!__any_sync(whole_warp, mine)) continue;
    __syncwarp();  // the last systems have been judged
    if (args.factors) {
      multiply_factors<T, L>(n, lane, mine && args.info[system] == 0,
                             args.x + min(system, args.count - 1) * args.x_step, matrix);
      fill_padding<T, L>(args, memory);
    }
    stage_matrices<T, L>(args, first_system, memory);
    wait_for_copies();
    if (args.backward_error == nullptr) continue;
    const bool solved = mine && args.info[system] == 0;
    double common_factor = 1;
    if (sizeof(T) == sizeof(double)) {
      T largest = 0;
#pragma unroll 1
      for (int row = lane; solved && row < n; row += L::lanes)
        largest = max(largest, abs(args.x[system * args.x_step + row * (n + 1)]));
      common_factor = power_of_two<double>(normalizing_exponent(max_of_group<L::lanes>(largest)));
    }
    double worst = 0, norm_x = 0, norm_a = 0;
#pragma unroll 1
    for (int column = 0; column < n; column += C) {
      T x[C][L::rows], b[C][L::rows];
      const int own = fresh(lane);
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = L::lanes * u + own;
          x[c][u] = 0;
          if (solved && row < n && column + c < n) x[c][u] = args.x[system * args.x_step + row * n + column + c];
          b[c][u] = row == column + c && row < n ? T(1) : T(0);
        }
      const Norms<C> norms = judge<T, L, C>(n, group, lane, memory, common_factor, x, b);
      norm_a = norms.matrix;
#pragma unroll
      for (int c = 0; c < C; ++c) {
        worst = max(worst, norms.residual[c]);
        norm_x = max(norm_x, norms.solution[c]);
      }
    }
    if (worst != 0) worst /= norm_a * norm_x;
    const bool differs = args.storage == Storage::dense && any_of_group<L::lanes>(triangles_differ<T, L>(matrix, lane));
    if (differs) worst = marked_for_stored_judgement;
    if (mine && lane == 0) args.backward_error[system] = solved ? static_cast<T>(worst) : not_a_number<T>();
  }
}

/// Judges the few inverses that judge_inverse_kernel has left, whose triangles differ: every element of A as it is
/// stored.
template <class T>
__global__ void __launch_bounds__(warp_lanes) judge_stored_inverse_kernel(Arguments<T> args) {
  const int lane = threadIdx.x;
  for (std::int64_t first = std::int64_t{blockIdx.x} * warp_lanes; first < args.count;
       first += std::int64_t{gridDim.x} * warp_lanes) {
    const bool marked =
        first + lane < args.count && args.backward_error[first + lane] == T(marked_for_stored_judgement);
#pragma unroll 1
    for (unsigned left = __ballot_sync(whole_warp, marked); left != 0; left &= left - 1) {
      const std::int64_t system = first + __ffs(static_cast<int>(left)) - 1;
      const double error = judge_as_stored<warp_lanes>(args, system, lane, 0, args.n);
      if (lane == 0) args.backward_error[system] = static_cast<T>(error);
    }
  }
}

template <class T>
Kernels<T> sweep_kernels() {
  return {{sweep_kernel<T, 8>, SweepPlan<T, 8>::L::systems},
          {sweep_kernel<T, 16>, SweepPlan<T, 16>::L::systems},
          {sweep_kernel<T, 32>, SweepPlan<T, 32>::L::systems},
          {wide_sweep_kernel<T>, 1}};
}

}  // namespace

template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  return launch<T>(sweep_kernels<T>(), arguments_of(batch, solution), stream);
}

template <class T>
cudaError_t launch_judge_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, InversesToJudge which,
                                 cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution);
  arguments.only_marked = which == InversesToJudge::marked_factors;
  arguments.factors = which != InversesToJudge::all;
  const cudaError_t status = launch<T>({{judge_inverse_kernel<T, 8>, Layout<T, 8>::systems},
                                        {judge_inverse_kernel<T, 16>, Layout<T, 16>::systems},
                                        {judge_inverse_kernel<T, 32>, Layout<T, 32>::systems},
                                        {judge_inverse_kernel<T, 64>, Layout<T, 64>::systems}},
                                       arguments, stream);
  if (status != cudaSuccess || arguments.backward_error == nullptr || batch.shape.storage != Storage::dense)
    return status;
  const typename Kernels<T>::OfSize stored{judge_stored_inverse_kernel<T>, warp_lanes};
  return launch<T>({stored, stored, stored, stored}, arguments, stream);
}

template cudaError_t launch_sweep(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_sweep(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);
template cudaError_t launch_judge_inverse(const SpdBatch<float>&, const SpdSolution<float>&, InversesToJudge,
                                          cudaStream_t);
template cudaError_t launch_judge_inverse(const SpdBatch<double>&, const SpdSolution<double>&, InversesToJudge,
                                          cudaStream_t);

}  // namespace smallbatch
