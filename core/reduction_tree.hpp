// The tree of core/reductions.hpp. A leaf is leaf_values(n) consecutive values, arranged in rows of 4 KiB. Each column
// is joined downwards. Then neighbouring columns are joined, (0 1) (2 3) ..., then their results, until one state is
// left. The results of the leaves are joined in the same way, in rows of leaves_per_row.
//
// Rows are wide so that host and device work in parallel. A row is a SIMD loop on the host, and one 16-byte load by
// each of 256 threads on the device. Private to core/reductions.*, which are compiled without fusing multiplications
// and additions. (nvcc compiles these functions for the device with --expt-relaxed-constexpr.)
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

/// Returns the number of values per leaf: the smallest power of two, from 4096 on, that gives at most 8192 leaves.
constexpr std::int64_t leaf_values(std::int64_t count) {
  std::int64_t values = 4096;
  while ((count - 1) / values >= 8192) values *= 2;
  return values;
}
constexpr std::int64_t leaf_count(std::int64_t count) { return (count + leaf_values(count) - 1) / leaf_values(count); }

/// Sums that are held in one number of type T.
template <class T>
struct SumsIn {
  using State = T;
  static constexpr State empty() { return 0; }
  static constexpr State of(T x) { return x; }
  static constexpr State join(State a, State b) { return a + b; }
  static constexpr double value(State sum) { return sum; }
};

/// Sums in T of values of T, or of products rounded to T.
template <class T>
struct Fast : SumsIn<T> {
  static constexpr T product(T x, T y) { return x * y; }
};

/// Sums in double of values in single precision.
struct InDouble : SumsIn<double> {
  static constexpr double product(float x, float y) { return static_cast<double>(x) * static_cast<double>(y); }
};

/// A sum of type T, and the sum of its rounding errors.
template <class T>
struct alignas(2 * sizeof(T)) CompensatedSum {
  T sum, lost;
};

/// Sums that keep their rounding errors. TwoSum finds the error of an addition, a fused multiply-add the error of a
/// product.
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
  /// Returns the sum with its correction. If the sum left the range of T, the correction is not finite and is dropped.
  static constexpr double value(State state) {
    const double sum = state.sum, lost = state.lost;
    return lost - lost == 0 ? sum + lost : sum;
  }
};

/// A reduction: `of` makes a state from values, `join` joins two states, `value` turns the last state into the result.
/// Only dot uses `y`.
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

/// The smallest value with Sign = 1, or the largest with Sign = -1.
template <class T, int Sign>
struct Extreme {
  using State = T;
  static constexpr State empty() { return Sign * std::numeric_limits<T>::infinity(); }
  static constexpr State of(T x, T /*y*/) { return x; }
  static constexpr State join(State a, State b) { return Sign * a < Sign * b || a != a ? a : b; }
  static constexpr double value(State state) { return state; }
};

/// Whether an operation reads y besides x.
template <class Operation>
inline constexpr bool reads_y = false;
template <class Sums>
inline constexpr bool reads_y<Dot<Sums>> = true;

/// Returns the result at the root of the tree. Every NaN becomes the same NaN.
template <class Operation>
constexpr double result_of(typename Operation::State root) {
  const double value = Operation::value(root);
  return value == value ? value : std::numeric_limits<double>::quiet_NaN();
}

/// Calls `call` with the operation for values of T.
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
