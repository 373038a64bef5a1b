#include "core/device_cuda.hpp"

#include <string>

#include "core/device.hpp"
#include "core/error.hpp"

namespace smallbatch {

namespace {
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Free memory that a GPU needs to work. With less, CUDA calls that need some memory themselves, for example to load a
/// kernel, may fail with any error.
constexpr std::size_t bytes_to_work = 64ull << 20;

[[noreturn]] void throw_out_of_memory(const std::string& why) {
  throw Error(ErrorKind::out_of_memory, "the GPU's memory does not suffice", why,
              "Use smaller blocks or free the GPU.");
}
}  // namespace

void throw_cuda_error(cudaError_t status, std::source_location where) {
  const std::string why =
      std::string(cudaGetErrorString(status)) + ", at " + where.file_name() + ":" + std::to_string(where.line());
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory(why);
  // After a failure of the device itself, every call fails, even one that has nothing to do.
  const bool is_lost = cudaFree(nullptr) != cudaSuccess;
  std::size_t free_bytes = 0, total_bytes = 0;
  const bool is_full =
      !is_lost && cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess && free_bytes < bytes_to_work;
  (void)cudaGetLastError();
  if (is_lost)
    throw Error(ErrorKind::device_lost, "a GPU failed while it computed", why,
                "Look at it (nvidia-smi, dmesg), and run again.");
  if (is_full) throw_out_of_memory(why);
  throw Error(ErrorKind::internal, "a CUDA call failed", why, "Run again; if it fails again, check the GPU.");
}

DeviceList cuda_devices() {
  DeviceList list;
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    (void)cudaGetLastError();
    list.why_none = status == cudaErrorInsufficientDriver
                        ? "no NVIDIA driver, or one too old for CUDA " + version_text(CUDART_VERSION)
                        : cudaGetErrorString(status);
    return list;
  }
  if (count == 0) list.why_none = "the driver reports no GPU";
  int runtime = 0, driver = 0;
  check(cudaRuntimeGetVersion(&runtime));
  check(cudaDriverGetVersion(&driver));
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index));
    list.devices.push_back({index, properties.name, properties.multiProcessorCount, properties.major, properties.minor,
                            static_cast<std::int64_t>(properties.totalGlobalMem), version_text(runtime),
                            version_text(driver)});
  }
  return list;
}

PageLock cuda_page_lock() {
  return {[](void* memory, std::size_t bytes) {
            const bool is_locked = cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess;
            if (!is_locked) (void)cudaGetLastError();
            return is_locked;
          },
          [](void* memory) { (void)cudaHostUnregister(memory); }};
}

DeviceGuard::DeviceGuard(int device) {
  check(cudaGetDevice(&previous_));
  check(cudaSetDevice(device));
}
DeviceGuard::~DeviceGuard() { (void)cudaSetDevice(previous_); }

Stream::Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
Stream::~Stream() { (void)cudaStreamDestroy(stream_); }
void Stream::synchronize() const { check(cudaStreamSynchronize(stream_)); }

StreamTimer::StreamTimer() {
  check(cudaEventCreate(&begin_));
  check(cudaEventCreate(&end_));
}
StreamTimer::~StreamTimer() {
  (void)cudaEventDestroy(begin_);
  (void)cudaEventDestroy(end_);
}
void StreamTimer::begin(const Stream& stream) { check(cudaEventRecord(begin_, stream.get())); }
void StreamTimer::end(const Stream& stream) { check(cudaEventRecord(end_, stream.get())); }
double StreamTimer::seconds() const {
  float milliseconds = 0;
  check(cudaEventSynchronize(end_));
  check(cudaEventElapsedTime(&milliseconds, begin_, end_));
  return 1e-3 * static_cast<double>(milliseconds);
}

DeviceMemory::~DeviceMemory() { (void)cudaFree(data_); }
void* DeviceMemory::reserve_bytes(std::size_t bytes) {
  if (bytes > capacity_) {
    (void)cudaFree(data_);
    data_ = nullptr;
    capacity_ = 0;
    check(cudaMalloc(&data_, bytes));
    capacity_ = bytes;
  }
  return data_;
}

}  // namespace smallbatch
