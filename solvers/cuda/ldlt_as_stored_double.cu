// ldlt_as_stored_launch.cuh in double precision: a file of its own, since its kernels take a minute to compile.
#include "solvers/cuda/ldlt_as_stored_launch.cuh"

namespace smallbatch {

template cudaError_t launch_ldlt_as_stored(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
