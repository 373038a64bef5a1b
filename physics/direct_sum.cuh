// Direct summation of potentials on the GPU: what the plan and simulation codes with charges on the device call.
// Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "physics/potential.hpp"

namespace smallbatch {

/// What the host knows of a batch whose offsets lie on the device.
struct DirectSumSizes {
  std::int64_t charges = 0;  ///< charges.offset[count] - charges.offset[0]
  std::int64_t points = 0;   ///< points.offset[count] - points.offset[0]; of targets that are points alone
};

/// Bytes of device memory that summaries and energies need while they are computed; 0 where neither is wanted.
template <class T>
[[nodiscard]] std::size_t direct_sum_workspace_bytes(const ChargeBatch& charges, const TargetBatch& targets,
                                                     const DirectSumSizes& sizes, const PotentialResult<T>& result);

/// Potential::evaluate for device memory, for T = float or double: every pointer in `charges`, `targets` and `result`
/// is a device pointer, an energy needs charges.group, and `workspace` points to direct_sum_workspace_bytes() bytes
/// aligned to 256.
///
/// Asynchronous on `stream` of the current device; allocates nothing, never synchronises. A lattice without summary and
/// energy takes one launch, whatever the number of problems. Arguments are not checked. Returns the status of the
/// launches.
template <class T>
[[nodiscard]] cudaError_t direct_sum(const ChargeBatch& charges, const TargetBatch& targets,
                                     const DirectSumSizes& sizes, const PotentialOptions& options,
                                     const PotentialResult<T>& result, void* workspace, cudaStream_t stream);

}  // namespace smallbatch
