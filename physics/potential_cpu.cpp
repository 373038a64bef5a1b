// The plan for CPUs: problems are prepared in parallel, then pieces of lattices are summed in parallel, SIMD lanes
// holding points (direct_sum_lanes.hpp).
//
// Double precision: every point goes through sum_double, which sees exact displacements and applies the singularity
// policy itself. Single precision: every point goes through sum_single, and those near a charge (near_charges.hpp) then
// through sum_double. Which points those are depends on the problem alone, and a lane's arithmetic does not depend on
// its neighbours, so the bits do not depend on the batch, the planes or the number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "physics/near_charges.hpp"
#include "physics/potential_backends.hpp"
#include "physics/potential_checks.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t points_per_piece = 1024;

/// a + b * c as an exact sum of two doubles.
struct Exact {
  double high, low;
};
Exact difference(double a, double b) {
  const double d = a - b, minus_b = d - a;
  return {d, (a - (d - minus_b)) - (b + minus_b)};
}
Exact product(std::int64_t index, double spacing) {
  const double k = static_cast<double>(index), p = k * spacing;
  return {p, std::fma(k, spacing, -p)};
}

/// Where a problem's lattice lies.
struct Placement {
  LatticeShape shape;
  const double* origin;
  const double* spacing;

  [[nodiscard]] double singular_distance() const {
    return singular_distance_in_spacings * std::min({spacing[0], spacing[1], spacing[2]});
  }
  [[nodiscard]] std::int64_t points(int axis) const { return axis == 0 ? shape.nx : axis == 1 ? shape.ny : shape.nz; }
};

/// A problem's charges without those of zero, relative to the lattice's origin.
struct PreparedProblem {
  std::int32_t info = 0;
  std::vector<float> single[4];           ///< x, y, z, q
  std::vector<double> exact[7];           ///< x, y, z, their low parts, q; empty where nothing needs them
  std::vector<std::int64_t> near_points;  ///< of the planes asked for, ascending; single precision only

  [[nodiscard]] SingleCharges single_charges() const {
    return {static_cast<std::int64_t>(single[3].size()), single[0].data(), single[1].data(), single[2].data(),
            single[3].data()};
  }
  [[nodiscard]] DoubleCharges double_charges() const {
    return {static_cast<std::int64_t>(exact[6].size()),
            exact[0].data(),
            exact[1].data(),
            exact[2].data(),
            exact[3].data(),
            exact[4].data(),
            exact[5].data(),
            exact[6].data()};
  }
};

template <class T>
std::int32_t input_status(const Placement& place, const double* position, const double* charge, std::int64_t count) {
  bool in_range = true;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(charge[i])) return info_charges_not_finite;
    in_range &= std::abs(charge[i]) <= largest_input<T>;
    for (int axis = 0; axis < 3; ++axis) {
      const double r = position[3 * i + axis];
      if (!std::isfinite(r)) return info_charges_not_finite;
      in_range &= std::abs(r - place.origin[axis]) <= largest_input<T>;
      in_range &= static_cast<double>(place.points(axis) - 1) * place.spacing[axis] <= largest_input<T>;
    }
  }
  return in_range ? 0 : info_charges_out_of_range;
}

bool on_lattice_point(const Placement& place, const Exact (&s)[3]) {
  double r2 = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double h = place.spacing[axis];
    const Exact p = product(nearest_index(s[axis].high, h, place.points(axis)), h);
    const double d = (p.high - s[axis].high) + (p.low - s[axis].low);
    r2 += d * d;
  }
  return r2 < place.singular_distance() * place.singular_distance();
}

void add_near_points(const Placement& place, const LatticeBatch& lattice, const Exact (&s)[3],
                     std::vector<std::int64_t>& points) {
  const double norm = std::sqrt(s[0].high * s[0].high + s[1].high * s[1].high + s[2].high * s[2].high);
  const double radius = near_radius<float>(norm, place.singular_distance());
  IndexRange range[3];
  for (int axis = 0; axis < 3; ++axis)
    range[axis] = near_indices(s[axis].high, place.spacing[axis], place.points(axis), radius);
  range[2].first = std::max(range[2].first, lattice.first_plane);
  range[2].last = std::min(range[2].last, lattice.first_plane + lattice.plane_count - 1);
  for (std::int64_t z = range[2].first; z <= range[2].last; ++z)
    for (std::int64_t y = range[1].first; y <= range[1].last; ++y)
      for (std::int64_t x = range[0].first; x <= range[0].last; ++x)
        points.push_back(((z - lattice.first_plane) * place.shape.ny + y) * place.shape.nx + x);
}

