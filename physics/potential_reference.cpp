// The referee: V = f sum_i q_i / |s_i - p| over Eigen arrays in double precision, one point at a time, vectors along
// the charges. It shares no arithmetic and no decision with the implementations that it judges: its own status, its own
// idea of a charge on a lattice point, its own sums.
//
// It must be clearly more accurate than the double precision bound that it checks (relative errors of 4 u, u = 2^-53):
//  - displacements carry the low parts that position - origin and index * spacing round away, so neither costs L/r;
//  - 64 sums run side by side, and each keeps what its additions, of two terms together, lose (Knuth's two-sum).
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/parallel.hpp"
#include "physics/potential_backends.hpp"
#include "physics/potential_checks.hpp"

namespace smallbatch {

namespace {

constexpr int chunk_charges = 64, chunks_together = 2;
using Chunk = Eigen::Array<double, chunk_charges, 1>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A running sum that keeps what each addition loses (Neumaier).
class CompensatedSum {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  [[nodiscard]] double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

/// One problem of a batch, ready to be evaluated anywhere on its lattice.
class Referee {
 public:
  Referee(const ChargeBatch& charges, const LatticeBatch& lattice, std::int64_t problem,
          const PotentialOptions& options, ScalarType precision)
      : shape_(lattice.shape), options_(options), precision_(precision) {
    const std::int64_t first = charges.offset[problem], count = charges.offset[problem + 1] - first;
    const Eigen::Map<const Eigen::Array3Xd> position(charges.position + 3 * first, 3, count);
    const Eigen::Map<const Eigen::ArrayXd> charge(charges.charge + first, count);
    const Eigen::Array3d origin(lattice.origin + 3 * problem);
    spacing_ = Eigen::Array3d(lattice.spacing + 3 * problem);
    singular_distance_ = singular_distance_in_spacings * spacing_.minCoeff();

    // Zero charges have no effect, not even on the extent. Whole chunks are filled with zero charges infinitely far
    // away.
    used_ = (charge != 0).count();
    const Eigen::Index stored = (used_ + chunk_charges - 1) / chunk_charges * chunk_charges;
    position_.setConstant(stored, 3, infinity);
    position_low_.setZero(stored, 3);
    charge_.setZero(stored);
    Eigen::Index next = 0;
    for (Eigen::Index i = 0; i < count; ++i) {
      if (charge[i] == 0) continue;
      for (int axis = 0; axis < 3; ++axis) {
        // position - origin = shifted + low, exactly: the larger minus the difference gives the smaller as it was used.
        const double p = position(axis, i), o = -origin[axis], shifted = p + o;
        position_(next, axis) = shifted;
        position_low_(next, axis) = std::abs(p) >= std::abs(o) ? (p - shifted) + o : (o - shifted) + p;
      }
      charge_[next++] = charge[i];
    }
    const Eigen::Array3d points(static_cast<double>(shape_.nx), static_cast<double>(shape_.ny),
                                static_cast<double>(shape_.nz));
    const Eigen::Array3d corner = (points - 1) * spacing_;
    extent_ = corner.matrix().norm();
    if (used_ > 0) extent_ = std::max(extent_, position_.topRows(used_).matrix().rowwise().norm().maxCoeff());

    const double limit = precision == ScalarType::float32 ? 1e15 : 1e150;
    if (!position.isFinite().all() || !charge.isFinite().all())
      info_ = info_charges_not_finite;
    else if (count > 0 && (((position.colwise() - origin).abs() > limit).any() || (charge.abs() > limit).any() ||
                           (corner > limit).any()))
      info_ = info_charges_out_of_range;
    else
      info_ = charges_on_points();
  }

  [[nodiscard]] std::int32_t info() const { return info_; }

  [[nodiscard]] ReferencePotential at(std::int64_t x, std::int64_t y, std::int64_t z) const {
    if (info_ < 0) return {std::numeric_limits<double>::quiet_NaN(), 0, {}, 0};
    const Eigen::Array3d index(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z));
    const Eigen::Array3d point = index * spacing_;
    Eigen::Array3d point_low;
    for (int axis = 0; axis < 3; ++axis) point_low[axis] = std::fma(index[axis], spacing_[axis], -point[axis]);

