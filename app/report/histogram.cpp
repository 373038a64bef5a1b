#include "app/report/histogram.hpp"

#include <algorithm>
#include <cmath>

#include "app/report/html.hpp"
#include "io/picture/picture.hpp"

namespace smallbatch {

namespace {

void add_sentence(std::string& caption, std::int64_t count, const char* words) {
  if (count > 0) caption += (caption.empty() ? "" : ", ") + grouped(count) + words;
}

}  // namespace

void Magnitudes::add(double value) {
  if (std::isnan(value)) {
    ++not_numbers_;
  } else if (std::isinf(value)) {
    ++infinite_;
  } else if (value == 0) {
    ++zeros_;
  } else if (value < 0) {
    ++negative_;
  } else {
    const auto bin = static_cast<std::int64_t>(std::floor((std::log10(value) - least_power) * bins_per_decade));
    ++counts_[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, std::ssize(counts_) - 1))];
  }
}

std::optional<Histogram> Magnitudes::histogram(const std::string& title, const std::string& unit) const {
  const auto is_used = [](std::int64_t count) { return count > 0; };
  const auto found = std::find_if(counts_.begin(), counts_.end(), is_used);
  if (found == counts_.end()) return std::nullopt;
  auto first = found - counts_.begin();
  auto last = counts_.rend() - std::find_if(counts_.rbegin(), counts_.rend(), is_used);  // one past the last used bin
  constexpr std::int64_t most_bins = 40;
  const std::int64_t together = (last - first + most_bins - 1) / most_bins;  // bins to a bar
  // Shows at least a power of ten, in whole bars.
  const std::int64_t bars = std::max<std::int64_t>((last - first + together - 1) / together, bins_per_decade);
  first = std::max<std::int64_t>(0, first - (bars * together - (last - first)) / 2);
  Histogram histogram{title, unit, 0, 0, true, std::vector<std::int64_t>(static_cast<std::size_t>(bars)), "", ""};
  for (std::int64_t bin = first; bin < std::min<std::int64_t>(first + bars * together, std::ssize(counts_)); ++bin)
    histogram.counts[static_cast<std::size_t>((bin - first) / together)] += counts_[static_cast<std::size_t>(bin)];
  histogram.low = least_power + static_cast<double>(first) / bins_per_decade;
  histogram.high = histogram.low + static_cast<double>(bars * together) / bins_per_decade;
  add_sentence(histogram.caption, zeros_, zeros_ == 1 ? " is 0" : " are 0");
  add_sentence(histogram.caption, negative_, " below 0");
  add_sentence(histogram.caption, infinite_, " infinite");
  add_sentence(histogram.caption, not_numbers_, not_numbers_ == 1 ? " is not a number" : " are not numbers");
  return histogram;
}

std::optional<Histogram> histogram_of(std::vector<double>& values, const std::string& title, const std::string& unit) {
  const std::size_t all = values.size();
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::nullopt;
  const double low = percentile(values, 1), high = percentile(values, 99);
  const double margin = high > low ? 0 : std::max(std::abs(low), 1.0) * 0.5;
  Histogram histogram{title, unit, low - margin, high + margin, false, std::vector<std::int64_t>(30), "", ""};
  std::int64_t below = 0, above = 0;
  const auto bins = static_cast<double>(histogram.counts.size());
  for (const double value : values) {
    if (value < histogram.low) {
      ++below;
    } else if (value > histogram.high) {
      ++above;
    } else {
      const double place = (value - histogram.low) / (histogram.high - histogram.low) * bins;
      ++histogram.counts[static_cast<std::size_t>(std::min(place, bins - 1))];
    }
  }
  add_sentence(histogram.caption, below, " further left");
  add_sentence(histogram.caption, above, " further right");
  add_sentence(histogram.caption, static_cast<std::int64_t>(all - values.size()), " not finite");
  return histogram;
}

}  // namespace smallbatch
