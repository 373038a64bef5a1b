// Residuals `b - A x`, where intermediate numbers could leave the range of double. A is therefore multiplied by one
// power of two, x by a second, and b by both. The cuda and cpu backends share this file; the referee has separate code.
// (nvcc compiles this for the device with --expt-relaxed-constexpr.)
#pragma once

namespace smallbatch {

/// Returns b times two powers of two. No bit is lost on the way if one factor is large and the other small.
constexpr double with_factors(double b, double a_factor, double x_factor) {
  const double product = a_factor * x_factor;
  const bool normal = product >= 0x1p-1022 && product <= 0x1p1023;
  return normal ? b * product : b * a_factor * x_factor;
}

}  // namespace smallbatch
