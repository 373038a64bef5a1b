// The referee's loops for AVX-512.
#include "physics/charges/reference/tile_body.hpp"

namespace smallbatch {

constinit const TileLoops tile_loops_avx512 = loops_named("avx512");

}  // namespace smallbatch
