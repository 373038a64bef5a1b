// Sums that keep what their additions lose: of single numbers, and of as many side by side as Eigen takes together.
#pragma once

#include <Eigen/Core>
#include <cmath>

namespace smallbatch {

/// As many charges as are looked at together, and how many times as many terms are added in one.
inline constexpr int chunk_charges = 64, chunks_together = 2;
using Chunk = Eigen::Array<double, chunk_charges, 1>;

/// A running sum that keeps what each addition loses (Neumaier).
class CompensatedSum {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  /// What was lost means nothing once the sum is an infinity or a NaN.
  [[nodiscard]] double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

/// 64 running sums side by side.
class ChunkSum {
 public:
  void add(const Chunk& terms) {
    const Chunk sum = sum_ + terms, gained = sum - sum_;
    lost_ += (sum_ - (sum - gained)) + (terms - gained);
    sum_ = sum;
  }
  [[nodiscard]] double total() const {
    CompensatedSum total;
    for (int i = 0; i < chunk_charges; ++i) {
      total.add(sum_[i]);
      total.add(lost_[i]);
    }
    return total.value();
  }

 private:
  Chunk sum_ = Chunk::Zero(), lost_ = Chunk::Zero();
};

}  // namespace smallbatch
