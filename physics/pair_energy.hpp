// Energies of pairs of point charges, with open boundaries:
//     U = f sum_{i in 1} sum_{j in 2} q_i q_j g(|s_i - s_j|)      of the charges of group 1 with those of group 2, or
//     U = f sum_{i < j} q_i q_j g(|s_i - s_j|)                    of all charges, where they have no groups,
// with f, g, softening, cut-off and screening as physics/potential.hpp has them, U in the unit of V times e. Where
// charges have widths, both of a pair are Gaussian: g is that of w^2 = w_i^2 + w_j^2. The energy of a charge is half
// the sum of its pairs' energies, so that those of a problem add up to its U.
//
// In single precision coordinates are shifted to the problem's first charge in double precision first, terms are single
// or better, a few of them are added up in single precision, all else in double; pairs that are too near are summed in
// double precision altogether, from the coordinates as they are given. For L the largest distance of a charge from the
// first, and rho_ij as there,
//     |U - U_exact| <= f sum |q_i q_j|/rho_ij (2^-22 + 2^-23 L/rho_ij)
// over the same pairs, and with 2^-50 and 2^-51 in double precision; half of that over its pairs for a charge's energy.
// With softening, screening, widths and a cut-off it changes as V's bound in potential.hpp does, over the pairs with
// r_ij < 1.01 c. What is added there per charge is added here per pair, times a charge.
// These bounds hold as those of potential.hpp do.
//
// Pairs of points nearer than singular_distance_of_points are infinities of the sign of f q_i q_j, or left out, as the
// policy says (none is with a softening). Where such pairs are infinities of both signs, the energy is a NaN: it has no
// value. Charges of zero, and those of neither group, take part in nothing but the checks of their problem's input.
#pragma once

#include <memory>
#include <string>

#include "core/backend.hpp"
#include "core/pair_energies.hpp"
#include "core/scalar_type.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Of all problems of a call.
struct PairEnergyOptions {
  Singular singular = Singular::infinite;      ///< what pairs on one place give
  ScalarType precision = ScalarType::float32;  ///< of each pair; totals are in double precision
  double unit_factor = 1;                      ///< f, finite; 1 gives e^2/angstrom
  double softening = 0;                        ///< angstrom (is_softening)
  double cutoff = 0;                           ///< angstrom; 0: none
  double screening_length = 0;                 ///< angstrom (is_screening_length); 0: none
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
#pragma GCC visibility pop
