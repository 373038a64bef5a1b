// Errors of a system that refuses memory, descriptors, threads or processes. They say nothing about a file.
#pragma once

#include <cerrno>
#include <cstring>
#include <future>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace smallbatch {

/// The remedy for a value of errno.
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
      return "A sandbox forbids it, as those of older container engines do: update the engine, or start the container "
             "without it (docker run --security-opt seccomp=unconfined).";
    default:
      return "Let the system start more (ulimit -u, or the limit of the container), or end other programs.";
  }
}

/// "cannot <what> (Too many open files). Let more files be open ..."
inline Error refused_by_system(const std::string& what, int system_error) {
  return {ErrorKind::out_of_memory, "cannot " + what, std::strerror(system_error), remedy_of_refusal(system_error)};
}

/// Whether a file that could not be opened, read or written may be as it should.
inline bool is_want_of_the_system(int system_error) {
  return system_error == ENOMEM || system_error == EMFILE || system_error == ENFILE;
}

/// work() in a thread of its own; where the system starts none, for whatever reason, once its result is asked for.
template <class Work>
auto async_if_possible(Work work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, std::move(work));
  }
}

}  // namespace smallbatch
