// Correlation for callers with device pointers: what physics/correlation.hpp defines, asynchronous on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "core/signals.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Bytes of workspace that correlate() needs for such a batch, aligned to 256: none for int8 and float32 signals
/// without flags whose rows, or several of them, are a multiple of 16 bytes, and whose integrations are short enough
/// for one sum. Pointers matter in that they are null or not.
std::size_t correlation_workspace_bytes(const SignalBatch& signal, const VisibilityBatch& sums);

/// Correlates a batch whose arrays lie on the current device, those of the signal from a multiple of 16 bytes on.
/// Enqueues kernels and neither allocates nor synchronises; arguments are those that Correlator::correlate accepts.
cudaError_t correlate(const SignalBatch& signal, const VisibilityBatch& sums, void* workspace, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
