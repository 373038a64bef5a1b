// A x = b, or A^-1, by Gauss-Jordan elimination without pivoting:
//     for every k:  f_i = -a_ik / a_kk (i != k),  a_ij += f_i a_kj (j > k),  b_i += f_i b_k;   at the end  x_i = b_i /
//     a_ii.
//
// Who does what. A system is padded with identity rows to N = 8, 16 or 32. Each lane holds `rows` whole rows of A in
// registers (4 in single, 2 in double precision) with R right-hand sides beside them, so N / rows lanes share a system
// and a warp holds several systems. What limits is how many multiply-adds each shared-memory broadcast feeds: hence
// several rows per lane. A is symmetric, so a coalesced load of columns is a load of rows, and pivot row k is read from
// column k, which every lane publishes in shared memory one step ahead. The pivot row is not scaled: its own factor is
// 0 and the division by the diagonal comes once, at the end.
//
// The inverse uses the symmetric sweep in place: a_ij -= a_ik a_kj / p,  a_ik /= p,  a_kj /= p,  a_kk = -1/p for the
// pivot p = a_kk; after all n sweeps the matrix is -A^-1.
//
// Systems whose numbers are far from 1 are scaled by powers of two, D A D y = 2^t D b, x = 2^-t D y. That is exact, so
// it changes no bit of any result that would not have left the range of T; multiply-adds are written as fma and
// reciprocals are rounded correctly for the same reason. The inspection marks these systems. Two kernels share the
// elimination: the fast one loads whole aligned matrices straight into registers and scales nothing, the general one
// takes all the rest through shared memory.
#include <algorithm>

#include "solvers/gauss_jordan.cuh"

namespace smallbatch {

namespace {

constexpr unsigned whole_warp = 0xffffffffU;
constexpr int warp_lanes = 32;
constexpr int warps_per_block = 4;
constexpr std::int64_t max_blocks = 1 << 14;  // the kernels stride over the rest

template <class T>
struct Arguments {
  const T* a;
  const T* b;
  T* x;
  std::int32_t* info;
  T* backward_error;
  std::int64_t count, matrix_size, rhs_size, solution_size;
  int n, nrhs;
  bool packed;
  bool only_marked;  ///< the general kernel leaves all but the systems marked for scaling to the fast one
};

/// Stands in info between inspection and elimination for a system that is to be scaled.
constexpr std::int32_t marked_for_scaling = INT32_MAX;

template <class T>
struct Traits;
template <>
struct Traits<float> {
  // What fits into the registers of a lane, in the fast, the general and the inverse kernel.
  static constexpr int fast_rows = 4, fast_rhs = 4, general_rows = 4, general_rhs = 4, inverse_rows = 4;
  static constexpr int exponent_bias = 127;
  static constexpr int diagonal_window = 20, rhs_window = 40;  // exponents that need no scaling
  static constexpr float eps = 0x1p-23F;
};
template <>
struct Traits<double> {
  static constexpr int fast_rows = 2, fast_rhs = 2, general_rows = 1, general_rhs = 4, inverse_rows = 2;
  static constexpr int exponent_bias = 1023;
  static constexpr int diagonal_window = 150, rhs_window = 300;
  static constexpr double eps = 0x1p-52;
};

/// 1/v, correctly rounded wherever v and 1/v are normal numbers: what __frcp_rn and __drcp_rn compute, without their
/// branch for all the rest, whose call costs registers. Pivots of scaled systems are normal; any other value means
/// failure.
__device__ __forceinline__ float reciprocal(float v) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(v));
  return fmaf(y, fmaf(-v, y, 1.0F), y);
}
__device__ __forceinline__ double reciprocal(double v) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(v));
  const double e = fma(-v, y, 1.0);
  y = fma(y, fma(e, e, e), y);
  return fma(y, fma(-v, y, 1.0), y);
}

/// floor(log2 |v|); -bias where v is zero or subnormal.
__device__ int exponent_of(float v) { return ((__float_as_int(v) >> 23) & 255) - 127; }
__device__ int exponent_of(double v) { return ((__double2hiint(v) >> 20) & 2047) - 1023; }

/// 2^e, for e among the normal exponents.
template <class T>
__device__ T power_of_two(int e) {
  if constexpr (sizeof(T) == sizeof(float))
    return __int_as_float((e + 127) << 23);
  else
    return __hiloint2double((e + 1023) << 20, 0);
}

