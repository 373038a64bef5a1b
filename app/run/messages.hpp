// Messages between the ranks of a run, and from a run to the run that resumes it. They hold the layout of the result
// file, and the outcomes of shares and blocks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/run/stages.hpp"
#include "app/verification/outcome.hpp"
#include "io/output_layout.hpp"

namespace smallbatch {

std::string to_message(const OutputLayout& layout);
OutputLayout layout_of(const std::string& message);

/// Outcome of one rank.
struct ShareOutcome {
  std::vector<SetOutcome> sets;      ///< outcomes of the rank's shares of all sets
  std::vector<std::int64_t> starts;  ///< index of each share's first problem in the whole set
  StageSeconds seconds;
  WrittenElements written;
};
std::string to_message(const ShareOutcome& outcome);
/// Adds the outcome in a message to `outcome`. Counts add up. Seconds do not add up: the slowest rank counts.
void add_message(ShareOutcome& outcome, const std::string& message);

/// Everything that determines the results of a run and its blocks: names and values.
using RunIdentity = std::vector<std::pair<std::string, std::string>>;
std::string to_message(const RunIdentity& identity);
RunIdentity run_identity_of(const std::string& message);

/// Finished blocks of a run, and the state of their set after these blocks. The result file has their results.
struct FinishedBlock {
  std::string set;  ///< "/solve/name"
  /// First and last block of the record, which has all blocks that were finished since the previous record.
  std::int64_t first_block = 0, last_block = 0;
  std::vector<std::int64_t> ranges;   ///< ranges of these blocks, several numbers for each (app/run/run_set.cpp)
  std::vector<WrittenRange> written;  ///< ranges of datasets that hold the results of all these blocks
  std::string verified, counted;      ///< states of the tallies
  std::uint64_t problems_hash = 0;    ///< hash of all problems of the set up to these blocks
};
/// Returns the message. `memory` is an earlier message, reused, or empty.
std::string to_message(const FinishedBlock& finished, const SetOutcome& outcome, std::string memory = {});
FinishedBlock finished_block_of(const std::string& message);
/// Replaces the counts in `outcome` by those in a message about finished blocks. Name, shape, units and criterion,
/// which no message has, stay.
void restore(SetOutcome& outcome, const std::string& message);

}  // namespace smallbatch
