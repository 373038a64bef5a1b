// solve/one_pass.cuh in single precision: a separate file, because its kernels take minutes to compile.
#include "solvers/cuda/solve/one_pass.cuh"

namespace smallbatch {

template cudaError_t launch_one_pass(const SolveRow&, const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                     cudaStream_t);

}  // namespace smallbatch
