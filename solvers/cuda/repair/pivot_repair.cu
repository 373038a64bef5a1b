// Repairs matrices that are singular to working precision; SpdOptions::pivot_floor defines the repair. This is one
// file, because all functions work on the same matrix in the shared memory of a warp.
//
// A warp repairs a system after the requested method has stored its answer. It computes in double precision, whatever T
// is. It works on S A S, where S is a diagonal matrix of powers of two that brings the diagonal near 1. The matrix lies
// in shared memory, or in the workspace if it does not fit there. It does not fit with more than 128 rows, or with more
// than 64 rows on compute capability 8.6, 8.9 and 12.0. It is factored with symmetric pivoting. Lane l has every 32nd
// column from l on. Rows are not moved. The order in which they are eliminated is stored. The stored answer is replaced
// if a pivot is raised, or if the requested method has failed at a pivot. Otherwise it stays.
//
// Two rows i and j have the elements (i, j) and (j, i). The element of the row that is eliminated later becomes an
// element of L. The element of the earlier row becomes an element of the inverse, if the inverse is wanted. The
// diagonal becomes the diagonal of the inverse.
#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/pivot_numbers.cuh"
#include "solvers/cuda/common/stored_judgement.cuh"
#include "solvers/cuda/kernels.cuh"

namespace smallbatch {

namespace {

/// Limits that follow from the floor.
struct Repair {
  double floor;     // F of SpdOptions::pivot_floor
  double rounding;  // n u
};

template <int N>
struct RepairMemory {
  static constexpr int pitch = N + 1;
  double s[N * pitch];
  double diagonal[N], pivot[N];  // diagonal[i]: of S A S; pivot[k]: the k-th pivot in order
  int order[N];                  // row of the k-th pivot
};

/// Data about the rows that a lane has: rows lane, lane + 32, and so on.
template <int N>
struct OwnRows {
  static constexpr int rows = N / warp_lanes;
  int half[rows];      // exponents of S
  int place[rows];     // index k of their pivots
  double added[rows];  // amounts added to their diagonal elements in S A S
};

/// Returns the value for row `row` from the lane that has this row. The whole warp calls, with the same row.
template <class V, int Rows>
__device__ V of_row(const V (&values)[Rows], int row) {
  V value = values[0];
#pragma unroll
  for (int u = 1; u < Rows; ++u)
    if (row >= warp_lanes * u) value = values[u];
  return shuffle(value, row % warp_lanes, warp_lanes);
}

constexpr double lowest_double = -0x1.fffffffffffffp+1023;

/// Returns v 2^e as T, rounded once.
template <class T>
__device__ T scaled_to(double v, int e) {
  return static_cast<T>(scale(v, e));
}

/// Computes the exponents of S, and stores S A S in shared memory. Returns 0, or the first row, counted from 1, with a
/// diagonal element that is not positive. The whole warp calls.
template <class T, int N>
__device__ __forceinline__ int take_scaled(const Arguments<T>& args, std::int64_t system, int n,
                                           RepairMemory<N>& memory, OwnRows<N>& own, double& largest_a) {
  constexpr int pitch = RepairMemory<N>::pitch, rows = OwnRows<N>::rows;
  const int lane = threadIdx.x;
  int failed = INT32_MAX;
  largest_a = 0;
#pragma unroll
  for (int u = 0; u < rows; ++u) {
    const int row = warp_lanes * u + lane;
    own.half[u] = 0;
    own.place[u] = N;
    own.added[u] = 0;
    if (row >= n) continue;
    const double diagonal = element(args, system, row, row);
    if (!(diagonal > 0)) failed = min(failed, row + 1);
    own.half[u] = diagonal > 0 ? -(ilogb(diagonal) >> 1) : 0;
    largest_a = max(largest_a, diagonal);
    memory.order[row] = own.half[u];  // `order` holds the exponents for now, so that all lanes can read them
  }
  failed = min_of_group<warp_lanes>(failed);
  if (failed != INT32_MAX) return failed;
  largest_a = max_of_group<warp_lanes>(largest_a);
  __syncwarp();  // the exponents are stored
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int u = 0; u < rows; ++u) {
      const int j = warp_lanes * u + lane;
      if (j >= n) continue;
      const double value = element(args, system, max(i, j), min(i, j));
      memory.s[i * pitch + j] = scale(value, memory.order[i] + own.half[u]);
    }
  __syncwarp();  // the matrix is stored, and the exponents have been read
#pragma unroll
  for (int u = 0; u < rows; ++u)
    if (const int row = warp_lanes * u + lane; row < n) memory.diagonal[row] = memory.s[row * (pitch + 1)];
  __syncwarp();  // the diagonal is stored
  return 0;
}

/// The rows that are not yet eliminated: bit i of number u is row 32 u + i. All lanes have the same bits.
template <int N>
using RowsLeft = unsigned[OwnRows<N>::rows];

/// Returns the row to be eliminated next: the first candidate. A row's share is its pivot divided by its diagonal
/// element. `raising` becomes true when the largest share is below `floor`. Until then only rows with nearly the
/// largest share are candidates, afterwards all rows. Returns -1 if shares are NaN. The whole warp calls.
template <int N>
__device__ __forceinline__ int next_row(const RepairMemory<N>& memory, const RowsLeft<N>& left, double floor,
                                        bool& raising) {
  constexpr int pitch = RepairMemory<N>::pitch, rows = OwnRows<N>::rows;
  const int lane = threadIdx.x;
  double share[rows], largest = lowest_double;
#pragma unroll
  for (int u = 0; u < rows; ++u) {
    const int row = warp_lanes * u + lane;
    share[u] = (left[u] >> lane & 1) != 0 ? memory.s[row * (pitch + 1)] / memory.diagonal[row] : lowest_double;
    largest = max(largest, share[u]);
  }
  largest = max_of_group<warp_lanes>(largest);
  raising = raising || !(largest >= floor);
  int row = -1;
#pragma unroll
  for (int u = rows - 1; u >= 0; --u) {
    const bool is_left = (left[u] >> lane & 1) != 0;
    const unsigned candidates =
        __ballot_sync(whole_warp, is_left && (raising || share[u] >= spd_nearly_largest * largest));
    if (candidates != 0) row = warp_lanes * u + __ffs(static_cast<int>(candidates)) - 1;
  }
  return row;
}

/// Returns the least pivot for `row` that keeps the multipliers and the later pivots within the limits that the floor
/// sets. The whole warp calls.
template <int N>
__device__ __forceinline__ double raised_pivot(const RepairMemory<N>& memory, const RowsLeft<N>& left, double floor,
                                               int row) {
  constexpr int pitch = RepairMemory<N>::pitch, rows = OwnRows<N>::rows;
  const int lane = threadIdx.x;
  double pivot = floor * memory.diagonal[row];
#pragma unroll
  for (int u = 0; u < rows; ++u) {
    const int i = warp_lanes * u + lane;
    if ((left[u] >> lane & 1) == 0) continue;
    const double c = memory.s[row * pitch + i];
    pivot = max(pivot, c * c / (floor * memory.diagonal[i]));
  }
  return max_of_group<warp_lanes>(pivot);
}

/// Eliminates step k with the pivot of `row`. The whole warp calls.
template <int N>
__device__ __forceinline__ void eliminate_row(RepairMemory<N>& memory, OwnRows<N>& own, const RowsLeft<N>& left, int k,
                                              int row, double pivot) {
  constexpr int pitch = RepairMemory<N>::pitch, rows = OwnRows<N>::rows;
  const int lane = threadIdx.x;
  if (lane == 0) {
    memory.order[k] = row;
    memory.pivot[k] = pivot;
  }
  double column[rows];
#pragma unroll
  for (int u = 0; u < rows; ++u) {
    const int i = warp_lanes * u + lane;
    if (i == row) own.place[u] = k;
    column[u] = 0;
    if ((left[u] >> lane & 1) == 0) continue;
    column[u] = memory.s[row * pitch + i];
    memory.s[i * pitch + row] = column[u] / pivot;
  }
  __syncwarp();  // the column of L is complete
  unrolled<rows>([&](auto v) __attribute__((always_inline)) {
#pragma unroll 1
    for (unsigned rest = left[v]; rest != 0; rest &= rest - 1) {
      const int i = warp_lanes * v + __ffs(static_cast<int>(rest)) - 1;
      const double l = memory.s[i * pitch + row];
#pragma unroll
      for (int u = 0; u < rows; ++u) {
        const int j = warp_lanes * u + lane;
        if ((left[u] >> lane & 1) != 0) memory.s[i * pitch + j] = fma(-l, column[u], memory.s[i * pitch + j]);
      }
    }
  });
  __syncwarp();  // the step is complete
}

/// Factors the nearby matrix. Returns 0, or the number, counted from 1, of a row that prevents the repair. Its diagonal
/// element is not positive, or would have to grow by more than is allowed. `repaired` becomes the number of raised
/// pivots. `perturbation` becomes the largest increase, relative to the diagonal element. The whole warp calls, with
/// the same arguments.
template <class T, int N>
__device__ int factor_nearby(const Arguments<T>& args, const Repair& repair, std::int64_t system,
                             RepairMemory<N>& memory, OwnRows<N>& own, int& repaired, double& perturbation) {
  constexpr int pitch = RepairMemory<N>::pitch, rows = OwnRows<N>::rows;
  const int lane = threadIdx.x, n = rows_of(args, system);
  double largest_a;
  if (const int failed = take_scaled<T, N>(args, system, n, memory, own, largest_a); failed != 0) return failed;
  RowsLeft<N> left;
#pragma unroll
  for (int u = 0; u < rows; ++u) left[u] = __ballot_sync(whole_warp, warp_lanes * u + lane < n);
  bool raising = false;
  repaired = 0;
  perturbation = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    const int row = next_row<N>(memory, left, repair.floor, raising);
    if (row < 0) return n;  // shares are NaN
#pragma unroll
    for (int u = 0; u < rows; ++u) left[u] &= __ballot_sync(whole_warp, warp_lanes * u + lane != row);
    const double found = memory.s[row * (pitch + 1)], diagonal = memory.diagonal[row];
    double pivot = found;
    if (raising) {
      pivot = raised_pivot<N>(memory, left, repair.floor, row);
      const double added = pivot - found;
      ++repaired;
      perturbation = max(perturbation, added / diagonal);
      int half = 0;
#pragma unroll
      for (int u = 0; u < rows; ++u)
        if (warp_lanes * u + lane == row) {
          own.added[u] = added;
          half = own.half[u];
        }
      half = shuffle(half, row % warp_lanes, warp_lanes);
      const double allowed = max(repair.floor * diagonal, scale(repair.rounding * largest_a, 2 * half));
      if (!(added <= spd_largest_repair * allowed)) return row + 1;
    }
    eliminate_row<N>(memory, own, left, k, row, pivot);
  }
  return 0;
}

