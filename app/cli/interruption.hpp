// Signals that end a command: SIGINT, SIGTERM, SIGHUP and SIGXCPU. Work stops at the next block, or between two pieces
// of one that is verified; what does not stop within a second is ended where it stands.
#pragma once

#include <string>
#include <vector>

namespace smallbatch {

/// Catches them, but for those that were ignored before (nohup). A second signal ends the process at once.
void catch_interruptions();

/// Throws Error(interrupted) once a signal has come: "stopped by SIGTERM". What is left, and what to do, is known once
/// all stages have ended.
void stop_if_interrupted();
/// The message ends with this where nothing is left.
inline constexpr const char* words_on_nothing_left = " (no output file was left). Run again.";

/// The message ends with this where the output is complete.
inline std::string words_on_whole(const std::string& output) { return ". " + output + " is written and whole."; }

/// Its number; 0 while none has come.
int interrupting_signal();

/// The words and the clean-up of a process that a signal ends where it stands.
struct LastWords {
  bool on_stdout_too = false;          ///< as JSON
  std::string remedy;                  ///< what is left, and what to do
  std::vector<std::string> to_remove;  ///< files, where this process has them open
};
void end_soon_with(const LastWords& words);
/// They go to this file, too, as a log line.
void end_soon_in_log(const std::string& log_file);
/// Removes what it would, for a process that ends here for another reason.
void remove_unfinished();
/// From now on the handler says nothing: the code that noticed the signal does, or another process.
void end_soon_without_words();

/// How to go on with what a failed run leaves, for its message; empty where it leaves nothing.
void offer_resumption(const std::string& how);
std::string how_to_resume();

}  // namespace smallbatch
