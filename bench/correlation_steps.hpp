// The steps between naive and production for the correlation of float32 signals, and what one would call instead.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "bench/correlation_signals.hpp"
#include "bench/ladder.hpp"

namespace smallbatch {

struct CorrelationStep {
  const char* name;
  const char* idea;
  /// Asynchronous on `stream`.
  void (*launch)(const SignalBatch& signal, void* visibility, cudaStream_t stream);
};

/// A thread for some entries of a channel's matrix of visibilities; bench/correlation_by_threads.cu.
std::vector<CorrelationStep> correlation_steps_by_threads();

/// cuBLAS; bench/correlation_peers.cu. Of float32 a multiplication of matrices for each channel, all of them in one
/// call, and the rank update of Hermitian matrices, one call for each channel; of int8 a multiplication of real
/// matrices of twice the size, whose operands have been transposed (not timed). What they leave is gathered, and not
/// timed.
std::vector<Step> correlation_peers(const std::shared_ptr<const SignalsToCorrelate>& signals);

}  // namespace smallbatch
