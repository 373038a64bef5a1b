// The main command: problems.h5 -> read -> compute -> verify -> results.h5, block by block.
#pragma once

#include <string>

#include "app/cli/options.hpp"
#include "app/report/run_report.hpp"

namespace smallbatch {

/// Runs every set of options.problems and writes options.results. The result file appears only once it is complete.
RunReport run(const RunOptions& options, const std::string& command_line);

}  // namespace smallbatch