template <class T>
PreparedProblem prepare(const ChargeBatch& charges, const LatticeBatch& lattice, std::int64_t p) {
  const Placement place{lattice.shape, lattice.origin + 3 * p, lattice.spacing + 3 * p};
  const double* position = charges.position + 3 * charges.offset[p];
  const double* charge = charges.charge + charges.offset[p];
  const std::int64_t count = charges.offset[p + 1] - charges.offset[p];

  PreparedProblem problem;
  problem.info = input_status<T>(place, position, charge, count);
  if (problem.info < 0) return problem;
  const auto exact_shift = [&](std::int64_t i, Exact(&s)[3]) {
    for (int axis = 0; axis < 3; ++axis) s[axis] = difference(position[3 * i + axis], place.origin[axis]);
  };
  constexpr bool is_single = sizeof(T) == 4;
  std::int64_t on_points = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (charge[i] == 0) continue;
    Exact s[3];
    exact_shift(i, s);
    if (on_lattice_point(place, s)) ++on_points;
    if (!is_single) continue;
    for (int axis = 0; axis < 3; ++axis) problem.single[axis].push_back(static_cast<float>(s[axis].high));
    problem.single[3].push_back(static_cast<float>(charge[i]));
    add_near_points(place, lattice, s, problem.near_points);
  }
  problem.info = static_cast<std::int32_t>(std::min<std::int64_t>(on_points, std::numeric_limits<std::int32_t>::max()));
  std::sort(problem.near_points.begin(), problem.near_points.end());
  problem.near_points.erase(std::unique(problem.near_points.begin(), problem.near_points.end()),
                            problem.near_points.end());
  if (is_single && problem.near_points.empty()) return problem;
  for (std::int64_t i = 0; i < count; ++i) {
    if (charge[i] == 0) continue;
    Exact s[3];
    exact_shift(i, s);
    for (int axis = 0; axis < 3; ++axis) {
      problem.exact[axis].push_back(s[axis].high);
      problem.exact[axis + 3].push_back(s[axis].low);
    }
    problem.exact[6].push_back(charge[i]);
  }
  return problem;
}

/// Lattice indices (x, y, z) of a point counted from the first plane asked for.
struct PointIndex {
  std::int64_t x, y, z;
  PointIndex(const LatticeBatch& lattice, std::int64_t point)
      : x(point % lattice.shape.nx),
        y(point / lattice.shape.nx % lattice.shape.ny),
        z(point / lattice.shape.plane_points() + lattice.first_plane) {}
};

