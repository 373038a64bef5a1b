// The three implementations of PairEnergy, for make_pair_energy().
#pragma once

#include <memory>

#include "physics/charges/cpu/kernels.hpp"
#include "physics/pair_energy.hpp"

namespace smallbatch {

std::unique_ptr<PairEnergy> make_cuda_pair_energy(int device);
std::unique_ptr<PairEnergy> make_cpu_pair_energy(unsigned threads, const DirectSumKernels& lanes);
std::unique_ptr<PairEnergy> make_reference_pair_energy(unsigned threads);

}  // namespace smallbatch
