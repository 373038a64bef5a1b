// Which GPUs there are. No CUDA header is needed to ask; a build without CUDA answers that there are none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/block_memory.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// A GPU, as its driver describes it.
struct DeviceInfo {
  int index = 0;                                                   ///< the CUDA runtime's number of it
  std::string name;                                                ///< "NVIDIA H100"
  int multiprocessors = 0;                                         ///< how many it has
  int compute_capability_major = 0, compute_capability_minor = 0;  ///< 9 and 0 of "9.0"
  std::int64_t memory_bytes = 0;                                   ///< all of its memory
  std::string runtime_version, driver_version;                     ///< "13.0"
};

/// All GPUs.
struct DeviceList {
  std::vector<DeviceInfo> devices;  ///< by their index
  std::string why_none;             ///< a sentence, when the list is empty
};

/// Never throws for the lack of a GPU or a driver.
DeviceList cuda_devices();

/// The GPU of that index. Throws Error(no_device) where there is none.
DeviceInfo cuda_device(int index);

/// Locks pages for copies from and to all GPUs, by the driver; locks none in a build without CUDA.
PageLock cuda_page_lock();

}  // namespace smallbatch
#pragma GCC visibility pop
