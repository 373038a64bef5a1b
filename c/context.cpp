#include "c/context.hpp"

#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

#include "c/device.hpp"
#include "c/version.hpp"
#include "core/device.hpp"

namespace smallbatch {

void Sentence::keep(const char* text) noexcept { (void)std::snprintf(text_, sizeof(text_), "%s", text); }

Sentence& sentence_without_handle() noexcept {
  thread_local Sentence sentence;
  return sentence;
}

namespace {

smallbatch_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::no_device:
      return SMALLBATCH_NO_DEVICE;
    case ErrorKind::out_of_memory:
      return SMALLBATCH_OUT_OF_MEMORY;
    case ErrorKind::device_lost:
    case ErrorKind::internal:  // only failed CUDA calls have this kind
      return SMALLBATCH_DEVICE_ERROR;
    default:
      return SMALLBATCH_INVALID_ARGUMENT;
  }
}

}  // namespace

smallbatch_status status_of_exception(Sentence& sentence) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    sentence.keep(error.what());
    return status_of(error.kind());
  } catch (const std::bad_alloc&) {
    sentence.keep("the host's memory does not suffice (an allocation failed). Pass fewer problems per call.");
    return SMALLBATCH_OUT_OF_MEMORY;
  } catch (const std::length_error&) {
    sentence.keep("the host's memory does not suffice (an array would be too long). Pass fewer problems per call.");
    return SMALLBATCH_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    sentence.keep(error.what());
    return SMALLBATCH_INTERNAL_ERROR;
  } catch (...) {
    sentence.keep("an exception of unknown type was thrown (this is a bug). Please report it.");
    return SMALLBATCH_INTERNAL_ERROR;
  }
}

SpdSolver& Context::solver(const SpdOptions& options) {
  const bool is_it = solver_options_.method == options.method && solver_options_.pivot_floor == options.pivot_floor;
  if (solver_ == nullptr || !is_it) {
    solver_.reset();
    solver_ = make_spd_solver(backend, options);
    solver_options_ = options;
  }
  return *solver_;
}
SpdSolver& Context::solver() { return solver_ == nullptr ? solver(SpdOptions()) : *solver_; }
Potential& Context::potential() {
  if (potential_ == nullptr) potential_ = make_potential(backend);
  return *potential_;
}
PairEnergy& Context::pair_energy() {
  if (pair_energy_ == nullptr) pair_energy_ = make_pair_energy(backend);
  return *pair_energy_;
}
Correlator& Context::correlator() {
  if (correlator_ == nullptr) correlator_ = make_correlator(backend);
  return *correlator_;
}

void Context::set_threads(unsigned threads) {
  backend.threads = threads;
  solver_.reset();
  potential_.reset();
  pair_energy_.reset();
  correlator_.reset();
}

bool is_on_device(const Context& context, const smallbatch_memory& memory) {
  switch (number_of(memory)) {
    case SMALLBATCH_HOST:
      return false;
    case SMALLBATCH_DEVICE:
      if (!context.has_device())
        refuse("the arrays lie in device memory", "the handle's backend is " + backend_name(context.backend),
               "Make a handle with SMALLBATCH_CUDA, or give host arrays.");
      return true;
    default:
      refuse_enumerator("memory", number_of(memory));
  }
}

void check_workspace(const void* workspace, std::size_t bytes, std::size_t needed) {
  if (needed == 0) return;
  if (workspace == nullptr || bytes < needed)
    refuse("the workspace is too small",
           std::to_string(workspace == nullptr ? 0 : bytes) + " of " + std::to_string(needed) + " bytes",
           "Ask the ..._workspace function of the same name, with the same arguments.");
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    refuse("the workspace cannot be used", "its address is not a multiple of 256", "Give memory from cudaMalloc.");
}

