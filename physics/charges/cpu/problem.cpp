#include "physics/charges/cpu/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/charges/cpu/partial_sums.hpp"
#include "physics/charges/summed_in_double.hpp"
#include "physics/charges/value_range.hpp"

namespace smallbatch {

namespace {

double norm(const Exact (&s)[3]) {
  return std::sqrt(s[0].high * s[0].high + s[1].high * s[1].high + s[2].high * s[2].high);
}

template <class T>
std::int32_t input_status(const CpuTargets& targets, const double* position, const double* charge, const double* width,
                          std::int64_t count) {
  bool in_range = true;
  const auto add = [&](const double* at) {
    bool finite = true;
    for (int axis = 0; axis < 3; ++axis) {
      finite &= std::isfinite(at[axis]);
      if (targets.has_origin() && count > 0)
        in_range &= std::abs(at[axis] - targets.origin()[axis]) <= largest_input<T>;
    }
    return finite;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(charge[i]) || !add(position + 3 * i)) return info_charges_not_finite;
    if (width != nullptr && !(std::isfinite(width[i]) && width[i] >= 0)) return info_charges_not_finite;
    if (targets.has_origin())
      in_range &= std::abs(charge[i]) <= largest_input<T> && (width == nullptr || width[i] <= largest_input<T>);
  }
  if (!targets.on_lattice()) {
    for (std::int64_t i = 0; i < targets.count(); ++i)
      if (!add(targets.positions() + 3 * i)) return info_charges_not_finite;
  } else if (count > 0) {
    for (int axis = 0; axis < 3; ++axis)
      in_range &= static_cast<double>(targets.lattice_points(axis) - 1) * targets.spacing()[axis] <= largest_input<T>;
  }
  return in_range ? 0 : info_charges_out_of_range;
}

/// Squared distance to the nearest point of the lattice.
double nearest_point2(const CpuTargets& targets, const Exact (&s)[3]) {
  double r2 = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double h = targets.spacing()[axis];
    const Exact p = exact_product(nearest_index(s[axis].high, h, targets.lattice_points(axis)), h);
    const double d = (p.high - s[axis].high) + (p.low - s[axis].low);
    r2 += d * d;
  }
  return r2;
}

/// Adds to `points` the indices of the lattice points that may be closer than `radius` to s. Indices count from the
/// first point of plane lattice.first_plane.
void add_near_points(const CpuTargets& targets, const Exact (&s)[3], double radius, std::vector<std::int64_t>& points) {
  const LatticeBatch& lattice = targets.lattice();
  LatticeIndices range[3];
  for (int axis = 0; axis < 3; ++axis)
    range[axis] = near_indices(s[axis].high, targets.spacing()[axis], targets.lattice_points(axis), radius);
  range[2].first = std::max(range[2].first, lattice.first_plane);
  range[2].last = std::min(range[2].last, lattice.first_plane + lattice.plane_count - 1);
  for (std::int64_t z = range[2].first; z <= range[2].last; ++z)
    for (std::int64_t y = range[1].first; y <= range[1].last; ++y)
      for (std::int64_t x = range[0].first; x <= range[0].last; ++x)
        points.push_back(((z - lattice.first_plane) * lattice.shape.ny + y) * lattice.shape.nx + x);
}

/// Spatial order of `count` positions relative to the origin.
std::vector<std::int64_t> order_of(const double* position, const double* origin, std::int64_t count) {
  std::vector<double> relative[3];
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::int64_t i = 0; i < count; ++i)
      relative[axis].push_back(position[3 * i + static_cast<std::int64_t>(axis)] - origin[axis]);
  return spatial_order({count, relative[0].data(), relative[1].data(), relative[2].data()});
}

}  // namespace

CpuTargets::CpuTargets(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                       const double* target_width)
    : kind_(targets.kind), lattice_(&targets.lattice) {
  if (on_lattice()) {
    origin_ = lattice_->origin + 3 * problem;
    spacing_ = lattice_->spacing + 3 * problem;
    count_ = lattice_->shape.plane_points() * lattice_->plane_count;
    return;
  }
  const std::int64_t* const offset = are_charges() ? charges.offset : targets.points.offset;
  count_ = offset[problem + 1] - offset[problem];
  if (count_ == 0) return;
  positions_ = (are_charges() ? charges.position : targets.points.position) + 3 * offset[problem];
  origin_ = positions_;
  if (target_width != nullptr) widths_ = target_width + (offset[problem] - offset[0]);
}

double CpuTargets::singular_distance(const PotentialOptions& options) const {
  if (options.softening > 0) return 0;
  return on_lattice() ? singular_distance_in_spacings * smallest_spacing() : singular_distance_of_points;
}

double CpuTargets::smallest_spacing() const { return std::min({spacing_[0], spacing_[1], spacing_[2]}); }

void CpuTargets::find_position(std::int64_t index, Exact (&relative)[3]) const {
  if (on_lattice()) {
    const LatticeShape& shape = lattice_->shape;
    relative[0] = exact_product(index % shape.nx, spacing_[0]);
    relative[1] = exact_product(index / shape.nx % shape.ny, spacing_[1]);
    relative[2] = exact_product(index / shape.plane_points() + lattice_->first_plane, spacing_[2]);
  } else {
    for (int axis = 0; axis < 3; ++axis) relative[axis] = two_difference(positions_[3 * index + axis], origin_[axis]);
  }
}

