// Interaction energy of groups 1 and 2, for a call that computes potentials. launch_energies() calls pair_energies(),
// in double precision for either type of potentials. The energy is NaN if the potentials have no values.
#include <cmath>

#include "core/grid_stride.cuh"
#include "physics/charges/cuda/device.cuh"
#include "physics/charges/cuda/kernels.cuh"
#include "physics/charges/pair_energy_range.hpp"
#include "physics/pair_energies.cuh"

namespace smallbatch {

namespace {

/// Sets the energy of a problem without values to NaN.
struct NoValues {
  const std::int32_t* info;
  double* energy;
  __device__ void operator()(std::int64_t problem) const {
    if (!has_values(info[problem])) energy[problem] = static_cast<double>(NAN);
  }
};

/// Bytes of the statuses that pair_energies() stores. Nobody reads them, because the statuses of the potentials are the
/// problem's statuses.
std::size_t info_bytes(std::int64_t problems) {
  return (static_cast<std::size_t>(problems) * sizeof(std::int32_t) + 255) / 256 * 256;
}

}  // namespace

std::size_t energy_workspace_bytes(std::int64_t problems, std::int64_t charges) {
  return info_bytes(problems) + pair_energies_workspace_bytes(problems, charges);
}

cudaError_t launch_energies(const ChargeBatch& charges, std::int64_t charge_count, const PotentialOptions& options,
                            const std::int32_t* info, void* workspace, double* energy, cudaStream_t stream) {
  const cudaError_t status = pair_energies(charges, charge_count, interaction_energy_options(options),
                                           {energy, static_cast<std::int32_t*>(workspace)},
                                           static_cast<char*>(workspace) + info_bytes(charges.count), stream);
  if (status != cudaSuccess) return status;
  return launch_for_each_index(charges.count, NoValues{info, energy}, stream);
}

}  // namespace smallbatch
