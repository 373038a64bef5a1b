// Which instruction sets this x86-64 machine runs.
#include "physics/direct_sum_lanes.hpp"

namespace smallbatch {

std::vector<const DirectSumLanes*> supported_direct_sum_lanes() {
  std::vector<const DirectSumLanes*> supported;
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx2 && __builtin_cpu_supports("avx512f") != 0) supported.push_back(&direct_sum_lanes_avx512);
  if (avx2) supported.push_back(&direct_sum_lanes_avx2);
  supported.push_back(&direct_sum_lanes_baseline);
  return supported;
}

}  // namespace smallbatch
