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
// reciprocals are rounded correctly for the same reason.
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
};

template <class T>
struct Traits;
template <>
struct Traits<float> {
  static constexpr int rows_per_lane = 4;
  static constexpr int exponent_bias = 127;
  static constexpr int diagonal_window = 20, rhs_window = 40;  // exponents that need no scaling
  static constexpr float eps = 0x1p-23F;
};
template <>
struct Traits<double> {
  static constexpr int rows_per_lane = 2;
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
    bool bad_rhs = false;
    for (std::int64_t e = lane; active && e < args.rhs_size; e += N)
      bad_rhs |= not_finite(args.b[system * args.rhs_size + e]);

    const bool any_bad_matrix = any_of_group<N>(bad_matrix);
    const bool any_asymmetric = any_of_group<N>(asymmetric);
    const bool any_bad_rhs = any_of_group<N>(bad_rhs);
    if (active && lane == 0)
      args.info[system] = any_bad_matrix   ? info_matrix_not_finite
                          : any_asymmetric ? info_matrix_not_symmetric
                          : any_bad_rhs    ? info_rhs_not_finite
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
__global__ void __launch_bounds__(warps_per_block* warp_lanes) backward_error_kernel(Arguments<T> args) {
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

    double worst = 0, worst_residual = 0, norm_inverse = 0;
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
      const double residual = sum_of_group<N>(has_row ? abs(sum) : 0.0);
      const double norm_x = sum_of_group<N>(abs(scaled_x));
      worst = max(worst, residual == 0 ? 0.0 : residual / (norm_a * norm_x));
      worst_residual = max(worst_residual, residual);
      norm_inverse = max(norm_inverse, norm_x);
    }
    if (inverse) worst = worst_residual == 0 ? 0.0 : worst_residual / (norm_a * norm_inverse);

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

/// What the lanes of one system share: column k of A for the step under way and column k + 1 for the next, each with
/// the pivot row's R <= 4 right-hand sides behind it; and the exponents of D and 2^t, if the system is scaled. The
/// sizes put the systems of a warp into different banks.
template <class T, int N>
struct alignas(16) SharedSystem {
  T column[2][N + 4];
  int half[N];
  int shift[4];
};

/// Rows row .. row + Rows - 1 of the padded matrix, as columns: a[i][u] = A(i, row + u). Vectors: dense, n = N, and
/// every matrix aligned to 16 bytes. Where the lane's system is not to be solved, whatever comes of the numbers is
/// ignored.
template <bool Vectors, class T, int N, int Rows>
__device__ __forceinline__ void load_rows(const Arguments<T>& args, const T* matrix, bool active, int row,
                                          T (&a)[N][Rows]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if constexpr (Vectors) {
      Vector<T, Rows> loaded{};
      if (active) loaded = *reinterpret_cast<const Vector<T, Rows>*>(matrix + i * N + row);
#pragma unroll
      for (int u = 0; u < Rows; ++u) a[i][u] = loaded.value[u];
    } else {
#pragma unroll
      for (int u = 0; u < Rows; ++u) {
        const int j = row + u, high = max(i, j), low = min(i, j);
        a[i][u] = i == j ? T(1) : T(0);
        if (active && high < args.n) a[i][u] = matrix[args.packed ? high * (high + 1) / 2 + low : i * args.n + j];
      }
    }
  }
}

/// The exponents of D into shared.half: 0 unless some diagonal element of the system lies far from 1. Whether any
/// system of the warp has an exponent that is not 0.
template <class T, int N, int Rows>
__device__ __forceinline__ bool find_matrix_scale(const Arguments<T>& args, const T* matrix, bool active, int row,
                                                  SharedSystem<T, N>& shared) {
  int half[Rows];
  bool outside = false;
#pragma unroll
  for (int u = 0; u < Rows; ++u) {
    const int i = row + u;
    const bool in_matrix = active && i < args.n;
    const T diagonal = in_matrix ? matrix[args.packed ? i * (i + 1) / 2 + i : i * (args.n + 1)] : T(1);
    half[u] = diagonal > 0 ? -(exponent_of(diagonal) >> 1) : 0;
    outside |= diagonal > 0 && abs(exponent_of(diagonal)) > Traits<T>::diagonal_window;
  }
  outside = any_of_group<N / Rows>(outside);
#pragma unroll
  for (int u = 0; u < Rows; ++u) shared.half[row + u] = outside ? half[u] : 0;
  return __any_sync(whole_warp, outside);
}

