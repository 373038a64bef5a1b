// Layouts of arrays that lie on a GPU. Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "solvers/layouts.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// The functions of layouts.hpp for arrays of float or double in device memory; `pointers` are in device memory, too. A
/// call is asynchronous on `stream` of the current device. It enqueues one kernel, or none if there is nothing to copy,
/// allocates nothing and never synchronises. It returns the status of the launch. If the function of layouts.hpp would
/// throw, the call launches nothing and returns cudaErrorInvalidValue.
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
