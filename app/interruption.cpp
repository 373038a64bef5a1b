#include "app/interruption.hpp"

#include <atomic>
#include <csignal>

#include "core/error.hpp"

namespace smallbatch {

namespace {
std::atomic<int> caught_signal = 0;  // what a handler writes must be lock-free
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void remember_signal(int signal) {
  caught_signal = signal;
  std::signal(signal, SIG_DFL);  // a second one ends the process at once
}
}  // namespace

void catch_interruptions() {
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

void stop_if_interrupted() {
  if (const int signal = caught_signal; signal != 0)
    throw Error(ErrorKind::interrupted, "stopped by signal " + std::to_string(signal), "no output file was left",
                "Run again.");
}

}  // namespace smallbatch
