// The one comparison: everything that decides whether two results agree goes through here.
//
// A NaN fails, because the test is !(error <= bound) and never error > bound. An infinity agrees only with the same
// infinity. A bound is a magnitude: a bound that is negative, NaN or infinite allows nothing but equality.
#pragma once

#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace smallbatch {

/// True where `error` is a number not above `bound`. NaN on either side is false, as is an infinite bound.
[[nodiscard]] bool within(double error, double bound);

/// |got - expected| over `bound`: 0 where the two are equal, infinity where either is a NaN, where just one is
/// infinite, or where they differ and the bound is not a positive number.
[[nodiscard]] double error_over_bound(double got, double expected, double bound);

/// A number of a rule as sentences have it, so that they are made from what is compared: "30", "1.01", and for small
/// powers of two "2^-22".
[[nodiscard]] std::string bound_text(double bound);

/// What comparing many values found.
struct Comparison {
  std::int64_t compared = 0;
  std::int64_t disagreeing = 0;
  double worst = 0;               ///< largest error over its bound; above 1 is a disagreement
  std::int64_t worst_index = -1;  ///< where; -1 when nothing was compared

  [[nodiscard]] bool agree() const { return disagreeing == 0; }
  void add(double error_over_its_bound, std::int64_t index);
  void merge(const Comparison& other);
};

}  // namespace smallbatch
#pragma GCC visibility pop
