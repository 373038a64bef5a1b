#include "physics/lattice_potential.hpp"

#include "core/error.hpp"
#include "physics/lattice_potential_backends.hpp"

namespace smallbatch {

std::unique_ptr<LatticePotential> make_lattice_potential(const Backend& backend) {
  switch (backend.kind) {
    case BackendKind::cuda:
      return make_cuda_lattice_potential(backend.device);
    case BackendKind::cpu:
      return make_cpu_lattice_potential(backend.threads, *supported_direct_sum_lanes().front());
    case BackendKind::reference:
      return make_reference_lattice_potential(backend.threads);
  }
  throw Error(ErrorKind::usage, "unknown backend (kind " + std::to_string(static_cast<int>(backend.kind)) +
                                    "). Use cuda, cpu or reference.");
}

}  // namespace smallbatch
