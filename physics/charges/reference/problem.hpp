// One problem of the referee: potential and field in double precision, one tile of targets at a time. The referee
// shares no arithmetic and no decision with the implementations that it judges. It has its own status, its own rule for
// a charge on a target and its own sums. One file, because the sums use the data that are prepared here.
//
// The referee must be clearly more accurate than the bounds that it checks. The bounds of single precision are relative
// errors of 2^-22. Sums in double precision are accurate enough to check them, except near a charge, where
// displacements lose digits. The bounds of double precision are relative errors of 4 u, with u = 2^-53. To check them,
// - displacements keep the digits that rounding loses in `position - origin` and in `index * spacing` (otherwise,
//   errors grow as L/r);
// - terms and sums keep the digits that each operation loses, because the errors of many equal terms would add up.
//
// A charge near a target may lie on the target. Its term is computed by itself, in long double for either precision.
// Charges are scaled by a power of two if their terms would overflow.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/not_finite.hpp"
#include "physics/charges/potential_referee.hpp"
#include "physics/charges/reference/interaction.hpp"
#include "physics/charges/reference/shifted_position.hpp"
#include "physics/charges/reference/sums.hpp"
#include "physics/charges/reference/tile.hpp"
#include "physics/charges/reference/tile_totals.hpp"

namespace smallbatch {

/// One problem of a batch, prepared to be evaluated at any of its targets.
class ReferenceProblem {
  using Positions = Eigen::Map<const Eigen::Array3Xd>;
  static Positions positions(const double* all, const std::int64_t* offset, std::int64_t problem) {
    return {all + 3 * offset[problem], 3, offset[problem + 1] - offset[problem]};
  }
  static constexpr double no_positions[3] = {};

 public:
  ReferenceProblem(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                   const PotentialOptions& options, ScalarType precision, bool with_field,
                   const double* target_width = nullptr)
      : kind_(targets.kind),
        interaction_(interaction_kind(charges, options)),
        shape_(targets.lattice.shape),
        options_(options),
        precision_(precision),
        with_field_(with_field),
        points_(targets.kind == TargetKind::lattice ? Positions(no_positions, 3, 0)
                : targets.kind == TargetKind::points
                    ? positions(targets.points.position, targets.points.offset, problem)
                    : positions(charges.position, charges.offset, problem)) {
    const Positions position = positions(charges.position, charges.offset, problem);
    const Eigen::Map<const Eigen::ArrayXd> charge(charges.charge + charges.offset[problem], position.cols());
    const Eigen::Map<const Eigen::ArrayXd> width(charges.width + (charges.width ? charges.offset[problem] : 0),
                                                 charges.width ? position.cols() : 0);
    const bool on_lattice = kind_ == TargetKind::lattice;
    const bool anywhere = on_lattice || points_.cols() > 0;
    if (on_lattice) {
      origin_ = Eigen::Array3d(targets.lattice.origin + 3 * problem);
      spacing_ = Eigen::Array3d(targets.lattice.spacing + 3 * problem);
    } else if (anywhere) {
      origin_ = points_.col(0);
    }
    if (options.softening == 0)
      singular_distance_ =
          on_lattice ? singular_distance_in_spacings * spacing_.minCoeff() : singular_distance_of_points;

    if (target_width != nullptr) target_width_ = {target_width, static_cast<std::size_t>(points_.cols())};

    status_.info = input_status(position, charge, width, anywhere);
    status_.or_else = status_.info;
    if (status_.info < 0) return;
    keep_charges(position, charge, width);
    extent_ = on_lattice ? corner().matrix().norm() : 0;
    if (used_ > 0) extent_ = std::max(extent_, std::sqrt(position_.square().rowwise().sum().maxCoeff()));
    if (points_.cols() > 0)
      extent_ = std::max(extent_, std::sqrt((points_.colwise() - origin_).square().colwise().sum().maxCoeff()));
    set_law();
    const std::int64_t on = on_lattice ? charges_on_lattice() : targets_on_charges();
    status_.info = static_cast<std::int32_t>(std::min<std::int64_t>(on, std::numeric_limits<std::int32_t>::max()));
    status_.or_else = status_.info;
    if (on_lattice) judge_range();
  }

  ReferenceProblem(const ReferenceProblem&) = delete;
  ReferenceProblem& operator=(const ReferenceProblem&) = delete;

  /// The problem's status. At points and charges it is never info_values_out_of_range, which depends on the values.
  [[nodiscard]] ReferenceStatus status() const { return status_; }
  [[nodiscard]] std::int64_t points() const { return points_.cols(); }

