// Everything that is not data goes to stderr: log lines through spdlog, and a progress bar on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "app/cli/options.hpp"

namespace smallbatch {

/// Colours only on a terminal, and not where NO_COLOR is set. All that goes to stderr, and what `quiet` keeps from it,
/// is also added to `log_file`, with the date, where one is named.
void set_up_logging(Verbosity verbosity, const std::string& log_file = {});
/// For the log file alone.
void note_in_log_file(const std::string& text);

/// On a terminal one line that redraws itself; otherwise a log line at the start and every tenth of the way, at most
/// one in two seconds, which a log file always has.
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
  bool terminal_, drawn_ = false;  ///< terminal: one that is to show it
  std::chrono::steady_clock::time_point start_, last_line_, last_drawn_;
};

}  // namespace smallbatch
