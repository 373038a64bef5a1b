// Common parts of the tests of potentials: problems as plain values, and the truth, a direct sum in long double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <source_location>
#include <vector>

#include "core/compare.hpp"
#include "physics/charges/charge_sets.hpp"
#include "physics/potential.hpp"
#include "tests/physics/true_interaction.hpp"

namespace smallbatch::testing {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Problem {
  std::vector<double> position, charge;
  std::array<double, 3> origin{0, 0, 0}, spacing{1, 1, 1};  ///< of its lattice
  std::vector<double> points;
  std::vector<std::int8_t> group;  ///< empty, or one per charge
  std::vector<double> width;       ///< empty, or one per charge

  void add(double x, double y, double z, double q) {
    position.insert(position.end(), {x, y, z});
    charge.push_back(q);
  }
  void add(double x, double y, double z, double q, std::int8_t of_group) {
    add(x, y, z, q);
    group.resize(charge.size());
    group.back() = of_group;
  }
  void add_point(double x, double y, double z) { points.insert(points.end(), {x, y, z}); }
};

inline Problem random_problem(std::uint64_t seed, std::int64_t charges, double edge, bool neutral = true) {
  const RandomCharges wanted{charges, {-1, 2, -3}, {edge, edge, edge}, neutral};
  const ChargeSet set = random_charges(seed, 0, wanted);
  Problem problem;
  problem.position = set.position;
  problem.charge = set.charge;
  problem.origin = wanted.corner;
  return problem;
}

/// Adds random points in the box of random_problem() and around it.
inline void add_random_points(Problem& problem, std::uint64_t seed, std::int64_t points, double edge) {
  const ChargeSet set = random_charges(seed, 1, {points, {-3, 0, -5}, {edge + 4, edge + 4, edge + 4}, false});
  problem.points.insert(problem.points.end(), set.position.begin(), set.position.end());
}

/// Targets: a lattice of this shape, each problem's points, or its charges.
struct Where {
  TargetKind kind = TargetKind::lattice;
  LatticeShape shape;

  // NOLINTNEXTLINE(google-explicit-constructor)
  Where(const LatticeShape& lattice) : shape(lattice) {}
  Where(std::int64_t nx, std::int64_t ny, std::int64_t nz) : shape{nx, ny, nz} {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Where(TargetKind other) : kind(other), shape{1, 1, 1} {}
};
inline constexpr TargetKind at_points = TargetKind::points, at_charges = TargetKind::charges;

inline std::int64_t target_count(const Problem& problem, const Where& where) {
  if (where.kind == at_points) return static_cast<std::int64_t>(problem.points.size() / 3);
  return where.kind == at_charges ? static_cast<std::int64_t>(problem.charge.size()) : where.shape.points();
}

/// The ions of rock_salt_cube().
inline Problem rock_salt_problem(int half_edge, double distance) {
  const ChargeSet set = rock_salt_cube(half_edge, distance);
  Problem problem;
  problem.position = set.position;
  problem.charge = set.charge;
  return problem;
}

/// 4000 charges, together 5 e, spread evenly over the sphere of radius 1 about the origin.
inline Problem uniform_shell() {
  constexpr int count = 4000;
  Problem problem;
  const double golden_angle = std::numbers::pi * (3 - std::sqrt(5.0));
  for (int i = 0; i < count; ++i) {
    const double z = 1 - (2 * i + 1.0) / count, ring = std::sqrt(1 - z * z);
    problem.add(ring * std::cos(golden_angle * i), ring * std::sin(golden_angle * i), z, 5.0 / count);
  }
  return problem;
}

/// Problems in the arrays that Potential::evaluate() reads. A charge and a point of NaN lie before the first problem
/// and after the last one. No code may read them.
struct Batch {
  std::vector<std::int64_t> offset{1}, point_offset{1};
  std::vector<double> position{NAN, NAN, NAN}, charge{NAN}, origin, spacing, point{NAN, NAN, NAN}, width{NAN};
  std::vector<std::int8_t> group{1};
  Where where;
  bool has_widths = false;

