// The referee's inner loop: sums over charges at a tile of targets, by Eigen arrays in double precision whose lanes
// hold targets; compiled once per instruction set (tile_*.cpp, all from the one body in tile_body.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "core/usable_kernels.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Most targets per call.
inline constexpr int tile_targets = 32;

/// Coordinates relative to the problem's origin; high + low is exact.
struct TileCharges {
  const double *high[3] = {}, *low[3] = {};
  const double* charge = nullptr;
  const double *counted = nullptr, *counted_in_field = nullptr;  ///< magnitudes, as the bounds of V and of E count them
  const double* width2 = nullptr;                                ///< squares of widths, of Gaussian charges
};
struct TileTargets {
  int count = 0;
  alignas(64) double high[3][tile_targets], low[3][tile_targets];
  alignas(64) double width2[tile_targets];  ///< as of the charges
};

/// What a pair at distance r, rho^2 = r^2 + softening^2, gives V, E and their bounds.
struct TileLaw {
  double softening2 = 0, softening2_low = 0;        ///< their sum is the square, as 1 / c^2 below
  double relative = 0, shift = 0;                   ///< a bound's factor is relative + shift / min(rho, c)
  double per_cutoff2 = 0, per_cutoff2_low = 0;      ///< 1 / c^2
  double reach2 = 0, per_last_digit_of_reach2 = 0;  ///< with a cut-off, bounds count charges with r^2 < reach2 alone
  double per_cutoff = 0;                            ///< 1 / c
  double per_screening_length = 0, per_screening_length_low = 0;
  double least_bound = 0;  ///< exp(-rho/l) counts as this much in a bound at least
};

/// Sums, for each target; `lost`: what their additions lost.
struct TileSums {
  alignas(64) double potential[tile_targets], potential_lost[tile_targets];
  alignas(64) double field[3][tile_targets], field_lost[3][tile_targets];  ///< where it is wanted
  alignas(64) double bound[tile_targets], field_bound[tile_targets];       ///< not yet times their constant factors
  alignas(64) double nearest2[tile_targets];  ///< least rho^2; where it is 0, the other sums are no numbers
};

/// Over the charges first .. last - 1. Targets from `count` up to the next full arrays are computed too, from whatever
/// lies there.
using TileLoop = void (*)(const TileCharges& charges, std::int64_t first, std::int64_t last, const TileTargets& targets,
                          const TileLaw& law, TileSums& sums);

/// One for each kind of interaction.
struct TileLoopOfKind {
  TileLoop plain, screened, gaussian;

  [[nodiscard]] TileLoop operator[](InteractionKind kind) const {
    return kind == InteractionKind::plain ? plain : kind == InteractionKind::screened ? screened : gaussian;
  }
};

/// One instruction set.
struct TileLoops {
  const char* name;
  /// By whether sums are exact (displacements with their low parts, terms and sums that keep what they lose; plain sums
  /// of terms right to some units in the last place are enough for single precision's bounds), whether fields are
  /// wanted, and whether there is a cut-off.
  TileLoopOfKind loop[2][2][2];
};

extern const TileLoops tile_loops_baseline;  ///< runs everywhere
extern const TileLoops tile_loops_avx2;      ///< x86-64 with AVX2 and FMA
extern const TileLoops tile_loops_avx512;    ///< x86-64 with AVX-512F

/// What this processor can run, best first; baseline is always the last.
inline std::vector<TileLoops> usable_tile_loops() {
  return usable_kernels<tile_loops_baseline, tile_loops_avx2, tile_loops_avx512>();
}

}  // namespace smallbatch