namespace {

/// Returns the backend of a new handle.
Backend backend_of(const smallbatch_backend& wanted, int device) {
  switch (number_of(wanted)) {
    case SMALLBATCH_AUTO: {
      const auto devices = static_cast<int>(cuda_devices().devices.size());
      const bool is_there = devices > 0 && device < devices;
      return is_there ? backend_of(SMALLBATCH_CUDA, device) : Backend{BackendKind::cpu};
    }
    case SMALLBATCH_CPU:
      return {BackendKind::cpu};
    case SMALLBATCH_CUDA:
      if (device < -1)
        refuse("there is no device " + std::to_string(device), "devices are counted from 0",
               "Give 0 or more, or -1 for the current device.");
      (void)cuda_device(device < 0 ? 0 : device);  // throws if there is no such device
      return {BackendKind::cuda, device < 0 ? current_device() : device};
    case SMALLBATCH_REFERENCE:
      return {BackendKind::reference};
    default:
      refuse_enumerator("the backend", number_of(wanted));
  }
}

}  // namespace

}  // namespace smallbatch

using smallbatch::answer;

const char* smallbatch_status_text(smallbatch_status status) {
  switch (smallbatch::number_of(status)) {
    case SMALLBATCH_SUCCESS:
      return "success";
    case SMALLBATCH_INVALID_ARGUMENT:
      return "invalid argument";
    case SMALLBATCH_NO_DEVICE:
      return "no device";
    case SMALLBATCH_OUT_OF_MEMORY:
      return "out of memory";
    case SMALLBATCH_DEVICE_ERROR:
      return "device error";
    case SMALLBATCH_INTERNAL_ERROR:
      return "internal error";
    default:
      return "unknown status";
  }
}

const char* smallbatch_version() { return smallbatch::library_version; }

int smallbatch_device_count() {
  int count = 0;
  (void)answer([&] {
    const smallbatch::DeviceList list = smallbatch::cuda_devices();
    if (list.devices.empty())
      throw smallbatch::Error(smallbatch::ErrorKind::no_device, "there is no CUDA device", list.why_none,
                              "Make a handle with SMALLBATCH_CPU.");
    count = static_cast<int>(list.devices.size());
  });
  return count;
}

smallbatch_status smallbatch_create(smallbatch_handle* handle, smallbatch_backend backend, int device) {
  return answer([&] {
    smallbatch::check_present("handle", handle);
    *handle = nullptr;
    *handle = new smallbatch_context(smallbatch::backend_of(backend, device));
  });
}

void smallbatch_destroy(smallbatch_handle handle) { delete handle; }

smallbatch_status smallbatch_get_backend(smallbatch_handle handle, smallbatch_backend* backend, int* device) {
  return answer(handle, [&](const smallbatch::Context& context) {
    const smallbatch::BackendKind kind = context.backend.kind;
    if (backend != nullptr)
      *backend = kind == smallbatch::BackendKind::cuda  ? SMALLBATCH_CUDA
                 : kind == smallbatch::BackendKind::cpu ? SMALLBATCH_CPU
                                                        : SMALLBATCH_REFERENCE;
    if (device != nullptr) *device = context.has_device() ? context.backend.device : -1;
  });
}

smallbatch_status smallbatch_set_stream(smallbatch_handle handle, void* cuda_stream) {
  return answer(handle, [&](smallbatch::Context& context) {
    if (!context.has_device())
      smallbatch::refuse("the handle has no stream", "its backend is " + smallbatch::backend_name(context.backend),
                         "Make a handle with SMALLBATCH_CUDA.");
    context.stream = cuda_stream;
  });
}

smallbatch_status smallbatch_synchronize(smallbatch_handle handle) {
  return answer(handle, [](const smallbatch::Context& context) {
    if (context.has_device()) smallbatch::synchronize(context);
  });
}

smallbatch_status smallbatch_set_threads(smallbatch_handle handle, int threads) {
  return answer(handle, [&](smallbatch::Context& context) {
    smallbatch::check_count("threads", threads);
    context.set_threads(static_cast<unsigned>(threads));
  });
}

const char* smallbatch_last_error(smallbatch_handle handle) {
  return handle == nullptr ? smallbatch::sentence_without_handle().text() : handle->last_error.text();
}
