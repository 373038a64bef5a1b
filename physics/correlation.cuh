// Correlation for callers with device pointers: physics/correlation.hpp, asynchronous on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "core/signals.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Bytes of workspace that correlate() needs for a batch, aligned to 256. The function does not follow pointers; it
/// only looks for null pointers.
///
/// A batch needs no workspace if all of the following holds. The signals are int8 or float32 without flags. The bytes
/// of all inputs at one time, or at the few times that are read together, are a multiple of 16. Each integration is
/// short enough for one sum.
std::size_t correlation_workspace_bytes(const SignalBatch& signal, const VisibilityBatch& sums);

/// Correlates a batch that lies on the current device. The signal starts at a multiple of 16 bytes. The function
/// enqueues kernels and neither allocates nor synchronises. It accepts the arguments that Correlator::correlate
/// accepts.
cudaError_t correlate(const SignalBatch& signal, const VisibilityBatch& sums, void* workspace, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