/// v 2^e in two steps, so that 2^e itself may lie outside the range of T.
template <class T>
__device__ T scale(T v, int e) {
  constexpr int limit = 2 * (Traits<T>::exponent_bias - 1);
  e = min(limit, max(-limit, e));
  const int half = e >> 1;
  return v * power_of_two<T>(half) * power_of_two<T>(e - half);
}

template <class T>
__device__ bool not_finite(T v) {
  return !(v - v == 0);
}
template <class T>
__device__ T not_a_number() {
  return static_cast<T>(__longlong_as_double(0x7ff8000000000000LL));
}

/// Any, sum or maximum over the `Width` neighbouring lanes that share a system. The whole warp calls.
template <int Width>
__device__ bool any_of_group(bool value) {
  const unsigned lane = threadIdx.x % warp_lanes;
  const unsigned group = (Width == warp_lanes ? whole_warp : (1U << (Width % warp_lanes)) - 1)
                         << (lane / Width * Width);
  return (__ballot_sync(whole_warp, value) & group) != 0;
}
template <int Width, class V>
__device__ V sum_of_group(V value) {
  for (int step = Width / 2; step > 0; step /= 2) value += __shfl_xor_sync(whole_warp, value, step);
  return value;
}
template <int Width, class V>
__device__ V max_of_group(V value) {
  for (int step = Width / 2; step > 0; step /= 2) value = max(value, __shfl_xor_sync(whole_warp, value, step));
  return value;
}

__device__ std::int64_t first_warp_in_grid() {
  return static_cast<std::int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warp_lanes;
}
__device__ std::int64_t warps_in_grid() { return static_cast<std::int64_t>(gridDim.x) * warps_per_block; }

// ---- inspection and backward error: N lanes per system, one per row
// ------------------------------------------------------

/// Copies the matrix of each group's system to shared memory, both triangles; whether this lane saw a NaN or an
/// infinity.
template <class T, int N>
__device__ bool stage_matrix(const Arguments<T>& args, const T* matrix, bool active, int lane, T (&staged)[N][N + 1]) {
  bool bad = false;
  for (int i = 0; i < args.n; ++i) {
    if (!active || lane >= (args.packed ? i + 1 : args.n)) continue;
    const T value = matrix[args.packed ? i * (i + 1) / 2 + lane : i * args.n + lane];
    bad |= not_finite(value);
    staged[i][lane] = value;
    if (args.packed) staged[lane][i] = value;
  }
  return bad;
}

template <class T, int N>
__global__ void __launch_bounds__(warps_per_block* warp_lanes) inspect_kernel(Arguments<T> args) {
  constexpr int systems = warp_lanes / N;
  __shared__ T
      staged[warps_per_block][systems][N][N + 1];  // A of each system of each warp; columns free of bank conflicts
  const int lane = threadIdx.x % N, group = threadIdx.x % warp_lanes / N;
  T(&matrix)[N][N + 1] = staged[threadIdx.x / warp_lanes][group];

  for (std::int64_t first = first_warp_in_grid() * systems; first < args.count; first += warps_in_grid() * systems) {
    const std::int64_t system = first + group;
    const bool active = system < args.count;
    const bool bad_matrix = stage_matrix<T, N>(args, args.a + system * args.matrix_size, active, lane, matrix);
    __syncwarp();  // the staged matrix is complete before any lane reads other lanes' part of it

    bool asymmetric = false;
    if (active && lane < args.n && !args.packed) {
      const T bound = static_cast<T>(args.n) * Traits<T>::eps * sqrt(abs(matrix[lane][lane]));
      for (int i = 0; i < args.n; ++i)
        asymmetric |= abs(matrix[i][lane] - matrix[lane][i]) > bound * sqrt(abs(matrix[i][i]));
    }
    bool far = false;  // from 1
    if (active && lane < args.n)
      far = matrix[lane][lane] > 0 && abs(exponent_of(matrix[lane][lane])) > Traits<T>::diagonal_window;
    bool bad_rhs = false;
    for (std::int64_t e = lane; active && e < args.rhs_size; e += N) {
      const T value = args.b[system * args.rhs_size + e];
      bad_rhs |= not_finite(value);
      far |= value != 0 && abs(exponent_of(value)) > Traits<T>::rhs_window;
    }

    const bool any_bad_matrix = any_of_group<N>(bad_matrix);
    const bool any_asymmetric = any_of_group<N>(asymmetric);
    const bool any_bad_rhs = any_of_group<N>(bad_rhs);
    const bool any_far = any_of_group<N>(far);
    if (active && lane == 0)
      args.info[system] = any_bad_matrix   ? info_matrix_not_finite
                          : any_asymmetric ? info_matrix_not_symmetric
                          : any_bad_rhs    ? info_rhs_not_finite
                          : any_far        ? marked_for_scaling
                                           : 0;
    __syncwarp();  // every lane has read the staged matrix before the next system overwrites it
  }
}

