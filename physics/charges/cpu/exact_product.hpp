// Exact products of doubles, as sums of two doubles.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/two_difference.hpp"

namespace smallbatch {

/// Returns index * spacing, without rounding.
inline Exact exact_product(std::int64_t index, double spacing) {
  const double k = static_cast<double>(index), p = k * spacing;
  return {p, std::fma(k, spacing, -p)};
}

}  // namespace smallbatch
