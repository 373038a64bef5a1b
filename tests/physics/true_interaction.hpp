// True action of a charge on a target, in long double. The formulas are not those of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace smallbatch::testing {

/// Action of a charge without a cut-off: g = value/m and -g' = slope/m^2 r/m. `value_bound` and `slope_bound` are
/// factors of the bounds of a point charge at distance m.
struct TrueAction {
  long double m, value = 1, slope = 1, value_bound = 1, slope_bound = 1;
};
inline TrueAction true_action(long double r, long double softening, long double screening_length, long double width,
                              bool single) {
  const long double rho = std::sqrt(r * r + softening * softening);
  if (screening_length > 0) {
    const long double x = rho / screening_length, least = single ? 0x1p-100L : 0x1p-960L;
    const long double slope = (1 + x) * std::exp(-x);
    return {rho, std::exp(-x), slope, 2 * std::max(slope, least), 2 * std::max((1 + x) * slope, least)};
  }
  if (width == 0) return {rho};
  const long double t = r / (std::sqrt(2.0L) * width), m = std::max(r, 1.25L * width),
                    two_per_root_pi = 2 / std::sqrt(std::numbers::pi_v<long double>);
  long double value = two_per_root_pi, slope = 2 * two_per_root_pi / 3;  // erf(t)/t, and its slope over -t
  if (t > 0.3L) {
    value = std::erf(t) / t;
    slope = (value - two_per_root_pi * std::exp(-t * t)) / (t * t);
  } else {  // Taylor series
    long double power = two_per_root_pi;
    for (int n = 1; n < 20; ++n) {
      power *= -t * t / n;
      value += power / (2 * n + 1);
      slope += 2 * power / (2 * n + 3);
    }
  }
  const long double lengths = m / (std::sqrt(2.0L) * width);
  return {m, value * lengths, slope * lengths * lengths * lengths, 2, 2};
}
/// Returns the amount that is added to the bounds of a screened charge, before the factor f.
inline long double true_least(long double screening_length, bool single) {
  return screening_length > 0 ? single ? 0x1p-110L : 0x1p-1000L : 0;
}

}  // namespace smallbatch::testing
