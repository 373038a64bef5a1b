// The larger of two errors, for tests that compare the largest error with a bound.
#pragma once

#include <cmath>

namespace smallbatch::testing {

/// Returns the larger number, or NaN if one of them is NaN. std::max() may return the other number, and then the NaN
/// would pass the comparison with the bound.
template <class Number>
Number larger_or_nan(Number a, Number b) {
  return a >= b || std::isnan(a) ? a : b;
}

}  // namespace smallbatch::testing
