#include <vector>

#include "core/device_cuda.hpp"
#include "tests/c/places.hpp"

namespace smallbatch::testing {

namespace {

class DevicePlace final : public Place {
 public:
  void* allocate(std::size_t bytes) override {
    memory_.emplace_back();
    return memory_.back().reserve<std::byte>(bytes + 1);
  }
  void copy_in(void* there, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(there, from, bytes, cudaMemcpyHostToDevice, stream_.get()));
    stream_.synchronize();
  }
  void copy_out(void* to, const void* there, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, there, bytes, cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
  }
  void* stream() override { return stream_.get(); }

 private:
  Stream stream_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace

std::unique_ptr<Place> make_device_place() { return std::make_unique<DevicePlace>(); }

}  // namespace smallbatch::testing
