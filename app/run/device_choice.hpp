// The option --device: finds the backends that it names, and makes the objects that compute on them.
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
  std::vector<Backend> backends;  ///< one backend, or several GPUs
  std::string description;        ///< "NVIDIA H200 (cuda:0, ...)" for each GPU, or "16 CPU threads"
  std::string note;               ///< why `auto` chose the CPU; empty otherwise
};

/// Chooses the backends. With auto, the first GPU is chosen. Without a GPU, or with `prefer_cpu`, the CPU computes.
/// Throws Error(no_device) if a GPU that was named is not there.
///
/// Processes on one machine share its GPUs: this one is `neighbours.index` of `neighbours.count`.
DeviceChoice choose_device(const DeviceRequest& request, unsigned threads, InstructionSet instruction_set,
                           bool prefer_cpu, const Share& neighbours = {});

/// Objects that compute: for each kind of set, one object per CPU backend or two per GPU, so that one copies while the
/// other computes. Objects for pair energies and correlations exist only if a set needs them.
struct Computers {
  std::vector<std::unique_ptr<SpdSolver>> solvers;
  std::vector<std::unique_ptr<Potential>> potentials;
  std::vector<std::unique_ptr<PairEnergy>> pair_energies;
  std::vector<std::unique_ptr<Correlator>> correlators;

  /// Returns the seconds that all objects together have spent in kernels.
  [[nodiscard]] double kernel_seconds() const;
  /// Describes the objects that compute a kind of set: "cuda:0 auto, cuda:1 auto".
  [[nodiscard]] std::string description(std::string_view kind) const;
};
/// Returns the number of objects that make_computers() makes for each kind of set.
std::int64_t computers_for(const DeviceChoice& device);
Computers make_computers(const DeviceChoice& device, const SpdOptions& options, const ProblemSets& sets);

}  // namespace smallbatch
