// What the compiler takes for granted.
#include "solvers/reference/lanes_body.hpp"

namespace smallbatch {

constinit const RefereeLanes referee_lanes_baseline = lanes_named("baseline");

}  // namespace smallbatch
