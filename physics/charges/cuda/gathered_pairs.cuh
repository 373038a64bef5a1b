// Gathered charges: the charges of a problem that form pairs. pair_energies() gathers them first. Private to
// physics/charges/cuda/.
#pragma once

#include "physics/charges/cuda/device.cuh"
#include "physics/charges/cuda/pieces.cuh"
#include "physics/charges/pair_energy_range.hpp"
#include "physics/pair_energies.cuh"

namespace smallbatch {

inline constexpr int charges_per_piece = 1024;

/// Facts about a problem. `extent` and `strongest` hold the bits of non-negative doubles. The bits have the same order
/// as the doubles, so atomicMax finds the maximum.
struct ProblemState {
  unsigned faults, out_of_range;
  unsigned long long extent,
      strongest;  // largest distance from the first charge, and largest magnitude, of charges that form pairs
  unsigned long long alike, unlike;  // numbers of pairs at one position, with charges of one sign and of opposite signs
  std::int64_t rows, columns;
};

/// Numbers of gathered charges in a piece. After place_kernel: in all previous pieces of the problem.
struct PieceCounts {
  std::int64_t rows, columns;
};

/// Position of a gathered charge. If gathers_as_given(), it is the position in the batch, and norm2 is 2 w^2. Otherwise
/// it is relative to the problem's first charge and scaled by length_scale(), and norm2 is its squared norm.
struct alignas(32) GatheredPlace {
  double x, y, z, norm2;
};
struct Gathered {
  GatheredPlace* place;  ///< for each problem rows, then columns; without groups rows alone
  double* charge;        ///< if gathers_as_given(), scaled by pair_charge_scale()
  std::int64_t* source;  ///< index of the charge in the batch
};

/// Whether gathered charges have the positions of the batch, neither shifted nor scaled.
constexpr bool gathers_as_given(const ChargeBatch& charges, const PairEnergyOptions& options) {
  return interaction_kind(charges, potential_options(options)) != InteractionKind::plain ||
         all_pairs_in_double(options);
}

/// Number of blocks, one for each piece of at most `each` charges (pieces.cuh).
constexpr std::int64_t blocks_of(std::int64_t problems, std::int64_t charges, std::int64_t each) {
  return charges / each + problems;
}

/// Inspects each problem and gathers its charges. `counts` has room for blocks_of(problems, charges, charges_per_piece)
/// elements. If `energy_per_charge` is not null, its elements become 0, or NaN in a problem with faults.
cudaError_t launch_gathering(const ChargeBatch& charges, std::int64_t charge_count, const PairEnergyOptions& options,
                             ProblemState* states, PieceCounts* counts, const Gathered& gathered,
                             double* energy_per_charge, cudaStream_t stream);

namespace {

struct ChargesOf {
  const std::int64_t* offset;
  __device__ std::int64_t operator()(std::int64_t problem) const { return offset[problem] - offset[0]; }
};

/// Returns the factor of coordinates in single precision, a power of two. The least distance that single precision can
/// handle is the largest of 2^-20 times the extent, 4 singular distances and 2^-60 angstrom. The factor scales this
/// distance to a number from 2 to 4. Pairs at a scaled distance below 2 have r^2 < 4, and are therefore summed again in
/// double precision (pair_tiles.cuh). These include all pairs at one position, however numbers are rounded.
__device__ double length_scale(const ProblemState& state, const PairEnergyOptions& options) {
  const double extent = __longlong_as_double(static_cast<long long>(state.extent));
  const double singular = options.softening > 0 ? 0 : 4 * singular_distance_of_points;
  return scalbn(1.0, 1 - ilogb(fmax(0x1p-20 * extent, fmax(singular, 0x1p-60))));
}
__device__ double charge_scale_of(const ProblemState& state) {
  return pair_charge_scale(__longlong_as_double(static_cast<long long>(state.strongest)));
}

}  // namespace

}  // namespace smallbatch
