// A machine other than x86-64: the portable vectors alone.
#include "physics/direct_sum_lanes.hpp"

namespace smallbatch {

std::vector<const DirectSumLanes*> supported_direct_sum_lanes() { return {&direct_sum_lanes_baseline}; }

}  // namespace smallbatch
