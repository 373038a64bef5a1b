#include "app/device_choice.hpp"

#include "core/device.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"

namespace smallbatch {

DeviceChoice choose_device(const DeviceRequest& request, unsigned threads) {
  DeviceChoice choice;
  choice.backend.threads = threads;
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
  const DeviceList list = cuda_devices();
  const bool by_name = request.kind == DeviceRequest::Kind::cuda;
  const int index = by_name ? request.index : 0;
  if (index >= static_cast<int>(list.devices.size())) {
    const std::string why = list.devices.empty()
                                ? list.why_none
                                : "this machine's GPUs are cuda:0 to cuda:" + std::to_string(list.devices.size() - 1);
    if (by_name)
      throw Error(ErrorKind::no_device,
                  "the GPU cuda:" + std::to_string(index) + " cannot be used (" + why +
                      "). Use --device cpu, or --device auto to take a GPU only where there is one.");
    choice.backend.kind = BackendKind::cpu;
    choice.note = why;
    return choice;
  }
  const DeviceInfo& device = list.devices[static_cast<std::size_t>(index)];
  choice.backend.kind = BackendKind::cuda;
  choice.backend.device = index;
  choice.description = device.name + " (cuda:" + std::to_string(index) + ", sm_" +
                       std::to_string(device.compute_capability_major) +
                       std::to_string(device.compute_capability_minor) + ", CUDA " + device.runtime_version +
                       ", driver supports " + device.driver_version + ")";
  return choice;
}

}  // namespace smallbatch
