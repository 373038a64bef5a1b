// The cuda backend of a build without CUDA.
#include "core/error.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

std::unique_ptr<SpdSolver> make_cuda_spd_solver(int device, const SpdOptions&) {
  throw Error(ErrorKind::no_device, "the solver cannot run on cuda:" + std::to_string(device), "this build has no CUDA",
              "Use the cpu backend, or install the CUDA toolkit and configure again with -DSMALLBATCH_CUDA=ON.");
}

}  // namespace smallbatch
