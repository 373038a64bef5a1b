// What a file says of how it was made.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/options.hpp"
#include "app/report/input_identity.hpp"
#include "app/report/run_report.hpp"
#include "core/backend.hpp"
#include "io/format/provenance_reader.hpp"
#include "io/problem_writer.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

/// "HDF5 1.10.8, Eigen 3.4.0, GNU 12.2.0"
std::string libraries_text();

/// Of any file that is written here: program, command line, machine and inputs.
void write_origin(ProblemWriter& writer, const std::string& command_line, const std::vector<std::string>& inputs = {});
void write_origin(ResultWriter& writer, const std::string& command_line, const std::vector<std::string>& inputs = {});

/// Writes what all sets have come to, and /provenance.
void write_notes(ResultWriter& writer, const RunOptions& options, const RunReport& report,
                 std::span<const Backend> backends, const InputIdentity& input, const std::string& command_line,
                 int ranks);

/// One thing that a file says of its origin: what people call it, and what it says, fit to be shown.
struct OriginLine {
  std::string name, text;
};
/// What /provenance of a problem or result file says, in an order to be read in; what is not known here comes last.
std::vector<OriginLine> origin_lines(std::map<std::string, ProvenanceValue> found);

}  // namespace smallbatch
