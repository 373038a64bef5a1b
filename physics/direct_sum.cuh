// Direct summation of potentials on the GPU. The backend cuda of Potential calls direct_sum(), and so do simulation
// codes with charges on the device. This header needs no CUDA compiler.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "physics/potential.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Sizes of a batch that the host knows although its offsets lie on the device.
struct DirectSumSizes {
  std::int64_t charges = 0;  ///< charges.offset[count] - charges.offset[0]
  std::int64_t points = 0;   ///< points.offset[count] - points.offset[0]; only for targets that are points
  /// Lower limit of all spacings of lattices, angstrom. 0: unknown. Without a softening, an unknown spacing costs two
  /// short launches.
  double smallest_spacing = 0;
};

/// Returns how many bytes of device memory direct_sum() needs as workspace, for summaries and energies; 0 if neither is
/// wanted.
template <class T>
[[nodiscard, gnu::visibility("default")]] std::size_t direct_sum_workspace_bytes(const ChargeBatch& charges,
                                                                                 const TargetBatch& targets,
                                                                                 const DirectSumSizes& sizes,
                                                                                 const PotentialResult<T>& result);

/// Does what Potential::evaluate does, in device memory, for T = float or double. Every pointer in `charges`, `targets`
/// and `result` is a device pointer. An energy needs charges.group. `workspace` points to direct_sum_workspace_bytes()
/// bytes aligned to 256.
///
/// The call is asynchronous on `stream` of the current device. It allocates nothing and never synchronises. It usually
/// makes a single launch if the targets are lattices, the charges are points without screening, and neither summaries
/// nor energies are wanted. This requires a known smallest spacing and numbers that are not extreme
/// (info_values_out_of_range).
///
/// Returns the status of the launches. It launches nothing and returns cudaErrorInvalidValue for
/// - counts and sizes below 0;
/// - shapes below 1 or too large to count;
/// - planes outside the lattice, or no planes;
/// - options that Potential::evaluate refuses;
/// - a null pointer to data that are needed. Offsets and info are always needed. Potential, positions, charges, points
///   and the groups of an energy are needed if they have elements. Lattices need origin and spacing. The workspace is
///   needed if it has bytes.
///
/// The call reads nothing on the device before it launches. Offsets, origins, spacings and sizes must be right.
template <class T>
[[nodiscard, gnu::visibility("default")]] cudaError_t direct_sum(const ChargeBatch& charges, const TargetBatch& targets,
                                                                 const DirectSumSizes& sizes,
                                                                 const PotentialOptions& options,
                                                                 const PotentialResult<T>& result, void* workspace,
                                                                 cudaStream_t stream);

}  // namespace smallbatch
#pragma GCC visibility pop
