// Lowest, highest and sum of each problem's potentials that are finite.
#pragma once

#include <cstdint>
#include <vector>

#include "core/batch.hpp"

namespace smallbatch {

/// Problem p has the values first_value[p] .. first_value[p+1]-1. Sums are taken in an order that depends on the
/// problem alone: over 4096 values one after the other, then over those sums.
template <class T>
void summarise(const T* potential, const std::vector<std::int64_t>& first_value, unsigned threads,
               PotentialSummary* summary);

}  // namespace smallbatch
