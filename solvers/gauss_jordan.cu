// A x = b by Gauss-Jordan elimination without pivoting, right-hand sides carried along; spd_elimination.cuh has the
// elimination, spd_solve_kernel.cuh the kernel.
#include "solvers/spd_kernels.cuh"
#include "solvers/spd_solve_kernel.cuh"

namespace smallbatch {

namespace {

template <class T, bool Many>
Kernels<T> gauss_jordan_kernels() {
  constexpr Elimination method = Elimination::gauss_jordan;
  return {solve_kernel_of_size<T, 8, Many, method>(), solve_kernel_of_size<T, 16, Many, method>(),
          solve_kernel_of_size<T, 32, Many, method>(), solve_kernel_of_size<T, 64, Many, method>()};
}

}  // namespace

template <class T>
cudaError_t launch_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                                cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution, pivot_floor);
  // One kernel for one right-hand side, and one for any number.
  return launch<T>(arguments.nrhs == 1 ? gauss_jordan_kernels<T, false>() : gauss_jordan_kernels<T, true>(), arguments,
                   stream);
}

template cudaError_t launch_gauss_jordan(const SpdBatch<float>&, const SpdSolution<float>&, double, cudaStream_t);
template cudaError_t launch_gauss_jordan(const SpdBatch<double>&, const SpdSolution<double>&, double, cudaStream_t);

}  // namespace smallbatch
