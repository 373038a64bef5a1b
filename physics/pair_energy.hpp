// Energies of pairs of point charges, with open boundaries:
//
//     U = f sum_{i in 1} sum_{j in 2} q_i q_j g(|s_i - s_j|)      of the charges of group 1 with those of group 2, or:
//     U = f sum_{i < j} q_i q_j g(|s_i - s_j|)                    of all charges, if they have no groups.
//
// The header physics/potential.hpp defines f, g, softening, cut-off and screening. U is in the unit of V times e. With
// widths, both charges of a pair are Gaussian, and g has w^2 = w_i^2 + w_j^2. The energy of a charge is half the sum of
// its pairs' energies. The energies of a problem's charges therefore add up to U.
//
// Single precision. Coordinates are first shifted to the problem's first charge in double precision. Terms are in
// single precision or better. A few terms are added in single precision, and everything else in double precision. Pairs
// that are too near are summed in double precision throughout, from the unshifted coordinates.
//
// Let L be the largest distance of a charge from the first charge, and rho_ij as in physics/potential.hpp. Then
//
//     |U - U_exact| <= f sum |q_i q_j|/rho_ij (2^-22 + 2^-23 L/rho_ij)
//
// over the same pairs. Double precision has 2^-50 and 2^-51 instead. The bound of a charge's energy is half of this sum
// over the charge's pairs. Softening, screening, widths and a cut-off change the bound as they change V's bound in
// potential.hpp. With a cut-off, the sum runs over the pairs with r_ij < 1.01 c. Where V's bound adds an amount for
// each charge, this bound adds for each pair the amount times |q_i|. (Without groups, it adds the amount times the mean
// of |q_i| and |q_j|.) The exceptions and conditions of the bounds in potential.hpp hold here too.
//
// Without a softening, a pair of points nearer than singular_distance_of_points is singular. Its energy is an infinity
// of the sign of f q_i q_j, or the pair is left out, as `singular` says. With infinities of both signs the energy is a
// NaN, because it has no value. Charges of zero and charges of neither group form no pairs, but they are checked like
// all input.
#pragma once

#include <memory>
#include <string>

#include "core/backend.hpp"
#include "core/pair_energies.hpp"
#include "core/scalar_type.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Options of a call, for all its problems.
struct PairEnergyOptions {
  Singular singular = Singular::infinite;      ///< energy of a pair of charges at one position
  ScalarType precision = ScalarType::float32;  ///< of each pair's energy; totals are in double precision
  double unit_factor = 1;                      ///< f, finite; 1 gives e^2/angstrom
  double softening = 0;                        ///< angstrom (is_softening)
  double cutoff = 0;                           ///< angstrom; 0: none
  double screening_length = 0;                 ///< angstrom (is_screening_length); 0: none
};

/// Evaluates batches that lie in host memory. An object owns its device memory and stream. Use an object from one
/// thread at a time. On one backend, the bits of a problem's energies depend only on that problem and the options.
class PairEnergy {
 public:
  virtual ~PairEnergy() = default;

  /// Evaluates the energies of all problems. count = 0 does nothing. A problem without pairs has energy 0. Throws Error
  /// (bad_input) as Potential::evaluate does.
  virtual void evaluate(const ChargeBatch& charges, const PairEnergyOptions& options,
                        const PairEnergyResult& result) = 0;

  /// Names what runs, for provenance: "cuda:0 pair sum", "cpu pair sum avx2", "reference eigen".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Seconds that a GPU has computed since this object was made; 0 for other backends.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Makes the pair energy of a backend. Throws as make_potential does.
std::unique_ptr<PairEnergy> make_pair_energy(const Backend& backend);

}  // namespace smallbatch
#pragma GCC visibility pop
