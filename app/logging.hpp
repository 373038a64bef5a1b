// Everything that is not data goes to stderr: log lines through spdlog, and a progress bar on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "app/options.hpp"

namespace smallbatch {

/// Colours only on a terminal, and not where NO_COLOR is set.
void set_up_logging(Verbosity verbosity);

/// On a terminal one line that redraws itself; otherwise a log line at the start and every tenth of the way, at most
/// one in two seconds.
class Progress {
 public:
  Progress(std::string what, double total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void advance(double amount);

 private:
  std::string what_;
  double total_, done_ = 0, next_line_ = 0.1;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_line_;
};

}  // namespace smallbatch
