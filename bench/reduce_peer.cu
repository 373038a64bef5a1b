#include <cub/device/device_reduce.cuh>
#include <memory>

#include "bench/reduce_steps.hpp"
#include "core/device_cuda.hpp"

namespace smallbatch {

Step reduce_peer(const float* values, std::int64_t count, float* sum) {
  std::size_t bytes = 0;
  check(cub::DeviceReduce::Sum(nullptr, bytes, values, sum, count));
  const auto memory = std::make_shared<DeviceMemory>();
  void* const workspace = memory->reserve<char>(bytes);
  Step step;
  step.name = "cub_device_reduce";
  step.idea = "the vendor's library";
  step.vendor = true;
  step.launch = [=, memory = memory](cudaStream_t stream) {
    std::size_t of_workspace = bytes;
    check(cub::DeviceReduce::Sum(workspace, of_workspace, values, sum, count, stream));
  };
  return step;
}

}  // namespace smallbatch
