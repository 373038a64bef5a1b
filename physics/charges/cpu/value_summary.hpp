// Lowest, highest and sum of potentials that are finite: of each plane of a lattice, or of each problem.
#pragma once

#include <cstdint>
#include <vector>

#include "core/potentials.hpp"

namespace smallbatch {

/// Summary k is that of the values first_value[k] .. first_value[k+1]-1. Sums are taken in an order that depends on
/// their number alone: over 4096 values one after the other, then over those sums.
template <class T>
void summarise(const T* potential, const std::vector<std::int64_t>& first_value, unsigned threads,
               PotentialSummary* summary);

}  // namespace smallbatch
