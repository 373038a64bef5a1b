// Gauss-Jordan with whole rows in the registers of lanes. No lane waits for another warp. The elimination is that of
// solve_by_blocks.cu, with the division at the end. In step k the factor of equation k is 0, so no lane branches. A
// block is one warp.
//
// A lane owns `Rows` neighbouring rows of a system. So 32 / Rows lanes share a system, and a warp holds `Rows` systems.
// Lanes load columns, because these loads are coalesced. A is symmetric, so the columns are the rows. The part of A
// that is not yet eliminated is symmetric too, so column k is the pivot row.
#include <cuda_pipeline.h>

#include <algorithm>

#include "bench/solve_steps.hpp"
#include "core/device_cuda.hpp"

namespace smallbatch {

namespace {

constexpr int n = 32;
constexpr int warp_lanes = 32;
constexpr unsigned whole_warp = 0xffffffffU;

/// Returns 1/v, exact or with a wrong last bit. The operator `/` has a branch for extreme values, which this function
/// leaves out, because pivots of well-scaled systems are not extreme.
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

/// `Count` numbers that are loaded and stored at once, at most 16 bytes.
template <class T, int Count>
struct alignas(sizeof(T) * Count) Vector {
  T value[Count];
};

/// Each lane has one row. It fetches the pivot row from the registers of lane k, one shuffle per element.
template <class T>
__global__ void __launch_bounds__(warp_lanes)
    by_shuffles(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ x) {
  const int lane = threadIdx.x;
  const std::size_t system = blockIdx.x;
  T row[n];  // registers: row `lane` of A
#pragma unroll
  for (int j = 0; j < n; ++j) row[j] = a[(system * n + j) * n + lane];
  T rhs = b[system * n + lane], diagonal = row[0];
#pragma unroll
  for (int k = 0; k < n; ++k) {
    const T inverse = reciprocal(__shfl_sync(whole_warp, row[k], k));
    const T factor = lane == k ? T(0) : -row[k] * inverse;
    if (lane == k) diagonal = row[k];
    rhs += factor * __shfl_sync(whole_warp, rhs, k);
#pragma unroll
    for (int j = k + 1; j < n; ++j) row[j] += factor * __shfl_sync(whole_warp, row[j], k);
  }
  x[system * n + lane] = rhs * reciprocal(diagonal);
}

/// Data that the lanes of a system share. The pivot column and the pivot's right-hand side exist twice, for even and
/// for odd steps. The division at the end needs the reciprocal pivots, which would cause spills if they were in
/// registers.
template <class T>
struct alignas(16) Published {
  T column[2][n];
  T rhs[2];
  T inverse[n];
};

/// Eliminates the lane's rows and stores its part of x. `published` is in shared memory and belongs to the lane's
/// system. Column k + 1 is finished and published before the rest of step k, to hide the wait for this column. All
/// lanes of the warp call this function.
template <class T, int Rows>
__device__ __forceinline__ void eliminate(T (&row)[Rows][n], T (&rhs)[Rows], int lane, Published<T>& published, T* x) {
  constexpr int piece = 16 / sizeof(T);  // numbers per shared load
  using Own = Vector<T, Rows>;
  auto publish = [&](int k) {
    Own own;
#pragma unroll
    for (int u = 0; u < Rows; ++u) own.value[u] = row[u][k];
    reinterpret_cast<Own*>(published.column[k % 2])[lane] = own;
    if (lane == k / Rows) published.rhs[k % 2] = rhs[k % Rows];
  };
  publish(0);
#pragma unroll
  for (int k = 0; k < n; ++k) {
    __syncwarp();  // column k is published; all lanes have read column k-1, which column k+1 replaces
    const T* column = published.column[k % 2];
    const T inverse = reciprocal(column[k]);
    published.inverse[k] = inverse;
    T factor[Rows];
#pragma unroll
    for (int u = 0; u < Rows; ++u) {
      factor[u] = Rows * lane + u == k ? T(0) : -row[u][k] * inverse;
      rhs[u] += factor[u] * published.rhs[k % 2];
    }
    if (k + 1 < n) {
#pragma unroll
      for (int u = 0; u < Rows; ++u) row[u][k + 1] += factor[u] * column[k + 1];
      publish(k + 1);
    }
#pragma unroll
    for (int j = (k + 2) / piece * piece; j < n; j += piece) {
      const auto loaded = *reinterpret_cast<const Vector<T, piece>*>(column + j);
#pragma unroll
      for (int c = 0; c < piece; ++c)
        if (j + c > k + 1)
#pragma unroll
          for (int u = 0; u < Rows; ++u) row[u][j + c] += factor[u] * loaded.value[c];
    }
  }
  Own answer;
#pragma unroll
  for (int u = 0; u < Rows; ++u)
    answer.value[u] = rhs[u] * published.inverse[Rows * lane + u];  // this lane stored these reciprocals itself
  *reinterpret_cast<Own*>(x + Rows * lane) = answer;
}

/// The pivot column passes through shared memory. A load of 16 bytes brings its numbers to all lanes. One broadcast
/// feeds `Rows` multiply-adds per lane and number.
template <class T, int Rows, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(warp_lanes, BlocksPerMultiprocessor)
    by_broadcasts(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ x, unsigned count) {
  constexpr int lanes = n / Rows;
  __shared__ Published<T> published[Rows];  // shared memory, one for each system
  const unsigned group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const unsigned system =
      min(blockIdx.x * Rows + group, count - 1);  // groups beyond the end solve the last system again
  T row[Rows][n], rhs[Rows];                      // registers: the lane's rows of A and b
  using Own = Vector<T, Rows>;
#pragma unroll
  for (int j = 0; j < n; ++j) {
    const Own loaded = reinterpret_cast<const Own*>(a + (std::size_t{system} * n + j) * n)[lane];
#pragma unroll
    for (int u = 0; u < Rows; ++u) row[u][j] = loaded.value[u];
  }
  const Own loaded = reinterpret_cast<const Own*>(b + std::size_t{system} * n)[lane];
#pragma unroll
  for (int u = 0; u < Rows; ++u) rhs[u] = loaded.value[u];
  eliminate<T, Rows>(row, rhs, lane, published[group], x + std::size_t{system} * n);
}

/// Solves like by_broadcasts(), with only as many blocks as the device holds at once. Each block copies its next
/// systems into shared memory while it works on the current ones. Every lane copies the numbers that it will load
/// itself, so it need not wait for other lanes.
template <class T, int Rows, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(warp_lanes, BlocksPerMultiprocessor)
    by_broadcasts_prefetched(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ x, unsigned count) {
  constexpr int lanes = n / Rows;
  using Own = Vector<T, Rows>;
  __shared__ Published<T> published[Rows];  // shared memory, one for each system
  __shared__ Own next[n + 1][warp_lanes];   // shared memory: each lane's next rows, then b
  const unsigned group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const unsigned step = gridDim.x * Rows;
  auto system_at = [&](unsigned first) { return std::size_t{min(first + group, count - 1)}; };
  auto fetch = [&](unsigned first) {
    const std::size_t system = system_at(first);
#pragma unroll
    for (int j = 0; j < n; ++j)
      __pipeline_memcpy_async(&next[j][threadIdx.x], reinterpret_cast<const Own*>(a + (system * n + j) * n) + lane,
                              sizeof(Own));
    __pipeline_memcpy_async(&next[n][threadIdx.x], reinterpret_cast<const Own*>(b + system * n) + lane, sizeof(Own));
    __pipeline_commit();
  };
  unsigned first = blockIdx.x * Rows;
  fetch(first);
  for (; first < count; first += step) {
    __pipeline_wait_prior(0);
    T row[Rows][n], rhs[Rows];  // registers: the lane's rows of A and b
#pragma unroll
    for (int j = 0; j < n; ++j)
#pragma unroll
      for (int u = 0; u < Rows; ++u) row[u][j] = next[j][threadIdx.x].value[u];
#pragma unroll
    for (int u = 0; u < Rows; ++u) rhs[u] = next[n][threadIdx.x].value[u];
    if (first + step < count) fetch(first + step);
    eliminate<T, Rows>(row, rhs, lane, published[group], x + system_at(first) * n);
    __syncwarp();  // all lanes have read the last step; the next system replaces it
  }
}

template <class T>
void launch_by_shuffles(const T* a, const T* b, T* x, std::int64_t count, cudaStream_t stream) {
  by_shuffles<T><<<static_cast<unsigned>(count), warp_lanes, 0, stream>>>(a, b, x);
}

template <class T, int Rows, int BlocksPerMultiprocessor>
void launch_by_broadcasts(const T* a, const T* b, T* x, std::int64_t count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((count + Rows - 1) / Rows);
  by_broadcasts<T, Rows, BlocksPerMultiprocessor>
      <<<blocks, warp_lanes, 0, stream>>>(a, b, x, static_cast<unsigned>(count));
}

template <class T, int Rows, int BlocksPerMultiprocessor>
void launch_prefetched(const T* a, const T* b, T* x, std::int64_t count, cudaStream_t stream) {
  const auto kernel = by_broadcasts_prefetched<T, Rows, BlocksPerMultiprocessor>;
  int device = 0, multiprocessors = 0, resident = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, warp_lanes, 0));
  const std::int64_t blocks = std::min((count + Rows - 1) / Rows, std::int64_t{resident} * multiprocessors);
  kernel<<<static_cast<unsigned>(blocks), warp_lanes, 0, stream>>>(a, b, x, static_cast<unsigned>(count));
}

