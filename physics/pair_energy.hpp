// Energies of pairs of point charges, with open boundaries:
//     U = f sum_{i in 1} sum_{j in 2} q_i q_j g(|s_i - s_j|)      of the charges of group 1 with those of group 2, or
//     U = f sum_{i < j} q_i q_j g(|s_i - s_j|)                    of all charges, where they have no groups,
// with f, g, softening and cut-off as physics/potential.hpp has them, U in the unit of V times e. The energy of a
// charge is half the sum of its pairs' energies, so that those of a problem add up to its U.
#pragma once

#include <memory>
#include <string>

#include "core/backend.hpp"
#include "core/pair_energies.hpp"
#include "core/scalar_type.hpp"

namespace smallbatch {

struct PairEnergyOptions {
  Singular singular = Singular::infinite;
  ScalarType precision = ScalarType::float32;  ///< of each pair; totals are in double precision
  double unit_factor = 1;                      ///< f, finite; 1 gives e^2/angstrom
  double softening = 0;                        ///< angstrom (is_softening)
  double cutoff = 0;                           ///< angstrom; 0: none
};

/// Evaluates batches that lie in host memory. An object owns its device memory and stream; use it from one thread at a
/// time. The bits of a problem's energies depend on that problem and the options alone, on one backend.
class PairEnergy {
 public:
  virtual ~PairEnergy() = default;

  /// Throws Error (bad_input) as Potential::evaluate does; count = 0 does nothing, a problem without pairs has 0.
  virtual void evaluate(const ChargeBatch& charges, const PairEnergyOptions& options,
                        const PairEnergyResult& result) = 0;

  /// What runs, for provenance: "cuda:0 pair sum", "cpu pair sum avx2", "reference eigen".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Seconds that a GPU has computed since this was made; 0 of other backends.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Throws as make_potential does.
std::unique_ptr<PairEnergy> make_pair_energy(const Backend& backend);

}  // namespace smallbatch
