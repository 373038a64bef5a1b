// What the ranks of a run tell each other, as text: where everything lies in the results, and what became of their
// shares.
#pragma once

#include <string>
#include <vector>

#include "app/outcome.hpp"
#include "app/stages.hpp"
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

}  // namespace smallbatch