  /// Evaluates `targets`: indices into the whole lattice, or indices counted from the problem's first point. The result
  /// at one target does not depend on the others.
  void at(std::span<const std::int64_t> targets, std::span<ReferencePotential> out) const {
    TileTotals tile;
    for (std::size_t first = 0; first < targets.size(); first += tile_targets) {
      const std::size_t count = std::min<std::size_t>(tile_targets, targets.size() - first);
      at_tile(tile, targets.subspan(first, count), out.subspan(first, count));
    }
  }

 private:
  /// Charges are summed `most_together` at a time. If one of them is near a target, their range is halved until at most
  /// `fewest_together` are left. These are added one by one.
  static constexpr Eigen::Index most_together = 256, fewest_together = 8;
  using Marks = std::array<bool, tile_targets>;

  void at_tile(TileTotals& tile, std::span<const std::int64_t> targets, std::span<ReferencePotential> out) const {
    if (!has_values(status_.info)) {
      std::fill(out.begin(), out.end(), ReferencePotential{nan, 0, {nan, nan, nan}, 0});
      return;
    }
    tile.forget(with_field_);
    tile.positions.count = static_cast<int>(targets.size());
    std::int64_t x = 0;
    for (int k = 0; k < tile_targets; ++k) {
      const auto i = std::min(static_cast<std::size_t>(k), targets.size() - 1);
      const std::int64_t target = targets[i];
      tile.target[k] = target;
      tile.own[k] = kind_ == TargetKind::charges ? own_[static_cast<std::size_t>(target)] : -1;
      tile.positions.width2[k] = target_width2(target);
      if (kind_ == TargetKind::lattice && k > 0 && target == tile.target[k - 1] + 1 && x + 1 < shape_.nx) {
        set_along(0, ++x, tile, k);  // the target is the right neighbour of the previous one
        for (const int axis : {1, 2}) {
          tile.positions.high[axis][k] = tile.positions.high[axis][k - 1];
          tile.positions.low[axis][k] = tile.positions.low[axis][k - 1];
        }
      } else if (kind_ == TargetKind::lattice) {
        x = target % shape_.nx;
        set_along(0, x, tile, k);
        set_along(1, target / shape_.nx % shape_.ny, tile, k);
        set_along(2, target / shape_.plane_points(), tile, k);
      } else {
        const ShiftedPosition position = position_of(target);
        for (int axis = 0; axis < 3; ++axis) {
          tile.positions.high[axis][k] = position.high[axis];
          tile.positions.low[axis][k] = position.low[axis];
        }
      }
    }
    Marks all{};
    std::fill_n(all.begin(), targets.size(), true);
    for (Eigen::Index first = 0; first < used_; first += most_together)
      add_charges(first, std::min(first + most_together, used_), all, tile);
    for (int k = 0; k < tile.positions.count; ++k) answer(tile, k, out[static_cast<std::size_t>(k)]);
  }

  /// Adds the charges first .. last - 1 at the marked targets.
  void add_charges(Eigen::Index first, Eigen::Index last, const Marks& marked, TileTotals& tile) const {
    TileSums sums;
    loop_(charges_, first, last, tile.positions, law_, sums);
    Marks near{};
    const int count = tile.positions.count;
    for (int k = 0; k < tile_targets; ++k) {
      const bool is_near = marked[k] && sums.nearest2[k] <= near2_;
      near[k] = is_near;
      if (marked[k] && !is_near) continue;
      sums.potential[k] = sums.potential_lost[k] = sums.bound[k] = 0;
      for (int axis = 0; axis < 3; ++axis) sums.field[axis][k] = sums.field_lost[axis][k] = 0;
      sums.field_bound[k] = 0;
    }
    tile.potential.add(ValuesOfTile(sums.potential), ValuesOfTile(sums.potential_lost));
    tile.bound += ValuesOfTile(sums.bound);
    if (with_field_) {
      for (int axis = 0; axis < 3; ++axis)
        tile.field[axis].add(ValuesOfTile(sums.field[axis]), ValuesOfTile(sums.field_lost[axis]));
      tile.field_bound += ValuesOfTile(sums.field_bound);
    }
    if (std::none_of(near.begin(), near.begin() + count, [](bool is_near) { return is_near; })) return;
    if (last - first > fewest_together) {
      const Eigen::Index middle = (first + last) / 2;
      add_charges(first, middle, near, tile);
      add_charges(middle, last, near, tile);
      return;
    }
    for (int k = 0; k < count; ++k)
      for (Eigen::Index i = first; near[k] && i < last; ++i) add_charge(i, k, tile);
  }

