// Conversions of physics/charge_layouts.hpp on a GPU. This header needs no CUDA compiler.
#pragma once

#include <cuda_runtime_api.h>

#include "physics/charge_layouts.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Splits the charges i < count of device arrays, for T = float or double. The call is asynchronous on `stream` of the
/// current device. It makes one launch, or none if count is 0. Returns the launch's status.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_split_charges(std::int64_t count,
                                                                           const SplitCharge<T>& split,
                                                                           cudaStream_t stream);

/// Writes offset[p] for p = 0 .. problems, both included. The call is asynchronous, like launch_split_charges(), and
/// returns the launch's status.
[[nodiscard]] cudaError_t launch_even_offsets(std::int64_t problems, const EvenOffset& even, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
