// The steps between naive and production for the sum of an array in single precision.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "bench/ladder.hpp"

namespace smallbatch {

struct ReduceStep {
  const char* name;
  const char* idea;
  bool in_place;  ///< overwrites the values
  /// Stores one sum per block in `sums`, and returns the number of blocks. Asynchronous on `stream`.
  std::int64_t (*launch)(float* values, std::int64_t count, float* sums, cudaStream_t stream);
};

/// Steps with a tree in each block; bench/reduce_by_blocks.cu.
std::vector<ReduceStep> reduce_steps_by_blocks();

/// Step that sums with the vendor's library and stores the sum in *sum; bench/reduce_peer.cu.
Step reduce_peer(const float* values, std::int64_t count, float* sum);

}  // namespace smallbatch