  Batch(const Where& everywhere, const std::vector<Problem>& problems) : where(everywhere) {
    for (const Problem& problem : problems) {
      offset.push_back(offset.back() + static_cast<std::int64_t>(problem.charge.size()));
      point_offset.push_back(point_offset.back() + static_cast<std::int64_t>(problem.points.size() / 3));
      position.insert(position.end(), problem.position.begin(), problem.position.end());
      charge.insert(charge.end(), problem.charge.begin(), problem.charge.end());
      origin.insert(origin.end(), problem.origin.begin(), problem.origin.end());
      spacing.insert(spacing.end(), problem.spacing.begin(), problem.spacing.end());
      point.insert(point.end(), problem.points.begin(), problem.points.end());
      std::vector<std::int8_t> groups = problem.group;
      groups.resize(problem.charge.size());
      std::vector<double> widths = problem.width;
      widths.resize(problem.charge.size());
      width.insert(width.end(), widths.begin(), widths.end());
      has_widths |= !problem.width.empty();
      group.insert(group.end(), groups.begin(), groups.end());
    }
    position.insert(position.end(), 3, NAN);
    point.insert(point.end(), 3, NAN);
    charge.push_back(NAN);
    width.push_back(NAN);
    group.push_back(1);
  }
  [[nodiscard]] ChargeBatch charges() const {
    return {static_cast<std::int64_t>(offset.size()) - 1, offset.data(), position.data(), charge.data(), group.data(),
            has_widths ? width.data() : nullptr};
  }
  [[nodiscard]] LatticeBatch lattice(std::int64_t first_plane, std::int64_t plane_count) const {
    return {where.shape, origin.data(), spacing.data(), first_plane, plane_count};
  }
  [[nodiscard]] LatticeBatch lattice() const { return lattice(0, where.shape.nz); }
  [[nodiscard]] TargetBatch targets(std::int64_t first_plane, std::int64_t plane_count) const {
    if (where.kind == at_points) return PointBatch{point_offset.data(), point.data()};
    if (where.kind == at_charges) return {};
    return lattice(first_plane, plane_count);
  }
  [[nodiscard]] TargetBatch targets() const { return targets(0, where.shape.nz); }
};

template <class T>
struct Answer {
  std::vector<T> potential;
  std::vector<std::int32_t> info;
  std::vector<T> field;                   ///< empty if it was not wanted
  std::vector<PotentialSummary> summary;  ///< one per plane, or per problem
  std::vector<double> energy;
  std::vector<std::int64_t> begin;  ///< (count + 1), where each problem's values begin

