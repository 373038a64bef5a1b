// Energies of pairs of charges on the GPU: what the plan and simulation codes with charges on the device call. Needs no
// CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "physics/pair_energy.hpp"

namespace smallbatch {

/// What the host knows of a batch whose offsets lie on the device.
struct PairEnergySizes {
  std::int64_t charges = 0;  ///< charges.offset[count] - charges.offset[0]
  std::int64_t largest = 0;  ///< no problem has more charges; `charges` will do where it is unknown
};

/// Bytes of device memory that are needed while energies are computed.
[[nodiscard]] std::size_t pair_energies_workspace_bytes(std::int64_t problems, const PairEnergySizes& sizes);

/// PairEnergy::evaluate for device memory: every pointer in `charges` and `result` is a device pointer, and `workspace`
/// points to pair_energies_workspace_bytes() bytes aligned to 256.
///
/// Asynchronous on `stream` of the current device; allocates nothing, never synchronises. Five launches, one more where
/// energies of the charges are wanted.
///
/// Returns the status of the launches, or launches nothing and returns cudaErrorInvalidValue: for counts and sizes
/// below 0, options that PairEnergy::evaluate refuses, and for a null pointer where its data are needed (offsets,
/// energy, info and workspace always; positions and charges where there are any). Nothing on the device is looked at:
/// offsets must be right, and the sizes true.
[[nodiscard]] cudaError_t pair_energies(const ChargeBatch& charges, const PairEnergySizes& sizes,
                                        const PairEnergyOptions& options, const PairEnergyResult& result,
                                        void* workspace, cudaStream_t stream);

}  // namespace smallbatch
