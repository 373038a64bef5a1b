#include "app/verification/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/verification/block_state.hpp"
#include "core/compare.hpp"
#include "core/not_finite.hpp"
#include "core/parallel.hpp"

namespace smallbatch {

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

void StatisticsOfSet::put_state(std::int64_t first, std::int64_t count, std::string& bytes) const {
  put(bytes, std::span(total_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}
void StatisticsOfSet::take_state(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  take(bytes, std::span(total_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

StatisticsReferee::StatisticsReferee(std::int64_t batch) : found_(static_cast<std::size_t>(batch)) {}

void StatisticsReferee::Found::add(const Found& more) {
  lowest = std::min(lowest, more.lowest);
  highest = std::max(highest, more.highest);
  sum += more.sum;
  magnitude += more.magnitude;
  values += more.values;
}

/// Summarizes a sequence of values. Each of 16 lanes sums a sixteenth of the values in double precision. So the error
/// of their mean is below 2^-57 sum |V|, which is 2^-5 of the bound.
template <class T>
StatisticsReferee::Found StatisticsReferee::found_in_run(std::span<const T> run) {
  constexpr std::size_t lanes = 16;
  T lowest[lanes], highest[lanes];
  double sum[lanes] = {}, magnitude[lanes] = {};
  std::fill(lowest, lowest + lanes, std::numeric_limits<T>::infinity());
  std::fill(highest, highest + lanes, -std::numeric_limits<T>::infinity());
  const std::size_t whole = run.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const T value = run[i + lane];
      lowest[lane] = value < lowest[lane] ? value : lowest[lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
      sum[lane] += static_cast<double>(value);
      magnitude[lane] += std::abs(static_cast<double>(value));
    }
  Found found;
  for (std::size_t lane = 0; lane < lanes && whole > 0; ++lane)
    found.add({static_cast<double>(lowest[lane]), static_cast<double>(highest[lane]), sum[lane], magnitude[lane], 0});
  found.values = static_cast<std::int64_t>(whole);
  const bool all_finite = std::isfinite(static_cast<double>(found.magnitude));
  if (!all_finite) found = {};  // a value or the sum is not finite, so the loop below starts again
  for (const T v : run.subspan(all_finite ? whole : 0)) {
    const auto value = static_cast<double>(v);
    if (std::isfinite(value)) found.add({value, value, value, std::abs(value), 1});
  }
  return found;
}

template <class T>
void StatisticsReferee::add(const PotentialBlock<T>& block, unsigned threads) {
  const bool on_lattices = block.targets == TargetKind::lattice;
  const std::int64_t per_lattice = block.plane_count * block.shape.plane_points();
  const std::vector<std::int64_t>& ends = block.targets == TargetKind::points ? block.point_offset : block.offset;
  const auto before = [&](std::int64_t k) { return on_lattices ? k * per_lattice : ends[static_cast<std::size_t>(k)]; };
  const auto problem_of = [&](std::int64_t target) {
    return on_lattices ? target / per_lattice : std::upper_bound(ends.begin(), ends.end(), target) - ends.begin() - 1;
  };
  // The values of a thread may begin or end within a problem. When all threads have ended, the sums of such parts are
  // added in order. The bits of the total thus do not depend on the threads.
  constexpr std::int64_t together = 1 << 16, run = 1 << 11;
  struct OfPart {
    std::int64_t problem = 0;
    Found found;
  };
  const std::int64_t values = block.target_count();
  std::vector<std::array<OfPart, 2>> of_parts(static_cast<std::size_t>((values + together - 1) / together));
  parallel_for(values, together, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = problem_of(first); k < block.count && before(k) < last; ++k) {
      Found found;
      const std::int64_t end = std::min(last, before(k + 1));
      for (std::int64_t begin = std::max(first, before(k)); begin < end; begin += run)
        found.add(found_in_run(std::span(block.potential).subspan(begin, std::min(run, end - begin))));
      auto& [at_begin, at_end] = of_parts[static_cast<std::size_t>(first / together)];
      if (before(k) < first)
        at_begin = {k, found};
      else if (before(k + 1) > last)
        at_end = {k, found};
      else
        found_[static_cast<std::size_t>(block.first + k)].add(found);
    }
  });
  for (const auto& part : of_parts)
    for (const auto& [problem, found] : part) found_[static_cast<std::size_t>(block.first + problem)].add(found);
}

void StatisticsReferee::put_state(std::int64_t first, std::int64_t count, std::string& bytes) const {
  put(bytes, std::span(found_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}
void StatisticsReferee::take_state(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  take(bytes, std::span(found_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

double StatisticsReferee::largest_error_over_bound(const PotentialStatistics& statistics, std::int64_t problem) const {
  const auto p = static_cast<std::size_t>(problem);
  const Found& found = found_[p];
  const double lowest = statistics.lowest[p], highest = statistics.highest[p], mean = statistics.mean[p];
  if (found.values == 0) return std::isnan(lowest) && std::isnan(highest) && std::isnan(mean) ? 0 : infinity;
  const double expected = static_cast<double>(found.sum / static_cast<long double>(found.values));
  // The backends add in double precision. If an intermediate sum overflows, V_mean is NaN.
  constexpr auto largest = static_cast<long double>(std::numeric_limits<double>::max());
  if (found.magnitude > largest && std::isnan(mean))
    return std::max(error_over_bound(lowest, found.lowest, 0), error_over_bound(highest, found.highest, 0));
  return std::max({error_over_bound(lowest, found.lowest, 0), error_over_bound(highest, found.highest, 0),
                   error_over_bound(mean, expected, static_cast<double>(mean_bound * found.magnitude))});
}

template void StatisticsReferee::add(const PotentialBlock<float>&, unsigned);
template void StatisticsReferee::add(const PotentialBlock<double>&, unsigned);

}  // namespace smallbatch
