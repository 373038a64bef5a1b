// Positions of lattices, and of charges relative to them. Private to physics/charges/cuda/.
#pragma once

#include "physics/charges/cuda/device.cuh"

namespace smallbatch {

namespace {

/// Position of a problem's lattice.
struct Placement {
  double origin[3], spacing[3];
  std::int64_t points[3];
  double singular_distance;

  [[nodiscard]] __device__ double extent(int axis) const {
    return static_cast<double>(points[axis] - 1) * spacing[axis];
  }
  [[nodiscard]] __device__ double smallest_spacing() const { return fmin(fmin(spacing[0], spacing[1]), spacing[2]); }
};
__device__ __forceinline__ Placement placement(const LatticeBatch& lattice, std::int64_t problem) {
  Placement place;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    place.origin[axis] = lattice.origin[3 * problem + axis];
    place.spacing[axis] = lattice.spacing[3 * problem + axis];
  }
  place.points[0] = lattice.shape.nx;
  place.points[1] = lattice.shape.ny;
  place.points[2] = lattice.shape.nz;
  place.singular_distance = singular_distance_in_spacings * place.smallest_spacing();
  return place;
}

/// Returns lattice coordinate `index` minus the charge's coordinate. The first rounding happens after the subtraction.
/// Its result is small near a charge, and so is its rounding error.
__device__ double displacement(std::int64_t index, double spacing, ShiftedCoordinate charge) {
  return fma(static_cast<double>(index), spacing, -charge.shifted) - charge.low;
}

/// Squared distance of a charge to the nearest point of the lattice.
__device__ __forceinline__ double nearest_point2(const Placement& place, const ShiftedCoordinate (&s)[3]) {
  double d[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t index = nearest_index(s[axis].shifted, place.spacing[axis], place.points[axis]);
    d[axis] = displacement(index, place.spacing[axis], s[axis]);
  }
  return square_of_norm(d);
}

}  // namespace

}  // namespace smallbatch
