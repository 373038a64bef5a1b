// The referee's lanes for AVX-512.
#include "solvers/reference/lanes_body.hpp"

namespace smallbatch {

constinit const RefereeLanes referee_lanes_avx512 = lanes_named("avx512");

}  // namespace smallbatch
