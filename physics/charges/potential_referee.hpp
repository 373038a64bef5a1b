// The referee computes potentials, fields and interaction energies, and judges those of a block. It uses Eigen in
// double precision. It shares only the constants of physics/potential.hpp with the code that it judges.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/potentials.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Numbers in V's bound (physics/potential.hpp): the constant part, and the factor of L/rho_i.
struct PotentialBounds {
  double of_terms, of_distances;
};
inline constexpr PotentialBounds potential_bounds_float{0x1p-22, 0x1p-23}, potential_bounds_double{0x1p-51, 0x1p-52};
/// Factors of the bounds. `field_bound_factor` is E's bound over V's. With a softening, `softening_bound_factor`
/// multiplies the constant part. With a cut-off, `cutoff_bound_factor` multiplies both parts. With a screening length
/// or widths, `interaction_bound_factor` multiplies both parts. The bound's sums run over the charges within
/// `bound_reach_in_cutoffs` cut-offs.
inline constexpr double field_bound_factor = 4, softening_bound_factor = 2, cutoff_bound_factor = 2,
                        interaction_bound_factor = 2, bound_reach_in_cutoffs = 1.01;
/// Least value of the screening factors (1 + x) exp(-x) and (1 + x)^2 exp(-x) in the bounds, with x = rho/l.
constexpr double least_screening(ScalarType precision) {
  return precision == ScalarType::float32 ? 0x1p-100 : 0x1p-960;
}
/// Error that underflow may cause per screened charge, in e/angstrom for V and in e/angstrom^2 for E. It is larger if
/// rho may be below 2^-200 angstrom. Charges are then counted in a large unit (per_large_unit), and larger terms
/// underflow.
constexpr double least_screened_term(ScalarType precision, double least_rho) {
  return precision == ScalarType::float32 ? 0x1p-110 : least_rho < 0x1p-200 ? 0x1p-480 : 0x1p-1000;
}
/// Bound of an interaction energy, relative to the sum of its terms' magnitudes.
inline constexpr double energy_bound = 0x1p-44;

/// The referee's answer at one target, with the bounds that a backend must keep (physics/potential.hpp).
struct ReferencePotential {
  double potential = 0;  ///< in the unit of options.unit_factor, with the singularity policy applied
  double bound = 0;      ///< of the potential
  std::array<double, 3> field{};
  double field_bound = 0;  ///< of each component
  bool singular = false;   ///< whether the singularity policy made V an infinity and E a NaN
};

/// Status of a problem. The two numbers differ if rounding decides whether values leave their range.
struct ReferenceStatus {
  std::int32_t info = 0, or_else = 0;
};

class ReferenceProblem;

/// Referee of one problem. The constructor prepares the problem. at() then evaluates any targets, also from several
/// threads. It reads the points from the batch, so the batch must outlive the referee.
///
/// The bounds are those of `precision`. Without `with_field` the field is neither computed nor counted in the status.
/// If charges have widths and `target_width` is given, targets are Gaussian too. `target_width` then has a number for
/// each target of the problem. This class computes no summaries and no interaction energies.
class PotentialReferee {
 public:
  PotentialReferee(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                   const PotentialOptions& options, ScalarType precision, bool with_field,
                   const double* target_width = nullptr);
  ~PotentialReferee();
  PotentialReferee(PotentialReferee&&) noexcept;
  PotentialReferee& operator=(PotentialReferee&&) noexcept;

  /// The problem's status. At points and charges it is never info_values_out_of_range, which depends on the values.
  [[nodiscard]] ReferenceStatus status() const;
  /// Evaluates the targets `points`. These are indices (z * ny + y) * nx + x into the whole lattice, or indices counted
  /// from the problem's first target. If the problem has no values, every potential and field is NaN.
  void at(std::span<const std::int64_t> points, std::span<ReferencePotential> out) const;

 private:
  std::unique_ptr<const ReferenceProblem> problem_;
};

/// Evaluates the targets `points` of one problem on `threads` threads, as PotentialReferee::at() does. Returns the
/// problem's status.
ReferenceStatus reference_potential(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                                    const PotentialOptions& options, ScalarType precision,
                                    std::span<const std::int64_t> points, std::span<ReferencePotential> out,
                                    unsigned threads = 1, bool with_field = true);

/// The referee's interaction energy of groups 1 and 2 of one problem, with the bound that a backend must keep. The
/// bound is f sum |q_i q_j|/rho_ij energy_bound, times the factor that a screening gives V's bound.
struct ReferenceEnergy {
  double energy = 0, bound = 0;
};
/// Computes the interaction energy of a problem. Large problems take long: `pause` is called every few hundredths of a
/// second and may throw.
ReferenceEnergy reference_energy(const ChargeBatch& charges, std::int64_t problem, const PotentialOptions& options,
                                 const std::function<void()>& pause = {});

/// Whether a number is beyond the range of its type. `perhaps`: the limit of the range lies within the bound of the
/// referee's number.
enum class Beyond { no, perhaps, yes };

/// Error over bound of V at a target of a block, and of E if the block has it. The number is at most 1 if V and E are
/// right.
/// - A problem that is not `answered` must have NaN everywhere.
/// - A target with a singular V must have NaN as its field. Any other NaN is wrong.
/// - An infinity is right if the policy makes one. It is also right if the referee's number, within its bound, leaves
///   the range of the type with that sign.
///
/// Raises `beyond` to the answer for this target's values (no < perhaps < yes).
template <class T>
double potential_error_over_bound(const PotentialBlock<T>& block, std::int64_t target, bool answered,
                                  const ReferencePotential& reference, Beyond& beyond);

/// Whether some of the stored values first .. last - 1 of a problem at points or charges are beyond their range. An
/// infinite E is always beyond its range. The singularity policy may make V infinite at up to `singular` targets.
template <class T>
Beyond stored_beyond_range(const PotentialBlock<T>& block, std::int64_t first, std::int64_t last,
                           std::int64_t singular);

/// Whether a status agrees with the referee's status. `beyond` says whether some value of the problem is beyond its
/// range.
bool is_status(std::int32_t info, const ReferenceStatus& expected, Beyond beyond);

/// Error over bound of a problem's interaction energy. `pause` is called every few hundredths of a second and may
/// throw.
template <class T>
double energy_error_over_bound(const PotentialBlock<T>& block, const PotentialOptions& options, std::int64_t problem,
                               const std::function<void()>& pause = {});

/// Returns a sentence with numbers that says when V is right, and E and U if they are wanted.
std::string potential_criterion(const PotentialOptions& options, ScalarType precision, bool with_field,
                                bool with_energy, bool with_widths = false);

}  // namespace smallbatch
