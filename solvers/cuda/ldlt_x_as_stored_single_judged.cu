// ldlt_x_as_stored.cuh, x with its backward error in single precision.
#include "solvers/cuda/ldlt_x_as_stored.cuh"

namespace smallbatch {

template bool x_as_stored_takes<float, true>(const SpdBatch<float>&, const SpdSolution<float>&);
template cudaError_t launch_x_as_stored<float, true>(const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                                     cudaStream_t);

}  // namespace smallbatch
