// A handle, and the answers of calls through it: a status, and a sentence if the call has failed. Functions inside the
// library may throw. The functions of smallbatch.h do not throw.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>

#include "core/backend.hpp"
#include "core/error.hpp"
#include "physics/correlation.hpp"
#include "physics/pair_energy.hpp"
#include "physics/potential.hpp"
#include "solvers/spd_solver.hpp"

#pragma GCC visibility push(default)
#include "c/smallbatch.h"
#pragma GCC visibility pop

namespace smallbatch {

/// Memory for the sentence of a failed call. It needs no allocation, so it also works when memory is exhausted.
class Sentence {
 public:
  void keep(const char* text) noexcept;
  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[1024] = "";
};

/// Sentence of the calling thread's last failed call without a handle.
Sentence& sentence_without_handle() noexcept;

/// Returns the status of the exception that is being handled, and stores its message in `sentence`.
smallbatch_status status_of_exception(Sentence& sentence) noexcept;

/// Contents of a handle: a backend, a stream, and plans for host arrays. Each plan is made when it is first needed.
class Context {
 public:
  explicit Context(const Backend& which) : backend(which) {}

  SpdSolver& solver(const SpdOptions& options);
  SpdSolver& solver();  ///< for calls with factors, where options have no effect
  Potential& potential();
  PairEnergy& pair_energy();
  Correlator& correlator();
  void set_threads(unsigned threads);

  [[nodiscard]] bool has_device() const { return backend.kind == BackendKind::cuda; }

  Backend backend;
  void* stream = nullptr;  ///< a cudaStream_t, for calls with device arrays
  Sentence last_error;

 private:
  std::unique_ptr<SpdSolver> solver_;
  SpdOptions solver_options_;
  std::unique_ptr<Potential> potential_;
  std::unique_ptr<PairEnergy> pair_energy_;
  std::unique_ptr<Correlator> correlator_;
};

}  // namespace smallbatch

struct smallbatch_context final : smallbatch::Context {
  using Context::Context;
};

namespace smallbatch {

/// Calls body(context) and returns the status of the call. If body throws, stores the message in the handle.
template <class Body>
smallbatch_status answer(smallbatch_handle handle, const Body& body) noexcept {
  if (handle == nullptr) {
    sentence_without_handle().keep("there is no handle (it is NULL). Make one with smallbatch_create().");
    return SMALLBATCH_INVALID_ARGUMENT;
  }
  try {
    body(static_cast<Context&>(*handle));
    return SMALLBATCH_SUCCESS;
  } catch (...) {
    return status_of_exception(handle->last_error);
  }
}

/// Calls body() for a call without a handle and returns the status. If body throws, stores the message for the thread.
template <class Body>
smallbatch_status answer(const Body& body) noexcept {
  try {
    body();
    return SMALLBATCH_SUCCESS;
  } catch (...) {
    return status_of_exception(sentence_without_handle());
  }
}

/// Returns an enumerator from the caller as a number. The number may belong to none of the enumerators.
template <class Enum>
int number_of(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof(int));
  return number;
}

[[noreturn]] inline void refuse(const std::string& problem, const std::string& why, const std::string& remedy) {
  throw Error(ErrorKind::usage, problem, why, remedy);
}
[[noreturn]] inline void refuse_enumerator(const std::string& member, int number) {
  refuse(member + " is " + std::to_string(number), "that is none of its enumerators", "Use one of smallbatch.h.");
}

inline void check_present(const char* name, const void* pointer) {
  if (pointer == nullptr) refuse(std::string(name) + " is NULL", "it is needed", "Give its address.");
}
/// Checks a pointer to `count` elements. The pointer may be null if there are no elements.
inline void check_present(const char* name, const void* pointer, std::int64_t count) {
  if (count > 0) check_present(name, pointer);
}

inline void check_count(const char* name, std::int64_t count) {
  if (count < 0) refuse(std::string(name) + " is " + std::to_string(count), "it is a count", "Give 0 or more.");
}
/// Checks that the size of an array, the product of `factors`, is at most 2^57. Sizes in bytes then do not overflow.
inline void check_size(const char* name, std::initializer_list<std::int64_t> factors) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max() / 64;
  for (const std::int64_t factor : factors)
    if (factor > 0) most /= factor;
  if (most == 0)
    refuse(std::string(name) + " has too many numbers to count", "the product of its sizes exceeds 2^57",
           "Give smaller sizes.");
}

/// Returns whether the arrays of a call lie on the device. Throws Error (usage) if they do and the handle has no
/// device.
bool is_on_device(const Context& context, const smallbatch_memory& memory);
/// Calls visit(T()), where T is the type of the numbers.
template <class Visit>
void with_type(const char* member, const smallbatch_type& type, const Visit& visit) {
  if (number_of(type) == SMALLBATCH_FLOAT32) return visit(float());
  if (number_of(type) == SMALLBATCH_FLOAT64) return visit(double());
  refuse_enumerator(member, number_of(type));
}
/// Checks that a workspace of `bytes` bytes suffices for a call that needs `needed` bytes.
void check_workspace(const void* workspace, std::size_t bytes, std::size_t needed);

}  // namespace smallbatch
