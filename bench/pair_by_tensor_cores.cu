// U = sum_i sum_j q_i q_j / |a_i - b_j|. The tensor cores compute squared distances in double precision, as in the
// production kernel (physics/charges/cuda/pair_tiles.cuh). No pair may be nearer than 2^-11 angstrom or farther than
// 2^11 angstrom; the production kernel has no such limits.
//
// A warp has 64 rows in four tiles. Each lane has 16 pairs for every 8 columns. A block of 128 threads has 256 rows and
// 4096 columns.
#include <cstdint>

#include "bench/pair_steps.hpp"
#include "physics/charges/cuda/pair_tiles.cuh"
#include "physics/pair_sum.cuh"

namespace smallbatch {

namespace {

constexpr int columns_per_block = 4096;
constexpr double scale = 0x1p12;  // for coordinates: a distance of 2^-11 angstrom becomes 2

/// In `TilesWithSoftware` of a warp's four tiles, a lane computes every fourth root by software_rsqrt(). The
/// special-function unit computes all other roots.
template <int TilesWithSoftware>
__global__ void __launch_bounds__(pair_threads, 4)
    tensor_cores(const float4* rows, int row_count, const float4* columns, int column_count, double* partial) {
  __shared__ StagedPlace place[columns_staged];
  __shared__ alignas(16) double norm2[columns_staged];
  __shared__ alignas(8) float charge[columns_staged];
  const int lane = threadIdx.x % warp_lanes, g = lane / 4, t = lane % 4;
  const int row0 = blockIdx.x * rows_per_block + threadIdx.x / warp_lanes * rows_per_warp;
  const auto row_of = [&](int i, int r) { return row0 + i * rows_per_tile + 8 * r + g; };
  double a[tiles_per_warp][2];                                       // registers
  float sum[tiles_per_warp][2] = {}, total[tiles_per_warp][2] = {};  // registers
#pragma unroll
  for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float4 row = rows[min(row_of(i, r), row_count - 1)];
      const double x = scale * row.x, y = scale * row.y, z = scale * row.z;
      a[i][r] = t == 3 ? x * x + y * y + z * z : -2 * (t == 0 ? x : t == 1 ? y : z);
    }
  const int first_column = blockIdx.y * columns_per_block;
  const int end = min(column_count, first_column + columns_per_block);
#pragma unroll 1
  for (int begin = first_column; begin < end; begin += columns_staged) {
    __syncthreads();  // all threads have read the previous columns
    const int mine = begin + static_cast<int>(threadIdx.x);
    const float4 column = mine < end ? columns[mine] : float4{1024, 0, 0, 0};
    const double x = scale * column.x, y = scale * column.y, z = scale * column.z;
    place[threadIdx.x] = {x, y, z, 1};
    norm2[threadIdx.x] = x * x + y * y + z * z;
    charge[threadIdx.x] = column.w;
    __syncthreads();  // the next columns are stored
    const auto* const b = reinterpret_cast<const double*>(place);
#pragma unroll 1
    for (int group = 0; group < columns_staged; group += columns_per_sum) {
#pragma unroll 2
      for (int first = group; first < group + columns_per_sum; first += columns_per_tile) {
        double c[4];
        load_twice(norm2 + first + 2 * t, c);
        const double of_columns = b[4 * first + lane];
        const float2 q = *reinterpret_cast<const float2*>(charge + first + 2 * t);
#pragma unroll
        for (int i = 0; i < tiles_per_warp; ++i) {
          double r2[4];
          multiply_tile(a[i], of_columns, c, r2);
#pragma unroll
          for (int v = 0; v < 4; ++v)
            add_root(scaled_float(r2[v]), v % 2 == 0 ? q.x : q.y, v == 3 && i < TilesWithSoftware, sum[i][v / 2]);
        }
      }
#pragma unroll
      for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r) settle(total[i][r], sum[i][r]);
    }
  }
  double mine = 0;
#pragma unroll
  for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r)
      if (row_of(i, r) < row_count)
        mine += rows[row_of(i, r)].w * (static_cast<double>(total[i][r]) + static_cast<double>(sum[i][r]));
  mine = add_values_as_tree<pair_threads>(per_scaled_root * correction_of_truncation * scale * mine);
  if (threadIdx.x == 0) partial[static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = mine;
}

template <int TilesWithSoftware>
void launch_tensor_cores(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy,
                         cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block),
                    static_cast<unsigned>((columns + columns_per_block - 1) / columns_per_block));
  tensor_cores<TilesWithSoftware><<<blocks, pair_threads, 0, stream>>>(a, rows, b, columns, partial);
  add_pieces_kernel<<<1, pair_sum_adders, 0, stream>>>(blocks.x * blocks.y, partial, energy);
}

}  // namespace

std::vector<PairStep> pair_steps_by_tensor_cores() {
  return {
      {"tensor_cores", "squared distances by multiply-adds of matrices in double precision, made floats by a shift",
       launch_tensor_cores<0>},
      {"tensor_cores_eighth_in_software", "every eighth root on the arithmetic pipes", launch_tensor_cores<2>},
      {"tensor_cores_three_in_sixteen", "three of sixteen roots", launch_tensor_cores<3>},
      {"tensor_cores_quarter_in_software", "every fourth root", launch_tensor_cores<4>},
  };
}

}  // namespace smallbatch
