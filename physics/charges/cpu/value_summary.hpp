// Lowest, highest and sum of the finite potentials, for each plane of a lattice or for each problem.
#pragma once

#include <cstdint>
#include <vector>

#include "core/potentials.hpp"

namespace smallbatch {

/// Computes summary k of the values first_value[k] .. first_value[k+1]-1. The order of additions depends only on the
/// number of values: 4096 values are added one after another, then these sums.
template <class T>
void summarise(const T* potential, const std::vector<std::int64_t>& first_value, unsigned threads,
               PotentialSummary* summary);

}  // namespace smallbatch
