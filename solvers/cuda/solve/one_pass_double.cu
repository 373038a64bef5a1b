// solve/one_pass.cuh in double precision: a separate file, because its kernels take minutes to compile.
#include "solvers/cuda/solve/one_pass.cuh"

namespace smallbatch {

template cudaError_t launch_one_pass(const SolveRow&, const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                     cudaStream_t);

}  // namespace smallbatch
