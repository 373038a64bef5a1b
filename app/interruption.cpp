#include "app/interruption.hpp"

#include <csignal>

#include "core/error.hpp"

namespace smallbatch {

namespace {
volatile std::sig_atomic_t caught_signal = 0;  // the only thing a handler may write

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
  if (caught_signal != 0)
    throw Error(ErrorKind::interrupted,
                "stopped by signal " + std::to_string(caught_signal) + " (no output file was left). Run again.");
}

}  // namespace smallbatch
