// Small SPD systems on the GPU, for host code that has its data on the device already. Needs no CUDA compiler to
// include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "solvers/spd_solver.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Bytes of device memory that launch_spd_solve() needs besides its arrays, for T = float or double: less than
/// count + 256, and 0 for n > 64. But for n > 64 with a floor of pivots 132 KiB for each of up to 256 systems, where
/// the current device has less shared memory per block than that (those of compute capability 8.6, 8.9 and 12.0 have
/// 99).
template <class T>
[[nodiscard, gnu::visibility("default")]] std::size_t spd_workspace_bytes(const SpdShape& shape, std::int64_t count,
                                                                          const SpdOptions& options);

/// SpdSolver::solve for device memory, for T = float or double: every pointer in `batch` and `solution` is a device
/// pointer, aligned as its type (dense matrices with n = 8, 16, 32 or 64 are loaded faster where `a` and its stride are
/// multiples of 16 bytes), and `workspace` points to spd_workspace_bytes() bytes aligned to 256, whose contents matter
/// neither before nor after. Numbers whose pointers are null are not stored; no other number, and no status, depends on
/// which those are.
///
/// Asynchronous on `stream` of the current device: enqueues a few kernels, always the same ones for the same arguments,
/// allocates nothing, never synchronises, and keeps nothing on the host, so that a CUDA graph can be captured from it
/// and replayed on other contents of the same arrays. Any number of host threads may call it at a time. Calls that may
/// run at the same time, on different streams, need workspaces and outputs of their own; they may share inputs. The
/// arrays must live until the stream has passed. On the way, outputs hold nothing but numbers of their kind.
///
/// Returns the status of the launches, or launches nothing and returns cudaErrorInvalidValue: where SpdSolver::solve or
/// make_spd_solver would throw, where x overlaps b (there are no solutions in place here), and for a workspace that is
/// needed and null or not aligned. Of a batch with sizes some kernels take no notice: then it launches nothing and
/// returns cudaErrorNotSupported; SpdSolver::solve takes all.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_solve(const SpdBatch<T>& batch,
                                                                       const SpdSolution<T>& solution,
                                                                       const SpdOptions& options, void* workspace,
                                                                       cudaStream_t stream);

/// SpdSolver::factor and SpdSolver::solve_factored for device memory, with what launch_spd_solve() promises; they need
/// no workspace, and here, too, x may be b with the same stride. Each enqueues one kernel. (Factors with n = 8, 16, 32
/// or 64 are loaded faster where they and their stride are multiples of 16 bytes, as `a` is.)
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_factor(const SpdBatch<T>& batch,
                                                                        const SpdFactors<T>& factors,
                                                                        cudaStream_t stream);
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_solve_factored(const SpdFactoredBatch<T>& batch,
                                                                                const SpdSolution<T>& solution,
                                                                                cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
