// A signal handler may do little. The first handler stores the signal and sets a timer. When the timer expires, a
// second handler writes messages that were composed before.
#include "app/cli/interruption.hpp"
#include "app/cli/error_json.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>
#include <utility>

#include "core/error.hpp"

namespace smallbatch {

namespace {

constexpr std::array<std::pair<int, const char*>, 4> ending_signals{
    {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGXCPU, "SIGXCPU"}}};
/// After a signal, the running code has the time `patience` to notice the signal. Then it has the time
/// `report` to report the signal. Together with the handlers, both times stay below one second.
constexpr ::suseconds_t patience_microseconds = 700'000, report_microseconds = 200'000;

std::atomic<int> caught_signal = 0;  // lock-free, because a handler writes it
static_assert(std::atomic<int>::is_always_lock_free);

/// The last messages, one for each signal.
struct ReadyMessages {
  std::array<std::string, ending_signals.size()> to_stderr, to_stdout, to_log;
  std::vector<std::string> to_remove;
};
std::atomic<const ReadyMessages*> ready_messages = nullptr;
std::atomic<int> log_file = -1;            // open descriptor
std::atomic<int> local_time_is_ahead = 0;  // seconds ahead of UTC
static_assert(std::atomic<const ReadyMessages*>::is_always_lock_free);

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

void set_clock(::suseconds_t microseconds) {
  const itimerval once{{0, 0}, {0, microseconds}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
}

/// Writes the text, except if write() would block: the reader of a pipe or a terminal may have stopped reading.
void write_text(int file, const char* text, std::size_t size) {
  pollfd ready{file, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0 || ::write(file, text, size) < 0) return;
}
void write_text(int file, const std::string& text) { write_text(file, text.data(), text.size()); }

/// Removes the file if this process has it open. The name may meanwhile belong to another process's file.
void remove_own(const char* path) {
  struct stat named {
  }, opened{};
  if (::lstat(path, &named) != 0) return;
  rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0) return;
  const int count = static_cast<int>(std::min<::rlim_t>(most.rlim_cur, 1U << 16U));
  for (int file = 0; file < count; ++file) {
    if (::fstat(file, &opened) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino) {
      ::unlink(path);
      return;
    }
  }
}

/// Returns "2026-11-24T04:41:20+01:00 ", the beginning of a log line. The time zone was looked up before, because a
/// handler may not do that.
std::array<char, 26> time_of_line() {
  const int ahead = local_time_is_ahead;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::chrono::sys_seconds local{std::chrono::seconds(now.tv_sec + ahead)};
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(local - day);
  const int zone = std::abs(ahead) / 60;  // minutes
  std::array<char, 26> text{};
  char* next = text.data();
  const auto put = [&](long number, char after) {
    *next++ = static_cast<char>('0' + number / 10 % 10);
    *next++ = static_cast<char>('0' + number % 10);
    if (after != '\0') *next++ = after;
  };
  const int year = static_cast<int>(date.year());
  put(year / 100, '\0');
  put(year, '-');
  put(static_cast<unsigned>(date.month()), '-');
  put(static_cast<unsigned>(date.day()), 'T');
  put(time.hours().count(), ':');
  put(time.minutes().count(), ':');
  put(time.seconds().count(), ahead < 0 ? '-' : '+');
  put(zone / 60, ':');
  put(zone % 60, ' ');
  return text;
}

void write_log_line(const std::string& text) {
  const int file = log_file;
  if (file < 0) return;
  const std::array<char, 26> time = time_of_line();
  write_text(file, time.data(), time.size());
  write_text(file, text);
}

extern "C" void end_here(int) {
  const ReadyMessages* const messages = ready_messages;
  const int signal = caught_signal;
  if (signal == 0) return;  // another timer has expired
  for (std::size_t k = 0; messages && k < ending_signals.size(); ++k) {
    if (ending_signals[k].first != signal) continue;
    for (const std::string& file : messages->to_remove) remove_own(file.c_str());
    write_text(STDERR_FILENO, messages->to_stderr[k]);
    write_text(STDOUT_FILENO, messages->to_stdout[k]);
    write_log_line(messages->to_log[k]);
  }
  ::_exit(128 + signal);
}

extern "C" void remember_signal(int signal) {
  caught_signal = signal;
  // A second signal ends the process at once. SIGXCPU is ignored from now on, because it comes every second.
  for (const auto& [number, name] : ending_signals) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler == remember_signal) set_handler(number, number == SIGXCPU ? SIG_IGN : SIG_DFL);
  }
  set_clock(patience_microseconds);
}

std::string signal_name(int signal) {
  for (const auto& [number, name] : ending_signals)
    if (number == signal) return name;
  return "signal " + std::to_string(signal);
}

std::mutex how_mutex;
std::string how_text;

}  // namespace

void catch_interruptions() {
  for (const auto& [number, name] : ending_signals) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) set_handler(number, remember_signal);
  }
  set_handler(SIGALRM, end_here);
  sigset_t clock;
  ::sigemptyset(&clock);
  ::sigaddset(&clock, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &clock, nullptr);
}

int interrupting_signal() { return caught_signal; }

void stop_if_interrupted() {
  if (const int signal = caught_signal; signal != 0)
    throw Error(ErrorKind::interrupted, "stopped by " + signal_name(signal));
}

void set_last_message(const LastMessage& last) {
  static std::mutex mutex;
  static auto& all = *new std::deque<ReadyMessages>;  // never freed, because a handler may read any of them
  const std::lock_guard lock(mutex);
  ReadyMessages& ready = all.emplace_back();
  for (std::size_t k = 0; k < ending_signals.size(); ++k) {
    const std::string message = std::string("stopped by ") + ending_signals[k].second + last.remedy;
    ready.to_stderr[k] = "smallbatch: " + message + "\n";
    ready.to_log[k] = "error " + message + "\n";
    if (last.on_stdout_too)
      ready.to_stdout[k] = error_json(ErrorKind::interrupted, message, 128 + ending_signals[k].first);
  }
  ready.to_remove = last.to_remove;
  ready_messages = &ready;
}

void set_log_of_last_message(const std::string& path) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  local_time_is_ahead = static_cast<int>(local.tm_gmtoff);
  log_file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

void remove_unfinished() {
  if (const ReadyMessages* const messages = ready_messages)
    for (const std::string& file : messages->to_remove) remove_own(file.c_str());
}

void drop_last_message() {
  ready_messages = nullptr;
  if (caught_signal != 0) set_clock(report_microseconds);
}

void offer_resumption(const std::string& how) {
  const std::lock_guard lock(how_mutex);
  how_text = how;
}

std::string how_to_resume() {
  const std::lock_guard lock(how_mutex);
  return how_text;
}

}  // namespace smallbatch