/// The exponent that brings v next to 1, among the normal exponents. Single precision input needs none: its norms and
/// their products stay in the range of double.
template <class T>
__device__ int normalizing_exponent(T v) {
  if constexpr (sizeof(T) == sizeof(float))
    return 0;
  else
    return -min(Traits<T>::exponent_bias - 1, max(1 - Traits<T>::exponent_bias, exponent_of(v)));
}

template <class T, int N>
__global__ void __launch_bounds__(warps_per_block* warp_lanes, 6) backward_error_kernel(Arguments<T> args) {
  constexpr int systems = warp_lanes / N;
  __shared__ T staged[warps_per_block][systems][N][N + 1];  // as in inspect_kernel
  const int lane = threadIdx.x % N, group = threadIdx.x % warp_lanes / N;
  T(&matrix)[N][N + 1] = staged[threadIdx.x / warp_lanes][group];
  const bool inverse = args.nrhs == 0;
  const int columns = inverse ? args.n : args.nrhs;

  for (std::int64_t first = first_warp_in_grid() * systems; first < args.count; first += warps_in_grid() * systems) {
    const std::int64_t system = first + group;
    const std::int32_t status = system < args.count ? args.info[system] : info_matrix_not_finite;
    const bool active = status == 0;
    T* x = args.x + system * args.solution_size;
    stage_matrix<T, N>(args, args.a + system * args.matrix_size, active, lane, matrix);
    __syncwarp();  // the staged matrix is complete before any lane reads other lanes' part of it

    const bool has_row = active && lane < args.n;
    T largest_a = 0, largest_x = 0;
    bool bad = false;
    for (int i = 0; has_row && i < args.n; ++i) largest_a = max(largest_a, abs(matrix[i][lane]));
    for (int c = 0; has_row && c < columns; ++c) {
      const T value = x[lane * static_cast<std::int64_t>(columns) + c];
      bad |= not_finite(value);
      largest_x = max(largest_x, abs(value));
    }
    bad = any_of_group<N>(bad);
    largest_x = max_of_group<N>(largest_x);
    const double a_factor = power_of_two<double>(normalizing_exponent(max_of_group<N>(largest_a)));
    double column_sum = 0;
    for (int i = 0; has_row && i < args.n; ++i) column_sum += abs(static_cast<double>(matrix[i][lane]) * a_factor);
    const double norm_a = max_of_group<N>(column_sum);

    double worst = 0, worst_residual = 0, norm_x = 0;
    for (int c = 0; c < columns; ++c) {
      const T own_x = has_row ? x[lane * static_cast<std::int64_t>(columns) + c] : T(0);
      const T largest = inverse ? largest_x : max_of_group<N>(abs(own_x));
      const double x_factor = power_of_two<double>(normalizing_exponent(largest));
      const double scaled_x = static_cast<double>(own_x) * x_factor;
      double right = inverse && lane == c ? 1 : 0;
      if (has_row && !inverse) right = args.b[system * args.rhs_size + lane * static_cast<std::int64_t>(columns) + c];
      double sum = right * a_factor * x_factor;
      for (int j = 0; j < args.n; ++j) {
        const double x_j = __shfl_sync(whole_warp, scaled_x, j, N);
        if (has_row) sum = fma(-static_cast<double>(matrix[lane][j]) * a_factor, x_j, sum);
      }
      const double column_residual = sum_of_group<N>(has_row ? abs(sum) : 0.0);
      const double column_norm = sum_of_group<N>(abs(scaled_x));
      norm_x = max(inverse ? norm_x : 0.0, column_norm);
      worst_residual = max(inverse ? worst_residual : 0.0, column_residual);
      if (inverse && c + 1 < columns) continue;  // an inverse is judged by the norms of the whole matrix
      worst = max(worst, worst_residual == 0 ? 0.0 : worst_residual / (norm_a * norm_x));
    }

    if (active && bad)
      for (int c = 0; lane < args.n && c < columns; ++c)
        x[lane * static_cast<std::int64_t>(columns) + c] = not_a_number<T>();
    if (system < args.count && lane == 0) {
      if (active && bad) args.info[system] = info_result_not_finite;
      args.backward_error[system] = active && !bad ? static_cast<T>(worst) : not_a_number<T>();
    }
    __syncwarp();  // every lane has read the staged matrix before the next system overwrites it
  }
}

