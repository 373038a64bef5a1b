// Energies of pairs of charges on the GPU. The backend cuda of PairEnergy calls pair_energies(), and so do simulation
// codes with charges on the device. This header needs no CUDA compiler.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "physics/pair_energy.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns how many bytes of device memory pair_energies() needs as workspace. `charge_count` is the number of charges
/// of all problems together.
[[nodiscard]] std::size_t pair_energies_workspace_bytes(std::int64_t problems, std::int64_t charge_count);

/// Does what PairEnergy::evaluate does, in device memory. Every pointer in `charges` and `result` is a device pointer.
/// `workspace` points to pair_energies_workspace_bytes() bytes aligned to 256. `charge_count` is the number of charges
/// of all problems.
///
/// The call is asynchronous on `stream` of the current device. It allocates nothing and never synchronises. It makes
/// five launches, and one more if energies of the charges are wanted.
///
/// Returns the status of the launches. It launches nothing and returns cudaErrorInvalidValue for
/// - counts and sizes below 0;
/// - options that PairEnergy::evaluate refuses;
/// - a null pointer to data that are needed. Offsets, energy, info and workspace are always needed. Positions and
///   charges are needed if there are any.
///
/// The call reads nothing on the device before it launches. Offsets and `charge_count` must be right.
[[nodiscard]] cudaError_t pair_energies(const ChargeBatch& charges, std::int64_t charge_count,
                                        const PairEnergyOptions& options, const PairEnergyResult& result,
                                        void* workspace, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
