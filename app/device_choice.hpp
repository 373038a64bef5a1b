// --device: from what was asked for to a backend that exists.
#pragma once

#include <string>
#include <vector>

#include "app/options.hpp"
#include "core/backend.hpp"

namespace smallbatch {

struct DeviceChoice {
  std::vector<Backend> backends;  ///< one, or some GPUs
  std::string description;        ///< "NVIDIA H200 (cuda:0, ...)", one after the other, or "16 CPU threads"
  std::string note;               ///< why `auto` took the CPU, in words; empty otherwise
};

/// auto: the first GPU, or else the CPU where there is none or `prefer_cpu` says that it is quicker. Throws
/// Error(no_device) where a GPU was asked for by name and is not there.
///
/// Processes on one machine share its GPUs: this one is `neighbours.index` of `neighbours.count`.
DeviceChoice choose_device(const DeviceRequest& request, unsigned threads, InstructionSet instruction_set,
                           bool prefer_cpu, const Share& neighbours = {});

}  // namespace smallbatch
