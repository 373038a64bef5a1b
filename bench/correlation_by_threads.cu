// Each thread sums Rows x Columns entries of a channel's matrix V_ij. Its inputs i are 16 apart, and so are its inputs
// j. The thread keeps these entries in registers over all times. With more entries per thread, each sample that is read
// is used more often: 1 x 1 has one multiply-add for two samples, 8 x 8 has eight for two.
#include "bench/correlation_steps.hpp"

namespace smallbatch {

namespace {

constexpr int side = 16;         // threads of a block along i and along j
constexpr int staged_times = 8;  // times in shared memory at once

struct Complex {
  float re, im;
};

__device__ void add_product(Complex& v, float2 x, float2 y) {
  v.re = fmaf(x.x, y.x, fmaf(x.y, y.y, v.re));
  v.im = fmaf(x.y, y.x, fmaf(-x.x, y.y, v.im));
}

template <int Rows, int Columns, bool IsStaged>
__global__ void __launch_bounds__(side* side) correlate_kernel(SignalBatch signal, Complex* visibility) {
  constexpr int tile_rows = side * Rows, tile_columns = side * Columns;
  const int inputs = static_cast<int>(signal.inputs), first_i = blockIdx.y * tile_rows,
            first_j = blockIdx.x * tile_columns;
  if (first_j > min(first_i + tile_rows, inputs) - 1) return;  // above the diagonal
  const std::int64_t channel = blockIdx.z;
  const auto x = static_cast<const float2*>(signal.signal) + channel * signal.times * inputs;
  const int ti = threadIdx.y, tj = threadIdx.x;
  Complex v[Rows][Columns] = {};
  if constexpr (IsStaged) {
    __shared__ float2 rows[staged_times][tile_rows], columns[staged_times][tile_columns];
    for (std::int64_t begin = 0; begin < signal.times; begin += staged_times) {
      __syncthreads();  // all threads have read the previous samples
      const auto stage = [&](auto& tile, int width, int first) {
        for (int k = ti * side + tj; k < staged_times * width; k += side * side) {
          const int t = k / width, input = first + k % width;
          const bool is_there = begin + t < signal.times && input < inputs;
          tile[t][k % width] = is_there ? x[(begin + t) * inputs + input] : float2{0, 0};
        }
      };
      stage(rows, tile_rows, first_i);
      stage(columns, tile_columns, first_j);
      __syncthreads();  // all samples are staged
#pragma unroll
      for (int t = 0; t < staged_times; ++t) {
        float2 xi[Rows], xj[Columns];
#pragma unroll
        for (int r = 0; r < Rows; ++r) xi[r] = rows[t][ti + side * r];
#pragma unroll
        for (int c = 0; c < Columns; ++c) xj[c] = columns[t][tj + side * c];
#pragma unroll
        for (int r = 0; r < Rows; ++r)
#pragma unroll
          for (int c = 0; c < Columns; ++c) add_product(v[r][c], xi[r], xj[c]);
      }
    }
  } else {
    for (std::int64_t t = 0; t < signal.times; ++t) {
      float2 xi[Rows], xj[Columns];
#pragma unroll
      for (int r = 0; r < Rows; ++r) xi[r] = x[t * inputs + min(first_i + ti + side * r, inputs - 1)];
#pragma unroll
      for (int c = 0; c < Columns; ++c) xj[c] = x[t * inputs + min(first_j + tj + side * c, inputs - 1)];
#pragma unroll
      for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int c = 0; c < Columns; ++c) add_product(v[r][c], xi[r], xj[c]);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      const int i = first_i + ti + side * r, j = first_j + tj + side * c;
      if (i >= inputs || j > i) continue;
      if (i == j) v[r][c].im = 0;
      visibility[channel * baselines_of(inputs) + baseline_of(i, j)] = v[r][c];
    }
}

template <int Rows, int Columns, bool IsStaged>
void launch(const SignalBatch& signal, void* visibility, cudaStream_t stream) {
  const auto blocks = [&](int entries) { return static_cast<unsigned>((signal.inputs - 1) / (side * entries) + 1); };
  const dim3 grid(blocks(Columns), blocks(Rows), static_cast<unsigned>(signal.channels));
  correlate_kernel<Rows, Columns, IsStaged>
      <<<grid, dim3(side, side), 0, stream>>>(signal, static_cast<Complex*>(visibility));
  check(cudaGetLastError());
}

}  // namespace

std::vector<CorrelationStep> correlation_steps_by_threads() {
  return {
      {"entries_1x1", "a thread per visibility: two samples are read for one multiply-add", launch<1, 1, false>},
      {"entries_2x1", "two visibilities per thread: three samples are read for two multiply-adds", launch<2, 1, false>},
      {"entries_2x2", "four samples for four", launch<2, 2, false>},
      {"entries_4x4", "eight for sixteen", launch<4, 4, false>},
      {"entries_8x8", "sixteen for 64: registers leave one block of threads on a multiprocessor", launch<8, 8, false>},
      {"entries_4x4_staged", "the samples of 8 times in shared memory first", launch<4, 4, true>},
      {"entries_8x8_staged", "the same, 8 x 8", launch<8, 8, true>},
  };
}

}  // namespace smallbatch
