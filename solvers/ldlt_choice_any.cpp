#include "solvers/ldlt.hpp"

namespace smallbatch {

std::vector<LdltKernels> usable_ldlt_kernels() { return {ldlt_baseline}; }

}  // namespace smallbatch
