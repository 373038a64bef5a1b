#include "physics/potential.hpp"

#include <string>

#include "core/error.hpp"
#include "core/usable_kernels.hpp"
#include "physics/charges/potential_backends.hpp"

namespace smallbatch {

std::unique_ptr<Potential> make_potential(const Backend& backend) {
  switch (backend.kind) {
    case BackendKind::cuda:
      return make_cuda_potential(backend.device);
    case BackendKind::cpu:
      return make_cpu_potential(backend.threads, chosen_kernels(backend.instruction_set, usable_direct_sum_kernels()));
    case BackendKind::reference:
      return make_reference_potential(backend.threads);
  }
  throw Error(ErrorKind::usage, "unknown backend", "kind " + std::to_string(static_cast<int>(backend.kind)),
              "Use cuda, cpu or reference.");
}

}  // namespace smallbatch
