// Signals that end a command: SIGINT, SIGTERM, SIGHUP and SIGXCPU. Work stops at the next block, or between two pieces
// of a block that is being verified. If the process has not stopped within one second of the signal, a signal handler
// ends it.
#pragma once

#include <string>
#include <vector>

namespace smallbatch {

/// Catches SIGINT, SIGTERM, SIGHUP and SIGXCPU, except those that were ignored before (nohup). A second signal ends the
/// process at once.
void catch_interruptions();

/// Throws Error(interrupted) after a signal: "stopped by SIGTERM". The remedy is added once all stages have ended,
/// because only then is it known which files are left.
void stop_if_interrupted();
/// End of the message about a signal, if no file is left.
inline constexpr const char* words_on_nothing_left = " (no output file was left). Run again.";

/// End of the message about a signal, if the output is complete.
inline std::string words_on_whole(const std::string& output) { return ". " + output + " is complete."; }

/// Returns the number of the signal, or 0 before one has come.
int interrupting_signal();

/// The last message and the files to remove, for a process that the signal handler ends.
struct LastMessage {
  bool on_stdout_too = false;          ///< the message goes to stdout too, as JSON
  std::string remedy;                  ///< says which files are left and what to do
  std::vector<std::string> to_remove;  ///< files, removed only if this process has them open
};
/// Sets the last message. It replaces that of earlier calls.
void set_last_message(const LastMessage& last);
/// Also writes the last message to `log_file`, as a log line, if a signal ends the process.
void set_log_of_last_message(const std::string& log_file);
/// Removes the files of LastMessage::to_remove. It is for a process that ends for a reason other than a signal.
void remove_unfinished();
/// Keeps the handler from writing the last message. From now on the code that noticed the signal writes a message, or
/// another process does.
void drop_last_message();

/// Sets the sentence on how to resume a failed run, for the error message. It is empty if the run leaves nothing.
void offer_resumption(const std::string& how);
std::string how_to_resume();

}  // namespace smallbatch
