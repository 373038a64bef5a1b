// Residuals of systems whose numbers may leave the range of double on the way: A times one power of two and x times
// another, and so b times both. Shared by cuda and cpu; the referee has its own. (nvcc compiles this for the device
// through --expt-relaxed-constexpr.)
#pragma once

namespace smallbatch {

/// b times two powers of two: no bit is lost on the way, where one of them is large and the other small.
constexpr double with_factors(double b, double a_factor, double x_factor) {
  const double product = a_factor * x_factor;
  const bool normal = product >= 0x1p-1022 && product <= 0x1p1023;
  return normal ? b * product : b * a_factor * x_factor;
}

}  // namespace smallbatch
