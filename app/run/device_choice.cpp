#include "app/run/device_choice.hpp"

#include <filesystem>
#include <system_error>

#include "core/device.hpp"
#include "core/parallel.hpp"

namespace smallbatch {

namespace {
std::string device_text(const DeviceInfo& device) {
  return device.name + " (cuda:" + std::to_string(device.index) + ", sm_" +
         std::to_string(device.compute_capability_major) + std::to_string(device.compute_capability_minor) + ", CUDA " +
         device.runtime_version + ", driver supports " + device.driver_version + ")";
}

/// Returns whether a GPU driver is there. This check takes no time, while CUDA takes a while to start.
bool may_have_gpu() {
  std::error_code unknown;
  return std::filesystem::exists("/dev/nvidiactl", unknown) || std::filesystem::exists("/dev/dxg", unknown);
}

}  // namespace

DeviceChoice choose_device(const DeviceRequest& request, unsigned threads, InstructionSet instruction_set,
                           bool prefer_cpu, const Share& neighbours) {
  using Kind = DeviceRequest::Kind;
  DeviceChoice choice;
  Backend backend{request.kind == Kind::reference ? BackendKind::reference : BackendKind::cpu, 0, threads,
                  instruction_set};
  if (request.kind == Kind::automatic && prefer_cpu) {
    if (may_have_gpu()) choice.note = "the CPU finishes before a GPU would have started";
  } else if (request.kind == Kind::automatic || request.kind == Kind::cuda) {
    std::vector<int> indices = request.indices;
    if (const DeviceList list = cuda_devices(); indices.empty() && !list.devices.empty()) {
      const int gpus = static_cast<int>(list.devices.size());
      for (int k = neighbours.index % gpus; k < gpus; k += neighbours.count) {
        indices.push_back(list.devices[static_cast<std::size_t>(k)].index);
        if (!request.all) break;
      }
    } else if (indices.empty() && request.kind == Kind::automatic) {
      choice.note = list.why_none;
    } else if (indices.empty()) {
      indices.push_back(0);  // using GPU 0 throws the error that says why there is no GPU
    }
    backend.kind = BackendKind::cuda;
    for (const int index : indices) {
      choice.description += (choice.description.empty() ? "" : ", ") + device_text(cuda_device(index));
      backend.device = index;
      choice.backends.push_back(backend);
    }
    if (!choice.backends.empty()) return choice;
    backend.kind = BackendKind::cpu;
  }
  const unsigned used = thread_count(threads);
  choice.description = std::to_string(used) + (used == 1 ? " CPU thread" : " CPU threads");
  choice.backends.push_back(backend);
  return choice;
}

namespace {
/// Describes all computers, each description once.
template <class Computer>
std::string describe_all(const std::vector<Computer>& computers) {
  std::string text, last;
  for (const auto& computer : computers) {
    const std::string next = computer->description();
    if (next != last) text += (text.empty() ? "" : ", ") + next;
    last = next;
  }
  return text;
}
}  // namespace

double Computers::kernel_seconds() const {
  double sum = 0;
  const auto add = [&](const auto& computers) {
    for (const auto& computer : computers) sum += computer->kernel_seconds();
  };
  add(solvers);
  add(potentials);
  add(pair_energies);
  add(correlators);
  return sum;
}

std::string Computers::description(std::string_view kind) const {
  return kind == SolveSet::kind        ? describe_all(solvers)
         : kind == PotentialSet::kind  ? describe_all(potentials)
         : kind == PairEnergySet::kind ? describe_all(pair_energies)
                                       : describe_all(correlators);
}

namespace {
int computers_for(const Backend& backend) { return backend.kind == BackendKind::cuda ? 2 : 1; }
}  // namespace

std::int64_t computers_for(const DeviceChoice& device) {
  std::int64_t count = 0;
  for (const Backend& backend : device.backends) count += computers_for(backend);
  return count;
}

Computers make_computers(const DeviceChoice& device, const SpdOptions& options, const ProblemSets& sets) {
  Computers computers;
  const bool any_pair_energies = !std::get<std::vector<PairEnergySet>>(sets).empty();
  const bool any_correlations = !std::get<std::vector<CorrelationSet>>(sets).empty();
  for (const Backend& backend : device.backends)
    for (int k = 0; k < computers_for(backend); ++k) {
      computers.solvers.push_back(make_spd_solver(backend, options));
      computers.potentials.push_back(make_potential(backend));
      if (any_pair_energies) computers.pair_energies.push_back(make_pair_energy(backend));
      if (any_correlations) computers.correlators.push_back(make_correlator(backend));
    }
  return computers;
}

}  // namespace smallbatch
