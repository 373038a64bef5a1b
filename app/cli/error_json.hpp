// An error as JSON, for programs that call the command.
#pragma once

#include <string>

#include "core/error.hpp"

namespace smallbatch {

/// Returns {"error": {"kind": "missing_file", "exit_code": 4, "message": "..."}}.
std::string error_json(ErrorKind kind, const std::string& message, int exit_code);

}  // namespace smallbatch