/// Solves L D L^T y = b in place; each lane has some rows of y.
template <int N>
__device__ void solve_nearby(int n, const RepairMemory<N>& memory, const OwnRows<N>& own,
                             double (&y)[OwnRows<N>::rows]) {
  constexpr int pitch = RepairMemory<N>::pitch, rows = OwnRows<N>::rows;
  const int lane = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    const int row = memory.order[k];
    const double value = of_row(y, row);
#pragma unroll
    for (int u = 0; u < rows; ++u)
      if (own.place[u] > k && own.place[u] < N)
        y[u] = fma(-memory.s[(warp_lanes * u + lane) * pitch + row], value, y[u]);
  }
#pragma unroll
  for (int u = 0; u < rows; ++u)
    if (own.place[u] < N) y[u] /= memory.pivot[own.place[u]];
#pragma unroll 1
  for (int k = n - 1; k >= 0; --k) {
    const int row = memory.order[k];
    const double value = of_row(y, row);
#pragma unroll
    for (int u = 0; u < rows; ++u)
      if (own.place[u] < k) y[u] = fma(-memory.s[row * pitch + warp_lanes * u + lane], value, y[u]);
  }
}

/// Computes the inverse Y D^-1 Y^T with L^T Y = I, in the elements of `memory.s` that L does not use. These are the
/// diagonal and, in each row, the columns of rows that are eliminated later.
template <int N>
__device__ void invert_nearby(int n, RepairMemory<N>& memory, const OwnRows<N>& own) {
  constexpr int pitch = RepairMemory<N>::pitch, rows = OwnRows<N>::rows;
  const int lane = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    const int row = memory.order[k];
#pragma unroll
    for (int u = 0; u < rows; ++u)
      if (own.place[u] >= k && own.place[u] < N) memory.s[row * pitch + warp_lanes * u + lane] = 0;
  }
  __syncwarp();  // these elements are 0
