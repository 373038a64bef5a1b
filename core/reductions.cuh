// Reductions of device arrays, for callers that hold device pointers. Results have the same bits as those of reduce()
// in core/reductions.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/reductions.hpp"

namespace smallbatch {

/// Returns the bytes of a workspace, at most 160 KiB, for any array of `count` values. Set the workspace to zero once;
/// each launch leaves it ready for the next. Launches that may run at the same time need separate workspaces.
std::size_t reduction_workspace_bytes(std::int64_t count);

/// Stores the reduction of x_0 .. x_{count-1} in `result`. Only dot uses y. All arrays are on the device, and the
/// workspace is aligned as cudaMalloc aligns. Loads are of 16 bytes if x and y are aligned to 16 bytes. The launch is
/// one kernel of `blocks` blocks (0: as many as suit the device), asynchronous on `stream`. It allocates nothing. The
/// bits do not depend on the number of blocks.
template <class T>
cudaError_t launch_reduction(Reduction reduction, Accumulation accumulation, const T* x, const T* y, std::int64_t count,
                             double* result, void* workspace, cudaStream_t stream, unsigned blocks = 0);

}  // namespace smallbatch
