#include "io/share.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <system_error>
#include <utility>

namespace smallbatch {
namespace {

/// Returns total * index / count, rounded down. No product overflows.
std::int64_t before(std::int64_t total, std::int64_t index, std::int64_t count) {
  return total / count * index + total % count * index / count;
}

/// Returns, for each problem, the number of pairs of charge and target in the problems before it. The last value is the
/// number in all problems.
std::vector<double> pairs_before(const ChargesOfSet& set,
                                 const std::function<std::int64_t(std::int64_t)>& targets_before) {
  std::vector<double> pairs{0};
  for (std::int64_t p = 0; p < set.batch; ++p) {
    const auto i = static_cast<std::size_t>(p);
    const auto charges = static_cast<double>(set.offset[i + 1] - set.offset[i]);
    const auto targets = static_cast<double>(targets_before(p + 1) - targets_before(p));
    pairs.push_back(pairs.back() + targets * (charges + 1));  // + 1: writing a target takes time, too
  }
  return pairs;
}

/// Returns the first problem of share `index`. The pairs before it are at most index / count of all pairs.
std::int64_t first_problem(const std::vector<double>& pairs, int index, int count) {
  const auto batch = static_cast<std::int64_t>(pairs.size()) - 1;
  if (index == 0) return 0;  // the first share also gets leading problems without pairs
  if (index == count) return batch;
  if (pairs.back() == 0) return before(batch, index, count);
  const double wanted = pairs.back() * index / count;
  return std::upper_bound(pairs.begin() + 1, pairs.end(), wanted) - (pairs.begin() + 1);
}

/// Returns the first problem of a share, and the first problem after the share.
std::pair<std::int64_t, std::int64_t> problems_of(const ChargesOfSet& set, const Share& share,
                                                  const std::function<std::int64_t(std::int64_t)>& targets_before) {
  const std::vector<double> pairs = pairs_before(set, targets_before);
  return {first_problem(pairs, share.index, share.count), first_problem(pairs, share.index + 1, share.count)};
}

}  // namespace

std::string share_text(const Share& share) {
  return std::to_string(share.index + 1) + "/" + std::to_string(share.count);
}

std::optional<Share> parse_share(const std::string& text) {
  Share share;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, share.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != '/') return std::nullopt;
  const auto count = std::from_chars(index.ptr + 1, end, share.count);
  if (count.ec != std::errc() || count.ptr != end || share.index < 1 || share.index > share.count) return std::nullopt;
  --share.index;
  return share;
}

ShareStart start_of(const ShareStarts& starts, const std::string& set) {
  const auto found = starts.find(set);
  return found == starts.end() ? ShareStart{} : found->second;
}

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& offset, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> part(offset.begin() + first, offset.begin() + first + count + 1);
  for (std::int64_t& begin : part) begin -= offset[static_cast<std::size_t>(first)];
  return part;
}

PartOfSet<SolveSet> part_of(const SolveSet& set, const Share& share) {
  PartOfSet<SolveSet> part{set, {before(set.batch, share.index, share.count), 0, 0, 0}};
  part.set.batch = before(set.batch, share.index + 1, share.count) - part.start.problem;
  return part;
}

PartOfSet<PotentialSet> part_of(const PotentialSet& set, const Share& share) {
  const auto [first, last] = problems_of(set, share, [&](std::int64_t p) { return set.targets_before(p); });
  const auto i = static_cast<std::size_t>(first);
  PartOfSet<PotentialSet> part{set, {first, set.offset[i], 0, set.targets_before(first)}};
  if (set.targets == TargetKind::points) part.start.point = set.point_offset[i];
  part.set.batch = last - first;
  part.set.offset = offsets_of(set.offset, first, last - first);
  part.set.labels = part_of(set.labels, first, last - first);
  if (set.targets == TargetKind::points) part.set.point_offset = offsets_of(set.point_offset, first, last - first);
  if (set.targets == TargetKind::lattice) {
    part.set.origin.assign(set.origin.begin() + 3 * first, set.origin.begin() + 3 * last);
    part.set.spacing.assign(set.spacing.begin() + 3 * first, set.spacing.begin() + 3 * last);
  }
  return part;
}

PartOfSet<PairEnergySet> part_of(const PairEnergySet& set, const Share& share) {
  const auto charges_before = [&](std::int64_t p) { return set.offset[static_cast<std::size_t>(p)]; };
  const auto [first, last] = problems_of(set, share, charges_before);
  PartOfSet<PairEnergySet> part{set, {first, charges_before(first), 0, charges_before(first)}};
  part.set.batch = last - first;
  part.set.offset = offsets_of(set.offset, first, last - first);
  part.set.labels = part_of(set.labels, first, last - first);
  return part;
}

PartOfSet<CorrelationSet> part_of(const CorrelationSet& set, const Share& share) {
  const std::int64_t first = before(set.batch, share.index, share.count);
  const std::int64_t last = before(set.batch, share.index + 1, share.count);
  PartOfSet<CorrelationSet> part{set, {first, 0, 0, 0}};
  part.set.batch = last - first;
  if (!set.frequency.empty()) part.set.frequency.assign(set.frequency.begin() + first, set.frequency.begin() + last);
  return part;
}

}  // namespace smallbatch
