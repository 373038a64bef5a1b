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
#include "solvers/spd_device.cuh"

namespace smallbatch {

namespace {

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

template <class T, bool Fast>
Kernel<T> pick_solve(int n, int nrhs) {
  if (nrhs == 1)
    return pick<T>(n, solve_kernel<T, 8, Fast, 1>, solve_kernel<T, 16, Fast, 1>, solve_kernel<T, 32, Fast, 1>);
  constexpr int R = Fast ? Traits<T>::fast_rhs : Traits<T>::general_rhs;
  return pick<T>(n, solve_kernel<T, 8, Fast, R>, solve_kernel<T, 16, Fast, R>, solve_kernel<T, 32, Fast, R>);
}

int systems_per_warp(int n, int rows_per_lane) { return warp_lanes / (padded_size(n) / rows_per_lane); }

}  // namespace

template <class T>
cudaError_t launch_spd_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  const SpdShape& shape = batch.shape;
  if (shape.wants_inverse()) {
    const Kernel<T> kernel = pick<T>(shape.n, inverse_kernel<T, 8>, inverse_kernel<T, 16>, inverse_kernel<T, 32>);
    return launch<T>(kernel, systems_per_warp(shape.n, Traits<T>::inverse_rows), 1, false, batch, solution, stream);
  }
  const bool fast = shape.storage == Storage::dense && shape.n == padded_size(shape.n) &&
                    reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
  if (fast) {
    const Kernel<T> kernel = pick_solve<T, true>(shape.n, shape.nrhs);
    const int systems = warps_per_block * systems_per_warp(shape.n, Traits<T>::fast_rows);
    const cudaError_t status = launch<T>(kernel, systems, warps_per_block, false, batch, solution, stream);
    if (status != cudaSuccess) return status;
  }
  return launch<T>(pick_solve<T, false>(shape.n, shape.nrhs), systems_per_warp(shape.n, Traits<T>::general_rows), 1,
                   fast, batch, solution, stream);
}

template cudaError_t launch_spd_gauss_jordan(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_spd_gauss_jordan(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
