// Charges as simulation codes have them, x, y, z and q of each beside each other (float4, double4), and batches in
// which every problem has as many: what becomes of them is what the sums read. charge_layouts.cuh does the same on a
// GPU.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Charge i of xyzq (count, 4) goes to position (count, 3) and charge (count).
template <class T>
struct SplitCharge {
  const T* xyzq;
  double* position;
  double* charge;
  /// Of one charge.
  constexpr void operator()(std::int64_t i) const {
    for (int axis = 0; axis < 3; ++axis) position[3 * i + axis] = xyzq[4 * i + axis];
    charge[i] = xyzq[4 * i + 3];
  }
};

/// Problem p of those that have `each` items begins at p * each.
struct EvenOffset {
  std::int64_t each;
  std::int64_t* offset;  ///< (problems + 1)
  constexpr void operator()(std::int64_t p) const { offset[p] = p * each; }
};

}  // namespace smallbatch
#pragma GCC visibility pop