  /// Adds one charge at one target. This does what the loops do, for charges that may lie on the target.
  void add_charge(Eigen::Index i, int k, TileTotals& tile) const {
    if (i == tile.own[k]) return;
    const ShiftedPosition position = position_of(tile.target[k]);
    long double d[3];
    for (int axis = 0; axis < 3; ++axis) {
      const long double high = position.high[axis], low = position.low[axis];
      d[axis] = (high - position_(i, axis)) + (low - position_low_(i, axis));
    }
    const long double distance2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], charge = charge_[i];
    const double width2 = width2_.size() > 0 ? width2_[i] + tile.positions.width2[k] : 0;
    if (width2 == 0 && std::sqrt(distance2) < singular_distance_) {
      tile.any_on_target = true;
      tile.net[k].add(charge_[i]);
      tile.on_target[k].add(std::abs(charge_[i]));
      return;
    }
    const bool truncated = options_.cutoff > 0;
    const Action<long double> action = action_of<long double>(
        interaction_, distance2, static_cast<long double>(law_.softening2) + law_.softening2_low, width2,
        static_cast<long double>(law_.per_screening_length) + law_.per_screening_length_low, law_.least_bound);
    const long double reciprocal = 1 / action.length;
    const auto per_rho = static_cast<double>(reciprocal), per_length = std::max(per_rho, law_.per_cutoff);
    const double share = truncated && std::sqrt(distance2) >= bound_reach_in_cutoffs * options_.cutoff
                             ? 0
                             : per_rho * (law_.relative + law_.shift * per_length);
    tile.bound[k] += counted_[i] * share * static_cast<double>(action.value_bound);
    const long double per_cutoff2 = static_cast<long double>(law_.per_cutoff2) + law_.per_cutoff2_low;
    const long double w = truncated ? std::max(0.0L, 1 - distance2 * per_cutoff2) : 1;
    tile.potential.add(k, charge * reciprocal * action.value * (w * w));
    if (!with_field_) return;
    tile.field_bound[k] += counted_in_field_[i] * share * per_length * static_cast<double>(action.slope_bound);
    const long double along =
        charge * (w * (w * (reciprocal * reciprocal) * action.slope + 4 * per_cutoff2 * action.value));
    for (int axis = 0; axis < 3; ++axis) tile.field[axis].add(k, along * (d[axis] * reciprocal));
  }

  void answer(const TileTotals& tile, int k, ReferencePotential& result) const {
    const auto unscaled = [&](long double sum) {
      const long double scaled = options_.unit_factor * sum;
      return static_cast<double>(scale_ == 0             ? scaled
                                 : std::isnormal(scaled) ? std::scalbn(scaled, -scale_)
                                                         : options_.unit_factor * std::scalbn(sum, -scale_));
    };
    const double factor = (options_.cutoff > 0 ? cutoff_bound_factor : 1) *
                          (interaction_ != InteractionKind::plain ? interaction_bound_factor : 1);
    const auto bound_of = [&](double sum) {
      return sum > 0 ? std::min(std::abs(unscaled(sum)) + least_, std::numeric_limits<double>::max()) : 0;
    };
    result.potential = unscaled(tile.potential.total(k));
    result.bound = bound_of(factor * tile.bound[k]);
    result.field = {};
    result.field_bound = 0;
    result.singular = false;
    if (with_field_) {
      result.field_bound = bound_of(factor * field_bound_factor * tile.field_bound[k]);
      for (std::size_t axis = 0; axis < 3; ++axis) result.field[axis] = unscaled(tile.field[axis].total(k));
    }
    if (!tile.any_on_target) return;
    const double net = tile.net[k].value();
    if (options_.singular == Singular::infinite && std::abs(net) > net_charge_tolerance * tile.on_target[k].value()) {
      result.potential = std::copysign(infinity, net);
      result.field = {nan, nan, nan};
      result.singular = true;
    }
  }

  /// Magnitudes of the charges as a bound counts them: in single precision, at least `least` each.
  [[nodiscard]] Eigen::ArrayXd counted(double least) const {
    if (precision_ != ScalarType::float32) return charge_.abs();
    return charge_.abs().max(std::scalbn(least, scale_));
  }

