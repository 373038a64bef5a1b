// One problem as the referee sees it: potential and field over Eigen arrays in double precision, one target at a time,
// vectors along the charges. It shares no arithmetic and no decision with the implementations that it judges: its own
// status, its own idea of a charge on a target, its own sums.
//
// It must be clearly more accurate than the double precision bound that it checks (relative errors of 4 u, u = 2^-53):
//  - displacements carry the low parts that position - origin and index * spacing round away, so neither costs L/r;
//  - 64 sums run side by side, and each keeps what its additions, of two terms together, lose (Knuth's two-sum);
//  - charges are scaled by a power of two where their terms would overflow.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "physics/potential_referee.hpp"
#include "physics/reference/sums.hpp"

namespace smallbatch {

/// One problem of a batch, ready to be evaluated at any of its targets.
class ReferenceProblem {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();

  /// high + low, exactly.
  struct Place {
    Eigen::Array3d high, low;
  };

  /// position - origin: the larger minus the difference gives the smaller as it was used.
  static Place shifted(const Eigen::Array3d& position, const Eigen::Array3d& origin) {
    Place place;
    for (int axis = 0; axis < 3; ++axis) {
      const double p = position[axis], o = -origin[axis], high = p + o;
      place.high[axis] = high;
      place.low[axis] = std::abs(p) >= std::abs(o) ? (p - high) + o : (o - high) + p;
    }
    return place;
  }

  using Positions = Eigen::Map<const Eigen::Array3Xd>;
  static Positions positions(const double* all, const std::int64_t* offset, std::int64_t problem) {
    return {all + 3 * offset[problem], 3, offset[problem + 1] - offset[problem]};
  }
  static constexpr double no_positions[3] = {};

 public:
  ReferenceProblem(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                   const PotentialOptions& options, ScalarType precision, bool wants_field)
      : kind_(targets.kind),
        shape_(targets.lattice.shape),
        options_(options),
        precision_(precision),
        points_(targets.kind == TargetKind::lattice ? Positions(no_positions, 3, 0)
                : targets.kind == TargetKind::points
                    ? positions(targets.points.position, targets.points.offset, problem)
                    : positions(charges.position, charges.offset, problem)) {
    const Positions position = positions(charges.position, charges.offset, problem);
    const Eigen::Map<const Eigen::ArrayXd> charge(charges.charge + charges.offset[problem], position.cols());
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

    status_.info = input_status(position, charge, anywhere);
    status_.or_else = status_.info;
    if (status_.info < 0) return;
    keep_charges(position, charge);
    extent_ = on_lattice ? corner().matrix().norm() : 0;
    if (used_ > 0) extent_ = std::max(extent_, position_.topRows(used_).matrix().rowwise().norm().maxCoeff());
    if (points_.cols() > 0)
      extent_ = std::max(extent_, (points_.colwise() - origin_).matrix().colwise().norm().maxCoeff());
    const std::int64_t on = on_lattice ? charges_on_lattice() : targets_on_charges();
    status_.info = static_cast<std::int32_t>(std::min<std::int64_t>(on, std::numeric_limits<std::int32_t>::max()));
    status_.or_else = status_.info;
    if (on_lattice) judge_range(wants_field);
  }

  /// At points and charges, without what only values can say: info_values_out_of_range.
  [[nodiscard]] ReferenceStatus status() const { return status_; }
  [[nodiscard]] std::int64_t points() const { return points_.cols(); }