/// A <- D A D for the lane's rows.
template <class T, int N, int Rows>
__device__ __forceinline__ void scale_rows(int row, const SharedSystem<T, N>& shared, T (&a)[N][Rows]) {
  __syncwarp();  // the exponents of all rows are there
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int u = 0; u < Rows; ++u)
      a[i][u] = a[i][u] * power_of_two<T>(shared.half[i]) * power_of_two<T>(shared.half[row + u]);
}

/// b <- 2^t D b, where t is 0 unless D b lies far from 1; t into shared.shift. For warps with a scaled system; an exact
/// multiplication by 1 for its other systems.
template <class T, int N, int Rows, int R>
__device__ __forceinline__ void scale_rhs(int row, SharedSystem<T, N>& shared, T (&b)[R][Rows]) {
  constexpr int lowest = -4 * Traits<T>::exponent_bias;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    int top = lowest;
#pragma unroll
    for (int u = 0; u < Rows; ++u)
      if (b[r][u] != 0) top = max(top, exponent_of(b[r][u]) + shared.half[row + u]);
    top = max_of_group<N / Rows>(top);
    const int shift = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
    if (row == 0) shared.shift[r] = shift;  // read after the elimination's barriers
#pragma unroll
    for (int u = 0; u < Rows; ++u) b[r][u] = scale(b[r][u], shared.half[row + u] + shift);
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

/// Blocks per multiprocessor that the registers must suffice for.
template <int N, bool Vectors, int R>
constexpr int min_blocks = N == 32   ? (Vectors&& R == 1 ? 3 : 2)
                           : N == 16 ? (Vectors&& R == 1 ? 5 : 3)
                                     : 5;

template <class T, int N, bool Vectors, int R>
__global__ void __launch_bounds__(warps_per_block* warp_lanes, min_blocks<N, Vectors, R>)
    solve_kernel(Arguments<T> args) {
  constexpr int rows = Traits<T>::rows_per_lane, lanes = N / rows, systems = warp_lanes / lanes;
  static_assert(R <= 4, "the right-hand sides of the pivot row share the 4 spare numbers of a published column");
  __shared__ SharedSystem<T, N> shared_systems[warps_per_block][systems];
  const int lane = threadIdx.x % lanes, group = threadIdx.x % warp_lanes / lanes, row = lane * rows;
  SharedSystem<T, N>& shared = shared_systems[threadIdx.x / warp_lanes][group];

  for (std::int64_t first = first_warp_in_grid() * systems; first < args.count; first += warps_in_grid() * systems) {
    const std::int64_t system = first + group;
    const std::int32_t status = system < args.count ? args.info[system] : info_matrix_not_finite;
    const bool active = status == 0;
    const T* matrix = args.a + system * args.matrix_size;
    int failed = 0;  // the first pivot, counted from 1, that is not positive; the same in all lanes of a system

    // Right-hand sides beyond R repeat the elimination.
    for (int chunk = 0; chunk < args.nrhs; chunk += R) {
      T b[R][rows];
      bool scaled = find_matrix_scale<T, N, rows>(args, matrix, active, row, shared);
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int u = 0; u < rows; ++u) {
          b[r][u] = 0;
          if (active && row + u < args.n && chunk + r < args.nrhs)
            b[r][u] = args.b[system * args.rhs_size + static_cast<std::int64_t>(row + u) * args.nrhs + chunk + r];
          scaled |= b[r][u] != 0 && abs(exponent_of(b[r][u])) > Traits<T>::rhs_window;
        }
      scaled = __any_sync(whole_warp, scaled);
      if (scaled) scale_rhs<T, N, rows, R>(row, shared, b);
      T a[N][rows], diagonal[rows];  // diagonal: the reciprocal of the row's own pivot
      load_rows<Vectors, T, N, rows>(args, matrix, active, row, a);
      if (scaled) scale_rows<T, N, rows>(row, shared, a);

      publish<T, N, rows>(a[0], row, shared.column[0]);
      if (lane == 0)
#pragma unroll
        for (int r = 0; r < R; ++r) shared.column[0][N + r] = b[r][0];
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const T(&current)[N + 4] = shared.column[k % 2];
        T(&next)[N + 4] = shared.column[(k + 1) % 2];
        __syncwarp();  // column k is complete; and the reads of column k - 1 are over, whose place column k + 1 takes
        const T pivot = current[k];
        if (!(pivot > 0) && failed == 0) failed = k + 1;
        const T pivot_reciprocal = reciprocal(pivot);
        T factor[rows];
#pragma unroll
        for (int u = 0; u < rows; ++u) {
          const bool is_pivot_row = u == k % rows && lane == k / rows;
          if (is_pivot_row) diagonal[u] = pivot_reciprocal;
          factor[u] = is_pivot_row ? T(0) : -a[k][u] * pivot_reciprocal;
        }
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const T pivot_b = current[N + r];
#pragma unroll
          for (int u = 0; u < rows; ++u) b[r][u] = fma(factor[u], pivot_b, b[r][u]);
        }
        if (k + 1 < N) {
          const T ahead = current[k + 1];
#pragma unroll
          for (int u = 0; u < rows; ++u) a[k + 1][u] = fma(factor[u], ahead, a[k + 1][u]);
          publish<T, N, rows>(a[k + 1], row, next);
          if (lane == (k + 1) / rows)
#pragma unroll
            for (int r = 0; r < R; ++r) next[N + r] = b[r][(k + 1) % rows];
        }
        update_columns<T, N, rows>(current, factor, k + 2, k, k + 1, a);
      }

#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int u = 0; u < rows; ++u) {
          if (system >= args.count || row + u >= args.n || chunk + r >= args.nrhs) continue;
          T value = b[r][u] * diagonal[u];
          if (scaled) value = scale(value, shared.half[row + u] - shared.shift[r]);
          if (!active || failed != 0) value = not_a_number<T>();
          args.x[system * args.solution_size + static_cast<std::int64_t>(row + u) * args.nrhs + chunk + r] = value;
        }
    }
    if (active && failed != 0 && lane == 0) args.info[system] = failed;
  }
}

