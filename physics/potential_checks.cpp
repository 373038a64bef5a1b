#include "physics/potential_checks.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"

namespace smallbatch {

namespace {
[[noreturn]] void refuse(const std::string& problem, const std::string& why, const std::string& remedy) {
  throw Error(ErrorKind::bad_input, problem + " (" + why + "). " + remedy);
}

void check_shape(std::int64_t count, const LatticeBatch& lattice) {
  const auto [nx, ny, nz] = lattice.shape;
  const std::string shape = std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz);
  if (nx < 1 || ny < 1 || nz < 1)
    refuse("the lattice has no points", "shape " + shape, "Give a shape of at least 1 x 1 x 1.");
  std::int64_t values = std::numeric_limits<std::int64_t>::max() / 64;
  for (const std::int64_t factor : {nx, ny, nz, count})
    if (factor > 0) values /= factor;
  if (values == 0)
    refuse("the lattices have too many points to count", shape + " times " + std::to_string(count) + " problems",
           "Give a smaller shape.");
  if (lattice.first_plane < 0 || lattice.plane_count < 1 || lattice.first_plane > nz - lattice.plane_count)
    refuse("the planes asked for are not in the lattice",
           "first " + std::to_string(lattice.first_plane) + ", count " + std::to_string(lattice.plane_count) +
               ", the lattice has " + std::to_string(nz),
           "Ask for planes within 0 .. nz-1.");
}

void check_length(const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    refuse(std::string("the ") + name + " cannot be used", std::to_string(value) + " angstrom",
           "Give a finite length of 0 or more; 0 means none.");
}

void check_placement(std::int64_t p, const LatticeBatch& lattice) {
  const std::string problem = "problem " + std::to_string(p);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const double spacing = lattice.spacing[3 * p + axis], origin = lattice.origin[3 * p + axis];
    if (!(spacing > 0) || !std::isfinite(spacing))
      refuse("the spacing of " + problem + " cannot be used",
             std::to_string(spacing) + " on axis " + std::to_string(axis),
             "Give a positive, finite spacing in angstrom.");
    if (!std::isfinite(origin))
      refuse("the origin of " + problem + " cannot be used",
             std::to_string(origin) + " on axis " + std::to_string(axis), "Give a finite origin in angstrom.");
  }
}

void check_offsets(const char* what, std::int64_t p, const std::int64_t* offset) {
  if (offset[p] < 0 || offset[p + 1] < offset[p])
    refuse(std::string("the ") + what + " of problem " + std::to_string(p) + " cannot be found",
           "they would run from " + std::to_string(offset[p]) + " to " + std::to_string(offset[p + 1]),
           "Give offsets that start at 0 or above and never decrease.");
}
}  // namespace

void check_potential_call(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options) {
  if (charges.count < 0)
    refuse("the batch has a negative count", std::to_string(charges.count), "Give 0 or more problems.");
  check_length("softening", options.softening);
  check_length("cut-off", options.cutoff);
  if (targets.kind == TargetKind::lattice) check_shape(charges.count, targets.lattice);
  for (std::int64_t p = 0; p < charges.count; ++p) {
    if (targets.kind == TargetKind::lattice) check_placement(p, targets.lattice);
    check_offsets("charges", p, charges.offset);
    if (targets.kind == TargetKind::points) check_offsets("points", p, targets.points.offset);
  }
}

std::int64_t target_count(const ChargeBatch& charges, const TargetBatch& targets) {
  if (targets.kind == TargetKind::lattice)
    return charges.count * targets.lattice.plane_count * targets.lattice.shape.plane_points();
  const std::int64_t* offset = targets.kind == TargetKind::points ? targets.points.offset : charges.offset;
  return charges.count == 0 ? 0 : offset[charges.count] - offset[0];
}

}  // namespace smallbatch
