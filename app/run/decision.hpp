// Decisions of a run about its input, its output and the machine. `run` acts on them; --dry-run reports them.
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
  std::optional<RunReport> complete;  ///< the report of complete results, if nothing is left to be done
  double start_seconds = 0;           ///< until the devices were found
};

/// Makes the decisions of a run. Throws every error for which the run is refused. If this process runs a share by
/// itself, `reader` has only that share afterwards. With several ranks, this rank is `ranks.index` of `ranks.count`.
/// The ranks on this machine, `neighbours`, share its GPUs. input() returns the identity of the problem file, which may
/// take a while.
Decision decide(const RunOptions& options, ProblemReader& reader, const std::function<InputIdentity()>& input,
                const Share& ranks = {}, const Share& neighbours = {});

}  // namespace smallbatch
