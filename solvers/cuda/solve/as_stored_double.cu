// solve/as_stored.cuh in double precision: a separate file, because its kernels take minutes to compile.
#include "solvers/cuda/solve/as_stored.cuh"

namespace smallbatch {

template cudaError_t launch_as_stored(const SolveRow&, const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                      cudaStream_t);

}  // namespace smallbatch
