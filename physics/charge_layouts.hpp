// Conversions from the layouts of simulation codes to the layouts that direct_sum() and pair_energies() read.
// Simulation codes often store x, y, z and q of a charge together (float4, double4). Some codes give every problem the
// same number of charges. The header charge_layouts.cuh runs these conversions on a GPU.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Splits charges: element i of xyzq (count, 4) goes to position (count, 3) and charge (count).
template <class T>
struct SplitCharge {
  const T* xyzq;
  double* position;
  double* charge;
  /// Splits charge i.
  constexpr void operator()(std::int64_t i) const {
    for (int axis = 0; axis < 3; ++axis) position[3 * i + axis] = xyzq[4 * i + axis];
    charge[i] = xyzq[4 * i + 3];
  }
};

/// Offsets of problems that have `each` items each: problem p begins at p * each.
struct EvenOffset {
  std::int64_t each;
  std::int64_t* offset;  ///< (problems + 1)
  constexpr void operator()(std::int64_t p) const { offset[p] = p * each; }
};

}  // namespace smallbatch
#pragma GCC visibility pop