// ---- elimination: N / rows lanes per system
// ---------------------------------------------------------------------------------

template <class T, int Count>
struct alignas(sizeof(T) * Count) Vector {
  T value[Count];
};

/// What the lanes of one system publish: column k of A for the step under way and column k + 1 for the next, and with
/// each of them one element of R right-hand sides per lane, of which the pivot row's lane holds the one that counts.
/// The size puts the systems of a warp into different banks.
template <class T, int N, int Lanes, int R>
struct alignas(16) Published {
  T column[2][N + 4];
  T rhs[2][R][Lanes];
};

/// What the general kernels need besides: the padded and scaled matrix, the scaled right-hand sides and later x, and
/// the exponents of D and 2^t.
template <class T, int N, int R>
struct alignas(16) Staging {
  T matrix[N][N + 4];
  T rhs[R][N];
  int half[N];
  int shift[R];
};

/// The exponents of D, which bring the diagonal next to 1, into staging.half.
template <class T, int N, int R>
__device__ void find_matrix_scale(const Arguments<T>& args, const T* matrix, bool active, int lane, int lanes,
                                  Staging<T, N, R>& staging) {
  for (int i = lane; i < N; i += lanes) {
    T diagonal = 1;
    if (active && i < args.n) diagonal = matrix[args.packed ? i * (i + 1) / 2 + i : i * (args.n + 1)];
    staging.half[i] = diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0;
  }
}

/// D A D, padded with identity rows, into staging.matrix; the identity where the lane's system is not to be solved.
template <class T, int N, int R>
__device__ void stage_scaled_matrix(const Arguments<T>& args, const T* matrix, bool active, int lane, int lanes,
                                    Staging<T, N, R>& staging) {
  for (int i = 0; i < N; ++i)
    for (int j = lane; j < N; j += lanes) {
      const int high = max(i, j), low = min(i, j);
      T value = i == j ? T(1) : T(0);
      if (active && high < args.n)
        value = matrix[args.packed ? high * (high + 1) / 2 + low : i * args.n + j] * power_of_two<T>(staging.half[i]) *
                power_of_two<T>(staging.half[j]);
      staging.matrix[i][j] = value;
    }
}

/// 2^t D b for the right-hand sides first .. first + R - 1 into staging.rhs, 0 where there is none; t is 0 unless D b
/// lies far from 1. The whole warp calls, `Lanes` lanes per system.
template <int Lanes, class T, int N, int R>
__device__ void stage_scaled_rhs(const Arguments<T>& args, std::int64_t system, bool active, int first, int lane,
                                 Staging<T, N, R>& staging) {
  constexpr int lowest = -4 * Traits<T>::exponent_bias;
  for (int r = 0; r < R; ++r) {
    int top = lowest;
    for (int i = lane; i < N; i += Lanes) {
      T value = 0;
      if (active && i < args.n && first + r < args.nrhs)
        value = args.b[system * args.rhs_size + static_cast<std::int64_t>(i) * args.nrhs + first + r];
      if (value != 0) top = max(top, exponent_of(value) + staging.half[i]);
      staging.rhs[r][i] = value;
    }
    top = max_of_group<Lanes>(top);
    const int shift = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
    if (lane == 0) staging.shift[r] = shift;
    for (int i = lane; i < N; i += Lanes) staging.rhs[r][i] = scale(staging.rhs[r][i], staging.half[i] + shift);
  }
}

/// Rows row .. row + Rows - 1 of a matrix whose rows are `stride` apart, as columns: a[i][u] = A(i, row + u).
template <class T, int N, int Rows>
__device__ __forceinline__ void load_rows(const T* matrix, int stride, int row, T (&a)[N][Rows]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const auto loaded = *reinterpret_cast<const Vector<T, Rows>*>(matrix + i * stride + row);
#pragma unroll
    for (int u = 0; u < Rows; ++u) a[i][u] = loaded.value[u];
  }
}