#pragma unroll 1
  for (int c = 0; c < n; ++c) {
    // Column c of Y: L^T y = e_c. Rows that come after the c-th in order are 0.
    double y[rows];
#pragma unroll
    for (int u = 0; u < rows; ++u) y[u] = own.place[u] == c ? 1 : 0;
#pragma unroll 1
    for (int k = c; k >= 0; --k) {
      const int row = memory.order[k];
      const double value = of_row(y, row);
#pragma unroll
      for (int u = 0; u < rows; ++u)
        if (own.place[u] < k) y[u] = fma(-memory.s[row * pitch + warp_lanes * u + lane], value, y[u]);
    }
    const double per_pivot = 1 / memory.pivot[c];
#pragma unroll 1
    for (int k = 0; k <= c; ++k) {
      const int row = memory.order[k];
      const double value = of_row(y, row) * per_pivot;
#pragma unroll
      for (int u = 0; u < rows; ++u)
        if (own.place[u] >= k && own.place[u] <= c) {
          double& element = memory.s[row * pitch + warp_lanes * u + lane];
          element = fma(value, y[u], element);
        }
    }
    __syncwarp();  // the part of the inverse that other lanes will read is written
  }
}

/// Returns element (row, j) of the inverse that invert_nearby() has computed; j is the lane's row in slot u. `place` is
/// the index of the pivot of `row`.
template <int N>
__device__ double inverse_element(const RepairMemory<N>& memory, const OwnRows<N>& own, int row, int place, int u) {
  constexpr int pitch = RepairMemory<N>::pitch;
  const int j = warp_lanes * u + static_cast<int>(threadIdx.x);
  return place <= own.place[u] ? memory.s[row * pitch + j] : memory.s[j * pitch + row];
}

