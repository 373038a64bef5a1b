// V_min, V_max and V_mean of the problems of a set. The planes of a problem may lie in several blocks. StatisticsOfSet
// puts together the summaries that the backends found. StatisticsReferee checks them from the values of V.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/potentials.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Puts together the summaries of blocks, in order. The bits of the result do not depend on how a lattice is cut into
/// blocks.
class StatisticsOfSet {
 public:
  explicit StatisticsOfSet(std::int64_t batch);
  /// Adds summaries of `count` problems from `first` on, or of some of their planes. Each problem has the same number
  /// of summaries, in order.
  void add(std::int64_t first, std::int64_t count, std::span<const PotentialSummary> summary);
  [[nodiscard]] PotentialStatistics statistics() const;
  /// Saves and restores the state of `count` problems from `first` on.
  void put_state(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_state(std::int64_t first, std::int64_t count, std::string_view& bytes);

 private:
  struct Total {
    PotentialSummary found;
    double lost = 0;  ///< sum of the rounding errors of the additions
  };
  std::vector<Total> total_;
};

/// Bound of the error of V_mean, relative to the sum of all |V|.
inline constexpr double mean_bound = 0x1p-52;

/// Computes V_min, V_max and V_mean again, from all values of V.
class StatisticsReferee {
 public:
  explicit StatisticsReferee(std::int64_t batch);
  template <class T>
  void add(const PotentialBlock<T>& block, unsigned threads = 1);
  /// Returns the largest error over bound of a problem, after all its values were added. V_min and V_max must equal
  /// values of V. V_mean must fulfil
  ///     |V_mean - mean| <= mean_bound sum |V|.
  [[nodiscard]] double largest_error_over_bound(const PotentialStatistics& statistics, std::int64_t problem) const;
  /// Saves and restores the state of `count` problems from `first` on.
  void put_state(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_state(std::int64_t first, std::int64_t count, std::string_view& bytes);

 private:
  struct Found {
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    long double sum = 0, magnitude = 0;
    std::int64_t values = 0;
    void add(const Found& more);
  };
  template <class T>
  static Found found_in_run(std::span<const T> run);

  std::vector<Found> found_;
};

}  // namespace smallbatch
