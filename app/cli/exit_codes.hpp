// The exit codes of the command and their meanings. docs/exit-codes.md lists them too.
#pragma once

#include <array>
#include <csignal>
#include <utility>

#include "core/error.hpp"

namespace smallbatch {

enum class ExitCode : int {
  verified = 0,       ///< the command did its work; nothing failed or disagreed
  not_all_right = 1,  ///< results were written, but some systems failed or disagreed with the referee (see FailOn)
  usage = 2,
  bad_input = 3,
  missing_file = 4,
  no_device = 5,
  out_of_memory = 6,
  output = 7,
  device_lost = 8,
  internal = 70,
  interrupted = 128  ///< plus the number of the signal
};

/// Meanings in the words of the help and the man page.
inline constexpr std::array<std::pair<ExitCode, const char*>, 11> exit_code_meanings{
    {{ExitCode::verified, "done; everything that was verified agrees"},
     {ExitCode::not_all_right, "results written, but some systems failed or disagreed with the referee (--fail-on)"},
     {ExitCode::usage, "the command line is wrong"},
     {ExitCode::bad_input, "an input file cannot be used"},
     {ExitCode::missing_file, "an input file is missing, or cannot be read from the disk"},
     {ExitCode::no_device, "a GPU that was asked for is not there"},
     {ExitCode::out_of_memory, "there is not enough memory, or the system refuses threads or processes"},
     {ExitCode::output, "the output exists already, or cannot be written"},
     {ExitCode::device_lost, "a GPU failed while it computed"},
     {ExitCode::internal, "an internal error (a bug)"},
     {ExitCode::interrupted, "plus the number of the signal that stopped it: Ctrl-C 130, SIGTERM 143"}}};

/// Exit codes in one line, for the help of each command.
inline constexpr const char* words_on_exit_codes =
    "Exit codes: 0 success; 1 results written, but some failed or disagree; others: an error (see smallbatch --help)";

/// Returns the exit code of an error. `signal` is the signal that interrupted the command.
constexpr ExitCode exit_code_of(ErrorKind kind, int signal = SIGINT) {
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
    case ErrorKind::device_lost:
      return ExitCode::device_lost;
    case ErrorKind::interrupted:
      return static_cast<ExitCode>(static_cast<int>(ExitCode::interrupted) + signal);
    case ErrorKind::internal:
      break;
  }
  return ExitCode::internal;
}

}  // namespace smallbatch
