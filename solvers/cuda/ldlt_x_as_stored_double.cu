// ldlt_x_as_stored.cuh in double precision: a file of its own, since its kernels take a minute to compile.
#include "solvers/cuda/ldlt_x_as_stored.cuh"

namespace smallbatch {

template bool x_as_stored_takes<double, false>(const SpdBatch<double>&, const SpdSolution<double>&);
template cudaError_t launch_x_as_stored<double, false>(const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                                       cudaStream_t);
template bool x_as_stored_takes<double, true>(const SpdBatch<double>&, const SpdSolution<double>&);
template cudaError_t launch_x_as_stored<double, true>(const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                                      cudaStream_t);

}  // namespace smallbatch
