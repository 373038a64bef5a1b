// ldlt_everything_as_stored.cuh in single precision: a file of its own, since its kernels take a minute to compile.
#include "solvers/cuda/ldlt_everything_as_stored.cuh"

namespace smallbatch {

template bool everything_as_stored_takes(const SpdBatch<float>&, const SpdSolution<float>&);
template cudaError_t launch_everything_as_stored(const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                                 cudaStream_t);

}  // namespace smallbatch
