// A share of a problem file: consecutive problems of every set, for one of several processes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/sets.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Share `index`, from 0, of `count`.
struct Share {
  int index = 0, count = 1;

  /// Whether there is just one share.
  [[nodiscard]] bool is_everything() const { return count == 1; }
};

/// "3/16": the third of sixteen; and back, nothing where it is no such text.
std::string share_text(const Share& share);
std::optional<Share> parse_share(const std::string& text);

/// Where a share begins in its set. Problems are channels of correlations; targets are values of potentials, or
/// energies of charges.
struct ShareStart {
  std::int64_t problem = 0, charge = 0, point = 0, target = 0;  ///< each counted from 0
};

/// By the paths of sets. Those that are not there begin at 0.
using ShareStarts = std::map<std::string, ShareStart>;
ShareStart start_of(const ShareStarts& starts, const std::string& set);

/// Where the items of problems [first, first + count) begin, counted from 0: `count` + 1 of them.
std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& offset, std::int64_t first, std::int64_t count);

/// A share of a set as a set of its own, whose problems count from 0, and where it begins. Shares of systems have about
/// as many systems, those of potentials and pair energies about as many pairs, those of correlations about as many
/// channels; some may be empty.
template <class Set>
struct PartOfSet {
  Set set;
  ShareStart start;  ///< where the share's problems begin in the whole set
};
/// The share of a set.
PartOfSet<SolveSet> part_of(const SolveSet& set, const Share& share);
PartOfSet<PotentialSet> part_of(const PotentialSet& set, const Share& share);
PartOfSet<PairEnergySet> part_of(const PairEnergySet& set, const Share& share);
PartOfSet<CorrelationSet> part_of(const CorrelationSet& set, const Share& share);

}  // namespace smallbatch
#pragma GCC visibility pop
