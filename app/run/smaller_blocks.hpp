// Runs a set again in smaller blocks, if other programs have taken a GPU's memory.
#pragma once

#include <spdlog/spdlog.h>

#include "app/run/plan.hpp"
#include "core/error.hpp"

namespace smallbatch {

/// Runs a set. If there is no memory for its blocks, runs it again from its beginning in smaller blocks, as long as
/// blocks may become smaller. The results and their places in the file stay the same. Calls before_smaller() before
/// each repetition.
template <class BeforeSmaller, class RunSet>
auto in_blocks_that_fit(Plan& plan, const BeforeSmaller& before_smaller, const RunSet& run_set) {
  for (;;) {
    try {
      return run_set();
    } catch (const Error& error) {
      const bool is_limited = plan.is_memory_limited;
      if (error.kind() != ErrorKind::out_of_memory || !take_smaller_blocks(plan)) throw;
      if (!is_limited) spdlog::warn("{} The run continues with smaller blocks.", error.what());
      before_smaller();
    }
  }
}

}  // namespace smallbatch