template <class T, int N, int Rows>
__device__ __forceinline__ void publish(const T (&column)[Rows], int row, T (&published)[N + 4]) {
  Vector<T, Rows> out;
#pragma unroll
  for (int u = 0; u < Rows; ++u) out.value[u] = column[u];
  *reinterpret_cast<Vector<T, Rows>*>(published + row) = out;
}

/// a[j][.] += f[.] v_j for the columns j = first .. N - 1 but `skip` and `done`, reading v in 16-byte pieces.
template <class T, int N, int Rows>
__device__ __forceinline__ void update_columns(const T (&published)[N + 4], const T (&factor)[Rows], int first,
                                               int skip, int done, T (&a)[N][Rows]) {
  constexpr int piece = 16 / sizeof(T);
#pragma unroll
  for (int j = 0; j < N; j += piece) {
    if (j + piece <= first) continue;
    const auto v = *reinterpret_cast<const Vector<T, piece>*>(published + j);
#pragma unroll
    for (int c = 0; c < piece; ++c) {
      if (j + c < first || j + c == skip || j + c == done) continue;
#pragma unroll
      for (int u = 0; u < Rows; ++u) a[j + c][u] = fma(factor[u], v.value[c], a[j + c][u]);
    }
  }
}

/// The elimination of one system by the lanes that share it. `b` becomes x up to the division by the pivots, whose
/// reciprocals go to `diagonal`. Notes a pivot that is not positive in `outcome`, which is the same in all these lanes.
template <class T, int N, int Rows, int R>
__device__ __forceinline__ void eliminate(int lane, Published<T, N, N / Rows, R>& published, int& outcome,
                                          T (&a)[N][Rows], T (&b)[R][Rows], T (&diagonal)[Rows]) {
  const int row = lane * Rows;
  publish<T, N, Rows>(a[0], row, published.column[0]);
#pragma unroll
  for (int r = 0; r < R; ++r) published.rhs[0][r][lane] = b[r][0];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const T(&current)[N + 4] = published.column[k % 2];
    __syncwarp();  // column k is complete; and the reads of column k - 1 are over, whose place column k + 1 takes
    const T pivot = current[k];
    if (!(pivot > 0) && outcome == 0) outcome = k + 1;
    const T pivot_reciprocal = reciprocal(pivot);
    T factor[Rows];
#pragma unroll
    for (int u = 0; u < Rows; ++u) {
      const bool is_pivot_row = u == k % Rows && lane == k / Rows;
      if (is_pivot_row) diagonal[u] = pivot_reciprocal;
      factor[u] = is_pivot_row ? T(0) : -a[k][u] * pivot_reciprocal;
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const T pivot_b = published.rhs[k % 2][r][k / Rows];
#pragma unroll
      for (int u = 0; u < Rows; ++u) b[r][u] = fma(factor[u], pivot_b, b[r][u]);
    }
    if (k + 1 < N) {
      const T ahead = current[k + 1];
#pragma unroll
      for (int u = 0; u < Rows; ++u) a[k + 1][u] = fma(factor[u], ahead, a[k + 1][u]);
      publish<T, N, Rows>(a[k + 1], row, published.column[(k + 1) % 2]);
#pragma unroll
      for (int r = 0; r < R; ++r) published.rhs[(k + 1) % 2][r][lane] = b[r][(k + 1) % Rows];
    }
    update_columns<T, N, Rows>(current, factor, k + 2, k, k + 1, a);
  }
}

