// A machine other than x86-64: the portable loops alone.
#include "physics/reference/tile.hpp"

namespace smallbatch {

std::vector<const TileLoops*> supported_tile_loops() { return {&tile_loops_baseline}; }

}  // namespace smallbatch