template <class T>
CpuProblem prepare_cpu_problem(const ChargeBatch& charges, std::int64_t p, const CpuTargets& targets,
                               const PotentialOptions& options, bool wants_field) {
  const double* position = charges.position + 3 * charges.offset[p];
  const double* charge = charges.charge + charges.offset[p];
  const double* width = charges.width == nullptr ? nullptr : charges.width + charges.offset[p];
  const std::int64_t count = charges.offset[p + 1] - charges.offset[p];

  CpuProblem problem;
  problem.info = input_status<T>(targets, position, charge, width, count);
  if (problem.info < 0 || !targets.has_origin()) return problem;
  constexpr bool is_single = sizeof(T) == 4;
  const double singular_distance = targets.singular_distance(options);
  const bool truncated = options.cutoff > 0;
  double strongest = 0, nearest_length = singular_distance;  // lower limit of every r and width
  for (std::int64_t i = 0; i < count; ++i) {
    strongest = std::max(strongest, std::abs(charge[i]));
    if (width != nullptr && width[i] >= least_width) nearest_length = std::min(nearest_length, width[i]);
  }
  const bool may_leave = targets.on_lattice() && may_leave_range<T>(options, wants_field, count, nearest_length);
  problem.scale = charge_scale(static_cast<double>(count) * strongest, least_distance(options, nearest_length));
  const std::vector<std::int64_t> charge_order =
      truncated ? order_of(position, targets.origin(), count) : std::vector<std::int64_t>{};
  if (truncated && targets.are_charges())
    problem.order = charge_order;
  else if (truncated && !targets.on_lattice())
    problem.order = order_of(targets.positions(), targets.origin(), targets.count());
  if (targets.are_charges()) problem.own.assign(static_cast<std::size_t>(count), -1);

  std::int64_t on_points = 0, kept = 0;
  double extent = 0, nearest = 0;
  LargestValues largest;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t i = truncated ? charge_order[static_cast<std::size_t>(k)] : k;
    if (charge[i] == 0) continue;
    Exact s[3];
    for (int axis = 0; axis < 3; ++axis) s[axis] = two_difference(position[3 * i + axis], targets.origin()[axis]);
    for (int axis = 0; axis < 3; ++axis) {
      problem.exact[axis].push_back(s[axis].high);
      problem.exact[axis + 3].push_back(s[axis].low);
      if (is_single) problem.single[axis].push_back(static_cast<float>(s[axis].high));
    }
    problem.exact[6].push_back(problem.scale * charge[i]);
    const double spread = width == nullptr ? 0 : spread_of(width[i]);
    if (width != nullptr) problem.exact[7].push_back(spread);
    if (width != nullptr && is_single) problem.single[4].push_back(static_cast<float>(spread));
    if (targets.are_charges()) problem.own[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(kept);
    if (targets.on_lattice()) {
      const double r2 = nearest_point2(targets, s);
      const bool on_point = spread == 0 && r2 < singular_distance * singular_distance;
      if (on_point) ++on_points;
      if (may_leave)
        largest.add(std::abs(charge[i]),
                    on_point     ? targets.smallest_spacing()
                    : spread > 0 ? std::max(std::sqrt(r2), gaussian_length_in_widths * width[i])
                                 : std::sqrt(r2 + options.softening * options.softening),
                    options);
    }
    extent = std::max(extent, norm(s));
    if (is_single) {
      problem.single[3].push_back(static_cast<float>(charge[i]));
      // A target with a smaller rho is summed again in double precision.
      const double rho = near_radius<float>(norm(s), singular_distance, wants_field);
      if (!targets.on_lattice()) {
        if (kept % charges_per_partial_sum == 0) problem.near_squared.push_back(0);
        nearest = kept % charges_per_partial_sum == 0 ? rho : std::max(nearest, rho);
        problem.near_squared.back() = static_cast<float>(nearest * nearest);
      } else if (rho > options.softening) {
        add_near_points(targets, s, std::sqrt(rho * rho - options.softening * options.softening), problem.near_points);
      }
    }
    ++kept;
  }
  problem.info = static_cast<std::int32_t>(std::min<std::int64_t>(on_points, std::numeric_limits<std::int32_t>::max()));
  if (largest.leave_range<T>(options, wants_field)) problem.info = info_values_out_of_range;
  for (std::int64_t i = 0; i < targets.count() && !targets.on_lattice(); ++i) {
    Exact s[3];
    targets.find_position(i, s);
    extent = std::max(extent, norm(s));
  }
  if (targets.on_lattice())
    for (int axis = 0; axis < 3; ++axis)
      extent = std::max(extent, static_cast<double>(targets.lattice_points(axis)) * targets.spacing()[axis]);

  std::sort(problem.near_points.begin(), problem.near_points.end());
  problem.near_points.erase(std::unique(problem.near_points.begin(), problem.near_points.end()),
                            problem.near_points.end());
  problem.all_in_double = !is_single || leaves_single_range(options, wants_field, extent, strongest) ||
                          (truncated && (options.cutoff < least_length || options.softening > options.cutoff));
  if (truncated) {
    problem.groups = CutoffGroups({kept, problem.exact[0].data(), problem.exact[1].data(), problem.exact[2].data()});
    problem.reach =
        std::max(options.cutoff, 2 * singular_distance) * (1 + 0x1p-20) + extent * (is_single ? 0x1p-20 : 0x1p-49);
  }
  if (is_single && targets.on_lattice() && problem.near_points.empty() && !problem.all_in_double)
    for (auto& numbers : problem.exact) numbers = {};
  return problem;
}

template CpuProblem prepare_cpu_problem<float>(const ChargeBatch&, std::int64_t, const CpuTargets&,
                                               const PotentialOptions&, bool);
template CpuProblem prepare_cpu_problem<double>(const ChargeBatch&, std::int64_t, const CpuTargets&,
                                                const PotentialOptions&, bool);

}  // namespace smallbatch
