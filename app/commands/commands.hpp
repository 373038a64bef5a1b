// The commands other than `run` (app/run/pipeline.hpp). Each does its work and returns its text for stdout, or a
// report.
#pragma once

#include <string>

#include "app/cli/options.hpp"
#include "app/report/run_report.hpp"

namespace smallbatch {

/// Copies the requests of the options to a set.
inline void ask(ChargesOfSet& set, const AskedOfCharges& asked) {
  set.softening = asked.softening;
  set.cutoff = asked.cutoff;
  set.screening_length = asked.screening_length;
  set.width = asked.width;
  set.dielectric = asked.dielectric;
}
inline void ask(PotentialSet& set, const AskedOfCharges& asked) {
  set.targets = asked.targets;
  set.has_field = asked.field;
  ask(static_cast<ChargesOfSet&>(set), asked);
}

/// Merges the result files of all shares. Returns a report that has only the outcomes of the sets.
RunReport merge(const MergeOptions& options, const std::string& command_line);
std::string merge_text(const MergeOptions& options, const RunReport& merged);
std::string info(const InfoOptions& options);
std::string devices(const DevicesOptions& options);
RunReport verify(const VerifyOptions& options);
std::string generate(const GenerateSpdOptions& options, const std::string& command_line);
std::string generate(const GenerateChargesOptions& options, const std::string& command_line);
std::string generate(const GenerateSignalOptions& options, const std::string& command_line);
std::string import_charges(const ImportOptions& options, const std::string& command_line);
/// Makes a result file from a UVH5 file.
std::string import_visibilities(const ImportOptions& options, const std::string& command_line);
std::string import_signal(const ImportOptions& options, const std::string& command_line);
std::string export_map(const ExportOptions& options);
std::string write_report(const ReportOptions& options);

}  // namespace smallbatch
