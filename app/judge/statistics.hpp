// V_min, V_max and V_mean of a set's problems, whose planes may lie in several blocks: what the backends found, and
// what the values say.
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

/// Puts the summaries of blocks together, one after the other: however a lattice's planes were cut into blocks, the
/// bits are the same.
class StatisticsOfSet {
 public:
  explicit StatisticsOfSet(std::int64_t batch);
  /// Of `count` problems from `first` on, or of some of their planes: as many summaries of each, in their order.
  void add(std::int64_t first, std::int64_t count, std::span<const PotentialSummary> summary);
  [[nodiscard]] PotentialStatistics statistics() const;
  /// What is known of `count` problems from `first` on, to be put back.
  void put_state(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_state(std::int64_t first, std::int64_t count, std::string_view& bytes);

 private:
  struct Total {
    PotentialSummary found;
    double lost = 0;  ///< what additions to the sum have lost
  };
  std::vector<Total> total_;
};

/// Of V_mean, of the sum of all |V|.
inline constexpr double mean_bound = 0x1p-52;

/// Finds them again from all values of V.
class StatisticsReferee {
 public:
  explicit StatisticsReferee(std::int64_t batch);
  template <class T>
  void add(const PotentialBlock<T>& block, unsigned threads = 1);
  /// Error over bound of a problem, once all its values were added: V_min and V_max are values themselves,
  ///     |V_mean - mean| <= mean_bound sum |V|.
  [[nodiscard]] double judge(const PotentialStatistics& statistics, std::int64_t problem) const;
  /// As of StatisticsOfSet.
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
