// What a program hears of an error.
#pragma once

#include <string>

#include "core/error.hpp"

namespace smallbatch {

/// {"error": {"kind": "missing_file", "exit_code": 4, "message": "..."}}
std::string error_json(ErrorKind kind, const std::string& message, int exit_code);

}  // namespace smallbatch
