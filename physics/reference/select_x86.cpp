// Which instruction sets this x86-64 machine runs.
#include "physics/reference/tile.hpp"

namespace smallbatch {

std::vector<const TileLoops*> supported_tile_loops() {
  std::vector<const TileLoops*> supported;
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx2 && __builtin_cpu_supports("avx512f") != 0) supported.push_back(&tile_loops_avx512);
  if (avx2) supported.push_back(&tile_loops_avx2);
  supported.push_back(&tile_loops_baseline);
  return supported;
}

}  // namespace smallbatch
