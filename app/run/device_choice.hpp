// --device: from what was asked for to backends that exist, and what computes on them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/options.hpp"
#include "core/backend.hpp"
#include "io/sets.hpp"
#include "physics/correlation.hpp"
#include "physics/pair_energy.hpp"
#include "physics/potential.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

struct DeviceChoice {
  std::vector<Backend> backends;  ///< one, or some GPUs
  std::string description;        ///< "NVIDIA H200 (cuda:0, ...)", one after the other, or "16 CPU threads"
  std::string note;               ///< why `auto` took the CPU, in words; empty otherwise
};

/// auto: the first GPU, or else the CPU where there is none or `prefer_cpu` says that it is quicker. Throws
/// Error(no_device) where a GPU was asked for by name and is not there.
///
/// Processes on one machine share its GPUs: this one is `neighbours.index` of `neighbours.count`.
DeviceChoice choose_device(const DeviceRequest& request, unsigned threads, InstructionSet instruction_set,
                           bool prefer_cpu, const Share& neighbours = {});

/// What computes: one of each kind for each device, or two for each GPU, one of which copies while the other one
/// computes. Pair energies and correlators are there where the sets ask for them.
struct Computers {
  std::vector<std::unique_ptr<SpdSolver>> solvers;
  std::vector<std::unique_ptr<Potential>> potentials;
  std::vector<std::unique_ptr<PairEnergy>> pair_energies;
  std::vector<std::unique_ptr<Correlator>> correlators;

  /// Of all of them.
  [[nodiscard]] double kernel_seconds() const;
  /// All that compute a kind of set: "cuda:0 auto, cuda:1 auto".
  [[nodiscard]] std::string description(std::string_view kind) const;
};
std::int64_t computers_for(const DeviceChoice& device);
Computers make_computers(const DeviceChoice& device, const SpdOptions& options, const ProblemSets& sets);

}  // namespace smallbatch
