// One pass (ldlt_one_pass.cuh) over matrices whose rows are whole pieces of 16 bytes. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/ldlt_one_pass.cuh"

namespace smallbatch {

template <class T>
bool rows_are_pieces(const SpdBatch<T>& batch) {
  return batch.shape.storage != Storage::packed_lower && batch.shape.n * sizeof(T) % 16 == 0 && lies_in_pieces(batch);
}

template <class T>
cudaError_t launch_ldlt_one_pass(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                 cudaStream_t stream) {
  const OnePassKernel<T> chosen = one_pass_kernel_of<T, false>(batch.shape.n);
  return launch(chosen.kernel, warp_lanes / chosen.lanes, arguments_of(batch, solution, marks), stream);
}

}  // namespace smallbatch
