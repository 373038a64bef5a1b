// The steps between a host and production for the energy of two groups of charges, in single precision:
//     U = sum_i sum_j q_i q_j / |a_i - b_j|
// After "How to optimize two for-loops in cuda". No step inspects its input or looks after pairs that are near.
#pragma once

#include <cuda_runtime.h>

#include <vector>

namespace smallbatch {

struct PairStep {
  const char* name;
  const char* idea;
  /// a (rows), b (columns): x, y, z and q; `partial` has room for 2^20 numbers; on the device. Asynchronous on
  /// `stream`.
  void (*launch)(const float4* a, int rows, const float4* b, int columns, double* partial, double* energy,
                 cudaStream_t stream);
};

/// The document's, then register tiles; bench/pair_by_rows.cu.
std::vector<PairStep> pair_steps_by_rows();

/// Distances on the tensor cores; bench/pair_by_tensor_cores.cu.
std::vector<PairStep> pair_steps_by_tensor_cores();

}  // namespace smallbatch
