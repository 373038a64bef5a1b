#include "core/device.hpp"

namespace smallbatch {

DeviceList cuda_devices() {
  return {{}, "this build has no CUDA; install the CUDA toolkit and configure again with -DSMALLBATCH_CUDA=ON"};
}

PageLock cuda_page_lock() { return {}; }

}  // namespace smallbatch
