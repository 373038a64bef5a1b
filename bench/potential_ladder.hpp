// The ladders (bench/ladder.hpp) of potentials on lattices in single precision, from the host to the production code.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Ladder of all steps from the host to the production code. Random charges lie in a cubic lattice with `edge` points
/// per axis.
Ladder potential_ladder(std::int64_t edge, std::int64_t charges);

/// Ladder of the production calls for the potential alone, and for potential and field.
Ladder field_ladder(std::int64_t edge, std::int64_t charges);

/// Ladder of the production call alone, on a cubic lattice.
Ladder production_potential_ladder(std::int64_t edge, std::int64_t charges);

/// Ladder of the production call alone, on `count` lattices with `least` to `most` charges each, in one launch.
Ladder ragged_potential_ladder(std::int64_t count, std::int64_t edge, std::int64_t least, std::int64_t most);

}  // namespace smallbatch
