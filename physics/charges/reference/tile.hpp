// The referee's inner loop: sums over charges at a tile of targets. It uses Eigen arrays in double precision, with one
// target per lane. It is compiled once per instruction set (tile_*.cpp, all from the body in tile_body.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "core/usable_kernels.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Maximum number of targets per call.
inline constexpr int tile_targets = 32;

/// Charges of a problem. Coordinates are relative to the problem's origin; high + low is exact.
struct TileCharges {
  const double *high[3] = {}, *low[3] = {};
  const double* charge = nullptr;
  const double *counted = nullptr, *counted_in_field = nullptr;  ///< magnitudes, as the bounds of V and of E count them
  const double* width2 = nullptr;                                ///< squared widths of Gaussian charges
};
/// Targets of a tile, with coordinates as in TileCharges.
struct TileTargets {
  int count = 0;
  alignas(64) double high[3][tile_targets], low[3][tile_targets];
  alignas(64) double width2[tile_targets];  ///< squared widths, if targets are Gaussian
};

/// Constants that determine V, E and their bounds for a pair at distance r, with rho^2 = r^2 + softening^2.
struct TileLaw {
  double softening2 = 0, softening2_low = 0;        ///< softening^2 is the sum of both numbers
  double relative = 0, shift = 0;                   ///< a bound's factor is relative + shift / min(rho, c)
  double per_cutoff2 = 0, per_cutoff2_low = 0;      ///< 1 / c^2 is the sum of both numbers
  double reach2 = 0, per_last_digit_of_reach2 = 0;  ///< with a cut-off, bounds count only charges with r^2 < reach2
  double per_cutoff = 0;                            ///< 1 / c
  double per_screening_length = 0, per_screening_length_low = 0;
  double least_bound = 0;  ///< least_screening()
};

/// Sums at each target. The members with `lost` hold the rounding errors of the additions.
struct TileSums {
  alignas(64) double potential[tile_targets], potential_lost[tile_targets];
  alignas(64) double field[3][tile_targets], field_lost[3][tile_targets];  ///< only if the field is wanted
  alignas(64) double bound[tile_targets], field_bound[tile_targets];       ///< without their constant factors
  alignas(64) double nearest2[tile_targets];  ///< least rho^2; if it is 0, the other sums are invalid
};

/// Sums over the charges first .. last - 1. The last SIMD register of targets may be partly filled. The results in its
/// remaining lanes mean nothing.
using TileLoop = void (*)(const TileCharges& charges, std::int64_t first, std::int64_t last, const TileTargets& targets,
                          const TileLaw& law, TileSums& sums);

/// Loops for the three kinds of interaction.
struct TileLoopOfKind {
  TileLoop plain, screened, gaussian;

  [[nodiscard]] TileLoop operator[](InteractionKind kind) const {
    return kind == InteractionKind::plain ? plain : kind == InteractionKind::screened ? screened : gaussian;
  }
};

/// Loops of one instruction set.
struct TileLoops {
  const char* name;
  /// The indices say whether sums are exact, whether fields are wanted and whether there is a cut-off. Exact sums use
  /// displacements with their low parts and keep the rounding errors of terms and sums. For single precision's bounds
  /// plain sums suffice; their terms are right to a few units in the last place.
  TileLoopOfKind loop[2][2][2];
};

extern const TileLoops tile_loops_baseline;  ///< runs everywhere
extern const TileLoops tile_loops_avx2;      ///< x86-64 with AVX2 and FMA
extern const TileLoops tile_loops_avx512;    ///< x86-64 with AVX-512F

/// The loops that this processor can run, best first. The baseline is always last.
inline std::vector<TileLoops> usable_tile_loops() {
  return usable_kernels<tile_loops_baseline, tile_loops_avx2, tile_loops_avx512>();
}

}  // namespace smallbatch
