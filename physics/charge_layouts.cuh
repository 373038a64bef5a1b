// Charges as simulation codes have them, on a GPU. Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include "physics/charge_layouts.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// For all i below count, of device arrays and T = float or double. Asynchronous on `stream` of the current device: one
/// launch, none of no charges. Returns its status.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_split_charges(std::int64_t count,
                                                                           const SplitCharge<T>& split,
                                                                           cudaStream_t stream);

/// For all p up to and with `problems`.
[[nodiscard]] cudaError_t launch_even_offsets(std::int64_t problems, const EvenOffset& even, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