template <class T, int N, bool Vectors>
__global__ void __launch_bounds__(warps_per_block* warp_lanes, min_blocks<N, Vectors, 1>)
    inverse_kernel(Arguments<T> args) {
  constexpr int rows = Traits<T>::rows_per_lane, lanes = N / rows, systems = warp_lanes / lanes;
  __shared__ SharedSystem<T, N> shared_systems[warps_per_block][systems];
  const int lane = threadIdx.x % lanes, group = threadIdx.x % warp_lanes / lanes, row = lane * rows;
  SharedSystem<T, N>& shared = shared_systems[threadIdx.x / warp_lanes][group];

  for (std::int64_t first = first_warp_in_grid() * systems; first < args.count; first += warps_in_grid() * systems) {
    const std::int64_t system = first + group;
    const std::int32_t status = system < args.count ? args.info[system] : info_matrix_not_finite;
    const bool active = status == 0;
    const T* matrix = args.a + system * args.matrix_size;
    int failed = 0;
    const bool scaled = find_matrix_scale<T, N, rows>(args, matrix, active, row, shared);
    T a[N][rows];
    load_rows<Vectors, T, N, rows>(args, matrix, active, row, a);
    if (scaled) scale_rows<T, N, rows>(row, shared, a);

    publish<T, N, rows>(a[0], row, shared.column[0]);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const T(&current)[N + 4] = shared.column[k % 2];
      __syncwarp();  // column k is complete; and the reads of column k - 1 are over, whose place column k + 1 takes
      const T pivot = current[k];
      if (!(pivot > 0) && failed == 0) failed = k + 1;
      const T pivot_reciprocal = reciprocal(pivot);
      const bool has_pivot_row = lane == k / rows;
      T factor[rows];
#pragma unroll
      for (int u = 0; u < rows; ++u) factor[u] = -a[k][u] * pivot_reciprocal;
      // The pivot row becomes a_kj / p: start from 0 with the factor 1/p.
      if (has_pivot_row) {
        factor[k % rows] = pivot_reciprocal;
#pragma unroll
        for (int j = 0; j < N; ++j) a[j][k % rows] = 0;
      }
      if (k + 1 < N) {
        const T ahead = current[k + 1];
#pragma unroll
        for (int u = 0; u < rows; ++u) a[k + 1][u] = fma(factor[u], ahead, a[k + 1][u]);
        publish<T, N, rows>(a[k + 1], row, shared.column[(k + 1) % 2]);
      }
      // The pivot column becomes a_ik / p = -f_i, and -1/p on the diagonal: the same expression for both.
#pragma unroll
      for (int u = 0; u < rows; ++u) a[k][u] = -factor[u];
      update_columns<T, N, rows>(current, factor, 0, k, k + 1, a);
    }

    // The matrix is -A^-1 of the scaled A. Lower triangle to both triangles: the inverse is exactly symmetric.
    T* inverse = args.x + system * args.solution_size;
#pragma unroll
    for (int j = 0; j < N; ++j) {
#pragma unroll
      for (int u = 0; u < rows; ++u) {
        const int i = row + u;
        if (system >= args.count || i >= args.n || j > i) continue;
        T value = -a[j][u];
        if (scaled) value = scale(value, shared.half[i] + shared.half[j]);
        if (!active || failed != 0) value = not_a_number<T>();
        inverse[i * args.n + j] = value;
        inverse[j * args.n + i] = value;
      }
    }
    if (active && failed != 0 && lane == 0) args.info[system] = failed;
  }
}

