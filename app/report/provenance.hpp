// The provenance of files: how a file was made.
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

/// Returns "HDF5 1.10.8, Eigen 3.4.0, GNU 12.2.0".
std::string libraries_text();

/// Writes the provenance of any file: program, command line, machine and inputs.
void write_origin(ProblemWriter& writer, const std::string& command_line, const std::vector<std::string>& inputs = {});
void write_origin(ResultWriter& writer, const std::string& command_line, const std::vector<std::string>& inputs = {});

/// Writes the summaries of all sets, and /provenance.
void write_notes(ResultWriter& writer, const RunOptions& options, const RunReport& report,
                 std::span<const Backend> backends, const InputIdentity& input, const std::string& command_line,
                 int ranks);

/// One fact about a file's origin: its name for people, and its value with control characters made visible.
struct OriginLine {
  std::string name, text;
};
/// Returns the facts of a file's /provenance in reading order. Unknown attributes come last.
std::vector<OriginLine> origin_lines(std::map<std::string, ProvenanceValue> found);

}  // namespace smallbatch
