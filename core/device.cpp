#include "core/device.hpp"

#include "core/error.hpp"

namespace smallbatch {

DeviceInfo cuda_device(int index) {
  const DeviceList list = cuda_devices();
  if (index >= 0 && static_cast<std::size_t>(index) < list.devices.size())
    return list.devices[static_cast<std::size_t>(index)];
  const std::string number = std::to_string(index);
  const std::string why = list.devices.empty()
                              ? list.why_none
                              : "this machine's GPUs are cuda:0 to cuda:" + std::to_string(list.devices.size() - 1);
  throw Error(ErrorKind::no_device, "GPU " + number + " (cuda:" + number + ") cannot be used", why,
              "Use the cpu backend.");
}

}  // namespace smallbatch
