// The ladder (bench/ladder.hpp) of sums over pairs in single precision, from the host to the production code.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Ladder of the energy of `rows` charges with `columns` other charges.
Ladder pair_ladder(std::int64_t rows, std::int64_t columns);

}  // namespace smallbatch
