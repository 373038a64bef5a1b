// One problem as the CPU's plan sums it: its charges without those of zero, relative to the origin, and its targets.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "physics/charges/cpu/cutoff_groups.hpp"
#include "physics/charges/cpu/exact_sums.hpp"
#include "physics/charges/cpu/kernels.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Twice the square of a charge's width: 0 of a point.
inline double spread_of(double width) { return width < least_width ? 0 : 2 * width * width; }

/// The targets of one problem. `index` counts lattice points from the first plane asked for, and others from the
/// problem's first.
class CpuTargets {
 public:
  /// `target_width` of all targets of the batch: null where they are points.
  CpuTargets(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
             const double* target_width = nullptr);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool on_lattice() const { return kind_ == TargetKind::lattice; }
  [[nodiscard]] bool are_charges() const { return kind_ == TargetKind::charges; }
  /// False where there is no target, and so nothing that coordinates could be relative to.
  [[nodiscard]] bool has_origin() const { return origin_ != nullptr; }
  [[nodiscard]] const double* origin() const { return origin_; }
  [[nodiscard]] const double* spacing() const { return spacing_; }
  [[nodiscard]] const LatticeBatch& lattice() const { return *lattice_; }
  [[nodiscard]] const double* positions() const { return positions_; }  ///< (count, 3), of no lattice
  [[nodiscard]] std::int64_t lattice_points(int axis) const {
    return axis == 0 ? lattice_->shape.nx : axis == 1 ? lattice_->shape.ny : lattice_->shape.nz;
  }
  [[nodiscard]] double smallest_spacing() const;  ///< of a lattice
  /// How near a charge lies on a target; 0 where nothing is singular.
  [[nodiscard]] double singular_distance(const PotentialOptions& options) const;
  /// Twice the square of a target's width.
  [[nodiscard]] double spread(std::int64_t index) const { return widths_ == nullptr ? 0 : spread_of(widths_[index]); }
  /// Relative to the origin.
  void place(std::int64_t index, Exact (&relative)[3]) const;

 private:
  TargetKind kind_;
  const LatticeBatch* lattice_;
  const double *origin_ = nullptr, *spacing_ = nullptr, *positions_ = nullptr, *widths_ = nullptr;
  std::int64_t count_ = 0;
};

struct CpuProblem {
  std::int32_t info = 0;            ///< of points and charges as targets, what their places alone say: 0 or negative
  bool all_in_double = false;       ///< single precision's range does not hold this problem's terms
  double scale = 1;                 ///< what charges are multiplied by in `exact`: a power of two (charge_scale)
  AlignedVector<float> single[5];   ///< x, y, z, q, spreads of Gaussian charges; single precision only
  std::vector<float> near_squared;  ///< per partial sum (SingleCharges); not on lattices
  AlignedVector<double> exact[8];   ///< x, y, z, their low parts, q, spreads; empty where nothing needs them
  std::vector<std::int64_t> near_points;  ///< of the lattice's planes asked for, ascending; single precision only
  std::vector<std::int64_t> order;        ///< of the targets that are no lattice; empty: as they come
  std::vector<std::int32_t> own;          ///< per target that is a charge: where it lies among these, -1 if it is zero
  CutoffGroups groups;                    ///< where there is a cut-off
  double reach = 0;                       ///< charges beyond it add exactly 0, whatever rounding does

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

/// For sums in T.
template <class T>
CpuProblem prepare_cpu_problem(const ChargeBatch& charges, std::int64_t problem, const CpuTargets& targets,
                               const PotentialOptions& options, bool wants_field);

}  // namespace smallbatch
