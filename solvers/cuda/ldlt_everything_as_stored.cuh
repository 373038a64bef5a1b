// Solutions of plain systems by L D L^T with rcond, and all else that may be asked about the answers, of dense matrices
// of other sizes than ldlt_everything.cu takes, wherever they lie: the kernels of ldlt_x_as_stored.cuh, which keep the
// factors in the place of A. Private to solvers/cuda.
#pragma once

#include <limits>

#include "solvers/cuda/ldlt_x_as_stored.cuh"

namespace smallbatch {

namespace {

template <class T>
StoredXKernel<T> everything_as_stored_kernel_of(int n) {
  if constexpr (sizeof(T) == sizeof(float))
    return x_as_stored_kernel_of<T, Asked::everything, Rows::as_stored, 20, 24, 28, 32, 36, 40>(n);
  else
    return x_as_stored_kernel_of<T, Asked::everything, Rows::as_stored, 16, 20, 24, 28, 32>(n);
}

}  // namespace

template <class T>
bool everything_as_stored_takes(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
  const SpdShape& shape = batch.shape;
  // Of these, one pass is quicker where rows are whole pieces (ldlt_one_pass_launch.cuh).
  const int n = shape.n;
  const bool one_pass_is_better =
      rows_are_pieces(batch) && (sizeof(T) == sizeof(float) ? n == 32 || n == 36 : n == 16 || n == 24);
  if (shape.nrhs != 1 || batch.sizes != nullptr || shape.storage != Storage::dense ||
      reinterpret_cast<std::uintptr_t>(batch.a) % 16 != 0 || solution.rcond == nullptr || one_pass_is_better)
    return false;
  const StoredXKernel<T> chosen = everything_as_stored_kernel_of<T>(shape.n);
  return chosen.kernel != nullptr && batch.count >= chosen.systems;
}

template <class T>
cudaError_t launch_everything_as_stored(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        cudaStream_t stream) {
  return launch_as_stored(everything_as_stored_kernel_of<T>(batch.shape.n), batch, solution, marks, stream,
                          std::numeric_limits<unsigned>::max());
}

}  // namespace smallbatch
