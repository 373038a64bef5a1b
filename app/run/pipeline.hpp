// The main job: problems.h5 -> read -> solve or evaluate -> verify -> results.h5, block by block.
#pragma once

#include <string>

#include "app/cli/options.hpp"
#include "app/report/run_report.hpp"

namespace smallbatch {

/// Runs every set of options.problems and writes options.results, which appears only when it is whole.
RunReport run(const RunOptions& options, const std::string& command_line);

}  // namespace smallbatch
