// What the plan of the cuda solver launches: one function per kernel family. Private to this room; spd_solver.cuh is
// for callers.
#pragma once

#include <cuda_runtime_api.h>

#include "core/systems.hpp"

namespace smallbatch {

/// Solves by Gauss-Jordan elimination and judges the answers if backward_error is not null.
template <class T>
cudaError_t launch_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream);

/// Solves by L D L^T, or factors alone; solutions are judged if backward_error is not null. Of an inverse it leaves
/// U = L^-T and 1 / D, A^-1 = U D^-1 U^T, for launch_judge_inverse() to multiply, and marks it in backward_error.
/// `resolve_above` >= 0: only systems that were solved with a larger backward error.
template <class T>
cudaError_t launch_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double resolve_above,
                        cudaStream_t stream);

/// Inverts by the symmetric sweep. A null x: only rcond is computed, of systems whose info is 0.
template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream);

/// Which inverses launch_judge_inverse() takes: all as they are; all, from the factors that L D L^T has left; or from
/// those factors the ones alone that it has marked in backward_error.
enum class InversesToJudge { all, all_factors, marked_factors };

/// Multiplies factors to inverses, and computes the backward errors if backward_error is not null; of systems whose
/// info is 0.
template <class T>
cudaError_t launch_judge_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, InversesToJudge which,
                                 cudaStream_t stream);

/// Takes what the others have left, and puts the answers of nearby matrices in place of those whose pivots lie below
/// the floor, which is not 0.
template <class T>
cudaError_t launch_pivot_repair(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                                cudaStream_t stream);

}  // namespace smallbatch
