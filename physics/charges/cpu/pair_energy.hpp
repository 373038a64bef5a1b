// Energies of pairs on the CPU. CpuPairEnergy and CpuPotential call sum_pair_energies().
#pragma once

#include "physics/charges/cpu/kernels.hpp"
#include "physics/pair_energy.hpp"

namespace smallbatch {

/// Implements PairEnergy::evaluate. The caller has checked the arguments (check_potential_call).
void sum_pair_energies(const ChargeBatch& charges, const PairEnergyOptions& options, const PairEnergyResult& result,
                       unsigned threads, const DirectSumKernels& lanes);

}  // namespace smallbatch