/// The symmetric sweep of one system by the lanes that share it: `a` becomes -A^-1; `outcome` as in eliminate().
template <class T, int N, int Rows>
__device__ __forceinline__ void sweep(int lane, Published<T, N, N / Rows, 1>& published, int& outcome,
                                      T (&a)[N][Rows]) {
  const int row = lane * Rows;
  publish<T, N, Rows>(a[0], row, published.column[0]);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const T(&current)[N + 4] = published.column[k % 2];
    __syncwarp();  // column k is complete; and the reads of column k - 1 are over, whose place column k + 1 takes
    const T pivot = current[k];
    if (!(pivot > 0) && outcome == 0) outcome = k + 1;
    const T pivot_reciprocal = reciprocal(pivot);
    T factor[Rows];
#pragma unroll
    for (int u = 0; u < Rows; ++u) factor[u] = -a[k][u] * pivot_reciprocal;
    // The pivot row becomes a_kj / p: start from 0 with the factor 1/p.
    if (lane == k / Rows) {
      factor[k % Rows] = pivot_reciprocal;
#pragma unroll
      for (int j = 0; j < N; ++j) a[j][k % Rows] = 0;
    }
    if (k + 1 < N) {
      const T ahead = current[k + 1];
#pragma unroll
      for (int u = 0; u < Rows; ++u) a[k + 1][u] = fma(factor[u], ahead, a[k + 1][u]);
      publish<T, N, Rows>(a[k + 1], row, published.column[(k + 1) % 2]);
    }
    // The pivot column becomes a_ik / p = -f_i, and -1/p on the diagonal: the same expression for both.
#pragma unroll
    for (int u = 0; u < Rows; ++u) a[k][u] = -factor[u];
    update_columns<T, N, Rows>(current, factor, 0, k, k + 1, a);
  }
}

/// How a kernel spreads systems over lanes.
template <int N, int Rows, int Warps>
struct Layout {
  static constexpr int rows = Rows;                   // per lane
  static constexpr int lanes = N / rows;              // per system
  static constexpr int systems = warp_lanes / lanes;  // per warp
  static constexpr int warps = Warps;                 // per block
  static constexpr int threads = warps * warp_lanes;
};
template <class T, int N, bool Fast>
using SolveLayout = Layout<N, Fast ? Traits<T>::fast_rows : Traits<T>::general_rows, Fast ? warps_per_block : 1>;
template <class T, int N>
using InverseLayout = Layout<N, Traits<T>::inverse_rows, 1>;

/// What becomes of a system in a kernel: the first pivot, counted from 1, that is not positive, 0 while there is none,
/// or one of these. (One number that lives through the elimination instead of several: registers are what this kernel
/// is short of.)
constexpr int bad_input = -1;  // its solution is NaN
constexpr int not_mine = -2;   // past the end, or solved by the other kernel

template <bool Fast, class T>
__device__ int first_outcome(const Arguments<T>& args, std::int64_t system) {
  if (system >= args.count) return not_mine;
  const std::int32_t status = args.info[system];
  if (status == marked_for_scaling) return Fast ? not_mine : 0;
  if (args.only_marked) return not_mine;
  return status == 0 ? 0 : bad_input;
}

template <class T, int N, bool Fast, int R>
__global__ void __launch_bounds__(SolveLayout<T, N, Fast>::threads) solve_kernel(Arguments<T> args) {
  using L = SolveLayout<T, N, Fast>;
  __shared__ Published<T, N, L::lanes, R> all_published[L::warps][L::systems];
  __shared__ Staging<T, Fast ? 1 : N, R> all_staging[Fast ? 1 : L::systems];
  const int lane = threadIdx.x % L::lanes, group = threadIdx.x % warp_lanes / L::lanes, row = lane * L::rows;
  auto& published = all_published[threadIdx.x / warp_lanes][group];
  auto& staging = all_staging[Fast ? 0 : group];

  const int n = Fast ? N : args.n, nrhs = R == 1 ? 1 : args.nrhs;
  const unsigned tasks = static_cast<unsigned>((args.count + L::systems - 1) / L::systems);  // one per warp and turn
  for (unsigned task = blockIdx.x * L::warps + threadIdx.x / warp_lanes; task < tasks; task += gridDim.x * L::warps) {
    const std::int64_t system = static_cast<std::int64_t>(task) * L::systems + group;
    int outcome = first_outcome<Fast>(args, system);
    if (__all_sync(whole_warp, outcome == not_mine)) continue;
    // Systems that are not solved here run on the last one's matrix, which nobody looks at.
    const T* matrix = args.a + (system < args.count ? system : args.count - 1) * args.matrix_size;

    // Right-hand sides beyond R repeat the elimination.
    for (int first = 0; first < nrhs; first += R) {
      T a[N][L::rows], b[R][L::rows], diagonal[L::rows];
      if constexpr (Fast) {
        load_rows<T, N, L::rows>(matrix, N, row, a);
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
          for (int u = 0; u < L::rows; ++u) {
            b[r][u] = 0;
            if (outcome >= 0 && first + r < nrhs)
              b[r][u] = args.b[system * args.rhs_size + static_cast<std::int64_t>(row + u) * nrhs + first + r];
          }
      } else {
        find_matrix_scale<T, N, R>(args, matrix, outcome >= 0, lane, L::lanes, staging);
        __syncwarp();  // the exponents of all rows are there
        stage_scaled_matrix<T, N, R>(args, matrix, outcome >= 0, lane, L::lanes, staging);
        stage_scaled_rhs<L::lanes, T, N, R>(args, system, outcome >= 0, first, lane, staging);
        __syncwarp();  // the matrix and the right-hand sides are complete
        load_rows<T, N, L::rows>(&staging.matrix[0][0], N + 4, row, a);
        load_rows<T, R, L::rows>(&staging.rhs[0][0], N, row, b);
      }

      eliminate<T, N, L::rows, R>(lane, published, outcome, a, b, diagonal);

      if constexpr (Fast) {
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
          for (int u = 0; u < L::rows; ++u)
            if (outcome != not_mine && first + r < nrhs)
              args.x[system * args.solution_size + static_cast<std::int64_t>(row + u) * nrhs + first + r] =
                  outcome == 0 ? b[r][u] * diagonal[u] : not_a_number<T>();
      } else {
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
          for (int u = 0; u < L::rows; ++u) staging.rhs[r][row + u] = b[r][u] * diagonal[u];
        __syncwarp();  // x is complete
#pragma unroll 1       // registers
        for (int r = 0; r < R && outcome != not_mine && first + r < nrhs; ++r)
          for (int i = lane; i < n; i += L::lanes)
            args.x[system * args.solution_size + static_cast<std::int64_t>(i) * nrhs + first + r] =
                outcome == 0 ? scale(staging.rhs[r][i], staging.half[i] - staging.shift[r]) : not_a_number<T>();
        __syncwarp();  // x and the exponents have been read before the next are staged
      }
    }
    if (lane == 0 && (outcome > 0 || (!Fast && outcome == 0))) args.info[system] = outcome;
  }
}

