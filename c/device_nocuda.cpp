#include "c/device.hpp"

namespace smallbatch {

namespace {
/// Throws. No call gets here, because a build without CUDA makes no handle for device arrays.
[[noreturn]] void refuse_device() {
  throw Error(ErrorKind::no_device, "device memory cannot be used", "this build has no CUDA",
              "Use SMALLBATCH_CPU, or install the CUDA toolkit and configure again with -DSMALLBATCH_CUDA=ON.");
}
}  // namespace

int current_device() { refuse_device(); }
void synchronize(const Context&) { refuse_device(); }

template <class T>
std::size_t device_workspace_bytes(const Context&, const SystemsCall<T>&) {
  refuse_device();
}
template <class T>
std::size_t device_workspace_bytes(const PotentialCall<T>&) {
  refuse_device();
}
std::size_t device_workspace_bytes(const PairEnergyCall&) { refuse_device(); }
std::size_t device_workspace_bytes(const CorrelationCall&) { refuse_device(); }

template <class T>
void enqueue(const Context&, const SystemsCall<T>&, void*) {
  refuse_device();
}
template <class T>
void enqueue(const Context&, const PotentialCall<T>&, void*) {
  refuse_device();
}
void enqueue(const Context&, const PairEnergyCall&, void*) { refuse_device(); }
void enqueue(const Context&, const CorrelationCall&, void*) { refuse_device(); }

template std::size_t device_workspace_bytes(const Context&, const SystemsCall<float>&);
template std::size_t device_workspace_bytes(const Context&, const SystemsCall<double>&);
template std::size_t device_workspace_bytes(const PotentialCall<float>&);
template std::size_t device_workspace_bytes(const PotentialCall<double>&);
template void enqueue(const Context&, const SystemsCall<float>&, void*);
template void enqueue(const Context&, const SystemsCall<double>&, void*);
template void enqueue(const Context&, const PotentialCall<float>&, void*);
template void enqueue(const Context&, const PotentialCall<double>&, void*);

}  // namespace smallbatch
