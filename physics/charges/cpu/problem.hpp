// One problem as the CPU sums it: the charges that are not zero, relative to the origin, and the targets.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "physics/charges/cpu/cutoff_groups.hpp"
#include "physics/charges/cpu/exact_product.hpp"
#include "physics/charges/cpu/kernels.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Twice the squared width of a charge; 0 for a point.
inline double spread_of(double width) { return width < least_width ? 0 : 2 * width * width; }

/// Targets of one problem. On lattices, an `index` counts from the first point of plane lattice().first_plane. At
/// points and charges, it counts from the problem's first target.
class CpuTargets {
 public:
  /// `target_width` covers all targets of the batch; it is null if targets have no width.
  CpuTargets(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
             const double* target_width = nullptr);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool on_lattice() const { return kind_ == TargetKind::lattice; }
  [[nodiscard]] bool are_charges() const { return kind_ == TargetKind::charges; }
  /// Whether coordinates have an origin. They have none if the problem has no target.
  [[nodiscard]] bool has_origin() const { return origin_ != nullptr; }
  [[nodiscard]] const double* origin() const { return origin_; }
  [[nodiscard]] const double* spacing() const { return spacing_; }
  [[nodiscard]] const LatticeBatch& lattice() const { return *lattice_; }
  [[nodiscard]] const double* positions() const { return positions_; }  ///< (count, 3); not for lattices
  [[nodiscard]] std::int64_t lattice_points(int axis) const {
    return axis == 0 ? lattice_->shape.nx : axis == 1 ? lattice_->shape.ny : lattice_->shape.nz;
  }
  [[nodiscard]] double smallest_spacing() const;  ///< only for lattices
  /// Distance within which a charge lies on a target; 0 with a softening.
  [[nodiscard]] double singular_distance(const PotentialOptions& options) const;
  /// Twice the squared width of a target.
  [[nodiscard]] double spread(std::int64_t index) const { return widths_ == nullptr ? 0 : spread_of(widths_[index]); }
  /// Sets `relative` to the position of a target relative to the origin.
  void find_position(std::int64_t index, Exact (&relative)[3]) const;

 private:
  TargetKind kind_;
  const LatticeBatch* lattice_;
  const double *origin_ = nullptr, *spacing_ = nullptr, *positions_ = nullptr, *widths_ = nullptr;
  std::int64_t count_ = 0;
};

/// Charges and status of one problem, prepared for sums.
struct CpuProblem {
  std::int32_t info = 0;            ///< status; at points and charges, only the faults of the input (0 or negative)
  bool all_in_double = false;       ///< single precision cannot hold this problem's terms
  double scale = 1;                 ///< factor of the charges in `exact`, a power of two (charge_scale)
  AlignedVector<float> single[5];   ///< x, y, z, q, spreads of Gaussian charges; single precision only
  std::vector<float> near_squared;  ///< SingleCharges::near_squared; empty for lattices
  AlignedVector<double> exact[8];   ///< x, y, z, their low parts, q, spreads; empty if not needed
  std::vector<std::int64_t> near_points;  ///< indices of lattice points near a charge, ascending; single precision only
  std::vector<std::int64_t> order;        ///< order of points or charges as targets, with a cut-off; else empty
  std::vector<std::int32_t> own;  ///< for each target that is a charge: its index in `exact`, or -1 if it is zero
  CutoffGroups groups;            ///< only with a cut-off
  double reach = 0;  ///< charges farther than this from a target add exactly 0, however numbers are rounded

  [[nodiscard]] SingleCharges single_charges() const {
    return {static_cast<std::int64_t>(single[3].size()),
            single[0].data(),
            single[1].data(),
            single[2].data(),
            single[3].data(),
            near_squared.empty() ? nullptr : near_squared.data(),
            single[4].data()};
  }
  [[nodiscard]] DoubleCharges double_charges() const {
    return {static_cast<std::int64_t>(exact[6].size()),
            exact[0].data(),
            exact[1].data(),
            exact[2].data(),
            exact[3].data(),
            exact[4].data(),
            exact[5].data(),
            exact[6].data(),
            exact[7].data()};
  }
};

/// Prepares a problem for sums in T.
template <class T>
CpuProblem prepare_cpu_problem(const ChargeBatch& charges, std::int64_t problem, const CpuTargets& targets,
                               const PotentialOptions& options, bool wants_field);

}  // namespace smallbatch
