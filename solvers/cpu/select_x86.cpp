#include "solvers/cpu/kernels.hpp"

namespace smallbatch {

std::vector<LdltKernels> usable_ldlt_kernels() {
  std::vector<LdltKernels> usable;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    usable.push_back(ldlt_avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(ldlt_avx2);
  usable.push_back(ldlt_baseline);
  return usable;
}

}  // namespace smallbatch