template <class T, int N>
__global__ void __launch_bounds__(InverseLayout<T, N>::threads) inverse_kernel(Arguments<T> args) {
  using L = InverseLayout<T, N>;
  __shared__ Published<T, N, L::lanes, 1> all_published[L::systems];
  __shared__ Staging<T, N, 1> all_staging[L::systems];  // of A, then of -A^-1
  const int lane = threadIdx.x % L::lanes, group = threadIdx.x / L::lanes, row = lane * L::rows;
  auto& staging = all_staging[group];

  const unsigned tasks = static_cast<unsigned>((args.count + L::systems - 1) / L::systems);  // one per warp and turn
  for (unsigned task = blockIdx.x; task < tasks; task += gridDim.x) {
    const std::int64_t system = static_cast<std::int64_t>(task) * L::systems + group;
    int outcome = first_outcome<false>(args, system);
    const T* matrix = args.a + system * args.matrix_size;
    find_matrix_scale<T, N, 1>(args, matrix, outcome == 0, lane, L::lanes, staging);
    __syncwarp();  // the exponents of all rows are there
    stage_scaled_matrix<T, N, 1>(args, matrix, outcome == 0, lane, L::lanes, staging);
    __syncwarp();  // the matrix is complete
    T a[N][L::rows];
    load_rows<T, N, L::rows>(&staging.matrix[0][0], N + 4, row, a);

    sweep<T, N, L::rows>(lane, all_published[group], outcome, a);

#pragma unroll
    for (int j = 0; j < N; ++j) publish<T, N, L::rows>(a[j], row, staging.matrix[j]);
    __syncwarp();  // -A^-1 is complete
    for (int i = 0; outcome != not_mine && i < args.n; ++i)
      for (int j = lane; j < args.n; j += L::lanes) {
        // Both triangles from one: the inverse is exactly symmetric.
        const T value = scale(-staging.matrix[max(i, j)][min(i, j)], staging.half[i] + staging.half[j]);
        args.x[system * args.solution_size + i * args.n + j] = outcome == 0 ? value : not_a_number<T>();
      }
    if (lane == 0 && outcome >= 0) args.info[system] = outcome;
    __syncwarp();  // -A^-1 has been read before the next system is staged
  }
}

template <class T>
using Kernel = void (*)(Arguments<T>);

/// The size that a system is padded to.
int padded_size(int n) { return n <= 8 ? 8 : n <= 16 ? 16 : 32; }