  /// Vector from the origin to the last lattice point.
  [[nodiscard]] Eigen::Array3d corner() const {
    const Eigen::Array3d points(static_cast<double>(shape_.nx), static_cast<double>(shape_.ny),
                                static_cast<double>(shape_.nz));
    return (points - 1) * spacing_;
  }

  /// Status by the input alone. The range is checked only if there are charges and targets. Without targets there is no
  /// origin.
  [[nodiscard]] std::int32_t input_status(const Positions& position, const Eigen::Map<const Eigen::ArrayXd>& charge,
                                          const Eigen::Map<const Eigen::ArrayXd>& width, bool anywhere) const {
    const double limit = precision_ == ScalarType::float32 ? 1e15 : 1e150;
    if (!position.isFinite().all() || !charge.isFinite().all() || !points_.isFinite().all() ||
        !width.isFinite().all() || !(width >= 0).all())
      return info_charges_not_finite;
    if (!anywhere || charge.size() == 0) return 0;
    const bool far = ((points_.colwise() - origin_).abs() > limit).any() ||
                     ((position.colwise() - origin_).abs() > limit).any() || (charge.abs() > limit).any() ||
                     (width > limit).any() || (kind_ == TargetKind::lattice && (corner() > limit).any());
    return far ? info_charges_out_of_range : 0;
  }

  /// Stores the charges that are not zero; the others have no effect.
  void keep_charges(const Positions& position, const Eigen::Map<const Eigen::ArrayXd>& charge,
                    const Eigen::Map<const Eigen::ArrayXd>& width) {
    used_ = (charge != 0).count();
    // No sum overflows if the exponents of the largest charge, the number of charges and the largest 1/rho^2 add up to
    // at most 1000.
    least_rho_ = options_.softening > 0 ? options_.softening : singular_distance_;
    for (const double length : width)
      if (length >= least_width) least_rho_ = std::min(least_rho_, length);
    if (used_ > 0)
      scale_ = std::min(0, 1000 - std::ilogb(charge.abs().maxCoeff()) - std::ilogb(static_cast<double>(used_)) +
                               2 * std::ilogb(least_rho_));
    position_.resize(used_, 3);
    position_low_.resize(used_, 3);
    charge_.resize(used_);
    width2_.resize(interaction_ == InteractionKind::gaussian ? used_ : 0);
    if (kind_ == TargetKind::charges) own_.assign(static_cast<std::size_t>(charge.size()), -1);
    const double unit = std::scalbn(1, scale_);
    Eigen::Index next = 0;
    for (Eigen::Index i = 0; i < charge.size(); ++i) {
      if (charge[i] == 0) continue;
      const ShiftedPosition exact = shifted(position.col(i), origin_);
      position_.row(next) = exact.high.transpose();
      position_low_.row(next) = exact.low.transpose();
      charge_[next] = charge[i] * unit;
      if (width2_.size() > 0) width2_[next] = square_of_width(width[i]);
      if (kind_ == TargetKind::charges) own_[static_cast<std::size_t>(i)] = next;
      ++next;
    }
    counted_ = counted(0x1p-70);
    if (with_field_) counted_in_field_ = counted(0x1p-30);
    for (int axis = 0; axis < 3; ++axis) {
      charges_.high[axis] = position_.col(axis).data();
      charges_.low[axis] = position_low_.col(axis).data();
    }
    charges_.charge = charge_.data();
    charges_.counted = counted_.data();
    charges_.counted_in_field = counted_in_field_.data();
    charges_.width2 = width2_.data();
  }
  static double square_of_width(double width) { return width < least_width ? 0 : width * width; }
  [[nodiscard]] double target_width2(std::int64_t target) const {
    return target_width_.empty() ? 0 : square_of_width(target_width_[static_cast<std::size_t>(target)]);
  }

