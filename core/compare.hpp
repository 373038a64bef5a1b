// Comparison of results. Every decision whether two results agree is made here.
//
// A NaN fails, because the test is !(error <= bound) and never error > bound. An infinity agrees only with the same
// infinity. A bound is a magnitude: with a negative, NaN or infinite bound, only equal values agree.
#pragma once

#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns true if `error` is a number not above `bound`. Returns false if either is NaN or if the bound is infinite.
[[nodiscard]] bool within(double error, double bound);

/// Returns |got - expected| divided by `bound`. The result is 0 if the two values are equal. It is infinity if they
/// differ and one of them is NaN or infinite, or the bound is not positive and finite.
[[nodiscard]] double error_over_bound(double got, double expected, double bound);

/// Returns a bound as text for messages, with up to ten digits: "30", "1.01", and "2^-22" for small powers of two.
[[nodiscard]] std::string bound_text(double bound);

/// The result of comparing many values.
struct Comparison {
  std::int64_t compared = 0;
  std::int64_t disagreeing = 0;
  double worst = 0;               ///< the largest error over its bound; above 1 means disagreement
  std::int64_t worst_index = -1;  ///< index of the worst value; -1 when nothing was compared

  [[nodiscard]] bool agree() const { return disagreeing == 0; }
  void add(double error_over_its_bound, std::int64_t index);
  void merge(const Comparison& other);
};

}  // namespace smallbatch
#pragma GCC visibility pop