/// The kernel of three that is for the padded size of n.
template <class T>
Kernel<T> pick(int n, Kernel<T> kernel8, Kernel<T> kernel16, Kernel<T> kernel32) {
  return padded_size(n) == 8 ? kernel8 : padded_size(n) == 16 ? kernel16 : kernel32;
}

template <class T, bool Fast>
Kernel<T> pick_solve(int n, int nrhs) {
  if (nrhs == 1)
    return pick<T>(n, solve_kernel<T, 8, Fast, 1>, solve_kernel<T, 16, Fast, 1>, solve_kernel<T, 32, Fast, 1>);
  constexpr int R = Fast ? Traits<T>::fast_rhs : Traits<T>::general_rhs;
  return pick<T>(n, solve_kernel<T, 8, Fast, R>, solve_kernel<T, 16, Fast, R>, solve_kernel<T, 32, Fast, R>);
}

template <class T>
cudaError_t launch(Kernel<T> kernel, int rows_per_lane, int warps, bool only_marked, const SpdBatch<T>& batch,
                   const SpdSolution<T>& solution, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const SpdShape& shape = batch.shape;
  const std::int64_t systems_per_block = warps * warp_lanes / (padded_size(shape.n) / rows_per_lane);
  const std::int64_t blocks = std::min(max_blocks, (batch.count + systems_per_block - 1) / systems_per_block);
  kernel<<<static_cast<unsigned>(blocks), warps * warp_lanes, 0, stream>>>(
      {batch.a, batch.b, solution.x, solution.info, solution.backward_error, batch.count, shape.matrix_size(),
       shape.rhs_size(), shape.solution_size(), shape.n, shape.nrhs, shape.storage == Storage::packed_lower,
       only_marked});
  return cudaGetLastError();
}

}  // namespace

template <class T>
cudaError_t launch_spd_inspect(const SpdBatch<T>& batch, std::int32_t* info, cudaStream_t stream) {
  const Kernel<T> kernel = pick<T>(batch.shape.n, inspect_kernel<T, 8>, inspect_kernel<T, 16>, inspect_kernel<T, 32>);
  return launch<T>(kernel, 1, warps_per_block, false, batch, {nullptr, info, nullptr}, stream);
}

template <class T>
cudaError_t launch_spd_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  const SpdShape& shape = batch.shape;
  if (shape.wants_inverse()) {
    const Kernel<T> kernel = pick<T>(shape.n, inverse_kernel<T, 8>, inverse_kernel<T, 16>, inverse_kernel<T, 32>);
    return launch<T>(kernel, Traits<T>::inverse_rows, 1, false, batch, solution, stream);
  }
  const bool fast = shape.storage == Storage::dense && shape.n == padded_size(shape.n) &&
                    reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
  if (fast) {
    const Kernel<T> kernel = pick_solve<T, true>(shape.n, shape.nrhs);
    const cudaError_t status = launch<T>(kernel, Traits<T>::fast_rows, warps_per_block, false, batch, solution, stream);
    if (status != cudaSuccess) return status;
  }
  return launch<T>(pick_solve<T, false>(shape.n, shape.nrhs), Traits<T>::general_rows, 1, fast, batch, solution,
                   stream);
}

template <class T>
cudaError_t launch_spd_backward_error(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  const Kernel<T> kernel =
      pick<T>(batch.shape.n, backward_error_kernel<T, 8>, backward_error_kernel<T, 16>, backward_error_kernel<T, 32>);
  return launch<T>(kernel, 1, warps_per_block, false, batch, solution, stream);
}

template <class T>
cudaError_t launch_spd_solve(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  cudaError_t status = launch_spd_inspect(batch, solution.info, stream);
  if (status == cudaSuccess) status = launch_spd_gauss_jordan(batch, solution, stream);
  if (status == cudaSuccess) status = launch_spd_backward_error(batch, solution, stream);
  return status;
}

template cudaError_t launch_spd_inspect(const SpdBatch<float>&, std::int32_t*, cudaStream_t);
template cudaError_t launch_spd_inspect(const SpdBatch<double>&, std::int32_t*, cudaStream_t);
template cudaError_t launch_spd_gauss_jordan(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_spd_gauss_jordan(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);
template cudaError_t launch_spd_backward_error(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_spd_backward_error(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);
template cudaError_t launch_spd_solve(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_spd_solve(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
