// ldlt_everything_as_stored.cuh in double precision: a file of its own, since its kernels take a minute to compile.
#include "solvers/cuda/ldlt_everything_as_stored.cuh"

namespace smallbatch {

template bool everything_as_stored_takes(const SpdBatch<double>&, const SpdSolution<double>&);
template cudaError_t launch_everything_as_stored(const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                                 cudaStream_t);

}  // namespace smallbatch
