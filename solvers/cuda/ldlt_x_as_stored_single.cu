// ldlt_x_as_stored.cuh, x alone in single precision: files of their own, since the kernels take a minute to compile.
#include "solvers/cuda/ldlt_x_as_stored.cuh"

namespace smallbatch {

template bool x_as_stored_takes<float, false>(const SpdBatch<float>&, const SpdSolution<float>&);
template cudaError_t launch_x_as_stored<float, false>(const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                                      cudaStream_t);

}  // namespace smallbatch
