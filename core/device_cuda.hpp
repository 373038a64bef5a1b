// RAII handles of the CUDA runtime: device, stream, device memory. Plans in cuda/ folders and benchmarks use them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <source_location>
#include <utility>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Throws an Error that names the place of the call. The kind is out_of_memory if an allocation failed or hardly any
/// memory is left. It is device_lost if the device fails every call from now on, and otherwise internal.
[[noreturn]] void throw_cuda_error(cudaError_t status, std::source_location where);

/// Throws the Error of throw_cuda_error() if the call failed. First removes the error from the CUDA runtime; otherwise
/// an error that is not sticky would surface again at the next call. The function is inline because each shared library
/// has its own CUDA runtime, and only the caller's runtime knows the error.
inline void check(cudaError_t status, std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw_cuda_error(status, where);
}

/// Makes `device` the current device of the calling thread, and restores the previous one when destroyed.
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

/// Measures the time between begin() and end() on a stream of the current device.
class StreamTimer {
 public:
  StreamTimer();
  ~StreamTimer();
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;
  void begin(const Stream& stream);
  void end(const Stream& stream);
  /// Waits for the end, and returns the time.
  [[nodiscard]] double seconds() const;

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Memory on the current device. It grows and never shrinks; growing discards the content.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  /// Returns room for `count` values of T, aligned as cudaMalloc aligns (256 bytes).
  template <class T>
  T* reserve(std::size_t count) {
    return static_cast<T*>(reserve_bytes(count * sizeof(T)));
  }

 private:
  void* reserve_bytes(std::size_t bytes);
  void* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// Copies `count` values of the host to the device and returns their address. The address is valid even if `count` is
/// 0.
template <class T>
const T* copy_to_device(DeviceMemory& memory, const T* from, std::size_t count, const Stream& stream) {
  T* const to = memory.reserve<T>(count > 0 ? count : 1);
  if (count > 0) check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream.get()));
  return to;
}

/// Copies values back to the host. Does nothing if `from` is null.
template <class T>
void copy_to_host(T* to, const T* from, std::size_t count, const Stream& stream) {
  if (from != nullptr && count > 0)
    check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream.get()));
}

}  // namespace smallbatch
#pragma GCC visibility pop
