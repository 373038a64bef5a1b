// Skips charges that lie beyond the cut-off from all targets of a tile. Charges are first sorted along a Morton curve,
// so that neighbours in space are neighbours in memory. Each partial sum (partial_sums.hpp) has a box around its
// charges. A partial sum is skipped if this box is farther than the cut-off from the box around the targets. The terms
// of a skipped sum are exactly 0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace smallbatch {

/// Coordinates of `count` points, one array per axis.
struct Coordinates {
  std::int64_t count = 0;
  const double *x = nullptr, *y = nullptr, *z = nullptr;
};

/// Returns the indices of `positions` in their order along a Morton curve, which visits one octant of their box after
/// another. Equal positions keep their order.
std::vector<std::int64_t> spatial_order(const Coordinates& positions);

/// A box with edges along the axes.
struct Box {
  std::array<double, 3> low{}, high{};
};

/// Returns the box around `count` points; `count` is at least 1.
template <class T>
Box box_around(const T* x, const T* y, const T* z, std::int64_t count) {
  Box box{{x[0], y[0], z[0]}, {x[0], y[0], z[0]}};
  const T* const coordinates[3] = {x, y, z};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::int64_t i = 1; i < count; ++i) {
      const double c = coordinates[axis][i];
      box.low[axis] = c < box.low[axis] ? c : box.low[axis];
      box.high[axis] = c > box.high[axis] ? c : box.high[axis];
    }
  return box;
}
/// Returns the box around two boxes.
Box box_around(const Box& a, const Box& b);

/// The boxes around the charges of each partial sum of a problem.
class CutoffGroups {
 public:
  CutoffGroups() = default;
  explicit CutoffGroups(const Coordinates& charges);

  /// Writes to `out` the indices of partial sums that may have a charge within `reach` of a target in the box
  /// `targets`, in ascending order. Candidates are the sums in `from`, or all sums if `from` is null.
  void within(double reach, const Box& targets, const std::vector<std::int32_t>* from,
              std::vector<std::int32_t>& out) const;

 private:
  std::array<std::vector<double>, 3> low_, high_;
};

}  // namespace smallbatch
