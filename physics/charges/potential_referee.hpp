// The referee's potentials, fields and energies, and whether what a block has of them is right. Written with Eigen in
// double precision; of what it judges it shares only the constants of physics/potential.hpp.
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

/// The numbers of the bounds in physics/potential.hpp: of V the parts that do not and that do grow with L/rho_i, and by
/// how much E's are larger; by how much the first part is with a softening, and both are with a cut-off and with a
/// screening length or widths; up to which multiple of a cut-off charges count.
struct PotentialBounds {
  double of_terms, of_distances;
};
inline constexpr PotentialBounds potential_bounds_float{0x1p-22, 0x1p-23}, potential_bounds_double{0x1p-51, 0x1p-52};
inline constexpr double field_bound_factor = 4, softening_bound_factor = 2, cutoff_bound_factor = 2,
                        interaction_bound_factor = 2, bound_reach_in_cutoffs = 1.01;
/// What exp(-rho/l) counts as in a bound at least.
constexpr double least_screening(ScalarType precision) {
  return precision == ScalarType::float32 ? 0x1p-100 : 0x1p-960;
}
/// What underflow may cost per screened charge, in e/angstrom and e/angstrom^2. Below this `least_rho` double precision
/// counts charges in large units, and loses more.
constexpr double least_screened_term(ScalarType precision, double least_rho) {
  return precision == ScalarType::float32 ? 0x1p-110 : least_rho < 0x1p-200 ? 0x1p-480 : 0x1p-1000;
}
/// Of an interaction energy, of the sum of its terms' magnitudes.
inline constexpr double energy_bound = 0x1p-44;

/// The referee's answer at one target, with the bounds that a backend must keep there (Potential).
struct ReferencePotential {
  double potential = 0;  ///< in the unit of options.unit_factor; the singularity policy applied
  double bound = 0;      ///< of the potential
  std::array<double, 3> field{};
  double field_bound = 0;  ///< of each component
  bool singular = false;   ///< the policy made V an infinity and E a NaN
};

/// A problem's status, of which there are two where rounding decides whether its values leave their range.
struct ReferenceStatus {
  std::int32_t info = 0, or_else = 0;
};

class ReferenceProblem;

/// One problem of a batch, prepared once to be asked for as many targets as wanted, by many threads if they like. It
/// looks at points where they lie: the batch must stay. `precision` says whose bound; without `with_field` the field is
/// not computed, and does not count for the status. A result's summary and energy are not asked for here. With
/// `target_width`, one for each target of the problem, targets are Gaussian, too, where charges have widths.
class PotentialReferee {
 public:
  PotentialReferee(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                   const PotentialOptions& options, ScalarType precision, bool with_field,
                   const double* target_width = nullptr);
  ~PotentialReferee();
  PotentialReferee(PotentialReferee&&) noexcept;
  PotentialReferee& operator=(PotentialReferee&&) noexcept;

  /// At points and at charges as if no value left its range: that the values say.
  [[nodiscard]] ReferenceStatus status() const;
  /// At the targets `points`: indices (z * ny + y) * nx + x into the whole lattice, or counted from the problem's first
  /// point. Where the problem has no values, every potential and field is NaN.
  void at(std::span<const std::int64_t> points, std::span<ReferencePotential> out) const;

 private:
  std::unique_ptr<const ReferenceProblem> problem_;
};

/// The same at once, on `threads` threads. Returns the problem's status.
ReferenceStatus reference_potential(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                                    const PotentialOptions& options, ScalarType precision,
                                    std::span<const std::int64_t> points, std::span<ReferencePotential> out,
                                    unsigned threads = 1, bool with_field = true);

/// The referee's interaction energy of groups 1 and 2 of one problem, and the bound that a backend must keep:
/// f sum |q_i q_j|/rho_ij energy_bound, times what bounds of V carry for a screening. Large problems take long: `pause`
/// is called every few hundredths of a second, and may throw.
struct ReferenceEnergy {
  double energy = 0, bound = 0;
};
ReferenceEnergy reference_energy(const ChargeBatch& charges, std::int64_t problem, const PotentialOptions& options,
                                 const std::function<void()>& pause = {});

/// How far a number is beyond the range of its type, as far as its bound lets one say.
enum class Beyond { no, perhaps, yes };

/// Error over bound of V, and of E where the block has it, at its target `target`: at most 1 where they are right. A
/// problem that is not `answered` has NaN everywhere, and a target at which V is singular has no field; a NaN is right
/// nowhere else. An infinity is right where the policy makes one, or the referee's number, within its bound, leaves the
/// range of the type with that sign. `beyond` becomes what the target's values say, if it is more.
template <class T>
double potential_error_over_bound(const PotentialBlock<T>& block, std::int64_t target, bool answered,
                                  const ReferencePotential& reference, Beyond& beyond);

/// What the stored values first .. last - 1 of a problem at points or charges say of their range: E is infinite beyond
/// it alone, V also at `singular` targets at most, as the policy has it.
template <class T>
Beyond stored_beyond_range(const PotentialBlock<T>& block, std::int64_t first, std::int64_t last,
                           std::int64_t singular);

/// Whether a status is the referee's, for values that are so far beyond their range.
bool is_status(std::int32_t info, const ReferenceStatus& expected, Beyond beyond);

/// Error over bound of a problem's interaction energy; `pause` as in reference_energy().
template <class T>
double energy_error_over_bound(const PotentialBlock<T>& block, const PotentialOptions& options, std::int64_t problem,
                               const std::function<void()>& pause = {});

/// When V, and E and U where they are wanted, are right: that rule as a sentence, with its numbers.
std::string potential_criterion(const PotentialOptions& options, ScalarType precision, bool with_field,
                                bool with_energy, bool with_widths = false);

}  // namespace smallbatch
