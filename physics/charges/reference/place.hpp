// Where something lies, to more digits than a double has.
#pragma once

#include <Eigen/Core>
#include <cmath>

namespace smallbatch {

/// high + low, exactly.
struct Place {
  Eigen::Array3d high, low;
};

/// position - origin: the larger minus the difference gives the smaller as it was used.
inline Place shifted(const Eigen::Array3d& position, const Eigen::Array3d& origin) {
  Place place;
  for (int axis = 0; axis < 3; ++axis) {
    const double p = position[axis], o = -origin[axis], high = p + o;
    place.high[axis] = high;
    place.low[axis] = std::abs(p) >= std::abs(o) ? (p - high) + o : (o - high) + p;
  }
  return place;
}

}  // namespace smallbatch
