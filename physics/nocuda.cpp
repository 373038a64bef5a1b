// Stand-ins for the CUDA wings in a build without CUDA. They throw Error (no_device).
#include "core/error.hpp"
#include "physics/charges/pair_energy_backends.hpp"
#include "physics/charges/potential_backends.hpp"
#include "physics/correlations/backends.hpp"

namespace smallbatch {

namespace {
[[noreturn]] void refuse(int device) {
  throw Error(ErrorKind::no_device, "GPU " + std::to_string(device) + " cannot be used", "this build has no CUDA",
              "Use the cpu backend, or install the CUDA toolkit and configure again with -DSMALLBATCH_CUDA=ON.");
}
}  // namespace

std::unique_ptr<Potential> make_cuda_potential(int device) { refuse(device); }
std::unique_ptr<Correlator> make_cuda_correlator(int device) { refuse(device); }
std::unique_ptr<PairEnergy> make_cuda_pair_energy(int device) { refuse(device); }

}  // namespace smallbatch
