// Direct summation of potentials on the GPU: what the plan and simulation codes with charges on the device call.
// Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "physics/potential.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// What the host knows of a batch whose offsets lie on the device.
struct DirectSumSizes {
  std::int64_t charges = 0;  ///< charges.offset[count] - charges.offset[0]
  std::int64_t points = 0;   ///< points.offset[count] - points.offset[0]; of targets that are points alone
  /// Of lattices: no spacing is smaller, angstrom. 0: unknown, which costs two short launches where there is no
  /// softening.
  double smallest_spacing = 0;
};

/// Bytes of device memory that summaries and energies need while they are computed; 0 where neither is wanted.
template <class T>
[[nodiscard, gnu::visibility("default")]] std::size_t direct_sum_workspace_bytes(const ChargeBatch& charges,
                                                                                 const TargetBatch& targets,
                                                                                 const DirectSumSizes& sizes,
                                                                                 const PotentialResult<T>& result);

/// Potential::evaluate for device memory, for T = float or double: every pointer in `charges`, `targets` and `result`
/// is a device pointer, an energy needs charges.group, and `workspace` points to direct_sum_workspace_bytes() bytes
/// aligned to 256.
///
/// Asynchronous on `stream` of the current device; allocates nothing, never synchronises. A lattice of point charges
/// without screening, summary and energy takes one launch, whatever the number of problems, where its smallest spacing
/// is known and its numbers are not extreme (info_values_out_of_range).
///
/// Returns the status of the launches, or launches nothing and returns cudaErrorInvalidValue: for counts and sizes
/// below 0, shapes below 1 or too large to count, planes outside the lattice or none, options that Potential::evaluate
/// refuses, and for a null pointer where its data are needed (offsets and info always; potential, positions, charges,
/// points, and the groups of an energy, where there are any; origin and spacing of lattices; the workspace where it has
/// bytes). Nothing on the device is looked at: offsets, origins and spacings must be right, and the sizes true.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t direct_sum(const ChargeBatch& charges, const TargetBatch& targets,
                                                                 const DirectSumSizes& sizes,
                                                                 const PotentialOptions& options,
                                                                 const PotentialResult<T>& result, void* workspace,
                                                                 cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
