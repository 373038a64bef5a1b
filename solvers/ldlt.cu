// A = L D L^T without pivoting and two triangular solves, which is backward stable where Gauss-Jordan elimination is
// not (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", sections 10.1 and 14.4); spd_elimination.cuh has
// the elimination, spd_solve_kernel.cuh the kernel.
#include "solvers/spd_kernels.cuh"
#include "solvers/spd_solve_kernel.cuh"

namespace smallbatch {

template <class T>
cudaError_t launch_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                        double resolve_above, cudaStream_t stream) {
  return launch_solve<T, Elimination::ldlt>(arguments_of(batch, solution, pivot_floor, static_cast<T>(resolve_above)),
                                            stream);
}

template cudaError_t launch_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, double, double, cudaStream_t);
template cudaError_t launch_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, double, double, cudaStream_t);

}  // namespace smallbatch
