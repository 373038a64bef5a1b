// The distribution of systems over lanes in the kernels of Gauss-Jordan elimination, as measured to be best. Private to
// solvers/cuda.
#pragma once

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/plain_systems.cuh"
#include "solvers/cuda/solve/gauss_jordan_tile.cuh"

namespace smallbatch {

namespace {

/// The distance between the pivot columns of neighbouring systems. With this distance, lanes that read or write these
/// columns meet different banks.
template <class L>
inline constexpr int columns_apart = L::lanes == 8 ? (L::lanes* L::rows + 15) / 16 * 16 + 8 : L::lanes* L::rows + 4;

template <class T, int N, int Lanes>
struct KeyedRows : Tile<T, N, Lanes, false> {
  static constexpr int column_pitch = columns_apart<Tile<T, N, Lanes, false>>;
};

/// Layout with an odd number of pieces from one row to the next, for any number of pieces in a row. Every address is
/// the sum of one address of the lane and a constant.
template <class T, int N, int Lanes>
struct PaddedRows : Tile<T, N, Lanes, false> {
  using Base = Tile<T, N, Lanes, false>;
  using Base::lanes, Base::piece, Base::pieces_per_row, Base::rows, Base::systems;
  static constexpr bool keyed = false;
  static constexpr int row_pitch = (pieces_per_row | 1) * piece;
  // The gaps `apart` and `skew` put rows of neighbouring systems that are read together into different banks, and
  // likewise their columns.
  static constexpr int apart = lanes == 8 && piece == 4 ? 2 : 4;  // pieces of a system beyond whole lines of 8
  static constexpr int skew = lanes == 4 ? 4 / piece : 0;         // pieces left free after every second system
  static constexpr int system_pieces = (N * row_pitch / piece - apart + 7) / 8 * 8 + apart;
  static constexpr int begin(int system) { return (system * system_pieces + system / 2 * skew) * piece; }
  static constexpr int numbers = begin(systems);
  static constexpr int column_pitch = columns_apart<Base>;
};

/// Plan of the kernels for plain systems; N is a multiple of 8. The number of lanes decides the last bits. It is
/// therefore equal for all sizes that the general kernel pads to the same size.
template <class T, int N>
struct GaussJordanPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  static constexpr int lanes = N <= 16 ? 4 : N > 32 ? 32 : single ? 8 : 16;
  using L = PaddedRows<T, N, lanes>;
  using Alone = KeyedRows<T, N, lanes>;  // layout of the kernel for x alone; more warps fit with it
  static constexpr int steps = N == 40 || N == 24 ? 8 : N > 32 ? 16 : lanes;
  static constexpr bool apart = N > 32 || !single;
  using Steps = Turns<steps, N == 32 && !single ? 8 : 4, apart>;
  static constexpr int warps = N == 8 ? 16 : N <= 32 && single ? 12 : 8;
  static constexpr int warps_elsewhere = N == 16 ? 8 : warps;  // the second argument of resident_blocks()
};

}  // namespace

}  // namespace smallbatch