constexpr auto one_row_idea = "pivot column through shared memory, 16-byte broadcasts, one step ahead";
constexpr auto two_rows_idea = "two systems per warp: every broadcast feeds two multiply-adds per lane";

}  // namespace

template <>
std::vector<SolveStep<float>> solve_steps_by_warps() {
  return {
      {"lane_per_row_shuffles", "a warp per system, one row in registers per lane, pivot row by shuffles",
       launch_by_shuffles<float>},
      {"lane_per_row_broadcasts", one_row_idea, launch_by_broadcasts<float, 1, 16>},
      {"two_rows_per_lane", two_rows_idea, launch_by_broadcasts<float, 2, 16>},
      {"four_rows_per_lane", "four systems per warp", launch_by_broadcasts<float, 4, 12>},
      {"four_rows_per_lane_prefetch", "the next four systems are copied to shared memory meanwhile",
       launch_prefetched<float, 4, 12>},
  };
}

template <>
std::vector<SolveStep<double>> solve_steps_by_warps() {
  return {
      {"lane_per_row_broadcasts", one_row_idea, launch_by_broadcasts<double, 1, 12>},
      {"two_rows_per_lane", two_rows_idea, launch_by_broadcasts<double, 2, 12>},
  };
}

}  // namespace smallbatch
