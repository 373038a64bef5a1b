// The stages from sites to potential maps, on the CPU and on the GPU.
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
  /// Of the maps: one lattice for all molecules, around 0, angstrom.
  smallbatch::LatticeShape shape;
  std::array<double, 3> origin{}, spacing{};
  std::int64_t maps_wanted = 0;  ///< those of the first molecules are handed over
};

struct StageSeconds {
  double copies = 0;  ///< between host and device
  double matrices = 0, solve = 0, charges = 0, maps = 0;
};

struct Answer {
  std::vector<double> charge;          ///< (sites), e; NaN where a molecule has no equilibrium
  std::vector<std::int32_t> info;      ///< (molecules), as smallbatch/core/systems.hpp defines it
  std::vector<double> backward_error;  ///< (molecules), of the solution
  StageSeconds seconds;
};

/// Gets the maps that are wanted, V in volt, some molecules at a time in their order.
using TakeMaps = std::function<void(const smallbatch::PotentialBlock<float>& maps)>;

Answer run_on_cpu(const Job& job, const TakeMaps& take_maps);
/// What the current GPU is called; "" where there is none, or the program was built without CUDA.
std::string gpu_name();
/// On the current GPU. Between the positions and the charges, the maps and their statuses nothing goes over the bus.
/// Throws smallbatch::Error (no_device) where the program was built without CUDA.
Answer run_on_gpu(const Job& job, const TakeMaps& take_maps);

/// How many molecules' maps are in memory at a time.
inline constexpr std::int64_t molecules_per_block = 2048;

/// A block's molecules, with room for what is wanted of their maps.
inline smallbatch::PotentialBlock<float> map_block(const Job& job, std::int64_t first, std::int64_t count) {
  smallbatch::PotentialBlock<float> block;
  block.shape = job.shape;
  block.first = first;
  block.count = count;
  block.plane_count = job.shape.nz;
  block.resize_results(false);
  return block;
}

/// The same three numbers for each of `count` problems.
inline std::vector<double> repeated(const std::array<double, 3>& numbers, std::int64_t count) {
  std::vector<double> all(3 * static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = numbers[i % 3];
  return all;
}

/// Seconds since it was made, or since the last call.
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
