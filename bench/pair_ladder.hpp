// The ladder of sums over pairs, single precision: from a host to production.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

/// The energy of `rows` charges with `columns` others.
Ladder pair_ladder(std::int64_t rows, std::int64_t columns);

}  // namespace smallbatch
