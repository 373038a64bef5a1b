// Where others have taken a GPU's memory, a set is run again in smaller blocks.
#pragma once

#include <spdlog/spdlog.h>

#include "app/run/plan.hpp"
#include "core/error.hpp"

namespace smallbatch {

/// Runs a set; from its beginning, in smaller blocks, for as long as there is no memory for them and they may become
/// smaller: the same numbers go to the same places. before_smaller: what is done before.
template <class BeforeSmaller, class RunSet>
auto in_blocks_that_fit(Plan& plan, const BeforeSmaller& before_smaller, const RunSet& run_set) {
  for (;;) {
    try {
      return run_set();
    } catch (const Error& error) {
      const bool is_limited = plan.is_memory_limited;
      if (error.kind() != ErrorKind::out_of_memory || !take_smaller_blocks(plan)) throw;
      if (!is_limited) spdlog::warn("{} Going on with smaller blocks.", error.what());
      before_smaller();
    }
  }
}

}  // namespace smallbatch
