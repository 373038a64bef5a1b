// The stages from positions to potential maps, on the CPU and on the GPU.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <smallbatch/core/potentials.hpp>

#include "molecules.hpp"

namespace charge_equilibration {

struct Job {
  const MoleculeSet& molecules;
  /// One lattice around 0 for the maps of all molecules, in angstrom.
  smallbatch::LatticeShape shape;
  std::array<double, 3> origin{}, spacing{};
  std::int64_t maps_wanted = 0;  ///< number of maps that are returned: those of the first molecules
};

struct StageSeconds {
  double copies = 0;  ///< between host and device
  double matrices = 0, solve = 0, charges = 0, maps = 0;
};

struct Answer {
  std::vector<double> charge;          ///< (sites), e; NaN if the molecule has no equilibrium
  std::vector<std::int32_t> info;      ///< (molecules), as smallbatch/core/systems.hpp defines it
  std::vector<double> backward_error;  ///< (molecules), of the solution
  StageSeconds seconds;
};

/// Receives the wanted maps, V in volt: some molecules at a time, in their order.
using TakeMaps = std::function<void(const smallbatch::PotentialBlock<float>& maps)>;

Answer run_on_cpu(const Job& job, const TakeMaps& take_maps);
/// Returns the name of the current GPU; "" without a GPU, or if the program was built without CUDA.
std::string gpu_name();
/// Runs all stages on the current GPU. Only the arrays of `job.molecules` are copied to the GPU. Only charges,
/// statuses, backward errors and wanted maps are copied back. Throws smallbatch::Error (no_device) if the program was
/// built without CUDA.
Answer run_on_gpu(const Job& job, const TakeMaps& take_maps);

/// Number of maps that are in memory at a time.
inline constexpr std::int64_t molecules_per_block = 2048;

/// Returns a block of molecules with memory for their maps.
inline smallbatch::PotentialBlock<float> map_block(const Job& job, std::int64_t first, std::int64_t count) {
  smallbatch::PotentialBlock<float> block;
  block.shape = job.shape;
  block.first = first;
  block.count = count;
  block.plane_count = job.shape.nz;
  block.resize_results(false);
  return block;
}

/// Repeats three numbers for each of `count` problems.
inline std::vector<double> repeated(const std::array<double, 3>& numbers, std::int64_t count) {
  std::vector<double> all(3 * static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = numbers[i % 3];
  return all;
}

/// Measures seconds since its construction, or since the last call of lap().
class Clock {
 public:
  double lap() {
    const auto before = std::exchange(begin_, std::chrono::steady_clock::now());
    return std::chrono::duration<double>(begin_ - before).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace charge_equilibration
