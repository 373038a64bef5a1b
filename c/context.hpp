// What a handle is, and how a call through it answers: with a status, and with a sentence where it has failed. What is
// inside throws; nothing that a caller sees does.
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

/// Room for the sentence of a call that has failed, also for want of memory.
class Sentence {
 public:
  void keep(const char* text) noexcept;
  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[1024] = "";
};

/// The sentence of the calling thread's last failed call that had no handle.
Sentence& sentence_without_handle() noexcept;

/// The status of what is being thrown, whose message is kept.
smallbatch_status status_of_exception(Sentence& sentence) noexcept;

/// A backend, a stream, and plans for host arrays, which are made when they are first needed.
class Context {
 public:
  explicit Context(const Backend& which) : backend(which) {}

  SpdSolver& solver(const SpdOptions& options);
  SpdSolver& solver();  ///< whichever there is: factors are the same for all options
  Potential& potential();
  PairEnergy& pair_energy();
  Correlator& correlator();
  void set_threads(unsigned threads);

  [[nodiscard]] bool has_device() const { return backend.kind == BackendKind::cuda; }

  Backend backend;
  void* stream = nullptr;  ///< a cudaStream_t, of calls with device arrays
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

/// Answers a call: body(context) may throw.
template <class Body>
smallbatch_status answer(smallbatch_handle handle, const Body& body) noexcept {
  if (handle == nullptr) {
    sentence_without_handle().keep("there is no handle (it is NULL). Make one by smallbatch_create().");
    return SMALLBATCH_INVALID_ARGUMENT;
  }
  try {
    body(static_cast<Context&>(*handle));
    return SMALLBATCH_SUCCESS;
  } catch (...) {
    return status_of_exception(handle->last_error);
  }
}

/// The same of a call that has no handle.
template <class Body>
smallbatch_status answer(const Body& body) noexcept {
  try {
    body();
    return SMALLBATCH_SUCCESS;
  } catch (...) {
    return status_of_exception(sentence_without_handle());
  }
}

/// An enumerator as the caller has written it, which may be none.
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
  refuse(member + " is " + std::to_string(number), "that is none of its enumerators", "Take one of smallbatch.h.");
}

inline void check_present(const char* name, const void* pointer) {
  if (pointer == nullptr) refuse(std::string(name) + " is NULL", "it is needed", "Give its address.");
}
/// Where there are `count` of what it points to.
inline void check_present(const char* name, const void* pointer, std::int64_t count) {
  if (count > 0) check_present(name, pointer);
}

inline void check_count(const char* name, std::int64_t count) {
  if (count < 0) refuse(std::string(name) + " is " + std::to_string(count), "it counts", "Give 0 or more.");
}
/// That so many numbers can lie in memory.
inline void check_size(const char* name, std::initializer_list<std::int64_t> factors) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max() / 64;
  for (const std::int64_t factor : factors)
    if (factor > 0) most /= factor;
  if (most == 0)
    refuse(std::string(name) + " has too many numbers to count", "its sizes multiply beyond 2^57",
           "Give smaller ones.");
}

/// Whether the arrays of a call lie on the device.
bool is_on_device(const Context& context, const smallbatch_memory& memory);
/// Calls visit(T()), T the type of the numbers.
template <class Visit>
void with_type(const char* member, const smallbatch_type& type, const Visit& visit) {
  if (number_of(type) == SMALLBATCH_FLOAT32) return visit(float());
  if (number_of(type) == SMALLBATCH_FLOAT64) return visit(double());
  refuse_enumerator(member, number_of(type));
}
/// That a call has the workspace that it needs: bytes of device memory, or none.
void check_workspace(const void* workspace, std::size_t bytes, std::size_t needed);

}  // namespace smallbatch