  /// `target` is an index into the whole lattice, or counted from the problem's first point. The field only where it
  /// is wanted.
  [[nodiscard]] ReferencePotential at(std::int64_t target, bool wants_field) const {
    if (!has_values(status_.info)) return {nan, 0, {nan, nan, nan}, 0};
    const Place place = place_of(target);
    const Eigen::Index own = kind_ == TargetKind::charges ? own_[target] : -1;
    const bool single = precision_ == ScalarType::float32, truncated = options_.cutoff > 0;
    const PotentialBounds& bounds = single ? potential_bounds_float : potential_bounds_double;
    const double relative = bounds.of_terms, shift = extent_ * bounds.of_distances;
    const double softening2 = options_.softening * options_.softening;
    const double per_cutoff2 = truncated ? 1 / std::pow(std::max(options_.cutoff, 0x1p-500), 2) : 0;

    ChunkSum potential, field[3];
    double bound = 0, field_bound = 0;
    CompensatedSum net, on_target;
    for (Eigen::Index begin = 0; begin < charge_.size(); begin += chunks_together * chunk_charges) {
      const Eigen::Index end = std::min<Eigen::Index>(charge_.size(), begin + chunks_together * chunk_charges);
      Chunk potential_terms = Chunk::Zero(), field_terms[3] = {Chunk::Zero(), Chunk::Zero(), Chunk::Zero()};
      for (Eigen::Index first = begin; first < end; first += chunk_charges) {
        const auto displacement = [&](int axis) {
          return (place.high[axis] - position_.col(axis).segment<chunk_charges>(first)) +
                 (place.low[axis] - position_low_.col(axis).segment<chunk_charges>(first));
        };
        Chunk charge = charge_.segment<chunk_charges>(first);
        Chunk distance2 = displacement(0).square() + displacement(1).square() + displacement(2).square();
        const auto leave_out = [&](Eigen::Index i) {
          charge[i] = 0;
          distance2[i] = 1;
        };
        if (own >= first && own < first + chunk_charges) leave_out(own - first);
        if (distance2.minCoeff() < singular_distance_ * singular_distance_) {
          for (int i = 0; i < chunk_charges; ++i) {
            if (std::sqrt(distance2[i]) >= singular_distance_) continue;
            net.add(charge[i]);
            on_target.add(std::abs(charge[i]));
            leave_out(i);
          }
        }
        const Chunk reciprocal = (distance2 + softening2).sqrt().inverse();
        Chunk share = reciprocal;  // of the bounds, for a charge of 1
        if (truncated)
          share *= (distance2.sqrt() < bound_reach_in_cutoffs * options_.cutoff)
                       .select(Chunk::Constant(cutoff_bound_factor), 0);
        bound += (counted(charge, 0x1p-70) * share * (relative + shift * reciprocal)).sum();
        Chunk along = charge * reciprocal;  // then of the field, by displacement over rho
        if (!truncated) {
          potential_terms += along;
          along *= reciprocal;
        } else {
          const Chunk w = (1 - distance2 * per_cutoff2).max(0);
          potential_terms += along * w.square();
          along = charge * (w * (w * reciprocal.square() + 4 * per_cutoff2));
        }
        if (!wants_field) continue;
        share *= field_bound_factor * reciprocal;
        if (truncated) share *= (1 / (4 * options_.cutoff * reciprocal)).max(1);
        field_bound += (counted(charge, 0x1p-30) * share * (relative + shift * reciprocal)).sum();
        for (int axis = 0; axis < 3; ++axis) field_terms[axis] += along * (displacement(axis) * reciprocal);
      }
      potential.add(potential_terms);
      if (!wants_field) continue;
      for (int axis = 0; axis < 3; ++axis) field[axis].add(field_terms[axis]);
    }
    const auto unscaled = [&](double sum) {
      const double scaled = options_.unit_factor * sum;
      return std::isnormal(scaled) ? std::scalbn(scaled, -scale_) : options_.unit_factor * std::scalbn(sum, -scale_);
    };
    // Terms of double precision, and what is stored, are rounded to numbers below the normal ones, too; and a bound
    // beyond all numbers allows any.
    const double least =
        static_cast<double>(used_) * std::numeric_limits<double>::denorm_min() * std::abs(options_.unit_factor) +
        (single ? std::numeric_limits<float>::denorm_min() : std::numeric_limits<double>::denorm_min());
    const auto bound_of = [&](double sum) {
      return sum > 0 ? std::min(std::abs(unscaled(sum)) + least, std::numeric_limits<double>::max()) : 0;
    };
    ReferencePotential result{unscaled(potential.total()), bound_of(bound), {}, bound_of(field_bound)};
    for (std::size_t axis = 0; axis < 3; ++axis) result.field[axis] = unscaled(field[axis].total());
    if (options_.singular == Singular::infinite && std::abs(net.value()) > net_charge_tolerance * on_target.value()) {
      result.potential = std::copysign(infinity, net.value());
      result.field = {nan, nan, nan};
      result.singular = true;
    }
    return result;
  }