/// Stores the solutions. Returns their status.
template <class T, int N>
__device__ std::int32_t store_solutions(const Arguments<T>& args, std::int64_t system, const RepairMemory<N>& memory,
                                        const OwnRows<N>& own) {
  constexpr int rows = OwnRows<N>::rows, lowest = -1 << 20;
  const int lane = threadIdx.x, n = rows_of(args, system);
  std::int32_t info = 0;
#pragma unroll 1
  for (int column = 0; column < args.nrhs; ++column) {
    double y[rows];
    int top = lowest;
#pragma unroll
    for (int u = 0; u < rows; ++u) {
      const std::int64_t row = warp_lanes * u + lane;
      y[u] = row < n ? static_cast<double>(args.b[system * args.b_step + row * args.nrhs + column]) : 0.0;
      if (y[u] != 0) top = max(top, ilogb(y[u]) + own.half[u]);
    }
    top = max_of_group<warp_lanes>(top);
    if (top == lowest) top = 0;
#pragma unroll
    for (int u = 0; u < rows; ++u) y[u] = scale(y[u], own.half[u] - top);
    solve_nearby<N>(n, memory, own, y);
    int top_x = lowest;
#pragma unroll
    for (int u = 0; u < rows; ++u)
      if (y[u] != 0) top_x = max(top_x, ilogb(y[u]) + own.half[u] + top);
    top_x = max_of_group<warp_lanes>(top_x);
    double lost = 0, norm = 0;
    bool bad = false;
#pragma unroll
    for (int u = 0; u < rows; ++u) {
      const std::int64_t row = warp_lanes * u + lane;
      if (row >= n) continue;
      const T stored = scaled_to<T>(y[u], own.half[u] + top);
      bad |= not_finite(stored);
      const double exact = scale(y[u], own.half[u] + top - top_x);
      lost += abs(exact - scale(static_cast<double>(stored), -top_x));
      norm += abs(exact);
      args.to.x[system * args.to.x_stride + row * args.nrhs + column] = stored;
    }
    constexpr double limit = spd_underflow_loss * static_cast<double>(Traits<T>::eps) / 2;
    const bool tiny = sum_of_group<warp_lanes>(lost) > limit * sum_of_group<warp_lanes>(norm);
    if (__any_sync(whole_warp, bad))
      info = info_result_not_finite;
    else if (tiny && info == 0)
      info = info_result_underflowed;
  }
  return info;
}

