// Correlation for callers with device pointers: physics/correlation.hpp, asynchronous on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "core/signals.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Bytes of workspace that correlate() needs for a batch, aligned to 256. The function reads no memory of the batch; it
/// only compares pointers with null.
///
/// A batch needs no workspace if all of the following holds. The signals are float32, or int8 with at most 128 inputs,
/// and have no flags. The number of inputs is a multiple of 8; or it is 1, 2 or 4, and `integrate` and `times` are
/// multiples of 8 / inputs. An integration has at most 1024 samples. The sums are not complex_int64.
std::size_t correlation_workspace_bytes(const SignalBatch& signal, const VisibilityBatch& sums);

/// Correlates a batch that lies on the current device. The signal starts at a multiple of 16 bytes. The function
/// enqueues kernels and neither allocates nor synchronises. It accepts the arguments that Correlator::correlate
/// accepts.
cudaError_t correlate(const SignalBatch& signal, const VisibilityBatch& sums, void* workspace, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
