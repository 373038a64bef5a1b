// The larger of two errors, for tests that compare the largest error with a bound.
#pragma once

#include <cmath>

namespace smallbatch::testing {

/// Returns the larger number, or NaN if a number is NaN. With std::max(), the result may be the other number. Then the
/// NaN would not be compared with the bound.
template <class Number>
Number larger_or_nan(Number a, Number b) {
  return a >= b || std::isnan(a) ? a : b;
}

}  // namespace smallbatch::testing
