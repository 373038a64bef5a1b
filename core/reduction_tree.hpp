// The tree of core/reductions.hpp. A leaf is leaf_values(n) consecutive values, written in rows of 4 KiB: each column
// is joined downwards, then neighbouring columns, (0 1) (2 3) ..., their results again, and so on to the last one. What
// comes of the leaves is joined in the same way, in rows of leaves_per_row.
//
// Wide rows are what both sides can do at once: a row of 1024 numbers is a SIMD loop on the host and a 16-byte load of
// each of 256 threads on the device. Private to core/reductions.*, which are compiled without fusing multiplications
// and additions. (nvcc compiles these functions for the device through --expt-relaxed-constexpr.)
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/reductions.hpp"

namespace smallbatch {

template <class T>
inline constexpr int values_per_row = 4096 / sizeof(T);
inline constexpr int leaves_per_row = 256;

/// A power of two, and so many that there are 8192 leaves at most.
constexpr std::int64_t leaf_values(std::int64_t count) {
  std::int64_t values = 4096;
  while ((count - 1) / values >= 8192) values *= 2;
  return values;
}
constexpr std::int64_t leaf_count(std::int64_t count) { return (count + leaf_values(count) - 1) / leaf_values(count); }

/// Sums in T.
template <class T>
struct SumsIn {
  using State = T;
  static constexpr State empty() { return 0; }
  static constexpr State of(T x) { return x; }
  static constexpr State join(State a, State b) { return a + b; }
  static constexpr double value(State sum) { return sum; }
};

/// Of values of T.
template <class T>
struct Fast : SumsIn<T> {
  static constexpr T product(T x, T y) { return x * y; }
};

/// Of values in single precision.
struct InDouble : SumsIn<double> {
  static constexpr double product(float x, float y) { return static_cast<double>(x) * static_cast<double>(y); }
};

/// A sum of T, and what its roundings lost.
template <class T>
struct alignas(2 * sizeof(T)) CompensatedSum {
  T sum, lost;
};

/// A rounding of an addition is found by TwoSum, that of a product by a fused multiply-add.
template <class T>
struct Compensated {
  using State = CompensatedSum<T>;
  static constexpr State empty() { return {0, 0}; }
  static constexpr State of(T x) { return {x, 0}; }
  static constexpr State product(T x, T y) {
    const T rounded = x * y;
    return {rounded, std::fma(x, y, -rounded)};
  }
  static constexpr State join(State a, State b) {
    const T sum = a.sum + b.sum, of_b = sum - a.sum;
    const T lost = (a.sum - (sum - of_b)) + (b.sum - of_b);
    return {sum, (a.lost + b.lost) + lost};
  }
  /// Where the sum left the range of T, what was lost is no number.
  static constexpr double value(State state) {
    const double sum = state.sum, lost = state.lost;
    return lost - lost == 0 ? sum + lost : sum;
  }
};

/// How values become a state, how two states become one, and what the last one says. `y` is meant for dot.
template <class Sums>
struct Sum : Sums {
  template <class T>
  static constexpr auto of(T x, T /*y*/) {
    return Sums::of(x);
  }
};
template <class Sums>
struct Dot : Sums {
  template <class T>
  static constexpr auto of(T x, T y) {
    return Sums::product(x, y);
  }
};
template <class Sums>
struct Norm2 : Sums {
  template <class T>
  static constexpr auto of(T x, T /*y*/) {
    return Sums::product(x, x);
  }
  static constexpr double value(typename Sums::State state) { return std::sqrt(Sums::value(state)); }
};

/// The smallest value, or with Sign = -1 the largest.
template <class T, int Sign>
struct Extreme {
  using State = T;
  static constexpr State empty() { return Sign * std::numeric_limits<T>::infinity(); }
  static constexpr State of(T x, T /*y*/) { return x; }
  static constexpr State join(State a, State b) { return Sign * a < Sign * b || a != a ? a : b; }
  static constexpr double value(State state) { return state; }
};

template <class Operation>
inline constexpr bool takes_two = false;
template <class Sums>
inline constexpr bool takes_two<Dot<Sums>> = true;

/// What the root of the tree says; all NaNs are one.
template <class Operation>
constexpr double result_of(typename Operation::State root) {
  const double value = Operation::value(root);
  return value == value ? value : std::numeric_limits<double>::quiet_NaN();
}

/// call(the operation) for values of T.
template <class T, class Call>
auto with_operation(Reduction reduction, Accumulation accumulation, const Call& call) {
  const auto with_sums = [&](auto sums) {
    using Sums = decltype(sums);
    return reduction == Reduction::sum   ? call(Sum<Sums>())
           : reduction == Reduction::dot ? call(Dot<Sums>())
                                         : call(Norm2<Sums>());
  };
  if (reduction == Reduction::minimum) return call(Extreme<T, 1>());
  if (reduction == Reduction::maximum) return call(Extreme<T, -1>());
  if (accumulation == Accumulation::compensated) return with_sums(Compensated<T>());
  if (accumulation == Accumulation::float64)
    return with_sums(std::conditional_t<sizeof(T) == 4, InDouble, Fast<double>>());
  return with_sums(Fast<T>());
}

}  // namespace smallbatch
