// The referee's lanes for AVX2 and FMA.
#include "solvers/reference/lanes_body.hpp"

namespace smallbatch {

constinit const RefereeLanes referee_lanes_avx2 = lanes_named("avx2");

}  // namespace smallbatch
