// Errors of an operating system that refuses memory, file descriptors, threads or processes. These errors say nothing
// about a file.
#pragma once

#include <cerrno>
#include <cstring>
#include <future>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace smallbatch {

/// Returns the remedy of the message for `system_error`, a value of errno.
inline std::string remedy_of_refusal(int system_error) {
  switch (system_error) {
    case ENOMEM:
      return "End other programs, and run again.";
    case EMFILE:
    case ENFILE:
      return "Let more files be open (ulimit -n), or end other programs.";
    case EPERM:
    case EACCES:
    case ENOSYS:
      return "A sandbox forbids it; sandboxes of older container engines do this. Update the engine, or start the "
             "container without a sandbox (docker run --security-opt seccomp=unconfined).";
    default:
      return "Let the system start more (ulimit -u, or the limit of the container), or end other programs.";
  }
}

/// Returns the error "cannot <what> (Too many open files). Let more files be open ...".
inline Error refused_by_system(const std::string& what, int system_error) {
  return {ErrorKind::out_of_memory, "cannot " + what, std::strerror(system_error), remedy_of_refusal(system_error)};
}

/// Returns whether the system lacked memory or descriptors. The file that could not be used may then be intact.
inline bool is_want_of_the_system(int system_error) {
  return system_error == ENOMEM || system_error == EMFILE || system_error == ENFILE;
}

/// Runs work() in a new thread. If the system starts no thread, for whatever reason, work() runs when the caller asks
/// for the result.
template <class Work>
auto async_if_possible(Work work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, std::move(work));
  }
}

}  // namespace smallbatch
