// Layouts that lie on a GPU. Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "solvers/layouts.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// What layouts.hpp has for host memory, for T = float or double in device memory, and so are `pointers`. Asynchronous
/// on `stream` of the current device: each enqueues one kernel, or none where there is nothing to copy, allocates
/// nothing and never synchronises. Returns the status of the launch, or launches nothing and returns
/// cudaErrorInvalidValue where layouts.hpp would throw.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_gather_spd_matrices(int n, std::int64_t count,
                                                                                 const MatrixArray<const T>& from,
                                                                                 Triangle triangle, T* to,
                                                                                 cudaStream_t stream);
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_gather_spd_rhs(int n, int nrhs, std::int64_t count,
                                                                            const MatrixArray<const T>& from, T* to,
                                                                            cudaStream_t stream);
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_scatter_spd_solutions(int n, int nrhs, std::int64_t count,
                                                                                   const T* from,
                                                                                   const MatrixArray<T>& to,
                                                                                   cudaStream_t stream);
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t launch_scatter_spd_inverses(
    int n, std::int64_t count, const T* from, const MatrixArray<T>& to, Triangle triangle, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
