#include "app/logging.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace smallbatch {

void set_up_logging(Verbosity verbosity) {
  const char* no_color = std::getenv("NO_COLOR");
  const auto colours =
      no_color != nullptr && *no_color != '\0' ? spdlog::color_mode::never : spdlog::color_mode::automatic;
  auto logger =
      std::make_shared<spdlog::logger>("smallbatch", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours));
  logger->set_pattern("%H:%M:%S %^%l%$ %v");
  logger->set_level(verbosity == Verbosity::quiet     ? spdlog::level::err
                    : verbosity == Verbosity::verbose ? spdlog::level::debug
                                                      : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

Progress::Progress(std::string what, double total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_line_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(double amount) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  done_ = std::min(total_, done_ + amount);
  const double fraction = total_ > 0 ? done_ / total_ : 1;
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double since_last = std::chrono::duration<double>(now - last_line_).count();
  if (terminal_) {
    if (drawn_ && since_last < 0.1) return;
    last_line_ = now;
    drawn_ = true;
    const int filled = static_cast<int>(fraction * 30);
    const double left = fraction > 0 ? elapsed * (1 - fraction) / fraction : 0;
    std::fprintf(stderr, "\r\033[K%s [%s%s] %3.0f %%  %.0f s left", what_.c_str(),
                 std::string(static_cast<std::size_t>(filled), '#').c_str(),
                 std::string(static_cast<std::size_t>(30 - filled), '.').c_str(), 100 * fraction, left);
    std::fflush(stderr);
  } else if (fraction >= next_line_ && since_last >= 2) {
    last_line_ = now;
    while (next_line_ <= fraction) next_line_ += 0.1;
    spdlog::info("{}: {:.0f} % after {:.0f} s", what_, 100 * fraction, elapsed);
  }
}

}  // namespace smallbatch
