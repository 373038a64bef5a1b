// The steps between the host and production for the energy of two groups of charges, in single precision:
//     U = sum_i sum_j q_i q_j / |a_i - b_j|
// They follow the article "How to optimize two for-loops in cuda". No step inspects its input or treats near pairs
// specially.
#pragma once

#include <cuda_runtime.h>

#include <vector>

namespace smallbatch {

struct PairStep {
  const char* name;
  const char* idea;
  /// All arrays lie on the device. a (rows) and b (columns) have x, y, z and q; `partial` has room for 2^20 numbers.
  /// The launch is asynchronous on `stream`.
  void (*launch)(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy,
                 cudaStream_t stream);
};

/// Steps of the article, then register tiles; bench/pair_by_rows.cu.
std::vector<PairStep> pair_steps_by_rows();

/// Steps with distances on the tensor cores; bench/pair_by_tensor_cores.cu.
std::vector<PairStep> pair_steps_by_tensor_cores();

}  // namespace smallbatch