template <class T>
Arguments<T> arguments(const SpdBatch<T>& batch, const SpdSolution<T>& solution, int padded) {
  const SpdShape& shape = batch.shape;
  const bool dense = shape.storage == Storage::dense;
  const bool aligned = reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
  return {batch.a,
          batch.b,
          solution.x,
          solution.info,
          solution.backward_error,
          batch.count,
          shape.matrix_size(),
          shape.rhs_size(),
          shape.solution_size(),
          shape.n,
          shape.nrhs,
          !dense,
          dense && shape.n == padded && aligned};
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

template <class T, bool Vectors>
Kernel<T> pick_gauss_jordan(int n, int nrhs) {
  if (nrhs == 0)
    return pick<T>(n, inverse_kernel<T, 8, Vectors>, inverse_kernel<T, 16, Vectors>, inverse_kernel<T, 32, Vectors>);
  if (nrhs == 1)
    return pick<T>(n, solve_kernel<T, 8, Vectors, 1>, solve_kernel<T, 16, Vectors, 1>, solve_kernel<T, 32, Vectors, 1>);
  return pick<T>(n, solve_kernel<T, 8, Vectors, 4>, solve_kernel<T, 16, Vectors, 4>, solve_kernel<T, 32, Vectors, 4>);
}

template <class T>
cudaError_t launch(Kernel<T> kernel, int rows_per_lane, const SpdBatch<T>& batch, const SpdSolution<T>& solution,
                   cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const SpdShape& shape = batch.shape;
  const std::int64_t systems_per_block = warps_per_block * warp_lanes / (padded_size(shape.n) / rows_per_lane);
  const std::int64_t blocks = std::min(max_blocks, (batch.count + systems_per_block - 1) / systems_per_block);
  kernel<<<static_cast<unsigned>(blocks), warps_per_block * warp_lanes, 0, stream>>>(
      {batch.a, batch.b, solution.x, solution.info, solution.backward_error, batch.count, shape.matrix_size(),
       shape.rhs_size(), shape.solution_size(), shape.n, shape.nrhs, shape.storage == Storage::packed_lower});
  return cudaGetLastError();
}

}  // namespace

template <class T>
cudaError_t launch_spd_inspect(const SpdBatch<T>& batch, std::int32_t* info, cudaStream_t stream) {
  const Kernel<T> kernel = pick<T>(batch.shape.n, inspect_kernel<T, 8>, inspect_kernel<T, 16>, inspect_kernel<T, 32>);
  return launch<T>(kernel, 1, batch, {nullptr, info, nullptr}, stream);
}

template <class T>
cudaError_t launch_spd_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  const SpdShape& shape = batch.shape;
  const bool vectors = shape.storage == Storage::dense && shape.n == padded_size(shape.n) &&
                       reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
  const Kernel<T> kernel =
      vectors ? pick_gauss_jordan<T, true>(shape.n, shape.nrhs) : pick_gauss_jordan<T, false>(shape.n, shape.nrhs);
  return launch<T>(kernel, Traits<T>::rows_per_lane, batch, solution, stream);
}

template <class T>
cudaError_t launch_spd_backward_error(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  const Kernel<T> kernel =
      pick<T>(batch.shape.n, backward_error_kernel<T, 8>, backward_error_kernel<T, 16>, backward_error_kernel<T, 32>);
  return launch<T>(kernel, 1, batch, solution, stream);
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
