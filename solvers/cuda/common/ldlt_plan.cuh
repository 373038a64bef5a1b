// How systems lie in the lanes of the kernels of L D L^T; measured to be best. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/tile.cuh"

namespace smallbatch {

namespace {

/// Kernels that take all systems have the lanes of those for plain systems: the order of their sums decides the
/// last bits.
template <class T, int N>
struct LdltPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  static constexpr int lanes = N <= 16 ? 4 : N <= 32 ? (single ? 4 : 8) : (single ? 16 : 32);
  using General = Tile<T, N, lanes, false>;
  static constexpr int general_warps = 8;
};

}  // namespace

}  // namespace smallbatch
