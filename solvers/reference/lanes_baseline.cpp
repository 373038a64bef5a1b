// The referee's lanes for the compiler's default instruction set.
#include "solvers/reference/lanes_body.hpp"

namespace smallbatch {

constinit const RefereeLanes referee_lanes_baseline = lanes_named("baseline");

}  // namespace smallbatch
