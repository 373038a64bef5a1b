// A x = b by Gauss-Jordan elimination without pivoting, right-hand sides carried along; spd_elimination.cuh has the
// elimination, spd_solve_kernel.cuh the kernel.
#include "solvers/spd_kernels.cuh"
#include "solvers/spd_solve_kernel.cuh"

namespace smallbatch {

template <class T>
cudaError_t launch_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                                cudaStream_t stream) {
  return launch_solve<T, Elimination::gauss_jordan>(arguments_of(batch, solution, pivot_floor), stream);
}

template cudaError_t launch_gauss_jordan(const SpdBatch<float>&, const SpdSolution<float>&, double, cudaStream_t);
template cudaError_t launch_gauss_jordan(const SpdBatch<double>&, const SpdSolution<double>&, double, cudaStream_t);

}  // namespace smallbatch
