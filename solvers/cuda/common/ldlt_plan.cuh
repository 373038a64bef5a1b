// The number of lanes per system in the kernels of L D L^T, as measured to be best. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/tile.cuh"

namespace smallbatch {

namespace {

/// Plan of the general kernels, which take systems of any kind. The number of lanes decides the order of sums and thus
/// the last bits. It is chosen so that the kernels of plain systems add in the same order.
template <class T, int N>
struct LdltPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  static constexpr int lanes = N <= 16 ? 4 : N <= 32 ? (single ? 4 : 8) : (single ? 16 : 32);
  using General = Tile<T, N, lanes, false>;
  static constexpr int general_warps = 8;
};

}  // namespace

}  // namespace smallbatch
