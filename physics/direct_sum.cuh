// Direct summation of potentials on the GPU: what the plan and simulation codes with charges on the device call.
// Needs no CUDA compiler to include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "physics/potential.hpp"

namespace smallbatch {

/// One charge as the kernels read it: relative to the lattice's origin, in the precision of the sum.
template <class T>
struct alignas(16) ShiftedCharge {
  T x, y, z, q;
};

/// What the charges of one problem say about it.
struct ProblemStatus {
  std::uint32_t faults;    ///< bit 0: a number is not finite; bit 1: a number is out of range
  std::int32_t on_points;  ///< charges, not zero, that lie on a lattice point
};

/// Scratch in device memory, given by the caller; nothing in it outlives the call.
template <class T>
struct DirectSumScratch {
  ShiftedCharge<T>* charges = nullptr;       ///< (charge_count)
  ProblemStatus* status = nullptr;           ///< (count)
  std::int64_t* near_charges = nullptr;      ///< (charge_count)
  unsigned long long* near_count = nullptr;  ///< (1)
};

/// Potential::evaluate for device memory, for T = float or double: every pointer in `charges`, `lattice`,
/// `result` and `scratch` is a device pointer. charge_count is offset[count] - offset[0].
///
/// Asynchronous on `stream` of the current device; allocates nothing, never synchronises. Arguments are not checked.
/// Returns the status of the launches.
template <class T>
[[nodiscard]] cudaError_t direct_sum(const ChargeBatch& charges, std::int64_t charge_count, const LatticeBatch& lattice,
                                     const PotentialOptions& options, const PotentialResult<T>& result,
                                     const DirectSumScratch<T>& scratch, cudaStream_t stream);

}  // namespace smallbatch
