// Positions with more digits than a double has.
#pragma once

#include <Eigen/Core>
#include <cmath>

namespace smallbatch {

/// A position that is exactly high + low.
struct ShiftedPosition {
  Eigen::Array3d high, low;
};

/// Returns `position - origin` exactly: Dekker's fast two-sum, with the larger operand first.
inline ShiftedPosition shifted(const Eigen::Array3d& position, const Eigen::Array3d& origin) {
  ShiftedPosition exact;
  for (int axis = 0; axis < 3; ++axis) {
    const double p = position[axis], o = -origin[axis], high = p + o;
    exact.high[axis] = high;
    exact.low[axis] = std::abs(p) >= std::abs(o) ? (p - high) + o : (o - high) + p;
  }
  return exact;
}

}  // namespace smallbatch
