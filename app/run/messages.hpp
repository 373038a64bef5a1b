// What the ranks of a run tell each other, and a run the one that goes on with it, as text: where everything lies in
// the results, and what became of shares and blocks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/judge/outcome.hpp"
#include "app/run/stages.hpp"
#include "io/output_layout.hpp"

namespace smallbatch {

std::string to_message(const OutputLayout& layout);
OutputLayout layout_of(const std::string& message);

/// Of a rank: its sets, where each begins in the whole one, and its seconds.
struct ShareOutcome {
  std::vector<SetOutcome> sets;
  std::vector<std::int64_t> starts;
  StageSeconds seconds;
  WrittenElements written;
};
std::string to_message(const ShareOutcome& outcome);
/// Adds what a message says to `outcome`: counts add up, of the seconds the longest stay.
void add_message(ShareOutcome& outcome, const std::string& message);

/// What decides the results of a run and its blocks: what it is called, and what it is.
using RunIdentity = std::vector<std::pair<std::string, std::string>>;
std::string to_message(const RunIdentity& identity);
RunIdentity run_identity_of(const std::string& message);

/// A block of a run that is in the result file, and what was known of its set once it was.
struct FinishedBlock {
  std::string set;  ///< "/solve/name"
  /// The first and the last of the blocks that are finished with it: those since the last one that was told of.
  std::int64_t first_block = 0, last_block = 0;
  std::vector<std::int64_t> ranges;   ///< which problems of the set they have, as numbers
  std::vector<WrittenRange> written;  ///< of them all
  std::string judged, counted;        ///< as tallies put it
  std::uint64_t problems_hash = 0;    ///< of the outcome: of these problems and those before them
};
/// `memory`: an earlier message, or nothing.
std::string to_message(const FinishedBlock& finished, const SetOutcome& outcome, std::string memory = {});
FinishedBlock finished_block_of(const std::string& message);
/// `outcome`, as it is when its set begins, becomes what it was with the block.
void restore(SetOutcome& outcome, const std::string& message);

}  // namespace smallbatch
