// ldlt_one_pass_launch.cuh in single precision: a file of its own, since its kernels take a minute to compile.
#include "solvers/cuda/ldlt_one_pass_launch.cuh"

namespace smallbatch {

template bool rows_are_pieces(const SpdBatch<float>&);
template cudaError_t launch_ldlt_one_pass(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);

}  // namespace smallbatch
