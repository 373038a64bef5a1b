// run --dry-run: reports what a run would do.
#pragma once

#include <string>

#include "app/cli/options.hpp"

namespace smallbatch {

/// Makes every decision of a run and refuses everything that a run refuses. It computes and writes nothing. Returns the
/// text for stdout.
std::string dry_run(const RunOptions& options);

}  // namespace smallbatch
