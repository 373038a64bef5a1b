// L D L^T of systems of double precision with n > 32, whose rows ldlt.cu has not registers enough for.
#include "solvers/spd_kernels.cuh"
#include "solvers/spd_solve_kernel.cuh"

namespace smallbatch {

cudaError_t launch_wide_ldlt(const SpdBatch<double>& batch, const SpdSolution<double>& solution, double pivot_floor,
                             double resolve_above, cudaStream_t stream) {
  const Arguments<double> arguments = arguments_of(batch, solution, pivot_floor, resolve_above);
  const bool one = arguments.nrhs <= 1 && !arguments.inverse;
  Kernels<double> kernels{};
  kernels.of64 = one ? solve_kernel_of_size<double, 64, false, Elimination::ldlt>()
                     : solve_kernel_of_size<double, 64, true, Elimination::ldlt>();
  return launch<double>(kernels, arguments, stream);
}

}  // namespace smallbatch
