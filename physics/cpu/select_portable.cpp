// A machine other than x86-64: the portable vectors alone.
#include "physics/cpu/kernels.hpp"

namespace smallbatch {

std::vector<const DirectSumKernels*> supported_direct_sum_kernels() { return {&direct_sum_kernels_baseline}; }

}  // namespace smallbatch
