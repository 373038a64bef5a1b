// ldlt_as_stored_launch.cuh in single precision: a file of its own, since its kernels take a minute to compile.
#include "solvers/cuda/ldlt_as_stored_launch.cuh"

namespace smallbatch {

template cudaError_t launch_ldlt_as_stored(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);

}  // namespace smallbatch
