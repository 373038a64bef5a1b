// Sums at the targets of a batch, for the CPU's plans of potentials and of pair energies.
#pragma once

#include "physics/charges/cpu/kernels.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// V, E and info as Potential::evaluate has them, of a call that has been checked: terms in `precision`, whatever is
/// stored. With `target_width`, one per target of the batch, targets are Gaussian, too, where charges have widths.
void sum_potentials(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                    ScalarType precision, const PotentialResult<double>& result, unsigned threads,
                    const DirectSumKernels& lanes, const double* target_width = nullptr);

}  // namespace smallbatch
