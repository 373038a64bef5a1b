// The referee's loops for the compiler's default instruction set.
#include "physics/charges/reference/tile_body.hpp"

namespace smallbatch {

constinit const TileLoops tile_loops_baseline = loops_named("baseline");

}  // namespace smallbatch
