// Small SPD systems on the GPU, for host code that has its data on the device already.
//
// Every function enqueues kernels on `stream` of the current device and returns: it allocates nothing, waits for
// nothing and prints nothing. All pointers are device pointers, aligned as their type; dense matrices with n = 8, 16 or
// 32 are loaded faster where `a` is aligned to 16 bytes. The batch must be valid (SpdSolver::solve says when), its
// arrays must live until the stream has passed, and input and output may not overlap. The return value is that of the
// launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "solvers/spd_solver.hpp"

namespace smallbatch {

/// All four steps below: what SpdSolver::solve promises, for arrays on the device.
template <class T>
cudaError_t launch_spd_solve(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream);

/// Step 1. info = 0, the negative status of input that cannot be used, or a mark for step 2 that the system needs
/// scaling.
template <class T>
cudaError_t launch_spd_inspect(const SpdBatch<T>& batch, std::int32_t* info, cudaStream_t stream);

/// Step 2. Solves, or inverts, every system whose info is 0 or that mark; info = 0 after that, or k where the k-th
/// pivot is not positive. x is NaN where info is not 0 at the end. Uses solution.x and solution.info.
template <class T>
cudaError_t launch_spd_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream);

/// Which systems step 3 looks at: all, or those that step 4 has solved again.
enum class SystemsToJudge { all, resolved };

/// Step 3. The backward error of every system whose info is 0, NaN elsewhere; where x is not finite, info becomes
/// info_result_not_finite and x NaN.
template <class T>
cudaError_t launch_spd_backward_error(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream,
                                      SystemsToJudge which = SystemsToJudge::all);

/// Step 4. Systems whose solution is not good enough are solved again by L D L^T, which is backward stable, and judged
/// again; info = k where the k-th pivot turns out not to be positive.
template <class T>
cudaError_t launch_spd_resolve(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream);

}  // namespace smallbatch
