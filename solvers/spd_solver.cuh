// Small SPD systems on the GPU, for host code that has its data on the device already.
//
// The call enqueues kernels on `stream` of the current device and returns: it allocates nothing, waits for nothing and
// prints nothing. All pointers are device pointers, aligned as their type; dense matrices with n = 8, 16, 32 or 64 are
// loaded faster where `a` and its stride are multiples of 16 bytes. The arrays must live until the stream has passed.
#pragma once

#include <cuda_runtime_api.h>

#include "solvers/spd_solver.hpp"

namespace smallbatch {

/// What SpdSolver::solve promises, for arrays on the device; numbers whose pointers are null are not computed. Returns
/// the status of the launch, and cudaErrorInvalidValue where SpdSolver::solve or make_spd_solver would throw, or where
/// x overlaps b: there are no solutions in place here.
template <class T>
[[nodiscard]] cudaError_t launch_spd_solve(const SpdBatch<T>& batch, const SpdSolution<T>& solution,
                                           const SpdOptions& options, cudaStream_t stream);

}  // namespace smallbatch
