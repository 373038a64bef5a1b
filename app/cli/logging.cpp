#include "app/cli/logging.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/visible_text.hpp"
#include "io/hdf5/input.hpp"

namespace smallbatch {

namespace {

constexpr const char* log_file_name = "log file";  // name of the logger that writes only to the log file

/// The flag %* of a pattern: the message with control characters made visible, so that it cannot fake log lines or
/// control a terminal.
class VisibleMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& into) override {
    const std::string text = visible_text({message.payload.data(), message.payload.size()});
    into.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return spdlog::details::make_unique<VisibleMessage>();
  }
};

std::unique_ptr<spdlog::formatter> formatter(const char* pattern) {
  auto made = std::make_unique<spdlog::pattern_formatter>();
  made->add_flag<VisibleMessage>('*').set_pattern(pattern);
  return made;
}

std::shared_ptr<spdlog::sinks::sink> open_log_file(const std::string& path) {
  std::error_code unknown;
  if (is_hdf5(path))
    throw Error(ErrorKind::usage, "the log file cannot be " + path, "it is an HDF5 file, so it would be damaged",
                "Name another file.");
  // The folder is checked here because spdlog would create it.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const Error cannot(ErrorKind::output, "cannot write the log file " + path,
                     "its folder does not exist, or cannot be written to", "Name another file.");
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown)) throw cannot;
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  } catch (const spdlog::spdlog_ex&) {
    throw cannot;
  }
}

}  // namespace

void set_up_logging(Verbosity verbosity, const std::string& log_file) {
  const char* no_color = std::getenv("NO_COLOR");
  const auto colours =
      no_color != nullptr && *no_color != '\0' ? spdlog::color_mode::never : spdlog::color_mode::automatic;
  const auto normal = verbosity == Verbosity::verbose ? spdlog::level::debug : spdlog::level::info;
  const auto to_stderr = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
  to_stderr->set_formatter(formatter("%H:%M:%S %^%l%$ %*"));
  to_stderr->set_level(verbosity == Verbosity::quiet ? spdlog::level::err : normal);
  auto logger = std::make_shared<spdlog::logger>("smallbatch", to_stderr);
  spdlog::drop(log_file_name);
  if (!log_file.empty()) {
    const auto to_file = open_log_file(log_file);
    to_file->set_formatter(formatter("%Y-%m-%dT%H:%M:%S%z %l %*"));
    logger->sinks().push_back(to_file);
    logger->flush_on(spdlog::level::debug);
    auto file_alone = std::make_shared<spdlog::logger>(log_file_name, to_file);
    file_alone->flush_on(spdlog::level::debug);
    spdlog::register_logger(std::move(file_alone));
  }
  logger->set_level(log_file.empty() ? to_stderr->level() : normal);
  spdlog::set_default_logger(std::move(logger));
}

void note_in_log_file(const std::string& text) {
  if (const auto logger = spdlog::get(log_file_name)) logger->info("{}", text);
}

Progress::Progress(const std::string& what, double total)
    : what_(visible_text(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0 &&
                spdlog::default_logger()->sinks().front()->should_log(spdlog::level::info)),
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
  if (terminal_ && (!drawn_ || now - last_drawn_ >= std::chrono::milliseconds(100))) {
    last_drawn_ = now;
    drawn_ = true;
    const int filled = static_cast<int>(fraction * 30);
    const double left = fraction > 0 ? elapsed * (1 - fraction) / fraction : 0;
    std::fprintf(stderr, "\r\033[K%s [%s%s] %3.0f %%  %.0f s left", what_.c_str(),
                 std::string(static_cast<std::size_t>(filled), '#').c_str(),
                 std::string(static_cast<std::size_t>(30 - filled), '.').c_str(), 100 * fraction, left);
    std::fflush(stderr);
  }
  if (fraction < next_line_ || now - last_line_ < std::chrono::seconds(2)) return;
  last_line_ = now;
  while (next_line_ <= fraction) next_line_ += 0.1;
  const std::string line = fmt::format("{}: {:.0f} % after {:.0f} s", what_, 100 * fraction, elapsed);
  terminal_ ? note_in_log_file(line) : spdlog::info("{}", line);
}

}  // namespace smallbatch