 private:
  /// What charges count in a bound: in single precision at least `least` each, where they are charges at all.
  [[nodiscard]] Chunk counted(const Chunk& charge, double least) const {
    if (precision_ != ScalarType::float32) return charge.abs();
    return (charge != 0).select(charge.abs().max(std::scalbn(least, scale_)), 0);
  }

  /// From the origin to the last lattice point.
  [[nodiscard]] Eigen::Array3d corner() const {
    const Eigen::Array3d points(static_cast<double>(shape_.nx), static_cast<double>(shape_.ny),
                                static_cast<double>(shape_.nz));
    return (points - 1) * spacing_;
  }

  /// Without a target there is no origin that a range could be counted from.
  [[nodiscard]] std::int32_t input_status(const Positions& position, const Eigen::Map<const Eigen::ArrayXd>& charge,
                                          bool anywhere) const {
    const double limit = precision_ == ScalarType::float32 ? 1e15 : 1e150;
    if (!position.isFinite().all() || !charge.isFinite().all() || !points_.isFinite().all())
      return info_charges_not_finite;
    if (!anywhere) return 0;
    if (((points_.colwise() - origin_).abs() > limit).any()) return info_charges_out_of_range;
    if (charge.size() == 0) return 0;
    const bool far = ((position.colwise() - origin_).abs() > limit).any() || (charge.abs() > limit).any() ||
                     (kind_ == TargetKind::lattice && (corner() > limit).any());
    return far ? info_charges_out_of_range : 0;
  }

  /// Zero charges have no effect. Whole chunks are filled with zero charges that lie on the first one.
  void keep_charges(const Positions& position, const Eigen::Map<const Eigen::ArrayXd>& charge) {
    used_ = (charge != 0).count();
    // The exponents of the largest charge, of their number, and of the largest 1/rho^2 stay below 1000 together.
    const double least_rho = options_.softening > 0 ? options_.softening : singular_distance_;
    if (used_ > 0)
      scale_ = std::min(0, 1000 - std::ilogb(charge.abs().maxCoeff()) - std::ilogb(static_cast<double>(used_)) +
                               2 * std::ilogb(least_rho));
    const Eigen::Index stored = (used_ + chunk_charges - 1) / chunk_charges * chunk_charges;
    position_.setZero(stored, 3);
    position_low_.setZero(stored, 3);
    charge_.setZero(stored);
    own_.assign(static_cast<std::size_t>(charge.size()), -1);
    Eigen::Index next = 0;
    for (Eigen::Index i = 0; i < charge.size(); ++i) {
      if (charge[i] == 0) continue;
      const Place place = shifted(position.col(i), origin_);
      position_.row(next) = place.high.transpose();
      position_low_.row(next) = place.low.transpose();
      charge_[next] = std::scalbn(charge[i], scale_);
      own_[i] = next++;
    }
    for (; next < stored; ++next) {
      position_.row(next) = position_.row(0);
      position_low_.row(next) = position_low_.row(0);
    }
  }

  [[nodiscard]] Place place_of(std::int64_t target) const {
    if (kind_ != TargetKind::lattice) return shifted(points_.col(target), origin_);
    const std::int64_t plane = target / shape_.plane_points();
    const Eigen::Array3d index(static_cast<double>(target % shape_.nx),
                               static_cast<double>(target / shape_.nx % shape_.ny), static_cast<double>(plane));
    Place place{index * spacing_, {}};
    for (int axis = 0; axis < 3; ++axis) place.low[axis] = std::fma(index[axis], spacing_[axis], -place.high[axis]);
    return place;
  }

  /// How many charges lie on a lattice point.
  [[nodiscard]] std::int64_t charges_on_lattice() const {
    std::int64_t found = 0;
    for (Eigen::Index i = 0; i < used_; ++i)
      if (to_lattice(i).matrix().norm() < singular_distance_) ++found;
    return found;
  }

