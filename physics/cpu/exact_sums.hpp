// Differences and products of doubles as sums of two doubles, without loss.
#pragma once

#include <cmath>
#include <cstdint>

namespace smallbatch {

/// high + low, exactly.
struct Exact {
  double high = 0, low = 0;
};

/// a - b (Knuth's two-sum).
inline Exact exact_difference(double a, double b) {
  const double d = a - b, minus_b = d - a;
  return {d, (a - (d - minus_b)) - (b + minus_b)};
}

/// index * spacing.
inline Exact exact_product(std::int64_t index, double spacing) {
  const double k = static_cast<double>(index), p = k * spacing;
  return {p, std::fma(k, spacing, -p)};
}

}  // namespace smallbatch