  void set_law() {
    const bool single = precision_ == ScalarType::float32, truncated = options_.cutoff > 0;
    const PotentialBounds& bounds = single ? potential_bounds_float : potential_bounds_double;
    const auto split = [](long double number, double& high, double& low) {
      high = static_cast<double>(number);
      low = static_cast<double>(number - high);
    };
    split(static_cast<long double>(options_.softening) * options_.softening, law_.softening2, law_.softening2_low);
    law_.relative = bounds.of_terms * (options_.softening > 0 ? softening_bound_factor : 1);
    law_.shift = extent_ * bounds.of_distances;
    if (truncated) {
      const long double cutoff = std::max(options_.cutoff, 0x1p-500);
      split(1 / (cutoff * cutoff), law_.per_cutoff2, law_.per_cutoff2_low);
      law_.per_cutoff = static_cast<double>(1 / cutoff);
      // Keeps reach2 in a range where the reciprocal of its last digit is a normal number.
      law_.reach2 = std::clamp(std::pow(bound_reach_in_cutoffs * options_.cutoff, 2), 0x1p-960, 0x1p1023);
      law_.per_last_digit_of_reach2 = 0x1p54 / law_.reach2;
    }
    // least_ allows for numbers that are rounded to subnormal numbers: stored values, terms in double precision, and
    // screened terms in single precision. If least_ overflows, every bound is the largest double, which allows any
    // value (verdict.cpp).
    double least_of_terms = std::numeric_limits<double>::denorm_min();
    if (interaction_ == InteractionKind::screened) {
      split(1 / static_cast<long double>(options_.screening_length), law_.per_screening_length,
            law_.per_screening_length_low);
      law_.least_bound = least_screening(precision_);
      least_of_terms = least_screened_term(precision_, least_rho_);
    }
    least_ = static_cast<double>(used_) * least_of_terms * std::abs(options_.unit_factor) +
             (single ? std::numeric_limits<float>::denorm_min() : std::numeric_limits<double>::denorm_min());
    // Displacements without low parts lose accuracy: their error is 2^-51 times L, the extent. Near a charge this is
    // too much, above all to decide whether the charge lies on the target. If charges are targets, the loops cannot
    // leave out a target's own charge. add_charge() can, so near2_ is at least rho^2 of this charge.
    near2_ = std::pow(1.001 * singular_distance_ + (single ? 0x1p-36 * extent_ : 0), 2);
    if (kind_ == TargetKind::charges) near2_ = std::max(near2_, law_.softening2);
    static const TileLoops fastest = usable_tile_loops().front();
    loop_ = fastest.loop[single ? 0 : 1][with_field_ ? 1 : 0][truncated ? 1 : 0][interaction_];
  }

  [[nodiscard]] ShiftedPosition position_of(std::int64_t target) const {
    if (kind_ != TargetKind::lattice) return shifted(points_.col(target), origin_);
    const std::int64_t index[3] = {target % shape_.nx, target / shape_.nx % shape_.ny, target / shape_.plane_points()};
    ShiftedPosition position;
    for (int axis = 0; axis < 3; ++axis) {
      position.high[axis] = along(axis, index[axis]);
      position.low[axis] = lost_along(axis, index[axis]);
    }
    return position;
  }
  [[nodiscard]] double along(int axis, std::int64_t index) const { return static_cast<double>(index) * spacing_[axis]; }
  [[nodiscard]] double lost_along(int axis, std::int64_t index) const {
    return std::fma(static_cast<double>(index), spacing_[axis], -along(axis, index));
  }
  /// Sets the low part only for double precision; other loops do not read it.
  void set_along(int axis, std::int64_t index, TileTotals& tile, int k) const {
    tile.positions.high[axis][k] = along(axis, index);
    if (precision_ != ScalarType::float32) tile.positions.low[axis][k] = lost_along(axis, index);
  }

  /// Number of charges that lie on a lattice point.
  [[nodiscard]] std::int64_t charges_on_lattice() const {
    std::int64_t found = 0;
    for (Eigen::Index i = 0; i < used_; ++i) {
      if (is_wide(i) || !(std::abs(to_lattice(i, 0)) < singular_distance_)) continue;
      if (to_lattice(i).matrix().norm() < singular_distance_) ++found;
    }
    return found;
  }

  /// Decides whether values on the lattice leave their range. The sums are those of info_values_out_of_range, scaled by
  /// a power of two that keeps every term in range.
  void judge_range() {
    const double largest =
        precision_ == ScalarType::float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const double factor = std::abs(options_.unit_factor);
    constexpr int unit = 600;
    const double limit = std::scalbn(largest, -unit) / factor;
    // Usually the values stay in range for any positions of the charges. Then the sums are not needed.
    const double at_most = std::scalbn(charge_.abs().sum(), -unit - scale_) / least_rho_;
    const double field_at_most = at_most / least_rho_ + (options_.cutoff > 0 ? 2 * at_most / options_.cutoff : 0);
    if (std::max(at_most, field_at_most) < 0.9 * limit) return;
    double potential = 0, field = 0;
    for (Eigen::Index i = 0; i < used_; ++i) {
      const double d = to_lattice(i).matrix().norm();
      const double rho = is_wide(i)               ? std::max(d, gaussian_length_in_widths * std::sqrt(width2_[i]))
                         : options_.softening > 0 ? std::hypot(d, options_.softening)
                         : d < singular_distance_ ? spacing_.minCoeff()
                                                  : d;
      const double term = std::scalbn(std::abs(charge_[i]), -unit - scale_) / rho;
      potential += term;
      field += options_.cutoff > 0 ? term / rho + 2 * term / options_.cutoff : term / rho;
    }
    const double sum = with_field_ ? std::max(potential, field) : potential;
    if (sum > 0.999 * limit) status_.or_else = info_values_out_of_range;
    if (sum > limit) std::swap(status_.info, status_.or_else);
    if (sum > 1.001 * limit) status_.or_else = status_.info;
  }

