// Energies of pairs of charges on the GPU: what the plan and simulation codes with charges on the device call. Needs no
// CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "physics/pair_energy.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Bytes of device memory that are needed while energies are computed, for problems with so many charges together.
[[nodiscard]] std::size_t pair_energies_workspace_bytes(std::int64_t problems, std::int64_t charge_count);

/// PairEnergy::evaluate for device memory: every pointer in `charges` and `result` is a device pointer, and `workspace`
/// points to pair_energies_workspace_bytes() bytes aligned to 256. charge_count: charges.offset[count] -
/// charges.offset[0].
///
/// Asynchronous on `stream` of the current device; allocates nothing, never synchronises. Five launches, one more where
/// energies of the charges are wanted.
///
/// Returns the status of the launches, or launches nothing and returns cudaErrorInvalidValue: for counts and sizes
/// below 0, options that PairEnergy::evaluate refuses, and for a null pointer where its data are needed (offsets,
/// energy, info and workspace always; positions and charges where there are any). Nothing on the device is looked at:
/// offsets must be right, and charge_count true.
[[nodiscard]] cudaError_t pair_energies(const ChargeBatch& charges, std::int64_t charge_count,
                                        const PairEnergyOptions& options, const PairEnergyResult& result,
                                        void* workspace, cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
