// run --dry-run: what a run would do.
#pragma once

#include <string>

#include "app/cli/options.hpp"

namespace smallbatch {

/// Decides all that a run decides, and refuses what it would refuse, but computes and writes nothing. For stdout.
std::string dry_run(const RunOptions& options);

}  // namespace smallbatch