  /// Displacement of a charge from the nearest lattice point, along one axis.
  [[nodiscard]] double to_lattice(Eigen::Index i, int axis) const {
    const std::int64_t points[3] = {shape_.nx, shape_.ny, shape_.nz};
    const double last = static_cast<double>(points[axis] - 1);
    const double index = std::clamp(std::round(position_(i, axis) / spacing_[axis]), 0.0, last);
    return std::fma(index, -spacing_[axis], position_(i, axis)) + position_low_(i, axis);
  }
  [[nodiscard]] Eigen::Array3d to_lattice(Eigen::Index i) const {
    return {to_lattice(i, 0), to_lattice(i, 1), to_lattice(i, 2)};
  }

  /// Number of targets on which a charge lies. A target's own charge does not count. Charges are sorted by x, so each
  /// target is compared only with charges of nearly the same x.
  [[nodiscard]] std::int64_t targets_on_charges() const {
    if (singular_distance_ == 0) return 0;
    std::vector<std::pair<double, Eigen::Index>> by_x;
    for (Eigen::Index i = 0; i < used_; ++i) by_x.emplace_back(position_(i, 0), i);
    std::sort(by_x.begin(), by_x.end());
    std::int64_t found = 0;
    for (std::int64_t target = 0; target < points_.cols(); ++target) {
      const ShiftedPosition position = position_of(target);
      const double reach = 2 * singular_distance_ + 0x1p-50 * std::abs(position.high[0]);
      auto near = std::lower_bound(by_x.begin(), by_x.end(), std::pair{position.high[0] - reach, Eigen::Index{-1}});
      for (; near != by_x.end() && near->first <= position.high[0] + reach; ++near) {
        const Eigen::Index i = near->second;
        if (is_wide(i) || (kind_ == TargetKind::charges && own_[target] == i)) continue;
        const Eigen::Array3d d =
            (position.high - position_.row(i).transpose()) + (position.low - position_low_.row(i).transpose());
        if (d.matrix().norm() >= singular_distance_) continue;
        ++found;
        break;
      }
    }
    return found;
  }

  /// Whether a charge is Gaussian. A Gaussian charge never counts as lying on a target.
  [[nodiscard]] bool is_wide(Eigen::Index i) const { return width2_.size() > 0 && width2_[i] > 0; }

  TargetKind kind_;
  InteractionKind interaction_;
  LatticeShape shape_;
  PotentialOptions options_;
  ScalarType precision_;
  bool with_field_;
  Positions points_;                      ///< the targets, unless they are a lattice
  std::span<const double> target_width_;  ///< widths of targets that are Gaussian charges
  Eigen::Array3d origin_ = Eigen::Array3d::Zero(), spacing_ = Eigen::Array3d::Zero();
  double singular_distance_ = 0;  ///< 0: nothing is singular
  double extent_ = 0;
  double least_rho_ = 0;  ///< lower limit of rho between a target and a charge that is not on it
  int scale_ = 0;         ///< charges are stored times 2^scale_
  ReferenceStatus status_;
  Eigen::Index used_ = 0;  ///< number of charges that are not zero; only these are stored
  Eigen::Array<double, Eigen::Dynamic, 3> position_, position_low_;  ///< relative to the origin: high + low is exact
  Eigen::ArrayXd charge_, counted_, counted_in_field_, width2_;
  std::vector<Eigen::Index> own_;  ///< for each target that is a charge: its index in charge_, or -1 if it is zero
  TileCharges charges_;            ///< all stored charges
  TileLaw law_;
  double least_ = 0;  ///< added to every bound that is not 0
  double near2_ = 0;  ///< add_charge() adds the charges up to this rho^2, which may lie on the target
  TileLoop loop_ = nullptr;
};

}  // namespace smallbatch
