// L D L^T of systems with n > 32, whose rows ldlt.cu has not registers enough for.
#include "solvers/spd_kernels.cuh"
#include "solvers/spd_solve_kernel.cuh"

namespace smallbatch {

template <class T>
cudaError_t launch_wide_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                             double resolve_above, cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution, pivot_floor, static_cast<T>(resolve_above));
  const bool one = arguments.nrhs <= 1 && !arguments.inverse;
  Kernels<T> kernels{};
  kernels.of64 = one ? solve_kernel_of_size<T, 64, false, Elimination::ldlt>()
                     : solve_kernel_of_size<T, 64, true, Elimination::ldlt>();
  return launch<T>(kernels, arguments, stream);
}

template cudaError_t launch_wide_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, double, double, cudaStream_t);
template cudaError_t launch_wide_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, double, double, cudaStream_t);

}  // namespace smallbatch
