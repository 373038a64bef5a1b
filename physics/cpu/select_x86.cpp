// Which instruction sets this x86-64 machine runs.
#include "physics/cpu/kernels.hpp"

namespace smallbatch {

std::vector<const DirectSumKernels*> supported_direct_sum_kernels() {
  std::vector<const DirectSumKernels*> supported;
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx2 && __builtin_cpu_supports("avx512f") != 0) supported.push_back(&direct_sum_kernels_avx512);
  if (avx2) supported.push_back(&direct_sum_kernels_avx2);
  supported.push_back(&direct_sum_kernels_baseline);
  return supported;
}

}  // namespace smallbatch
