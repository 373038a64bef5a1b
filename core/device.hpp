// The GPUs of this machine. Callers need no CUDA header. A build without CUDA reports that there is no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/block_memory.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// A GPU, as its driver describes it.
struct DeviceInfo {
  int index = 0;                                                   ///< the number that the CUDA runtime gives it
  std::string name;                                                ///< "NVIDIA H100"
  int multiprocessors = 0;                                         ///< how many streaming multiprocessors it has
  int compute_capability_major = 0, compute_capability_minor = 0;  ///< 9 and 0 of "9.0"
  std::int64_t memory_bytes = 0;                                   ///< all of its memory, free or not
  std::string runtime_version, driver_version;                     ///< "13.0"
};

/// All GPUs, or the reason why there are none.
struct DeviceList {
  std::vector<DeviceInfo> devices;  ///< in the order of `index`
  std::string why_none;             ///< the reason, if `devices` is empty
};

/// Returns the GPUs. Does not throw if there is no GPU or no driver.
DeviceList cuda_devices();

/// Returns the GPU with that index. Throws Error(no_device) if there is none.
DeviceInfo cuda_device(int index);

/// Returns functions that lock pages for copies from and to all GPUs. They lock nothing in a build without CUDA.
PageLock cuda_page_lock();

}  // namespace smallbatch
#pragma GCC visibility pop
