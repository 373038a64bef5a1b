#include <smallbatch/core/error.hpp>

#include "stages.hpp"

namespace charge_equilibration {

std::string gpu_name() { return {}; }

Answer run_on_gpu(const Job&, const TakeMaps&) {
  throw smallbatch::Error(smallbatch::ErrorKind::no_device, "there is no GPU path",
                          "the program was built without CUDA", "Build it with nvcc and a smallbatch that has CUDA.");
}

}  // namespace charge_equilibration
