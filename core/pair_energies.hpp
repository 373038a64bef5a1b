// Energies summed over pairs of charges. These plain structs flow from file to evaluation to verification to file.
// Charges and their statuses are those of core/potentials.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/potentials.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns one line for people about the status of one problem. Status 0: summed. Status k > 0: summed, and k pairs
/// have both charges at the same place. (Pairs with a charge of 0 are not counted.) The singularity policy decided what
/// these k pairs contribute. With the statuses info_charges_not_finite and info_charges_out_of_range, every energy of
/// the problem is NaN. With info_values_out_of_range, an energy leaves the range of double.
std::string describe_pair_energy_info(std::int32_t info);

/// Output of a sum over pairs. Energies are in the unit of V times e.
struct PairEnergyResult {
  double* energy = nullptr;             ///< (count)
  std::int32_t* info = nullptr;         ///< (count)
  double* energy_per_charge = nullptr;  ///< one per charge: half the sum of its pairs' energies; null: not wanted
};

/// Problems [first, first + count) of a set, with room for their energies.
struct PairEnergyBlock {
  std::int64_t first = 0, count = 0;
  std::vector<std::int64_t> offset;         ///< (count + 1); the first offset is 0
  AlignedVector<double> position, charge;   ///< as in ChargeBatch
  AlignedVector<double> width;              ///< widths of the charges; empty: all are points
  std::vector<std::int8_t> group;           ///< groups of the charges; empty: all pairs i < j
  std::vector<std::int32_t> info;           ///< as in PairEnergyResult
  std::vector<double> energy;               ///< as in PairEnergyResult
  AlignedVector<double> energy_per_charge;  ///< empty if it is not wanted

  PairEnergyBlock() = default;
  /// Allocates the larger arrays in `memory`, which must outlive the block.
  explicit PairEnergyBlock(std::pmr::memory_resource* memory)
      : position(memory), charge(memory), width(memory), energy_per_charge(memory) {}

  /// Sizes the result arrays for the charges that are present.
  void resize_results(bool with_energy_per_charge) {
    info.resize(static_cast<std::size_t>(count));
    energy.resize(static_cast<std::size_t>(count));
    energy_per_charge.resize(with_energy_per_charge ? charge.size() : 0);
  }
  [[nodiscard]] ChargeBatch charges() const { return charges_of_block(*this); }
  [[nodiscard]] PairEnergyResult result() {
    return {energy.data(), info.data(), energy_per_charge.empty() ? nullptr : energy_per_charge.data()};
  }
};

}  // namespace smallbatch
#pragma GCC visibility pop
