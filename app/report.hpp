// What a run says on stdout: a summary for people, or the same as JSON.
#pragma once

#include <string>

#include "app/pipeline.hpp"

namespace smallbatch {

std::string report_text(const RunReport& report);
std::string report_json(const RunReport& report);

/// "4.2 GB", "1.5 million", "0.21 s": three digits and a unit.
std::string bytes_text(double bytes);
std::string seconds_text(double seconds);
std::string rate_text(double per_second, const std::string& unit);

}  // namespace smallbatch