template <class T, int N>
__device__ std::int32_t store_inverse(const Arguments<T>& args, std::int64_t system, const RepairMemory<N>& memory,
                                      const OwnRows<N>& own) {
  constexpr int rows = OwnRows<N>::rows;
  const int lane = threadIdx.x, n = rows_of(args, system);
  bool bad = false;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    const int row = memory.order[k];
    const int half = of_row(own.half, row);
#pragma unroll
    for (int u = 0; u < rows; ++u) {
      const int j = warp_lanes * u + lane;
      if (j >= n) continue;
      const T stored = scaled_to<T>(inverse_element<N>(memory, own, row, k, u), half + own.half[u]);
      bad |= not_finite(stored);
      args.to.x[system * args.to.x_stride + row * args.n + j] = stored;
    }
  }
  return __any_sync(whole_warp, bad) ? info_result_not_finite : 0;
}

/// Returns 1 / (||A + diag(e)||_1 ||(A + diag(e))^-1||_1), where e has the amounts added to the diagonal of A.
template <class T, int N>
__device__ double rcond_of_nearby(const Arguments<T>& args, std::int64_t system, const RepairMemory<N>& memory,
                                  const OwnRows<N>& own) {
  constexpr int rows = OwnRows<N>::rows, lowest = -1 << 20;
  const int lane = threadIdx.x, n = rows_of(args, system);
  int top = lowest;
#pragma unroll
  for (int u = 0; u < rows; ++u)
    if (const int row = warp_lanes * u + lane; row < n)
      top = max(top, ilogb(static_cast<double>(element(args, system, row, row))));
  top = max_of_group<warp_lanes>(top);
  double sum[rows], sum_inverse[rows];  // row sums of (A + diag(e)) 2^-top, and of its inverse
#pragma unroll
  for (int u = 0; u < rows; ++u) {
    sum[u] = scale(own.added[u], -2 * own.half[u] - top);
    sum_inverse[u] = 0;
  }
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    const int row = memory.order[k];
    const int half = of_row(own.half, row);
#pragma unroll
    for (int u = 0; u < rows; ++u) {
      const int j = warp_lanes * u + lane;
      if (j >= n) continue;
      sum[u] += abs(scale(static_cast<double>(element(args, system, max(row, j), min(row, j))), -top));
      sum_inverse[u] += abs(scale(inverse_element<N>(memory, own, row, k, u), half + own.half[u] + top));
    }
  }
  double norm = 0, norm_inverse = 0;
#pragma unroll
  for (int u = 0; u < rows; ++u) {
    norm = max(norm, sum[u]);
    norm_inverse = max(norm_inverse, sum_inverse[u]);
  }
  return 1 / max_of_group<warp_lanes>(norm) / max_of_group<warp_lanes>(norm_inverse);
}

template <class T>
__device__ void store_failure(const Arguments<T>& args, std::int64_t system, std::int32_t info) {
  const int n = rows_of(args, system), columns = args.inverse ? n : args.nrhs;
  const std::int64_t pitch = args.inverse ? args.n : args.nrhs;
#pragma unroll 1
  for (int i = 0; i < n && args.to.x != nullptr; ++i)
#pragma unroll 1
    for (int c = threadIdx.x; c < columns; c += warp_lanes)
      args.to.x[system * args.to.x_stride + i * pitch + c] = not_a_number<T>();
  if (threadIdx.x != 0) return;
  args.to.info[system] = info;
  if (args.to.backward_error != nullptr) args.to.backward_error[system] = not_a_number<T>();
  if (args.to.rcond != nullptr) args.to.rcond[system] = not_a_number<T>();
  forget_pivots(args, system);
}

