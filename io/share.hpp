// Share of a problem file: consecutive problems of every set, for one of several processes.
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

  /// True if there is only one share.
  [[nodiscard]] bool is_everything() const { return count == 1; }
};

/// Returns a share as text: "3/16" for the third of sixteen.
std::string share_text(const Share& share);
/// Parses the text of a share. Returns nothing for any other text.
std::optional<Share> parse_share(const std::string& text);

/// First problem, charge, point and target of a share, counted in the whole set. In correlations, problems are
/// channels. Targets are values of V, or energies per charge.
struct ShareStart {
  std::int64_t problem = 0, charge = 0, point = 0, target = 0;  ///< counted from 0
};

/// Start of each set, by the path of the set. A set without an entry begins at 0.
using ShareStarts = std::map<std::string, ShareStart>;
ShareStart start_of(const ShareStarts& starts, const std::string& set);

/// Returns the `count` + 1 offsets of problems [first, first + count), counted from 0.
std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& offset, std::int64_t first, std::int64_t count);

/// Share of a set, as a set with problems counted from 0. All shares of a set have about equally many systems, pairs
/// (potentials and pair energies) or channels. A share may be empty.
template <class Set>
struct PartOfSet {
  Set set;
  ShareStart start;  ///< where the share's problems begin in the whole set
};
/// Returns the share of a set.
PartOfSet<SolveSet> part_of(const SolveSet& set, const Share& share);
PartOfSet<PotentialSet> part_of(const PotentialSet& set, const Share& share);
PartOfSet<PairEnergySet> part_of(const PairEnergySet& set, const Share& share);
PartOfSet<CorrelationSet> part_of(const CorrelationSet& set, const Share& share);

}  // namespace smallbatch
#pragma GCC visibility pop
