#include "solvers/spd_solver.hpp"

#include "core/error.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

std::unique_ptr<SpdSolver> make_spd_solver(const Backend& backend) {
  switch (backend.kind) {
    case BackendKind::cuda:
      return make_cuda_spd_solver(backend.device);
    case BackendKind::cpu:
      return make_cpu_spd_solver(backend.threads, usable_ldlt_kernels().front());
    case BackendKind::reference:
      return make_reference_spd_solver(backend.threads);
  }
  throw Error(ErrorKind::usage, "there is no such solver backend. Use cuda, cpu or reference.");
}

void check_spd_batch(const SpdShape& shape, std::int64_t count) {
  if (shape.n < 1 || shape.n > max_system_size)
    throw Error(ErrorKind::bad_input, "a batch of systems with n = " + std::to_string(shape.n) +
                                          " cannot be solved (n must lie between 1 and " +
                                          std::to_string(max_system_size) + "). Split the systems or pad them.");
  if (shape.nrhs < 0)
    throw Error(ErrorKind::bad_input, "a batch with nrhs = " + std::to_string(shape.nrhs) +
                                          " cannot be solved (nrhs counts right-hand sides; 0 asks for the inverse). "
                                          "Give the number of columns of b.");
  if (count < 0)
    throw Error(ErrorKind::bad_input, "a batch of " + std::to_string(count) +
                                          " systems cannot be solved (the count is negative). Give 0 or more systems.");
}

}  // namespace smallbatch