  [[nodiscard]] std::vector<T> potential_of(std::size_t problem) const {
    return {potential.begin() + begin[problem], potential.begin() + begin[problem + 1]};
  }
  [[nodiscard]] std::vector<T> field_of(std::size_t problem) const {
    return {field.begin() + 3 * begin[problem], field.begin() + 3 * begin[problem + 1]};
  }
  [[nodiscard]] std::vector<PotentialSummary> summary_of(std::size_t problem) const {
    const std::size_t each = summary.size() / info.size();
    const auto first = summary.begin() + static_cast<std::ptrdiff_t>(problem * each);
    return {first, first + static_cast<std::ptrdiff_t>(each)};
  }
};

enum class Wanted { potential, everything };

/// Evaluates planes of a batch. Before that, all results get values that no sum gives. They reveal targets that the
/// backend never wrote.
template <class T>
Answer<T> evaluate(Potential& backend, const Batch& batch, const PotentialOptions& options, std::int64_t first_plane,
                   std::int64_t plane_count, Wanted wanted = Wanted::potential) {
  const ChargeBatch charges = batch.charges();
  Answer<T> answer;
  answer.begin.push_back(0);
  for (std::size_t p = 0; p < static_cast<std::size_t>(charges.count); ++p) {
    const auto& offset = batch.where.kind == at_points ? batch.point_offset : batch.offset;
    answer.begin.push_back(answer.begin.back() + (batch.where.kind == TargetKind::lattice
                                                      ? plane_count * batch.where.shape.plane_points()
                                                      : offset[p + 1] - offset[p]));
  }
  const auto values = static_cast<std::size_t>(answer.begin.back()), count = static_cast<std::size_t>(charges.count);
  answer.potential.assign(values, T{-12345});
  answer.info.assign(count, -99);
  PotentialResult<T> result{answer.potential.data(), answer.info.data()};
  if (wanted == Wanted::everything) {
    answer.field.assign(3 * values, T{-12345});
    const bool on_lattices = batch.where.kind == TargetKind::lattice;
    answer.summary.assign(on_lattices ? count * static_cast<std::size_t>(plane_count) : count,
                          {-12345, -12345, -12345, -12345});
    answer.energy.assign(count, -12345);
    result.field = answer.field.data();
    result.summary = answer.summary.data();
    result.energy = answer.energy.data();
  }
  backend.evaluate(charges, batch.targets(first_plane, plane_count), options, result);
  return answer;
}
template <class T>
Answer<T> evaluate(Potential& backend, const Where& where, const std::vector<Problem>& problems,
                   const PotentialOptions& options = {}, Wanted wanted = Wanted::potential) {
  return evaluate<T>(backend, Batch(where, problems), options, 0, where.shape.nz, wanted);
}
template <class T>
Answer<T> evaluate_everything(Potential& backend, const Where& where, const std::vector<Problem>& problems,
                              const PotentialOptions& options = {}) {
  return evaluate<T>(backend, where, problems, options, Wanted::everything);
}

using Vector = std::array<long double, 3>;
inline long double norm(const Vector& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/// Returns the displacement from charge i to a target.
inline Vector displacement(const Problem& problem, const Where& where, std::int64_t target, std::size_t i) {
  const std::array<std::int64_t, 3> index{target % where.shape.nx, target / where.shape.nx % where.shape.ny,
                                          target / where.shape.plane_points()};
  const std::vector<double>& targets = where.kind == at_points ? problem.points : problem.position;
  Vector d;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const long double s = problem.position[3 * i + axis];
    if (where.kind == TargetKind::lattice)
      d[axis] = static_cast<long double>(index[axis]) * problem.spacing[axis] - (s - problem.origin[axis]);
    else
      d[axis] = targets[3 * static_cast<std::size_t>(target) + axis] - s;
  }
  return d;
}

/// Returns the largest distance from the origin of a target, or of a charge other than 0. The origin is the lattice's
/// origin or the first target.
inline long double extent(const Problem& problem, const Where& where) {
  const bool on_lattice = where.kind == TargetKind::lattice;
  const std::vector<double>& targets = where.kind == at_points ? problem.points : problem.position;
  if (!on_lattice && targets.empty()) return 0;
  long double largest = 0;
  const auto reach = [&](const double* position) {
    Vector d;
    for (std::size_t axis = 0; axis < 3; ++axis)
      d[axis] = static_cast<long double>(position[axis]) - (on_lattice ? problem.origin[axis] : targets[axis]);
    largest = std::max(largest, norm(d));
  };
  for (std::size_t i = 0; i < problem.charge.size(); ++i)
    if (problem.charge[i] != 0) reach(problem.position.data() + 3 * i);
  if (on_lattice)
    return std::max(largest, norm({static_cast<long double>(where.shape.nx - 1) * problem.spacing[0],
                                   static_cast<long double>(where.shape.ny - 1) * problem.spacing[1],
                                   static_cast<long double>(where.shape.nz - 1) * problem.spacing[2]}));
  for (std::size_t i = 0; i < targets.size(); i += 3) reach(targets.data() + i);
  return largest;
}

/// Returns the distance within which a charge lies on a target; 0 with a softening.
inline double singular_distance(const Problem& problem, const Where& where, const PotentialOptions& options) {
  if (options.softening > 0) return 0;
  return where.kind == TargetKind::lattice ? 1e-6 * *std::min_element(problem.spacing.begin(), problem.spacing.end())
                                           : 1e-6;
}

/// Potential and field of one problem at one target, summed in long double, with the bounds of physics/potential.hpp.
struct Truth {
  double potential = 0, bound = 0;
  std::array<double, 3> field{};
  double field_bound = 0;
};

template <class T>
Truth truth(const Problem& problem, const Where& where, std::int64_t target, const PotentialOptions& options,
            long double largest_extent) {
  const double on_target = singular_distance(problem, where, options);
  const long double eps = options.softening, c = options.cutoff;
  const long double shift = sizeof(T) == 4 ? 0x1p-23L : 0x1p-52L, relative = (eps > 0 ? 4 : 2) * shift;
  long double sum = 0, bound = 0, field_bound = 0, net = 0, magnitude = 0;
  Vector field{};
  for (std::size_t i = 0; i < problem.charge.size(); ++i) {
    if (where.kind == at_charges && static_cast<std::int64_t>(i) == target) continue;
    const long double q = problem.charge[i];
    if (q == 0) continue;
    const Vector d = displacement(problem, where, target, i);
    const long double r = norm(d);
    const long double width = problem.width.empty() ? 0 : problem.width[i];
    if (r < on_target && width == 0) {
      net += q;
      magnitude += std::abs(q);
      continue;
    }
    if (c > 0 && r >= 1.01L * c) continue;
    const TrueAction action = true_action(r, eps, options.screening_length, width, sizeof(T) == 4);
    const long double rho = action.m;
    const long double w = c > 0 ? std::max(0.0L, 1 - r * r / (c * c)) : 1;
    sum += q / rho * (w * w) * action.value;
    const long double along =
        q * (w * w / (rho * rho * rho) * action.slope + (c > 0 ? 4 * w / (rho * c * c) * action.value : 0));
    for (std::size_t axis = 0; axis < 3; ++axis) field[axis] += along * d[axis];
    const long double length = c > 0 ? std::min(rho, c) : rho;
    const long double error = std::abs(q) / rho * (relative + shift * largest_extent / length) * (c > 0 ? 2 : 1);
    const long double least = true_least(options.screening_length, sizeof(T) == 4);
    bound += error * action.value_bound + least;
    field_bound += 4 * error / length * action.slope_bound + least;
  }
  const long double f = options.unit_factor;
  Truth result{static_cast<double>(f * sum), static_cast<double>(f * bound), {}, static_cast<double>(f * field_bound)};
  for (std::size_t axis = 0; axis < 3; ++axis) result.field[axis] = static_cast<double>(f * field[axis]);
  if (options.singular == Singular::infinite && std::abs(net) > 1e-12L * magnitude) {
    result.potential = net > 0 ? infinity : -infinity;
    result.field = {NAN, NAN, NAN};
  }
  return result;
}

/// Returns the number of charges other than 0 that lie on a lattice point. For other targets, returns the number of
/// targets that lie on such a charge.
inline std::int32_t true_info(const Problem& problem, const Where& where, const PotentialOptions& options) {
  const double on_target = singular_distance(problem, where, options);
  std::vector<bool> charge_on(problem.charge.size());
  std::int32_t targets_on = 0;
  for (std::int64_t target = 0; target < target_count(problem, where); ++target) {
    bool any = false;
    for (std::size_t i = 0; i < problem.charge.size(); ++i) {
      if (problem.charge[i] == 0 || (!problem.width.empty() && problem.width[i] > 0)) continue;
      if (where.kind == at_charges && static_cast<std::int64_t>(i) == target) continue;
      if (norm(displacement(problem, where, target, i)) >= on_target) continue;
      any = charge_on[i] = true;
    }
    if (any) ++targets_on;
  }
  if (where.kind != TargetKind::lattice) return targets_on;
  return static_cast<std::int32_t>(std::count(charge_on.begin(), charge_on.end(), true));
}

/// Compares every target of problem `which` with the truth: the potential, and the field if there is one.
template <class T>
Comparison compare_with_truth(const Answer<T>& answer, const Problem& problem, const Where& where,
                              const PotentialOptions& options = {}, std::int64_t which = 0) {
  const long double largest_extent = extent(problem, where);
  const std::int64_t begin = answer.begin[static_cast<std::size_t>(which)];
  Comparison comparison;
  const auto add = [&](T got, double expected, double bound, std::int64_t target) {
    const double value = static_cast<double>(got);
    const double error =
        std::isnan(expected) ? (std::isnan(value) ? 0 : infinity) : error_over_bound(value, expected, bound);
    comparison.add(error, target);
  };
  for (std::int64_t target = 0; target < target_count(problem, where); ++target) {
    const Truth expected = truth<T>(problem, where, target, options, largest_extent);
    const auto at = static_cast<std::size_t>(begin + target);
    add(answer.potential[at], expected.potential, expected.bound, target);
    if (answer.field.empty()) continue;
    for (std::size_t axis = 0; axis < 3; ++axis)
      add(answer.field[3 * at + axis], expected.field[axis], expected.field_bound, target);
  }
  return comparison;
}

inline void expect_agrees(const Comparison& found, std::source_location where = std::source_location::current()) {
  EXPECT_GT(found.compared, 0);
  EXPECT_TRUE(found.agree()) << found.disagreeing << " of " << found.compared << ", worst " << found.worst << " at "
                             << found.worst_index << ", line " << where.line();
}

/// Returns whether two arrays have the same bits. Elements may be structs without gaps, such as PotentialSummary.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Calls body(T{}) for both precisions.
template <class Body>
void for_both_precisions(Body body) {
  body(float{});
  body(double{});
}

}  // namespace smallbatch::testing
