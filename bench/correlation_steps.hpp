// The steps between naive and production for the correlation of float32 signals, and the vendor's library.
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

/// Steps in which each thread sums some entries of a channel's matrix of visibilities; bench/correlation_by_threads.cu.
std::vector<CorrelationStep> correlation_steps_by_threads();

/// Steps that call cuBLAS; bench/correlation_peers.cu. There are two steps for float32. The first is a product of
/// matrices, with all channels in one call. The second is a rank update of Hermitian matrices, with one call per
/// channel. The step for int8 is a product of real matrices of twice the size. The times of all steps leave out the
/// gathering of results. The time for int8 also leaves out the transposition of operands.
std::vector<Step> correlation_peers(const std::shared_ptr<const SignalsToCorrelate>& signals);

}  // namespace smallbatch