  /// Whether values on the lattice leave their range: the sums of info_values_out_of_range, in units of a power of two
  /// that none of their terms leaves.
  void judge_range(bool wants_field) {
    const double largest =
        precision_ == ScalarType::float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const double factor = std::abs(options_.unit_factor);
    constexpr int unit = 600;
    double potential = 0, field = 0;
    for (Eigen::Index i = 0; i < used_; ++i) {
      const double d = to_lattice(i).matrix().norm();
      const double rho = options_.softening > 0   ? std::hypot(d, options_.softening)
                         : d < singular_distance_ ? spacing_.minCoeff()
                                                  : d;
      const double term = std::scalbn(std::abs(charge_[i]), -unit - scale_) / rho;
      potential += term;
      field += options_.cutoff > 0 ? term / rho + 2 * term / options_.cutoff : term / rho;
    }
    const double sum = wants_field ? std::max(potential, field) : potential,
                 limit = std::scalbn(largest, -unit) / factor;
    if (sum > 0.999 * limit) status_.or_else = info_values_out_of_range;
    if (sum > limit) std::swap(status_.info, status_.or_else);
    if (sum > 1.001 * limit) status_.or_else = status_.info;
  }

  /// From the nearest point of the lattice to a charge.
  [[nodiscard]] Eigen::Array3d to_lattice(Eigen::Index i) const {
    const std::int64_t points[3] = {shape_.nx, shape_.ny, shape_.nz};
    Eigen::Array3d d;
    for (int axis = 0; axis < 3; ++axis) {
      const double last = static_cast<double>(points[axis] - 1);
      const double index = std::clamp(std::round(position_(i, axis) / spacing_[axis]), 0.0, last);
      d[axis] = std::fma(index, -spacing_[axis], position_(i, axis)) + position_low_(i, axis);
    }
    return d;
  }

  /// How many targets have a charge on them, other than their own: looked for among the charges in the order of x.
  [[nodiscard]] std::int64_t targets_on_charges() const {
    if (singular_distance_ == 0) return 0;
    std::vector<std::pair<double, Eigen::Index>> by_x;
    for (Eigen::Index i = 0; i < used_; ++i) by_x.emplace_back(position_(i, 0), i);
    std::sort(by_x.begin(), by_x.end());
    std::int64_t found = 0;
    for (std::int64_t target = 0; target < points_.cols(); ++target) {
      const Place place = place_of(target);
      const double reach = 2 * singular_distance_ + 0x1p-50 * std::abs(place.high[0]);
      auto near = std::lower_bound(by_x.begin(), by_x.end(), std::pair{place.high[0] - reach, Eigen::Index{-1}});
      for (; near != by_x.end() && near->first <= place.high[0] + reach; ++near) {
        const Eigen::Index i = near->second;
        if (kind_ == TargetKind::charges && own_[target] == i) continue;
        const Eigen::Array3d d =
            (place.high - position_.row(i).transpose()) + (place.low - position_low_.row(i).transpose());
        if (d.matrix().norm() >= singular_distance_) continue;
        ++found;
        break;
      }
    }
    return found;
  }

  TargetKind kind_;
  LatticeShape shape_;
  PotentialOptions options_;
  ScalarType precision_;
  Positions points_;  ///< the targets where they are no lattice
  Eigen::Array3d origin_ = Eigen::Array3d::Zero(), spacing_ = Eigen::Array3d::Zero();
  double singular_distance_ = 0;  ///< 0: nothing is singular
  double extent_ = 0;
  int scale_ = 0;  ///< charges are kept times 2 to this
  ReferenceStatus status_;
  Eigen::Array<double, Eigen::Dynamic, 3> position_, position_low_;  ///< relative to the origin: high + low is exact
  Eigen::ArrayXd charge_;
  std::vector<Eigen::Index> own_;  ///< where a charge of the problem lies in charge_; -1 where it is zero
  Eigen::Index used_ = 0;          ///< charges before those that fill the last chunk
};

}  // namespace smallbatch
