// RAII handles of the CUDA runtime: device, stream, device memory. For *_cuda.cpp plans and benchmarks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <source_location>
#include <utility>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Throws Error naming the call's place: out_of_memory for a failed allocation and where hardly any is left,
/// device_lost where the device fails every call from now on, internal otherwise.
[[noreturn]] void throw_cuda_error(cudaError_t status, std::source_location where);

/// ... where a call failed. Inline, because each shared library has a CUDA runtime of its own, which is to forget the
/// error: one that is not sticky must not surface again at the next call.
inline void check(cudaError_t status, std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw_cuda_error(status, where);
}

/// Makes `device` the calling thread's device for this object's lifetime, then restores the previous one.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = 0;
};

/// A non-blocking stream of the current device.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// How long what is between begin() and end() takes on a stream of the current device.
class StreamTimer {
 public:
  StreamTimer();
  ~StreamTimer();
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;
  void begin(const Stream& stream);
  void end(const Stream& stream);
  /// Waits for the end.
  [[nodiscard]] double seconds() const;

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Bytes on the current device. Grows, never shrinks; growing forgets the content.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  /// Room for `count` values of T, aligned as cudaMalloc aligns (256 bytes).
  template <class T>
  T* reserve(std::size_t count) {
    return static_cast<T*>(reserve_bytes(count * sizeof(T)));
  }

 private:
  void* reserve_bytes(std::size_t bytes);
  void* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// The host's `count` values in device memory; somewhere in it where there are none.
template <class T>
const T* copy_to_device(DeviceMemory& memory, const T* from, std::size_t count, const Stream& stream) {
  T* const to = memory.reserve<T>(count > 0 ? count : 1);
  if (count > 0) check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream.get()));
  return to;
}

/// Back to the host, where the device has them: a null pointer is nothing.
template <class T>
void copy_to_host(T* to, const T* from, std::size_t count, const Stream& stream) {
  if (from != nullptr && count > 0)
    check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream.get()));
}

}  // namespace smallbatch
#pragma GCC visibility pop
