// solve/as_stored.cuh in single precision: a separate file, because its kernels take minutes to compile.
#include "solvers/cuda/solve/as_stored.cuh"

namespace smallbatch {

template cudaError_t launch_as_stored(const SolveRow&, const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                      cudaStream_t);

}  // namespace smallbatch
