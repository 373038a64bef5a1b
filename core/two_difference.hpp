// Exact differences of two doubles, on host and device.
#pragma once

namespace smallbatch {

/// A number that is exactly the sum high + low of two doubles.
struct Exact {
  double high = 0, low = 0;
};

/// Returns `a - b` exactly, unless it overflows: TwoSum of a and -b (T. Ogita, S. M. Rump, S. Oishi, SIAM J. Sci.
/// Comput. 26, 1955 (2005), after D. E. Knuth, The Art of Computer Programming 2, section 4.2.2).
constexpr Exact two_difference(double a, double b) {
  const double difference = a - b, minus_b = difference - a;
  return {difference, (a - (difference - minus_b)) - (b + minus_b)};
}

}  // namespace smallbatch
