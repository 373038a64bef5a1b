// Energies of pairs on the CPU, for the plans of pair energies and of potentials.
#pragma once

#include "physics/charges/cpu/kernels.hpp"
#include "physics/pair_energy.hpp"

namespace smallbatch {

/// Does what PairEnergy::evaluate does, for a call that has been checked.
void sum_pair_energies(const ChargeBatch& charges, const PairEnergyOptions& options, const PairEnergyResult& result,
                       unsigned threads, const DirectSumKernels& lanes);

}  // namespace smallbatch
