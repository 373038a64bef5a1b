// The steps of the ladder (bench/ladder.hpp) between the naive one and the production code, for n = 32 and one
// right-hand side. They do Gauss-Jordan without pivoting, without inspection of the input, and without a status.
// Matrices are dense, with both triangles filled.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace smallbatch {

template <class T>
struct SolveStep {
  const char* name;
  const char* idea;
  /// a (count, 32, 32), b and x (count, 32) lie on the device. The launch is asynchronous on `stream`.
  void (*launch)(const T* a, const T* b, T* x, std::int64_t count, cudaStream_t stream);
};

/// Steps with a block per system; bench/solve_by_blocks.cu.
template <class T>
std::vector<SolveStep<T>> solve_steps_by_blocks();

/// Steps with a warp for one or more systems; bench/solve_by_warps.cu.
template <class T>
std::vector<SolveStep<T>> solve_steps_by_warps();

}  // namespace smallbatch
