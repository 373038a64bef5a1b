#include "solvers/cpu/kernels.hpp"

namespace smallbatch {

std::vector<LdltKernels> usable_ldlt_kernels() { return {ldlt_baseline}; }

}  // namespace smallbatch
