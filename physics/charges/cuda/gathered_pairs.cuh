// The charges of a problem that take part in sums over pairs, gathered: what pair_energies.cu asks for first. Private
// to physics/*.cu.
#pragma once

#include "physics/charges/cuda/device.cuh"
#include "physics/charges/cuda/pieces.cuh"
#include "physics/charges/pair_energy_range.hpp"
#include "physics/pair_energies.cuh"

namespace smallbatch {

inline constexpr int charges_per_piece = 1024;

/// What is known of a problem. Maxima are of bits, whose order is that of the doubles that are not negative.
struct ProblemState {
  unsigned faults, out_of_range;
  unsigned long long extent, strongest;  // of the charges that take part: distance from the first charge, magnitude
  unsigned long long alike, unlike;      // pairs on one place whose product is above, below 0
  std::int64_t rows, columns;
};

/// Charges of a piece; then of those before it.
struct PieceCounts {
  std::int64_t rows, columns;
};

/// A charge that takes part. Single precision of plain charges: relative to the problem's first charge, scaled, with
/// the square of the norm; else as it is given, with 2 w^2 in place of the norm.
struct alignas(32) GatheredPlace {
  double x, y, z, norm2;
};
struct Gathered {
  GatheredPlace* place;  // of each problem the rows, then the columns, if they are others
  double* charge;        // scaled (pair_charge_scale) where places are as given
  std::int64_t* source;  // where the charge lies in the batch
};

/// Whether places are those of the batch.
constexpr bool gathers_as_given(const ChargeBatch& charges, const PairEnergyOptions& options) {
  return interaction_kind(charges, potential_options(options)) != InteractionKind::plain ||
         all_pairs_in_double(options);
}

/// Blocks for pieces of so many charges.
constexpr std::int64_t blocks_of(std::int64_t problems, std::int64_t charges, std::int64_t each) {
  return charges / each + problems;
}

/// Finds what is known of each problem, and gathers its charges; `counts` has room for blocks_of(problems, charges,
/// charges_per_piece). Sets the energies of charges, where they are wanted, to what those have that take no part.
cudaError_t launch_gathering(const ChargeBatch& charges, std::int64_t charge_count, const PairEnergyOptions& options,
                             ProblemState* states, PieceCounts* counts, const Gathered& gathered,
                             double* energy_per_charge, cudaStream_t stream);

namespace {

struct ChargesOf {
  const std::int64_t* offset;
  __device__ std::int64_t operator()(std::int64_t problem) const { return offset[problem] - offset[0]; }
};

/// What coordinates are multiplied by for single precision, a power of two: pairs nearer than this become nearer than
/// 4, of which 2 are missed, whatever rounding does.
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
