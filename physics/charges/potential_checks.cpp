#include "physics/charges/potential_checks.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"

namespace smallbatch {

namespace {
bool has_points(const LatticeShape& shape) { return shape.nx >= 1 && shape.ny >= 1 && shape.nz >= 1; }
bool has_few_enough(std::int64_t problems, const LatticeShape& shape) {
  std::int64_t values = std::numeric_limits<std::int64_t>::max() / 64;
  for (const std::int64_t factor : {shape.nx, shape.ny, shape.nz, problems})
    if (factor > 0) values /= factor;
  return values > 0;
}
bool has_planes(const LatticeBatch& lattice) {
  return lattice.first_plane >= 0 && lattice.plane_count >= 1 &&
         lattice.first_plane <= lattice.shape.nz - lattice.plane_count;
}

void check_shape(std::int64_t count, const LatticeBatch& lattice) {
  const auto [nx, ny, nz] = lattice.shape;
  const std::string shape = std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz);
  if (!has_points(lattice.shape))
    throw Error(ErrorKind::bad_input, "the lattice has no points", "shape " + shape,
                "Give a shape of at least 1 x 1 x 1.");
  if (!has_few_enough(count, lattice.shape))
    throw Error(ErrorKind::bad_input, "the lattices have too many points to count",
                shape + " times " + std::to_string(count) + " problems", "Give a smaller shape.");
  if (!has_planes(lattice))
    throw Error(ErrorKind::bad_input, "the planes asked for are not in the lattice",
                "first " + std::to_string(lattice.first_plane) + ", count " + std::to_string(lattice.plane_count) +
                    ", the lattice has " + std::to_string(nz),
                "Ask for planes within 0 .. nz-1.");
}

bool is_cutoff(double length) { return length >= 0 && std::isfinite(length); }

void check_length(const char* what, double length) {
  if (!is_softening(length))
    throw Error(ErrorKind::bad_input, std::string("the ") + what + " cannot be used", text_of(length) + " angstrom",
                "Give 0, which means none, or a length from " + text_of(least_softening) + " to " +
                    text_of(largest_softening) + " angstrom.");
}

void check_options(const PotentialOptions& options) {
  check_length("softening", options.softening);
  check_length("screening length", options.screening_length);
  if (!is_cutoff(options.cutoff))
    throw Error(ErrorKind::bad_input, "the cut-off cannot be used", text_of(options.cutoff) + " angstrom",
                "Give a finite length of 0 or more; 0 means none.");
  if (!std::isfinite(options.unit_factor))
    throw Error(ErrorKind::bad_input, "the unit factor cannot be used", text_of(options.unit_factor),
                "Give a finite number.");
}

void check_interaction(bool has_widths, const PotentialOptions& options) {
  const bool is_screened = options.screening_length > 0;
  if (has_widths && (is_screened || options.softening > 0))
    throw Error(
        ErrorKind::bad_input,
        std::string("widths of charges cannot be used with a ") + (is_screened ? "screening length" : "softening"),
        "Gaussian charges have neither", "Leave out one of the two.");
}

void check_placement(std::int64_t p, const LatticeBatch& lattice) {
  const std::string problem = "problem " + std::to_string(p);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const double spacing = lattice.spacing[3 * p + axis], origin = lattice.origin[3 * p + axis];
    if (!(spacing >= least_spacing) || !std::isfinite(spacing))
      throw Error(ErrorKind::bad_input, "the spacing of " + problem + " cannot be used",
                  text_of(spacing) + " on axis " + std::to_string(axis),
                  "Give a finite spacing of at least " + text_of(least_spacing) + " angstrom.");
    if (!std::isfinite(origin))
      throw Error(ErrorKind::bad_input, "the origin of " + problem + " cannot be used",
                  text_of(origin) + " on axis " + std::to_string(axis), "Give a finite origin in angstrom.");
  }
}

void check_offsets(const char* what, std::int64_t p, const std::int64_t* offset) {
  if (offset[p] < 0 || offset[p + 1] < offset[p])
    throw Error(ErrorKind::bad_input,
                std::string("the ") + what + " of problem " + std::to_string(p) + " cannot be found",
                "they would run from " + std::to_string(offset[p]) + " to " + std::to_string(offset[p + 1]),
                "Give offsets that start at 0 or above and never decrease.");
}
}  // namespace

void check_potential_call(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options) {
  if (charges.count < 0)
    throw Error(ErrorKind::bad_input, "the batch has a negative count", std::to_string(charges.count),
                "Give 0 or more problems.");
  check_options(options);
  check_interaction(charges.width != nullptr, options);
  if (targets.kind == TargetKind::lattice) check_shape(charges.count, targets.lattice);
  for (std::int64_t p = 0; p < charges.count; ++p) {
    if (targets.kind == TargetKind::lattice) check_placement(p, targets.lattice);
    check_offsets("charges", p, charges.offset);
    if (targets.kind == TargetKind::points) check_offsets("points", p, targets.points.offset);
  }
}

bool are_usable(const ChargeBatch& charges, const PotentialOptions& options) {
  const bool is_screened = options.screening_length != 0;
  return is_softening(options.softening) && is_cutoff(options.cutoff) && std::isfinite(options.unit_factor) &&
         is_screening_length(options.screening_length) &&
         (charges.width == nullptr || (options.softening == 0 && !is_screened));
}

bool can_be_counted(std::int64_t problems, const LatticeBatch& lattice) {
  return has_points(lattice.shape) && has_few_enough(problems, lattice.shape) && has_planes(lattice);
}

std::int64_t target_count(const ChargeBatch& charges, const TargetBatch& targets) {
  if (targets.kind == TargetKind::lattice)
    return charges.count * targets.lattice.plane_count * targets.lattice.shape.plane_points();
  const std::int64_t* offset = targets.kind == TargetKind::points ? targets.points.offset : charges.offset;
  return charges.count == 0 ? 0 : offset[charges.count] - offset[0];
}

}  // namespace smallbatch
