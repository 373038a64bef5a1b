#include "core/nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace smallbatch {
namespace {

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return text;
}

/// Returns how many steps turn `a` into `b`; a step replaces, removes or adds a letter, or swaps two neighbours
/// (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t k = 0; k <= b.size(); ++k) row[k] = k;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1)});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) row[k] = std::min(row[k], before[k - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(const std::string& name, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  std::size_t least = 3;
  for (const std::string& candidate : known) {
    const std::size_t most = candidate.size() < 4 ? 0 : candidate.size() < 6 ? 1 : 2;
    if (name.size() > candidate.size() + most) continue;
    const std::size_t found = distance(lower_case(name), lower_case(candidate));
    if (found > most || found >= least) continue;
    least = found;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace smallbatch
