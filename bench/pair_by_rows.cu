// U = sum_i sum_j q_i q_j / |a_i - b_j|. First a thread has one row, then several. The first steps are from the article
// that bench/pair_steps.hpp names. They read the columns in three ways, and sum by warp shuffles before one atomic.
// Then sums have a fixed order, without an atomic. Register tiles come last: several rows of a thread share each column
// that it reads.
//
// A block of 128 threads has 128 x `Rows` rows. With register tiles, a block also has only 1024 columns, so that there
// are enough blocks.
#include <cstdint>

#include "bench/pair_steps.hpp"
#include "physics/charges/cuda/software_rsqrt.cuh"
#include "physics/pair_sum.cuh"

namespace smallbatch {

namespace {

constexpr int threads = 128, lanes = 32;
constexpr unsigned all_lanes = 0xffffffffU;

__device__ __forceinline__ float squared_distance(const float4& a, const float4& b) {
  const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
  return fmaf(dx, dx, fmaf(dy, dy, dz * dz));
}

__device__ __forceinline__ float hardware_root(float r2) {
  float root;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(r2));
  return root;
}

/// How a thread reads the columns.
enum class Columns {
  broadcast,  ///< all lanes read one column, from global memory
  tiled,      ///< all lanes read one column, from shared memory, which holds 128
  diagonal,   ///< each lane reads a different column, from shared memory
};

/// How a thread's sum reaches the total.
enum class Total {
  atomic_per_thread,
  atomic_per_warp,  ///< after a sum over the warp by shuffles
  per_block,        ///< each block stores its sum; a second launch adds these in their order
};

__device__ void add_to_total(Total how, double mine, double* partial, double* energy) {
  if (how == Total::atomic_per_thread) {
    atomicAdd(energy, mine);
  } else if (how == Total::atomic_per_warp) {
    for (int distance = lanes / 2; distance > 0; distance /= 2) mine += __shfl_down_sync(all_lanes, mine, distance);
    if (threadIdx.x % lanes == 0) atomicAdd(energy, mine);
  } else {
    mine = add_values_as_tree<threads>(mine);
    if (threadIdx.x == 0) partial[static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = mine;
  }
}

template <Columns how, Total total>
__global__ void __launch_bounds__(threads)
    row_per_thread(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy) {
  __shared__ float4 shared_columns[threads];
  const int i = blockIdx.x * threads + threadIdx.x;
  const float4 row = a[min(i, rows - 1)];
  float sum = 0;
  if constexpr (how == Columns::broadcast) {
#pragma unroll 4
    for (int j = 0; j < columns; ++j) sum += b[j].w * rsqrtf(squared_distance(row, b[j]));
  } else {
    for (int begin = 0; begin < columns; begin += threads) {
      __syncthreads();  // all threads have read the previous columns
      const int mine = begin + static_cast<int>(threadIdx.x);
      // Beyond the last column, a charge of 0 is stored that is far from all rows.
      shared_columns[threadIdx.x] = mine < columns ? b[mine] : float4{-1e15F, -1e15F, -1e15F, 0};
      __syncthreads();  // the next columns are stored
#pragma unroll 4
      for (int k = 0; k < threads; ++k) {
        const int j = how == Columns::diagonal ? (k + static_cast<int>(threadIdx.x)) % threads : k;
        sum += shared_columns[j].w * rsqrtf(squared_distance(row, shared_columns[j]));
      }
    }
  }
  add_to_total(total, i < rows ? static_cast<double>(row.w) * static_cast<double>(sum) : 0, partial, energy);
}

constexpr int columns_per_block = 1024;

/// Computes every `Period`-th root by software_rsqrt(), and all others by the special-function unit. With Period 0,
/// this unit computes every root.
template <int Rows, int Period>
__global__ void __launch_bounds__(threads)
    rows_per_thread(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy) {
  __shared__ float4 shared_columns[threads];
  const int first = blockIdx.x * threads * Rows + threadIdx.x;
  float4 row[Rows];          // registers
  double of_row[Rows] = {};  // registers
#pragma unroll
  for (int k = 0; k < Rows; ++k) row[k] = a[min(first + k * threads, rows - 1)];
  const int column0 = blockIdx.y * columns_per_block, end = min(columns, column0 + columns_per_block);
#pragma unroll 1
  for (int begin = column0; begin < end; begin += threads) {
    __syncthreads();  // all threads have read the previous columns
    const int mine = begin + static_cast<int>(threadIdx.x);
    shared_columns[threadIdx.x] = mine < end ? b[mine] : float4{-1e15F, -1e15F, -1e15F, 0};
    __syncthreads();  // the next columns are stored
    float sum[Rows] = {};
#pragma unroll 4
    for (int j = 0; j < threads; ++j) {
      const float4 column = shared_columns[j];
#pragma unroll
      for (int k = 0; k < Rows; ++k) {
        const float r2 = squared_distance(row[k], column);
        if (Period > 0 && (j + k) % (Period > 0 ? Period : 1) == 0) {
          const SoftwareRsqrt root = software_rsqrt<production_rsqrt_degree>(r2);
          sum[k] = fmaf(column.w * root.seed, root.correction, sum[k]);
        } else {
          sum[k] = fmaf(column.w, hardware_root(r2), sum[k]);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < Rows; ++k) of_row[k] += static_cast<double>(sum[k]);
  }
  double mine = 0;
#pragma unroll
  for (int k = 0; k < Rows; ++k)
    if (first + k * threads < rows) mine += static_cast<double>(row[k].w) * of_row[k];
  add_to_total(Total::per_block, mine, partial, energy);
}

void add_partials(unsigned blocks, const double* partial, double* energy, cudaStream_t stream) {
  add_pieces_kernel<<<1, pair_sum_adders, 0, stream>>>(blocks, partial, energy);
}

template <Columns how, Total total>
void launch_row_per_thread(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy,
                           cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((rows + threads - 1) / threads);
  if (total != Total::per_block) cudaMemsetAsync(energy, 0, sizeof(double), stream);
  row_per_thread<how, total><<<blocks, threads, 0, stream>>>(a, rows, b, columns, partial, energy);
  if (total == Total::per_block) add_partials(blocks, partial, energy, stream);
}

template <int Rows, int Period>
void launch_rows_per_thread(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy,
                            cudaStream_t stream) {
  constexpr int rows_per_block = threads * Rows;
  const dim3 blocks(static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block),
                    static_cast<unsigned>((columns + columns_per_block - 1) / columns_per_block));
  rows_per_thread<Rows, Period><<<blocks, threads, 0, stream>>>(a, rows, b, columns, partial, energy);
  add_partials(blocks.x * blocks.y, partial, energy, stream);
}

/// The function of a pair that a user of the library would write.
struct CoulombPair {
  __device__ float operator()(const float4& a, const float4& b) const {
    return a.w * b.w * hardware_root(squared_distance(a, b));
  }
};
void launch_any_function(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy,
                         cudaStream_t stream) {
  (void)pair_sum(a, rows, b, columns, CoulombPair{}, partial, energy, stream);
}

}  // namespace

std::vector<PairStep> pair_steps_by_rows() {
  return {
      {"coalesced_a_broadcast_b", "a thread per row; all lanes read the same column; an atomic per thread",
       launch_row_per_thread<Columns::broadcast, Total::atomic_per_thread>},
      {"b_in_shared_memory", "columns through shared memory, 128 at a time",
       launch_row_per_thread<Columns::tiled, Total::atomic_per_thread>},
      {"diagonal_walk", "each lane of a warp reads another word of shared memory",
       launch_row_per_thread<Columns::diagonal, Total::atomic_per_thread>},
      {"shuffle_before_atomic", "b_in_shared_memory, a sum over the warp by shuffles and one atomic per warp",
       launch_row_per_thread<Columns::tiled, Total::atomic_per_warp>},
      {"sum_per_block", "no atomic: each block stores its sum, and a second launch adds these in their order",
       launch_row_per_thread<Columns::tiled, Total::per_block>},
      {"two_rows_per_thread",
       "two rows in registers share each column; roots without care for denormals; 1024 columns "
       "per block",
       launch_rows_per_thread<2, 0>},
      {"four_rows_per_thread", "four rows", launch_rows_per_thread<4, 0>},
      {"eight_rows_per_thread", "eight rows", launch_rows_per_thread<8, 0>},
      {"four_rows_eighth_in_software", "every eighth root on the arithmetic pipes", launch_rows_per_thread<4, 8>},
      {"any_function", "pair_sum() with this function: what a user of the library calls", launch_any_function},
  };
}

}  // namespace smallbatch