class CpuPotential final : public Potential {
 public:
  CpuPotential(unsigned threads, const DirectSumLanes& lanes) : threads_(threads), lanes_(lanes) {}

  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<float>& result) override {
    run(charges, targets, options, result);
  }
  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<double>& result) override {
    run(charges, targets, options, result);
  }
  [[nodiscard]] std::string description() const override { return std::string("cpu direct sum ") + lanes_.name; }

 private:
  template <class T>
  void run(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
           const PotentialResult<T>& result) const {
    check_potential_call(charges, targets, options);
    const LatticeBatch& lattice = targets.lattice;
    std::vector<PreparedProblem> problems(static_cast<std::size_t>(charges.count));
    parallel_for(charges.count, 1, threads_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t p = first; p < last; ++p) {
        problems[p] = prepare<T>(charges, lattice, p);
        result.info[p] = problems[p].info;
      }
    });
    const std::int64_t points = lattice.shape.plane_points() * lattice.plane_count;
    const std::int64_t pieces = (points + points_per_piece - 1) / points_per_piece;
    parallel_for(charges.count * pieces, 1, threads_, [&](std::int64_t first_piece, std::int64_t last_piece) {
      for (std::int64_t piece = first_piece; piece < last_piece; ++piece) {
        const std::int64_t p = piece / pieces;
        const std::int64_t first = piece % pieces * points_per_piece;
        const std::int64_t last = std::min(points, first + points_per_piece);
        const Placement place{lattice.shape, lattice.origin + 3 * p, lattice.spacing + 3 * p};
        sum_points(problems[p], place, lattice, options, first, last, result.potential + p * points);
      }
    });
  }

  /// Points first..last-1 of the planes asked for.
  void sum_points(const PreparedProblem& problem, const Placement& place, const LatticeBatch& lattice,
                  const PotentialOptions& options, std::int64_t first, std::int64_t last, float* potential) const {
    if (problem.info < 0) {
      std::fill(potential + first, potential + last, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    SinglePoints points{};
    double totals[points_per_call];
    for (std::int64_t begin = first; begin < last; begin += points_per_call) {
      points.count = static_cast<int>(std::min<std::int64_t>(points_per_call, last - begin));
      for (int i = 0; i < points.count; ++i) {
        const PointIndex index(lattice, begin + i);
        points.x[i] = static_cast<float>(static_cast<double>(index.x) * place.spacing[0]);
        points.y[i] = static_cast<float>(static_cast<double>(index.y) * place.spacing[1]);
        points.z[i] = static_cast<float>(static_cast<double>(index.z) * place.spacing[2]);
      }
      lanes_.sum_single(problem.single_charges(), points, totals);
      for (int i = 0; i < points.count; ++i) potential[begin + i] = static_cast<float>(options.unit_factor * totals[i]);
    }
    const auto near_first = std::lower_bound(problem.near_points.begin(), problem.near_points.end(), first);
    const auto near_last = std::lower_bound(near_first, problem.near_points.end(), last);
    sum_in_double(
        problem, place, lattice, options, near_last - near_first, [&](std::int64_t i) { return near_first[i]; },
        potential);
  }

  void sum_points(const PreparedProblem& problem, const Placement& place, const LatticeBatch& lattice,
                  const PotentialOptions& options, std::int64_t first, std::int64_t last, double* potential) const {
    if (problem.info < 0) {
      std::fill(potential + first, potential + last, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    sum_in_double(
        problem, place, lattice, options, last - first, [first](std::int64_t i) { return first + i; }, potential);
  }

  /// The points point_at(0) .. point_at(count - 1), wholly in double precision.
  template <class T, class PointAt>
  void sum_in_double(const PreparedProblem& problem, const Placement& place, const LatticeBatch& lattice,
                     const PotentialOptions& options, std::int64_t count, PointAt point_at, T* potential) const {
    DoublePoints points{};
    DoubleSums sums;
    for (std::int64_t begin = 0; begin < count; begin += points_per_call) {
      points.count = static_cast<int>(std::min<std::int64_t>(points_per_call, count - begin));
      for (int i = 0; i < points.count; ++i) {
        const PointIndex index(lattice, point_at(begin + i));
        const Exact x = product(index.x, place.spacing[0]);
        const Exact y = product(index.y, place.spacing[1]);
        const Exact z = product(index.z, place.spacing[2]);
        points.x[i] = x.high, points.x_low[i] = x.low;
        points.y[i] = y.high, points.y_low[i] = y.low;
        points.z[i] = z.high, points.z_low[i] = z.low;
      }
      lanes_.sum_double(problem.double_charges(), points, place.singular_distance(), sums);
      for (int i = 0; i < points.count; ++i)
        potential[point_at(begin + i)] = static_cast<T>(
            apply_singularity(options.singular, options.unit_factor * sums.others[i], sums.net[i], sums.magnitude[i]));
    }
  }

  unsigned threads_;
  const DirectSumLanes& lanes_;
};

}  // namespace

std::unique_ptr<Potential> make_cpu_potential(unsigned threads, const DirectSumLanes& lanes) {
  return std::make_unique<CpuPotential>(threads, lanes);
}

}  // namespace smallbatch