/// Repairs systems. The RepairMemory of a block is in its dynamic shared memory. With `InWorkspace`, it is
/// matrices[blockIdx.x] instead.
template <class T, int N, bool InWorkspace>
__global__ void __launch_bounds__(warp_lanes, 1)
    repair_kernel(Arguments<T> args, double pivot_floor, RepairMemory<N>* matrices) {
  constexpr int rows = OwnRows<N>::rows;
  extern __shared__ double block_memory[];
  RepairMemory<N>& memory = InWorkspace ? matrices[blockIdx.x] : *reinterpret_cast<RepairMemory<N>*>(block_memory);
  const int lane = threadIdx.x;
#pragma unroll 1
  for (std::int64_t system = blockIdx.x; system < args.count; system += gridDim.x) {
    __syncwarp();  // the previous system is done
    const std::int32_t found = args.to.info[system];
    const int n = rows_of(args, system);
    if (is_input_refused(found) || n == 0) continue;
    const Repair repair{spd_used_floor<T>(pivot_floor, n), spd_used_floor<T>(0, n)};
    OwnRows<N> own;
    int repaired = 0;
    double perturbation = 0;
    const int failed = factor_nearby<T, N>(args, repair, system, memory, own, repaired, perturbation);
    if (failed != 0) {
      if (found == 0) store_failure(args, system, failed);
      continue;
    }
    if (repaired == 0 && found <= 0) continue;

    std::int32_t status = 0;
    if (args.to.x != nullptr && !args.inverse) status = store_solutions<T, N>(args, system, memory, own);
    if (args.inverse || args.to.rcond != nullptr) invert_nearby<N>(n, memory, own);
    if (args.inverse) status = store_inverse<T, N>(args, system, memory, own);
    if (status != 0) {
      store_failure(args, system, status);
      continue;
    }
    const double rcond = args.to.rcond != nullptr ? rcond_of_nearby<T, N>(args, system, memory, own) : 0;
    PivotNumbers<T> numbers;
#pragma unroll
    for (int u = 0; u < rows; ++u)
      if (own.place[u] < N) numbers.add(memory.pivot[own.place[u]], own.half[u]);
    numbers.template combine<warp_lanes>();
    __syncwarp();  // x is stored
    double error = 0;
    if (args.to.backward_error != nullptr && args.to.x != nullptr)
      error = judge_as_stored<warp_lanes>(args, system, lane, 0, args.inverse ? n : args.nrhs).backward_error;
    if (lane != 0) continue;
    args.to.info[system] = 0;
    if (args.to.backward_error != nullptr) args.to.backward_error[system] = static_cast<T>(error);
    if (args.to.rcond != nullptr) args.to.rcond[system] = static_cast<T>(rcond);
    numbers.store(args, system, repaired, perturbation);
  }
}

using LargestMatrix = RepairMemory<max_system_size>;
constexpr int most_in_shared_memory = 128;       // rows
constexpr std::int64_t most_in_workspace = 256;  // most matrices that warps work on at a time
static_assert(sizeof(RepairMemory<64>) <= shared_bytes_everywhere);

}  // namespace

std::size_t pivot_repair_bytes(int n, std::int64_t count) {
  return n <= 64 ? 0 : static_cast<std::size_t>(std::min(count, most_in_workspace)) * sizeof(LargestMatrix);
}

bool pivot_repair_needs_workspace(int n) {
  if (n <= 64) return false;
  return n > most_in_shared_memory || shared_bytes_of_device() < sizeof(RepairMemory<most_in_shared_memory>);
}

template <class T>
cudaError_t launch_pivot_repair(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                                std::byte* workspace, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const int n = batch.shape.n;
  const Arguments<T> arguments = arguments_of(batch, solution);
  constexpr std::int64_t max_blocks = 1 << 15;
  const auto launch_with = [&]<int N>(auto kernel, std::integral_constant<int, N>, std::int64_t most,
                                      int shared_bytes) {
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (status != cudaSuccess) return status;
    const auto blocks = static_cast<unsigned>(std::min(most, batch.count));
    kernel<<<blocks, warp_lanes, shared_bytes, stream>>>(arguments, pivot_floor,
                                                         reinterpret_cast<RepairMemory<N>*>(workspace));
    return cudaGetLastError();
  };
  const auto in_shared_memory = [&]<int N>(std::integral_constant<int, N> size) {
    return launch_with(repair_kernel<T, N, false>, size, max_blocks, static_cast<int>(sizeof(RepairMemory<N>)));
  };
  if (n <= 32) return in_shared_memory(std::integral_constant<int, 32>{});
  if (n <= 64) return in_shared_memory(std::integral_constant<int, 64>{});
  if (!pivot_repair_needs_workspace(n)) return in_shared_memory(std::integral_constant<int, most_in_shared_memory>{});
  return launch_with(repair_kernel<T, max_system_size, true>, std::integral_constant<int, max_system_size>{},
                     most_in_workspace, 0);
}

template cudaError_t launch_pivot_repair(const SpdBatch<float>&, const SpdSolution<float>&, double, std::byte*,
                                         cudaStream_t);
template cudaError_t launch_pivot_repair(const SpdBatch<double>&, const SpdSolution<double>&, double, std::byte*,
                                         cudaStream_t);

}  // namespace smallbatch
