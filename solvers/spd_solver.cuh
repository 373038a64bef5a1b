// Small SPD systems on the GPU, for host code with data on the device. Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "solvers/spd_solver.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns the bytes of device memory that launch_spd_solve() needs besides its arrays, for T = float or double. The
/// number is less than count + 256 for n <= 64, and 0 for n > 64, with one exception. With a pivot floor, up to 256
/// systems with n > 64 need 132 KiB each. This applies only if a block of the current device has less shared memory
/// than 132 KiB. (Compute capabilities 8.6, 8.9 and 12.0 have 99 KiB.)
template <class T>
[[nodiscard, gnu::visibility("default")]] std::size_t spd_workspace_bytes(const SpdShape& shape, std::int64_t count,
                                                                          const SpdOptions& options);

/// Solves like SpdSolver::solve, but in device memory, for T = float or double. Every pointer in `batch` and `solution`
/// is a device pointer, aligned as its type. Dense matrices with n = 8, 16, 32 or 64 are loaded faster if `a` and its
/// stride are multiples of 16 bytes. `workspace` points to spd_workspace_bytes() bytes, aligned to 256. Its contents
/// before and after the call have no meaning. Numbers with null pointers are not stored, which does not change any
/// other number or status.
///
/// A call is asynchronous on `stream` of the current device. It enqueues a few kernels, always the same ones for the
/// same arguments. It allocates nothing, never synchronises, and keeps nothing on the host. A CUDA graph can therefore
/// be captured from it, and replayed on other contents of the same arrays. Any number of host threads may call it at a
/// time. Calls that may run at the same time, on different streams, need separate workspaces and outputs; they may
/// share inputs. The arrays must live until the stream has passed the call. Meanwhile the outputs may hold intermediate
/// numbers, and statuses that are not final.
///
/// Returns the status of the launches. It launches nothing and returns cudaErrorInvalidValue if SpdSolver::solve or
/// make_spd_solver would throw. It does the same if x overlaps b (there are no solutions in place here), or if a needed
/// workspace is null or not aligned. It launches nothing and returns cudaErrorNotSupported for some batches with sizes:
/// for inverses, for n > 64, and for solutions by gauss_jordan. SpdSolver::solve handles all such batches.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_solve(const SpdBatch<T>& batch,
                                                                       const SpdSolution<T>& solution,
                                                                       const SpdOptions& options, void* workspace,
                                                                       cudaStream_t stream);

/// Factors like SpdSolver::factor, but in device memory. Enqueues one kernel and needs no workspace. Otherwise, what is
/// said of launch_spd_solve() applies.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_factor(const SpdBatch<T>& batch,
                                                                        const SpdFactors<T>& factors,
                                                                        cudaStream_t stream);
/// Solves like SpdSolver::solve_factored, but in device memory; x may be b with the same stride. Enqueues one kernel
/// and needs no workspace. Otherwise, what is said of launch_spd_solve() applies. Factors with n = 8, 16, 32 or 64 are
/// loaded faster if they and their stride are multiples of 16 bytes.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_solve_factored(const SpdFactoredBatch<T>& batch,
                                                                                const SpdSolution<T>& solution,
                                                                                cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
