// The commands beside `run` (app/pipeline.hpp). Each does its work and returns what it has to say on stdout.
#pragma once

#include <string>

#include "app/options.hpp"
#include "app/pipeline.hpp"

namespace smallbatch {

std::string info(const InfoOptions& options);
RunReport verify(const VerifyOptions& options);
std::string generate(const GenerateSpdOptions& options, const std::string& command_line);
std::string generate(const GenerateChargesOptions& options, const std::string& command_line);
std::string import_charges(const ImportOptions& options, const std::string& command_line);
std::string export_map(const ExportOptions& options);

}  // namespace smallbatch
