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
  /// Leaves sums of parts of the values in `sums`, one from each block, and returns how many. Asynchronous on `stream`.
  std::int64_t (*launch)(float* values, std::int64_t count, float* sums, cudaStream_t stream);
};

/// A tree in each block; bench/reduce_by_blocks.cu.
std::vector<ReduceStep> reduce_steps_by_blocks();

/// The vendor's library: the sum of the values in *sum; bench/reduce_peer.cu.
Step reduce_peer(const float* values, std::int64_t count, float* sum);

}  // namespace smallbatch
