// What the tests of potentials share: problems as plain values, and the truth, a direct sum in long double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/compare.hpp"
#include "physics/charge_sets.hpp"
#include "physics/potential.hpp"

namespace smallbatch::testing {

struct Problem {
  std::vector<double> position, charge;
  std::array<double, 3> origin{0, 0, 0}, spacing{1, 1, 1};

  void add(double x, double y, double z, double q) {
    position.insert(position.end(), {x, y, z});
    charge.push_back(q);
  }
};

inline Problem random_problem(std::uint64_t seed, std::int64_t charges, double edge, bool neutral = true) {
  const RandomCharges wanted{charges, {-1, 2, -3}, {edge, edge, edge}, neutral};
  const ChargeSet set = random_charges(seed, 0, wanted);
  return {set.position, set.charge, wanted.corner, {1, 1, 1}};
}

/// Problems side by side, as evaluate takes them. A charge of NaN lies before the first problem's and after the last's:
/// nobody may read them.
struct Batch {
  std::vector<std::int64_t> offset{1};
  std::vector<double> position{NAN, NAN, NAN}, charge{NAN}, origin, spacing;
  LatticeShape shape;

  Batch(const LatticeShape& all_shapes, const std::vector<Problem>& problems) : shape(all_shapes) {
    for (const Problem& problem : problems) {
      offset.push_back(offset.back() + static_cast<std::int64_t>(problem.charge.size()));
      position.insert(position.end(), problem.position.begin(), problem.position.end());
      charge.insert(charge.end(), problem.charge.begin(), problem.charge.end());
      origin.insert(origin.end(), problem.origin.begin(), problem.origin.end());
      spacing.insert(spacing.end(), problem.spacing.begin(), problem.spacing.end());
    }
    position.insert(position.end(), 3, NAN);
    charge.push_back(NAN);
  }
  [[nodiscard]] ChargeBatch charges() const {
    return {static_cast<std::int64_t>(offset.size()) - 1, offset.data(), position.data(), charge.data()};
  }
  [[nodiscard]] LatticeBatch lattice(std::int64_t first_plane, std::int64_t plane_count) const {
    return {shape, origin.data(), spacing.data(), first_plane, plane_count};
  }
  [[nodiscard]] LatticeBatch lattice() const { return lattice(0, shape.nz); }
};

template <class T>
struct Answer {
  std::vector<T> potential;
  std::vector<std::int32_t> info;
};

/// Values no sum gives, so that a point that was never written shows.
template <class T>
Answer<T> evaluate(Potential& backend, const Batch& batch, const PotentialOptions& options, std::int64_t first_plane,
                   std::int64_t plane_count) {
  const ChargeBatch charges = batch.charges();
  Answer<T> answer;
  answer.potential.assign(static_cast<std::size_t>(charges.count * plane_count * batch.shape.plane_points()),
                          T{-12345});
  answer.info.assign(static_cast<std::size_t>(charges.count), -99);
  backend.evaluate(charges, batch.lattice(first_plane, plane_count), options,
                   PotentialResult<T>{answer.potential.data(), answer.info.data()});
  return answer;
}
template <class T>
Answer<T> evaluate(Potential& backend, const LatticeShape& shape, const std::vector<Problem>& problems,
                   const PotentialOptions& options = {}) {
  return evaluate<T>(backend, Batch(shape, problems), options, 0, shape.nz);
}

/// The potential of one problem at one point, summed in long double, with the bound of physics/potential.hpp.
struct Truth {
  double potential = 0, bound = 0;
};

/// The largest distance from the lattice's origin of a lattice point or a charge.
inline long double extent(const Problem& problem, const LatticeShape& shape) {
  const long double x = static_cast<long double>(shape.nx - 1) * problem.spacing[0];
  const long double y = static_cast<long double>(shape.ny - 1) * problem.spacing[1];
  const long double z = static_cast<long double>(shape.nz - 1) * problem.spacing[2];
  long double largest = std::sqrt(x * x + y * y + z * z);
  for (std::size_t i = 0; i < problem.charge.size(); ++i) {
    long double r2 = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const long double d = static_cast<long double>(problem.position[3 * i + axis]) - problem.origin[axis];
      r2 += d * d;
    }
    largest = std::max(largest, std::sqrt(r2));
  }
  return largest;
}

template <class T>
Truth truth(const Problem& problem, const LatticeShape& shape, std::int64_t point, const PotentialOptions& options,
            long double largest_extent) {
  const std::array<std::int64_t, 3> index{point % shape.nx, point / shape.nx % shape.ny, point / shape.nx / shape.ny};
  const double on_point = 1e-6 * std::min({problem.spacing[0], problem.spacing[1], problem.spacing[2]});
  constexpr long double relative = sizeof(T) == 4 ? 0x1p-22L : 0x1p-51L, shift = relative / 2;
  long double sum = 0, bound = 0, net = 0, magnitude = 0;
  for (std::size_t i = 0; i < problem.charge.size(); ++i) {
    long double r2 = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const long double s = static_cast<long double>(problem.position[3 * i + axis]) - problem.origin[axis];
      const long double d = static_cast<long double>(index[axis]) * problem.spacing[axis] - s;
      r2 += d * d;
    }
    const long double r = std::sqrt(r2), q = problem.charge[i];
    if (q == 0) continue;
    if (r < on_point) {
      net += q;
      magnitude += std::abs(q);
      continue;
    }
    sum += q / r;
    bound += std::abs(q) / r * (relative + shift * largest_extent / r);
  }
  Truth result{static_cast<double>(options.unit_factor * sum), static_cast<double>(options.unit_factor * bound)};
  if (options.singular == Singular::infinite && std::abs(net) > 1e-12L * magnitude)
    result.potential = net > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  return result;
}

/// Every point of problem `which` against the truth.
template <class T>
Comparison compare_with_truth(const Answer<T>& answer, const Problem& problem, const LatticeShape& shape,
                              const PotentialOptions& options = {}, std::int64_t which = 0) {
  const long double largest_extent = extent(problem, shape);
  Comparison comparison;
  for (std::int64_t point = 0; point < shape.points(); ++point) {
    const Truth expected = truth<T>(problem, shape, point, options, largest_extent);
    const double got = static_cast<double>(answer.potential[which * shape.points() + point]);
    comparison.add(error_over_bound(got, expected.potential, expected.bound), point);
  }
  return comparison;
}

/// body(T{}) for both precisions.
template <class Body>
void for_both_precisions(Body body) {
  body(float{});
  body(double{});
}

}  // namespace smallbatch::testing
