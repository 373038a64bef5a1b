// Reductions of device arrays: launches for code with its own device pointers. For core/reductions.hpp's meaning; the
// bits are those of reduce() there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/reductions.hpp"

namespace smallbatch {

/// Of a workspace for `count` values of either type; never more than 160 KiB. Set it to zero once: each launch leaves
/// it ready for the next one. Launches that may run at the same time need one each.
std::size_t reduction_workspace_bytes(std::int64_t count);

/// Stores the reduction of x_0 .. x_{count-1}, and for dot of y with it, in `result`; all on the device, the workspace
/// aligned as cudaMalloc aligns. Loads are of 16 bytes where x and y are aligned to that. One kernel of `blocks` blocks
/// (0: as many as suit the device), asynchronous on `stream`; allocates nothing. The same bits for any number of
/// blocks.
template <class T>
cudaError_t launch_reduction(Reduction reduction, Accumulation accumulation, const T* x, const T* y, std::int64_t count,
                             double* result, void* workspace, cudaStream_t stream, unsigned blocks = 0);

}  // namespace smallbatch
