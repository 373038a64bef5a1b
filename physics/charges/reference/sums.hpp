// A compensated sum.
#pragma once

#include <cmath>

namespace smallbatch {

/// Running sum that keeps the rounding error of each addition (Neumaier).
class CompensatedSum {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  /// Returns the corrected sum. The correction means nothing once the sum is an infinity or a NaN.
  [[nodiscard]] double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

}  // namespace smallbatch
