// The ladders of potentials on lattices, single precision: what S2 measures, from a host to production.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Every step from a host to production: random charges in a cubic lattice with `edge` points an axis.
Ladder potential_ladder(std::int64_t edge, std::int64_t charges);

/// The production call for the potential, and for potential and field.
Ladder field_ladder(std::int64_t edge, std::int64_t charges);

/// The production call alone, on such a lattice.
Ladder production_potential_ladder(std::int64_t edge, std::int64_t charges);

/// The production call alone, on `count` lattices with `least` to `most` charges each, in one launch.
Ladder ragged_potential_ladder(std::int64_t count, std::int64_t edge, std::int64_t least, std::int64_t most);

}  // namespace smallbatch
