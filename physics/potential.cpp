#include "physics/potential.hpp"

#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "physics/potential_backends.hpp"

namespace smallbatch {

namespace {
const DirectSumKernels& lanes_for(InstructionSet wanted) {
  const std::vector<const DirectSumKernels*> usable = supported_direct_sum_kernels();
  std::vector<std::string_view> names;
  for (const DirectSumKernels* lanes : usable) names.emplace_back(lanes->name);
  return *usable[chosen_instruction_set(wanted, names)];
}
}  // namespace

std::unique_ptr<Potential> make_potential(const Backend& backend) {
  switch (backend.kind) {
    case BackendKind::cuda:
      return make_cuda_potential(backend.device);
    case BackendKind::cpu:
      return make_cpu_potential(backend.threads, lanes_for(backend.instruction_set));
    case BackendKind::reference:
      return make_reference_potential(backend.threads);
  }
  throw Error(ErrorKind::usage, "unknown backend", "kind " + std::to_string(static_cast<int>(backend.kind)),
              "Use cuda, cpu or reference.");
}

}  // namespace smallbatch
