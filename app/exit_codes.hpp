// What the command's exit code says. The README and `smallbatch --help` list the same.
#pragma once

#include "core/error.hpp"

namespace smallbatch {

enum class ExitCode : int {
  verified = 0,       ///< everything asked for was done, and nothing failed or disagreed
  not_all_right = 1,  ///< results were written, but some systems failed or disagreed with the referee
  usage = 2,
  bad_input = 3,
  missing_file = 4,
  no_device = 5,
  out_of_memory = 6,
  output = 7,
  internal = 70,
  interrupted = 130
};

constexpr ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return ExitCode::usage;
    case ErrorKind::bad_input:
      return ExitCode::bad_input;
    case ErrorKind::missing_file:
      return ExitCode::missing_file;
    case ErrorKind::no_device:
      return ExitCode::no_device;
    case ErrorKind::out_of_memory:
      return ExitCode::out_of_memory;
    case ErrorKind::output:
    case ErrorKind::output_exists:
      return ExitCode::output;
    case ErrorKind::interrupted:
      return ExitCode::interrupted;
    case ErrorKind::internal:
      break;
  }
  return ExitCode::internal;
}

}  // namespace smallbatch
