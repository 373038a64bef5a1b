// Electrostatic potential of point charges on lattices, by direct summation:
//     V(r) = f * sum_i q_i / |r_i - r|
// with q in units of e, lengths in angstrom, and f the factor from e/angstrom to the unit asked for (core/units.hpp).
//
// Three implementations behind one interface: cuda (several points per thread), cpu (SIMD across points) and reference
// (Eigen arrays in double precision). After V. Volkov, "Unrolling parallel loops" (2011), and Stone et al., J. Comput.
// Chem. 28, 2618 (2007).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/backend.hpp"
#include "core/batch.hpp"

namespace smallbatch {

struct PotentialOptions {
  Singular singular = Singular::infinite;
  double unit_factor = 1;  ///< f; 1 gives e/angstrom
};

/// A charge closer to a lattice point than this fraction of the smallest spacing lies *on* it: the singularity policy
/// decides. A charge of zero contributes nothing anywhere.
inline constexpr double singular_distance_in_spacings = 1e-6;

/// Charges on one lattice point have no net charge where |sum q| is at most this fraction of sum |q|: what is left is
/// the rounding of the sum, and its sign means nothing.
inline constexpr double net_charge_tolerance = 0x1p-40;

/// Evaluates batches that lie in host memory. An object owns its device memory and stream; use it from one thread at a
/// time.
///
/// Single precision (float): distances from coordinates that are shifted to the lattice's origin in double precision,
/// sums in double precision over short partial sums; lattice points that lie near a charge are summed
/// in double precision altogether. Bound, for L the largest extent of lattice and charges from the origin:
///     |V - V_exact| <= f sum_i |q_i|/r_i (2^-22 + 2^-23 L/r_i).
/// Double precision (double): the same with 2^-51 and 2^-52.
///
/// Per problem `info` is as core/batch.hpp defines it. The same problem gives the same bits at any place in a batch and
/// for any split into planes.
class LatticePotential {
 public:
  virtual ~LatticePotential() = default;

  /// Throws Error (bad_input) for a shape below 1, planes outside the lattice or a spacing that is not positive and
  /// finite; count = 0 does nothing, and a problem without charges is 0 everywhere.
  virtual void evaluate(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                        const PotentialResult<float>& result) = 0;
  virtual void evaluate(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                        const PotentialResult<double>& result) = 0;

  /// What runs, for provenance: "cuda:0 direct sum", "cpu direct sum avx2", "reference eigen".
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Throws Error (no_device) where the backend is cuda and the build or the machine has none.
std::unique_ptr<LatticePotential> make_lattice_potential(const Backend& backend);

/// The referee's answer at chosen points of one problem, with the bound that a backend must keep there.
struct ReferencePotential {
  double potential = 0;  ///< in the unit of options.unit_factor; the singularity policy applied
  double bound = 0;      ///< f sum_i |q_i|/r_i (2^-22 + 2^-23 L/r_i), or with 2^-51 and 2^-52
};

/// Problem `problem` of the batch at the lattice points `points` (indices (z * ny + y) * nx + x into the whole
/// lattice), on `threads` threads. `precision` says whose bound. Returns the problem's info; where it is negative,
/// every potential is NaN. Written with Eigen in double precision; of what it judges it shares only the constants
/// above.
std::int32_t reference_potential(const ChargeBatch& charges, const LatticeBatch& lattice, std::int64_t problem,
                                 const PotentialOptions& options, ScalarType precision,
                                 std::span<const std::int64_t> points, std::span<ReferencePotential> out,
                                 unsigned threads = 1);

}  // namespace smallbatch
