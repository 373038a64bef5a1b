// Skips charges that a cut-off makes ineffective at a few targets. Charges are first sorted along a Morton curve, so
// that neighbours in space are neighbours in memory. Each partial sum (partial_sums.hpp) has a box around its charges.
// A partial sum is skipped if its box lies beyond the cut-off from the box around the targets. A skipped sum would have
// added exactly 0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace smallbatch {

/// Three coordinates of many places, as arrays.
struct Coordinates {
  std::int64_t count = 0;
  const double *x = nullptr, *y = nullptr, *z = nullptr;
};

/// Order of the places along a curve that visits one octant of their box after another. Equal places keep their order.
std::vector<std::int64_t> spatial_order(const Coordinates& places);

/// A box with edges along the axes.
struct Box {
  std::array<double, 3> low{}, high{};
};

/// The box around `count` places (at least one).
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
/// The box around two boxes.
Box box_around(const Box& a, const Box& b);

/// The boxes of a problem's partial sums.
class CutoffGroups {
 public:
  CutoffGroups() = default;
  explicit CutoffGroups(const Coordinates& charges);

  /// Writes to `out` the partial sums that may have a charge within `reach` of a target in the box `targets`, in
  /// ascending order. Candidates are the sums in `from`, or all sums if `from` is null.
  void within(double reach, const Box& targets, const std::vector<std::int32_t>* from,
              std::vector<std::int32_t>& out) const;

 private:
  std::array<std::vector<double>, 3> low_, high_;
};

}  // namespace smallbatch
