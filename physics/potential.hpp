// Electrostatic potential and field of point charges, by direct summation with open boundaries:
//     V(p) = f sum_i q_i g(|p - s_i|),   E(p) = -grad V(p)
// with q in units of e, lengths in angstrom, and f the factor from e/angstrom to the unit asked for (core/units.hpp),
// divided by the dielectric constant where there is one. E is in that unit per angstrom. For a softening length eps,
// with rho^2 = r^2 + eps^2:
//     g(r) = 1/rho                       of point charges
//     g(r) = exp(-rho/l)/rho             of point charges in an electrolyte, with its screening length l
//     g(r) = erf(r/(sqrt(2) w))/r        of Gaussian charges, without a softening; sqrt(2/pi)/w at r = 0
// A Gaussian charge has the density q exp(-r^2/(2 w^2))/((2 pi)^(3/2) w^3): its width w is the standard deviation.
// Where w is 0 it is a point. The targets are points. Screening and widths do not go together, nor do softening and
// widths. A cut-off c multiplies g by (1 - r^2/c^2)^2, and by 0 for r >= c: V and E go to 0 at c without a step.
// (Softening: H. C. Plummer, Mon. Not. R. Astron. Soc. 71, 460 (1911); screening: P. Debye and E. Hueckel, Phys. Z. 24,
// 185 (1923); truncation: the shift function of B. R. Brooks et al., J. Comput. Chem. 4, 187 (1983), equation 12.)
//
// Three implementations behind one interface: cuda (several points per thread), cpu (SIMD across points) and reference
// (Eigen arrays in double precision). After V. Volkov, "Unrolling parallel loops" (2011), and Stone et al., J. Comput.
// Chem. 28, 2618 (2007). A method for periodic boundaries would be one more class behind Potential.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "core/backend.hpp"
#include "core/potentials.hpp"
#include "physics/singularity.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Of all problems of a call.
struct PotentialOptions {
  Singular singular = Singular::infinite;  ///< what V and E are on a charge
  double unit_factor = 1;                  ///< f, finite; 1 gives e/angstrom
  double softening = 0;  ///< eps, angstrom (is_softening); above 0 nothing is singular: the policy decides nothing
  double cutoff = 0;     ///< c, angstrom; 0: none
  double screening_length = 0;  ///< l, angstrom (is_screening_length); 0: none
};

/// Which g a call asks for; a cut-off is a factor on top.
enum class InteractionKind { plain, screened, gaussian };
constexpr InteractionKind interaction_kind(const ChargeBatch& charges, const PotentialOptions& options) {
  if (charges.width != nullptr) return InteractionKind::gaussian;
  return options.screening_length > 0 ? InteractionKind::screened : InteractionKind::plain;
}

/// Evaluates batches that lie in host memory. An object owns its device memory and stream; use it from one thread at a
/// time.
///
/// Single precision (float): distances from coordinates that are shifted to an origin in double precision, the
/// lattice's own or a problem's first point, compensated or longer totals over short sums; targets that lie near a
/// charge are summed in double precision altogether. Bounds, for L the largest distance of targets and charges from the
/// origin, and rho_i as above (r_i without softening):
///     |V - V_exact|       <= f sum_i |q_i|/rho_i   (2^-22 + 2^-23 L/rho_i)
///     |E_k - E_exact,k|   <= f sum_i |q_i|/rho_i^2 (2^-20 + 2^-21 L/rho_i)     for each component k
/// A softening doubles the first number in each bracket: where it is long all rho_i are alike, and so are their
/// roundings. A screening length or widths double the bounds. A screening multiplies V's terms by (1 + x_i) exp(-x_i)
/// and E's by (1 + x_i)^2 exp(-x_i), x_i = rho_i/l. Of Gaussian charges rho_i is the larger of r_i and 1.25 w_i.
/// A cut-off doubles the bounds, and m_i = min(rho_i, c) takes the place of rho_i in L/rho_i and of one of
/// two in rho_i^2. The sums are then over the charges with r_i < 1.01 c, for a cut-off of at least 2^-16 L and 2^-300
/// eps. Exact are V and E of f, eps, c and the coordinates as float64s.
///
/// Double precision (double): the same with 2^-51, 2^-52, 2^-49 and 2^-50.
///
/// Screened terms may fall below the range of numbers. A bound therefore counts (1 + x_i) exp(-x_i), and E's factor,
/// as at least 2^-100 in single and 2^-960 in double precision. To it come f 2^-110 and f 2^-1000 for each charge;
/// f 2^-480 where a softening is below 2^-200 angstrom or a lattice's spacing below 2^-180.
///
/// The first terms hold for roundings that do not all go one way. Where up to 15 charges in a row (63 where E is
/// concerned) each give less than half a unit in the last place of what one beside them gives, and all have one sign,
/// they are lost together: V and E may then be wrong by 4 times their bounds. In single precision a charge that is not
/// zero counts as 2^-70 e at least in V's bound, and as 2^-30 e in E's. Where single precision's range does not hold
/// the terms (physics/charges/summed_in_double.hpp), they are summed in double precision. To numbers below the normal
/// ones of its type a value is rounded; beyond the largest it is an infinity of its sign (info_values_out_of_range). On
/// the GPU fields in double precision need every rho_i below 1e100 angstrom.
///
/// Where field and a cut-off are wanted, with w = max(0, 1 - r^2/c^2):
///     E(p) = f sum_i q_i (p - s_i) (w^2 / rho^3 + 4 w / (rho c^2)).
///
/// The interaction energy of two groups of charges, in double precision whatever the type of the result:
///     U = f sum_{i in 1} sum_{j in 2} q_i q_j g(|s_i - s_j|),
/// where both charges of a pair are Gaussian: w^2 = w_i^2 + w_j^2. Of point charges,
/// pairs nearer than singular_distance_of_points are infinities of the sign of f q_i q_j, or left out, as the policy
/// says (none is with a softening). Where such pairs are infinities of both signs, the energy is a NaN: it has no
/// value. Terms that leave the range of double do the same; no status says so.
///
/// Per problem `info` is as core/potentials.hpp defines it. V and E of the same problem have the same bits at any place
/// in a batch and for any split into planes.
class Potential {
 public:
  virtual ~Potential() = default;

  /// Throws Error (bad_input) for a shape below 1, planes outside the lattice, a spacing below least_spacing or not
  /// finite, offsets that fall, a softening or screening length that is neither 0 nor has a square that is a normal
  /// double, a cut-off that is negative or not finite, a unit factor that is not finite, widths with a softening or a
  /// screening length; count = 0 does nothing, and a problem without charges is 0 everywhere.
  virtual void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                        const PotentialResult<float>& result) = 0;
  virtual void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                        const PotentialResult<double>& result) = 0;

  /// What runs, for provenance: "cuda:0 direct sum", "cpu direct sum avx2", "reference eigen".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Seconds that a GPU has computed since this was made, without the copies from and to the host; 0 of other backends.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Throws Error (no_device) where the backend is cuda and the build or the machine has none, Error (usage) for an
/// instruction set that the processor does not have.
std::unique_ptr<Potential> make_potential(const Backend& backend);

}  // namespace smallbatch
#pragma GCC visibility pop
