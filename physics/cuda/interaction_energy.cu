// U = f sum_{i in group 1} sum_{j in group 2} q_i q_j g(|s_i - s_j|) of each problem, in double precision. Two kernels:
// a block for each piece of a problem's charges sums over its charges of group 1, one after the other, its threads
// sharing those of group 2; then a thread for each problem adds its pieces up. Every sum has one fixed order.
#include <algorithm>

#include "core/grid_stride.cuh"
#include "physics/cuda/device.cuh"
#include "physics/cuda/kernels.cuh"
#include "physics/cuda/pieces.cuh"

namespace smallbatch {

namespace {

constexpr std::int64_t charges_per_piece = 64;
constexpr int energy_threads = 128;

struct ChargesOf {
  const std::int64_t* offset;
  __device__ std::int64_t operator()(std::int64_t problem) const { return offset[problem] - offset[0]; }
};

__global__ void __launch_bounds__(energy_threads)
    piece_kernel(ChargeBatch charges, PotentialOptions options, double* partial) {
  const Piece piece = piece_of(ChargesOf{charges.offset}, charges.count, charges_per_piece, blockIdx.x);
  const std::int64_t begin = charges.offset[0];
  constexpr double singular2 = singular_distance_of_points * singular_distance_of_points;
  double energy = 0;
#pragma unroll 1
  for (std::int64_t i = begin + piece.first; i < begin + piece.last; ++i) {
    if (charges.group[i] != 1) continue;
    const double q = charges.charge[i];
    const double* s = charges.position + 3 * i;
    TargetSums sums;
    double singular = 0;
#pragma unroll 1
    for (std::int64_t j = charges.offset[piece.problem] + threadIdx.x; j < charges.offset[piece.problem + 1];
         j += energy_threads) {
      if (charges.group[j] != 2) continue;
      const double d[3] = {s[0] - charges.position[3 * j], s[1] - charges.position[3 * j + 1],
                           s[2] - charges.position[3 * j + 2]};
      const double r2 = square_of_norm(d);
      // A pair on one place is as infinite as its charges say.
      if (options.softening == 0 && r2 < singular2 && options.singular == Singular::infinite && q != 0 &&
          charges.charge[j] != 0)
        singular += (q > 0) == (charges.charge[j] > 0) ? HUGE_VAL : -HUGE_VAL;
      sums.add_charge(charges.charge[j], d, singular2, options);
    }
    energy += q * sums.others.value() + singular;
  }
  energy = add_over_block<energy_threads>(energy, [](double& sum, double more) { sum += more; });
  if (threadIdx.x == 0) partial[blockIdx.x] = energy;
}

/// One problem's pieces.
struct AddPieces {
  ChargeBatch charges;
  double factor;
  const std::int32_t* info;
  const double* partial;
  double* energy;
  __device__ void operator()(std::int64_t problem) const {
    const ChargesOf first_of{charges.offset};
    Total sum;
    double plain = 0;  // what is infinite stays so in this one
    for (std::int64_t piece = first_piece(first_of, problem, charges_per_piece);
         piece < first_piece(first_of, problem + 1, charges_per_piece); ++piece) {
      sum.add(partial[piece]);
      plain += partial[piece];
    }
    const double whole = factor * (isfinite(plain) ? sum.value() : plain);
    energy[problem] = has_values(info[problem]) ? whole : static_cast<double>(NAN);
  }
};

}  // namespace

std::int64_t energy_pieces(std::int64_t problems, std::int64_t charges) {
  return charges / charges_per_piece + problems;
}

cudaError_t launch_energies(const ChargeBatch& charges, std::int64_t charge_count, const PotentialOptions& options,
                            const std::int32_t* info, double* partial, double* energy, cudaStream_t stream) {
  const std::int64_t pieces = energy_pieces(charges.count, charge_count);
  if (pieces > 0x7fffffff) return cudaErrorInvalidValue;
  piece_kernel<<<static_cast<unsigned>(pieces), energy_threads, 0, stream>>>(charges, options, partial);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) return status;
  return launch_for_each_index(charges.count, AddPieces{charges, options.unit_factor, info, partial, energy}, stream);
}

}  // namespace smallbatch
