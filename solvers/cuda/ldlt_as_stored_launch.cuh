// One pass (ldlt_one_pass.cuh) over matrices that are kept as they are stored: packed, or dense at any address and with
// rows of any length. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/ldlt_one_pass.cuh"

namespace smallbatch {

template <class T>
cudaError_t launch_ldlt_as_stored(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                  cudaStream_t stream) {
  const OnePassKernel<T> chosen = one_pass_kernel_of<T, true>(batch.shape.n);
  const int systems = warp_lanes / chosen.lanes;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.vectors = reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
  arguments.kept_step = stored_step(batch, chosen.lanes, static_cast<int>(batch.shape.matrix_size()));
  const std::size_t numbers = systems * arguments.kept_step + chosen.lanes * chosen.rows;
  return launch(chosen.kernel, systems, arguments, stream, 1 << 15, (numbers * sizeof(T) + 15) / 16 * 16);
}

}  // namespace smallbatch
