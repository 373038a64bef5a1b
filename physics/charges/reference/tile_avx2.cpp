// The referee's loops for AVX2 and FMA.
#include "physics/charges/reference/tile_body.hpp"

namespace smallbatch {

constinit const TileLoops tile_loops_avx2 = loops_named("avx2");

}  // namespace smallbatch
