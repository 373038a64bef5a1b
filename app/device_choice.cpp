#include "app/device_choice.hpp"

#include "core/device.hpp"
#include "core/parallel.hpp"

namespace smallbatch {

DeviceChoice choose_device(const DeviceRequest& request, unsigned threads, InstructionSet instruction_set) {
  DeviceChoice choice;
  choice.backend.threads = threads;
  choice.backend.instruction_set = instruction_set;
  const unsigned used = threads == 0 ? hardware_threads() : threads;
  choice.description = std::to_string(used) + (used == 1 ? " CPU thread" : " CPU threads");
  if (request.kind == DeviceRequest::Kind::cpu) {
    choice.backend.kind = BackendKind::cpu;
    return choice;
  }
  if (request.kind == DeviceRequest::Kind::reference) {
    choice.backend.kind = BackendKind::reference;
    return choice;
  }
  const bool by_name = request.kind == DeviceRequest::Kind::cuda;
  if (const DeviceList list = cuda_devices(); !by_name && list.devices.empty()) {
    choice.backend.kind = BackendKind::cpu;
    choice.note = list.why_none;
    return choice;
  }
  const int index = by_name ? request.index : 0;
  const DeviceInfo device = cuda_device(index);
  choice.backend.kind = BackendKind::cuda;
  choice.backend.device = index;
  choice.description = device.name + " (cuda:" + std::to_string(index) + ", sm_" +
                       std::to_string(device.compute_capability_major) +
                       std::to_string(device.compute_capability_minor) + ", CUDA " + device.runtime_version +
                       ", driver supports " + device.driver_version + ")";
  return choice;
}

}  // namespace smallbatch
