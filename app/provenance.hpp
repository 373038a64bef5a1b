// What a result file says of how it was made.
#pragma once

#include <string>

#include "app/pipeline.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

/// Writes what all sets have come to, and /provenance.
void write_notes(ResultWriter& writer, const RunOptions& options, const RunReport& report,
                 const std::string& command_line, int ranks);

}  // namespace smallbatch
