#include "app/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "core/compare.hpp"

namespace smallbatch {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
}  // namespace

StatisticsOfSet::StatisticsOfSet(std::int64_t batch) : total_(static_cast<std::size_t>(batch)) {}

void StatisticsOfSet::add(std::int64_t first, std::int64_t count, std::span<const PotentialSummary> summary) {
  for (std::size_t k = 0; k < summary.size(); ++k) {
    auto& [found, lost] =
        total_[static_cast<std::size_t>(first) + k * static_cast<std::size_t>(count) / summary.size()];
    const double before = found.sum, more = summary[k].sum;
    found.add(summary[k]);
    lost += std::abs(before) >= std::abs(more) ? (before - found.sum) + more : (more - found.sum) + before;  // Neumaier
  }
}

PotentialStatistics StatisticsOfSet::statistics() const {
  PotentialStatistics statistics;
  for (const auto& [found, lost] : total_) {
    const bool any = found.values > 0;
    statistics.lowest.push_back(any ? found.lowest : nan);
    statistics.highest.push_back(any ? found.highest : nan);
    const double sum = found.sum + lost;
    statistics.mean.push_back(any && std::isfinite(sum) ? sum / static_cast<double>(found.values) : nan);
  }
  return statistics;
}

StatisticsReferee::StatisticsReferee(std::int64_t batch) : found_(static_cast<std::size_t>(batch)) {}

template <class T>
void StatisticsReferee::add(const PotentialBlock<T>& block) {
  std::int64_t next = 0;
  for (std::int64_t k = 0; k < block.count; ++k) {
    const std::int64_t targets = block.target_count(k);
    Found& found = found_[static_cast<std::size_t>(block.first + k)];
    for (const T v :
         std::span(block.potential).subspan(static_cast<std::size_t>(next), static_cast<std::size_t>(targets))) {
      const double value = static_cast<double>(v);
      if (!std::isfinite(value)) continue;
      found.lowest = std::min(found.lowest, value);
      found.highest = std::max(found.highest, value);
      found.sum += value;
      found.magnitude += std::abs(value);
      ++found.values;
    }
    next += targets;
  }
}

double StatisticsReferee::judge(const PotentialStatistics& statistics, std::int64_t problem) const {
  const auto p = static_cast<std::size_t>(problem);
  const Found& found = found_[p];
  const double lowest = statistics.lowest[p], highest = statistics.highest[p], mean = statistics.mean[p];
  if (found.values == 0) return std::isnan(lowest) && std::isnan(highest) && std::isnan(mean) ? 0 : infinity;
  const double expected = static_cast<double>(found.sum / static_cast<long double>(found.values));
  // Sums in double precision may leave its range on the way.
  constexpr auto largest = static_cast<long double>(std::numeric_limits<double>::max());
  if (found.magnitude > largest && std::isnan(mean))
    return std::max(error_over_bound(lowest, found.lowest, 0), error_over_bound(highest, found.highest, 0));
  return std::max({error_over_bound(lowest, found.lowest, 0), error_over_bound(highest, found.highest, 0),
                   error_over_bound(mean, expected, static_cast<double>(mean_bound * found.magnitude))});
}

template void StatisticsReferee::add(const PotentialBlock<float>&);
template void StatisticsReferee::add(const PotentialBlock<double>&);

}  // namespace smallbatch
