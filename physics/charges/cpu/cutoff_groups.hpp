// Which charges a cut-off leaves out for a few targets: charges are put in an order in which neighbours in space are
// neighbours in memory (Morton's), each partial sum (partial_sums.hpp) gets a box around its charges, and those whose
// box lies beyond the cut-off of the box around the targets are left out. They would have added exactly 0.
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

/// The places in the order of a curve that visits one octant of their box after the other; ties as they come.
std::vector<std::int64_t> spatial_order(const Coordinates& places);

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
Box box_around(const Box& a, const Box& b);

/// The boxes of a problem's partial sums.
class CutoffGroups {
 public:
  CutoffGroups() = default;
  explicit CutoffGroups(const Coordinates& charges);

  /// Those of the partial sums `from` (all, where it is null) that reach a target in `targets`, in ascending order.
  void within(double reach, const Box& targets, const std::vector<std::int32_t>* from,
              std::vector<std::int32_t>& out) const;

 private:
  std::array<std::vector<double>, 3> low_, high_;
};

}  // namespace smallbatch
