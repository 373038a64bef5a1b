// Electrostatic potential and field of point charges, by direct summation with open boundaries:
//
//     V(p) = f sum_i q_i g(|p - s_i|),   E(p) = -grad V(p)
//
// Charges q are in units of e, and lengths in angstrom. The factor f converts e/angstrom to the unit of V
// (core/units.hpp), divided by the dielectric constant if there is one. E is in the unit of V per angstrom. Let eps be
// the softening length and rho^2 = r^2 + eps^2. Then
//
//     g(r) = 1/rho                       point charges
//     g(r) = exp(-rho/l)/rho             screened charges (screening length l)
//     g(r) = erf(r/(sqrt(2) w))/r        Gaussian charges
//
// A Gaussian charge has the density q exp(-r^2/(2 w^2))/((2 pi)^(3/2) w^3). Its width w is the standard deviation. Its
// g is sqrt(2/pi)/w at r = 0. A charge with w = 0 is a point. The targets are points. Widths exclude both screening and
// softening.
//
// A cut-off c multiplies g by (1 - r^2/c^2)^2, and by 0 for r >= c. V and E then go to 0 at c without a step.
//
// (Softening: H. C. Plummer, Mon. Not. R. Astron. Soc. 71, 460 (1911); screening: P. Debye and E. Hueckel, Phys. Z. 24,
// 185 (1923); truncation: the shift function of B. R. Brooks et al., J. Comput. Chem. 4, 187 (1983), equation 12.)
//
// Three implementations stand behind one interface: cuda (several points per thread), cpu (SIMD across points) and
// reference (Eigen arrays in double precision). They follow V. Volkov, "Unrolling parallel loops" (2011), and Stone et
// al., J. Comput. Chem. 28, 2618 (2007). A method for periodic boundaries would be one more class behind Potential.
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

/// Options of a call, for all its problems.
struct PotentialOptions {
  Singular singular = Singular::infinite;  ///< V and E at a target that holds a charge
  double unit_factor = 1;                  ///< f, finite; 1 gives e/angstrom
  /// eps, angstrom (is_softening). With eps > 0 nothing is singular, and `singular` has no effect.
  double softening = 0;
  double cutoff = 0;            ///< c, angstrom; 0: none
  double screening_length = 0;  ///< l, angstrom (is_screening_length); 0: none
};

/// Form of g. A cut-off is a further factor.
enum class InteractionKind { plain, screened, gaussian };
constexpr InteractionKind interaction_kind(const ChargeBatch& charges, const PotentialOptions& options) {
  if (charges.width != nullptr) return InteractionKind::gaussian;
  return options.screening_length > 0 ? InteractionKind::screened : InteractionKind::plain;
}

/// Evaluates batches that lie in host memory. An object owns its device memory and stream. Use an object from one
/// thread at a time.
///
/// Single precision (float). Coordinates are first shifted to an origin in double precision: the lattice's origin or
/// the problem's first point. Short sums in single precision are added to totals that are compensated or in double
/// precision. Targets near a charge are summed in double precision throughout.
///
/// Let L be the largest distance of a target or charge from the origin, and rho_i as above (r_i without softening). The
/// bounds are
///
///     |V - V_exact|       <= f sum_i |q_i|/rho_i   (2^-22 + 2^-23 L/rho_i)
///     |E_k - E_exact,k|   <= f sum_i |q_i|/rho_i^2 (2^-20 + 2^-21 L/rho_i)     for each component k
///
/// V_exact and E_exact are computed without rounding from f, eps, c and the coordinates as float64 numbers.
/// - A softening doubles the first number in each bracket: if it is long, all rho_i are nearly equal, and their
///   rounding errors add up.
/// - A screening length or widths double the bounds.
/// - A screening length also multiplies V's terms by (1 + x_i) exp(-x_i) and E's terms by (1 + x_i)^2 exp(-x_i), with
///   x_i = rho_i/l.
/// - Gaussian charges have the larger of r_i and 1.25 w_i as rho_i.
/// - A cut-off doubles the bounds. With m_i = min(rho_i, c), L/m_i replaces L/rho_i and rho_i m_i replaces rho_i^2. The
///   sums then run over the charges with r_i < 1.01 c. The cut-off must be at least 2^-16 L and 2^-300 eps.
///
/// Double precision (double). The bounds have 2^-51, 2^-52, 2^-49 and 2^-50 instead.
///
/// Screened terms may fall below the range of numbers. A bound therefore counts (1 + x_i) exp(-x_i), and E's factor, as
/// at least 2^-100 in single and 2^-960 in double precision. Each charge also adds f 2^-110 (single) or f 2^-1000
/// (double) to the bound. In double precision it adds f 2^-480 if a softening is below 2^-200 angstrom or a lattice's
/// spacing is below 2^-180 angstrom.
///
/// The first number in each bracket assumes that roundings do not all go in one direction. An exception is a row of up
/// to 15 charges (63 for E) of one sign. If each of their terms is below half a unit in the last place of a
/// neighbouring term, all these terms are lost. Both V and E may then be wrong by 4 times their bounds.
///
/// In single precision, the bounds count each charge other than zero as at least 2^-70 e (V) or 2^-30 e (E). Terms
/// beyond the range of single precision (physics/charges/summed_in_double.hpp) are summed in double precision. A value
/// below the normal numbers of its type is rounded to a subnormal number. A value beyond the largest number is an
/// infinity of its sign (info_values_out_of_range). On the GPU, fields in double precision need every rho_i below 1e100
/// angstrom.
///
/// With a cut-off and w = max(0, 1 - r^2/c^2), the field is
///
///     E(p) = f sum_i q_i (p - s_i) (w^2 / rho^3 + 4 w / (rho c^2)).
///
/// The interaction energy of two groups of charges is computed in double precision for either type of result:
///
///     U = f sum_{i in 1} sum_{j in 2} q_i q_j g(|s_i - s_j|).
///
/// With widths, both charges of a pair are Gaussian: w^2 = w_i^2 + w_j^2. Without a softening, a pair of points nearer
/// than singular_distance_of_points is singular. Its energy is an infinity of the sign of f q_i q_j, or the pair is
/// left out, as `singular` says. With infinities of both signs the energy is a NaN, because it has no value. Terms that
/// leave the range of double also give infinities or NaN; no status says so.
///
/// core/potentials.hpp defines `info`, the status of each problem. V and E of one problem have the same bits at any
/// place in a batch and for any split into planes.
class Potential {
 public:
  virtual ~Potential() = default;

  /// Evaluates V, and E if result.field is not null, for all problems. count = 0 does nothing. Without charges, V and E
  /// of a problem are 0.
  ///
  /// Throws Error (bad_input) for
  /// - a shape below 1, planes outside the lattice, or offsets that decrease;
  /// - a spacing below least_spacing or not finite;
  /// - a softening or screening length that is not 0 and has a square that is not a normal double;
  /// - a cut-off that is negative or not finite, or a unit factor that is not finite;
  /// - widths with a softening or a screening length.
  virtual void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                        const PotentialResult<float>& result) = 0;
  virtual void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                        const PotentialResult<double>& result) = 0;

  /// Names what runs, for provenance: "cuda:0 direct sum", "cpu direct sum avx2", "reference eigen".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Seconds that a GPU has computed since this object was made, without copies from and to the host; 0 for other
  /// backends.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Makes the potential of a backend. Throws Error (no_device) for the backend cuda if the build has no CUDA or the
/// machine has no such GPU. Throws Error (usage) for an instruction set that the processor does not have.
std::unique_ptr<Potential> make_potential(const Backend& backend);

}  // namespace smallbatch
#pragma GCC visibility pop
