// Decisions of a run about its input, its output and the machine, before it begins. `run` acts on them, --dry-run
// tells them.
#pragma once

#include <functional>
#include <optional>

#include "app/cli/options.hpp"
#include "app/report/input_identity.hpp"
#include "app/report/run_report.hpp"
#include "app/run/plan.hpp"
#include "io/problem_reader.hpp"
#include "io/share.hpp"

namespace smallbatch {

struct Decision {
  Plan plan;
  std::optional<RunReport> complete;  ///< what the results tell, where they are there and nothing is to be done
  double start_seconds = 0;           ///< until the devices were found
};

/// Throws what a run would be refused for. Where this process runs its share alone, `reader` has that share from then
/// on; of several ranks, this one is `ranks.index` of `ranks.count`, and shares GPUs with its neighbours. `input` says
/// what the problem file is, which may take a while.
Decision decide(const RunOptions& options, ProblemReader& reader, const std::function<InputIdentity()>& input,
                const Share& ranks = {}, const Share& neighbours = {});

}  // namespace smallbatch
