// Small SPD systems on the GPU, for host code with data on the device. Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "solvers/spd_solver.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns the bytes of device memory that launch_spd_solve() needs besides its arrays, for T = float or double. The
/// number is less than count + 256 for n <= 64. For n > 64 it is 0, with two exceptions. Both are for up to 256 systems
/// at a time.
///
/// - Triangles that do not fit into the shared memory of a block need up to 280 KiB each. The current device decides.
/// On
///   compute capability 9.0, doubles do not fit with n > 216. With 99 KiB per block (8.6, 8.9, 12.0), doubles do not
///   fit with n > 136, and floats with n > 200.
/// - With a pivot floor, systems need 519 KiB each if n > 128, or if a block has less than 132 KiB of shared memory.
template <class T>
[[nodiscard, gnu::visibility("default")]] std::size_t spd_workspace_bytes(const SpdShape& shape, std::int64_t count,
                                                                          const SpdOptions& options);

/// Solves like SpdSolver::solve, but in device memory, for T = float or double. Every pointer in `batch` and `solution`
/// is a device pointer, aligned as its type. Dense matrices with n = 8, 16, 32 or 64 are loaded faster if `a` and its
/// stride are multiples of 16 bytes. Above 64 rows, this holds if a row is a multiple of 16 bytes. `workspace` points
/// to spd_workspace_bytes() bytes, aligned to 256. Its contents before and after the call have no meaning. Numbers with
/// null pointers are not stored, which does not change any other number or status.
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

/// Returns the bytes of device memory that launch_spd_factor() and launch_spd_solve_factored() need besides their
/// arrays. The number is 0 unless the triangle of a system does not fit into the shared memory of a block, as
/// spd_workspace_bytes() says.
template <class T>
[[nodiscard, gnu::visibility("default")]] std::size_t spd_factor_workspace_bytes(int n, std::int64_t count);

/// Factors like SpdSolver::factor, but in device memory. Enqueues one kernel. If `workspace` is null although
/// spd_factor_workspace_bytes() is not 0, it returns cudaErrorNotSupported. Otherwise, what is said of
/// launch_spd_solve() applies.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_factor(const SpdBatch<T>& batch,
                                                                        const SpdFactors<T>& factors,
                                                                        cudaStream_t stream, void* workspace = nullptr);
/// Solves like SpdSolver::solve_factored, but in device memory; x may be b with the same stride. Otherwise, what is
/// said of launch_spd_factor() applies, also about `workspace`. Factors with n = 8, 16, 32 or 64 are loaded faster if
/// they and their stride are multiples of 16 bytes.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_spd_solve_factored(const SpdFactoredBatch<T>& batch,
                                                                                const SpdSolution<T>& solution,
                                                                                cudaStream_t stream,
                                                                                void* workspace = nullptr);

}  // namespace smallbatch
#pragma GCC visibility pop