    const bool single = precision_ == ScalarType::float32;
    const double relative = single ? 0x1p-22 : 0x1p-51, shift = extent_ * (single ? 0x1p-23 : 0x1p-52);
    Chunk potential = Chunk::Zero(), lost = Chunk::Zero();
    double bound = 0;
    CompensatedSum net, on_point;
    for (Eigen::Index begin = 0; begin < charge_.size(); begin += chunks_together * chunk_charges) {
      const Eigen::Index end = std::min<Eigen::Index>(charge_.size(), begin + chunks_together * chunk_charges);
      Chunk together = Chunk::Zero();
      for (Eigen::Index first = begin; first < end; first += chunk_charges) {
        const auto displacement = [&](int axis) {
          return (position_.col(axis).segment<chunk_charges>(first) - point[axis]) +
                 (position_low_.col(axis).segment<chunk_charges>(first) - point_low[axis]);
        };
        Chunk distance2 = displacement(0).square() + displacement(1).square() + displacement(2).square();
        if (distance2.minCoeff() < singular_distance_ * singular_distance_) {
          for (int i = 0; i < chunk_charges; ++i) {
            if (std::sqrt(distance2[i]) >= singular_distance_) continue;
            net.add(charge_[first + i]);
            on_point.add(std::abs(charge_[first + i]));
            distance2[i] = infinity;
          }
        }
        const Chunk reciprocal = distance2.sqrt().inverse();
        const auto charge = charge_.segment<chunk_charges>(first);
        together += charge * reciprocal;
        bound += (charge.abs() * reciprocal * (relative + shift * reciprocal)).sum();
      }
      const Chunk sum = potential + together, gained = sum - potential;
      lost += (potential - (sum - gained)) + (together - gained);
      potential = sum;
    }
    CompensatedSum total;
    for (int i = 0; i < chunk_charges; ++i) {
      total.add(potential[i]);
      total.add(lost[i]);
    }
    ReferencePotential result{};
    result.bound = std::abs(options_.unit_factor) * bound;
    result.potential = options_.unit_factor * total.value();
    if (options_.singular == Singular::infinite && std::abs(net.value()) > net_charge_tolerance * on_point.value())
      result.potential = std::copysign(infinity, net.value());
    return result;
  }

 private:
  /// How many charges lie on a lattice point.
  [[nodiscard]] std::int32_t charges_on_points() const {
    const std::int64_t points[3] = {shape_.nx, shape_.ny, shape_.nz};
    std::int64_t found = 0;
    for (Eigen::Index i = 0; i < used_; ++i) {
      Eigen::Array3d d;
      for (int axis = 0; axis < 3; ++axis) {
        const double last = static_cast<double>(points[axis] - 1);
        const double index = std::clamp(std::round(position_(i, axis) / spacing_[axis]), 0.0, last);
        d[axis] = std::fma(index, -spacing_[axis], position_(i, axis)) + position_low_(i, axis);
      }
      if (d.matrix().norm() < singular_distance_) ++found;
    }
    return static_cast<std::int32_t>(std::min<std::int64_t>(found, std::numeric_limits<std::int32_t>::max()));
  }

  LatticeShape shape_;
  PotentialOptions options_;
  ScalarType precision_;
  Eigen::Array3d spacing_;
  double singular_distance_ = 0, extent_ = 0;
  std::int32_t info_ = 0;
  Eigen::Array<double, Eigen::Dynamic, 3> position_, position_low_;  ///< relative to the origin: high + low is exact
  Eigen::ArrayXd charge_;
  Eigen::Index used_ = 0;  ///< charges before those that fill the last chunk
};

class EigenPotential final : public Potential {
 public:
  explicit EigenPotential(unsigned threads) : threads_(threads) {}

  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<float>& result) override {
    run(charges, targets, options, result);
  }
  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<double>& result) override {
    run(charges, targets, options, result);
  }
  [[nodiscard]] std::string description() const override { return "reference eigen"; }

 private:
  template <class T>
  void run(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
           const PotentialResult<T>& result) const {
    check_potential_call(charges, targets, options);
    const LatticeBatch& lattice = targets.lattice;
    const LatticeShape shape = lattice.shape;
    for (std::int64_t problem = 0; problem < charges.count; ++problem) {
      const Referee referee(charges, lattice, problem, options, scalar_type_of<T>);
      result.info[problem] = referee.info();
      T* const potential = result.potential + problem * lattice.plane_count * shape.plane_points();
      parallel_for(lattice.plane_count * shape.ny, 1, threads_, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
          for (std::int64_t x = 0; x < shape.nx; ++x)
            potential[row * shape.nx + x] =
                static_cast<T>(referee.at(x, row % shape.ny, lattice.first_plane + row / shape.ny).potential);
      });
    }
  }

  unsigned threads_;
};

}  // namespace

std::unique_ptr<Potential> make_reference_potential(unsigned threads) {
  return std::make_unique<EigenPotential>(threads);
}

std::int32_t reference_potential(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                                 const PotentialOptions& options, ScalarType precision,
                                 std::span<const std::int64_t> points, std::span<ReferencePotential> out,
                                 unsigned threads) {
  const LatticeBatch& lattice = targets.lattice;
  const Referee referee(charges, lattice, problem, options, precision);
  const LatticeShape shape = lattice.shape;
  parallel_for(static_cast<std::int64_t>(points.size()), 64, threads, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
      out[i] = referee.at(points[i] % shape.nx, points[i] / shape.nx % shape.ny, points[i] / shape.plane_points());
  });
  return referee.info();
}

}  // namespace smallbatch
