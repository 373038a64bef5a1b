// Sums at the targets of a batch on the CPU, for the pair energies in pair_energy.cpp.
#pragma once

#include "physics/charges/cpu/kernels.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Computes V, E and info as Potential::evaluate does. The caller has checked the arguments. Terms have `precision`;
/// the results are stored as double in either case. If charges have widths and `target_width` is given, targets are
/// Gaussian too. `target_width` then has one number per target of the batch.
void sum_potentials(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                    ScalarType precision, const PotentialResult<double>& result, unsigned threads,
                    const DirectSumKernels& lanes, const double* target_width = nullptr);

}  // namespace smallbatch
