// Everything that is not data goes to stderr: log lines through spdlog, and a progress bar on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "app/cli/options.hpp"

namespace smallbatch {

/// Sets up the log on stderr. Colours appear only on a terminal, and not if NO_COLOR is set. A `log_file` also gets
/// every line, with the date, including those that `quiet` keeps from stderr.
void set_up_logging(Verbosity verbosity, const std::string& log_file = {});
/// Writes a line to the log file only.
void note_in_log_file(const std::string& text);

/// Shows how far a command is. A terminal gets one line that redraws itself. Otherwise, and in a log file, there is a
/// line for every tenth of the way, at most one in two seconds.
class Progress {
 public:
  Progress(const std::string& what, double total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void advance(double amount);

 private:
  std::string what_;
  double total_, done_ = 0, next_line_ = 0.1;
  bool terminal_, drawn_ = false;  ///< terminal: stderr is a terminal and shows the line
  std::chrono::steady_clock::time_point start_, last_line_, last_drawn_;
};

}  // namespace smallbatch
