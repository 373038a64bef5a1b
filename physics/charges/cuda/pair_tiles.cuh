// Sums sum_j q_j g(r_ij) over some columns j, for the 256 rows i of a block. Only physics/charges/cuda/ and a benchmark
// include this file.
//
// Single precision. The number of instructions limits a sum over pairs at arbitrary positions: r^2 needs three
// differences and three multiply-adds beside the root. Here the tensor cores compute r^2 = |a - b|^2, in double
// precision:
//
//     r^2 = (-2 a, |a|^2) . (b, 1) + |b|^2
//
// This is one multiply-add of matrices (16 x 4) (4 x 8) for 128 pairs. Its cancellation costs at most 2^-48 L^2, where
// L is the largest distance from the origin. Rounding the coordinates to single precision costs more wherever r > 2^-20
// L.
//
// The upper bits of r^2, moved 3 bits to the left, give a float. If r^2 is in [2, 2^255), the float is 2^-128 r^2,
// rounded towards 0. This float is subnormal if r^2 is below 4. If r^2 is below 2, the float is negative, a NaN or not
// normal. In both cases the hardware's reciprocal root is not a finite number. Coordinates are therefore scaled by the
// power of two that makes r^2 smaller than 4 for pairs that are too near. Then the row's sum is not finite, and a warp
// sums the row again in double precision, from the original coordinates. So no instruction has to test for such pairs.
//
// (lattice.cu computes some roots on the arithmetic pipes, to relieve the special-function unit. Here these would need
// an instruction that tests for near pairs, and do not pay off.)
//
// Double precision. A thread has two rows, reads columns through shared memory and takes differences of the original
// coordinates. Screened and Gaussian charges are summed in this way in both precisions. Their terms are in single
// precision if options.precision is float32.
#pragma once

#include <nv/target>

#include "physics/charges/cuda/gathered_pairs.cuh"
#include "physics/charges/cuda/interaction.cuh"

namespace smallbatch {

namespace {

constexpr int pair_threads = 128, pair_warps = pair_threads / warp_lanes;
constexpr int rows_per_tile = 16, columns_per_tile = 8;  // sizes of a tensor-core tile
constexpr int tiles_per_warp = 4, rows_per_warp = tiles_per_warp * rows_per_tile;
constexpr int rows_per_block = pair_warps * rows_per_warp, rows_per_thread = rows_per_block / pair_threads;
constexpr int columns_staged = 128;
/// Number of columns between two calls of settle(). A lane has two columns of a tile.
constexpr int columns_per_sum = charges_per_sum / 2 * columns_per_tile;
static_assert(columns_staged % columns_per_sum == 0);

/// Gathered charges first .. first + count - 1.
struct GatheredSpan {
  std::int64_t first, count;
};
/// Sum over the columns at a row: sum q_j g, and numbers of positive and of negative charges at the row's position.
struct RowSum {
  double sum;
  unsigned above, below;
};

/// Squared cut-off; 0 without a cut-off. A cut-off below 2^-500 counts as 2^-500, so that the square does not
/// underflow.
__device__ double cutoff_squared(const PairEnergyOptions& options) {
  const double cutoff = fmax(options.cutoff, 0x1p-500);
  return options.cutoff > 0 ? cutoff * cutoff : 0;
}

/// Sums of plain charges in double precision.
struct PairSums {
  struct Constants {
    const PairEnergyOptions& options;
    double cutoff2;
    explicit __device__ Constants(const PairEnergyOptions& of) : options(of), cutoff2(cutoff_squared(of)) {}
  };
  Total total;
  double sum = 0;  // of the last few pairs
  unsigned above = 0, below = 0;

  __device__ void add(double q, const double (&d)[3], double /*width2*/, const Constants& constants) {
    const auto& [options, cutoff2] = constants;
    constexpr double singular2 = singular_distance_of_points * singular_distance_of_points;
    const double r2 = square_of_norm(d);
    if (options.softening == 0 && r2 < singular2) {
      ++(q > 0 ? above : below);
      return;
    }
    double g = rsqrt(fma(options.softening, options.softening, r2));
    if (cutoff2 > 0) {
      const double w = fmax(0.0, 1 - r2 / cutoff2);
      g *= w * w;
    }
    sum = fma(q, g, sum);
  }
  __device__ void settle() {
    total.add(sum);
    sum = 0;
  }
};
/// Sums of screened and of Gaussian charges. Distances are in double precision. Terms are in T, or in double if they
/// would leave the range of T.
template <class T, InteractionKind kind>
struct InteractingPairSums {
  struct Constants {
    double softening2, cutoff2, per_length;
    explicit __device__ Constants(const PairEnergyOptions& options)
        : softening2(options.softening * options.softening),
          cutoff2(cutoff_squared(options)),
          per_length(per_length_of<double>(options.screening_length)) {}
  };
  Total total;
  T sum = 0;  // of the last few pairs
  unsigned above = 0, below = 0;

  /// Adds a pair; `width2` is 2 (w_i^2 + w_j^2).
  __device__ void add(double q, const double (&d)[3], double width2, const Constants& constants) {
    constexpr double singular2 = singular_distance_of_points * singular_distance_of_points;
    const double r2 = square_of_norm(d), rho2 = r2 + constants.softening2;
    if (rho2 < singular2 && constants.softening2 == 0 && (kind == InteractionKind::screened || width2 == 0)) {
      ++(q > 0 ? above : below);
      return;
    }
    const double w = constants.cutoff2 > 0 ? 1 - r2 / constants.cutoff2 : 1;
    if (!(w > 0)) return;
    const auto term = [&]<class U>(U charge) {
      const U per_length = kind == InteractionKind::screened
                               ? static_cast<U>(fmin(constants.per_length, largest_per_length<U>))
                               : root_of(static_cast<U>(width2)).per_rho;
      return charge * action<kind>(root_of(static_cast<U>(rho2)), per_length).g * static_cast<U>(w * w);
    };
    if (!is_single<T> || (rho2 > 0x1p-100 && rho2 < 0x1p120))
      sum += term(static_cast<T>(q));
    else
      total.add(term(q));
  }
  __device__ void settle() {
    total.add(static_cast<double>(sum));
    sum = 0;
  }
};

/// Sums the columns first .. last - 1, except the row itself, with all lanes of a warp. It sums in double precision,
/// from the original coordinates.
__device__ RowSum sum_again(const ChargeBatch& charges, const Gathered& gathered, std::int64_t here, std::int64_t first,
                            std::int64_t last, const PairEnergyOptions& options) {
  const double* p = charges.position + 3 * gathered.source[here];
  const PairSums::Constants constants(options);
  PairSums sums;
#pragma unroll 1
  for (std::int64_t j = first + threadIdx.x % warp_lanes; j < last; j += warp_lanes) {
    if (j == here) continue;
    const double* s = charges.position + 3 * gathered.source[j];
    sums.add(gathered.charge[j], {p[0] - s[0], p[1] - s[1], p[2] - s[2]}, 0, constants);
    sums.settle();
  }
#pragma unroll 1
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    const double more = __shfl_xor_sync(whole_warp, sums.total.value(), distance);
    sums.total.add(more);
    sums.above += __shfl_xor_sync(whole_warp, sums.above, distance);
    sums.below += __shfl_xor_sync(whole_warp, sums.below, distance);
  }
  return {__shfl_sync(whole_warp, sums.total.value(), 0), sums.above, sums.below};
}

/// Computes d = a b + c for 8 x 8 pairs of a warp.
__device__ __forceinline__ void multiply_half_tile(double a, double b, double c0, double c1, double& d0, double& d1) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
      : "=d"(d0), "=d"(d1)
      : "d"(a), "d"(b), "d"(c0), "d"(c1));
}

/// Computes d = a b + c for 16 x 8 pairs of a warp. Lane 4 g + t holds a (g, t) and (g + 8, t), and b (t, g). It holds
/// columns 2 t and 2 t + 1 of c; all rows of c are equal. It receives row g of d in these columns in d[0], d[1], and
/// row g + 8 in d[2], d[3].
__device__ __forceinline__ void multiply_tile(const double (&a)[2], double b, const double (&c)[4], double (&d)[4]) {
  NV_IF_ELSE_TARGET(
      NV_PROVIDES_SM_90,
      (asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
           : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
           : "d"(a[0]), "d"(a[1]), "d"(b), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));),
      (multiply_half_tile(a[0], b, c[0], c[1], d[0], d[1]); multiply_half_tile(a[1], b, c[2], c[3], d[2], d[3]);))
}

/// Loads two doubles of shared memory, twice on purpose. With one load the compiler copies the second half of c for
/// every tile.
__device__ __forceinline__ void load_twice(const double* from, double (&c)[4]) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(from));
  asm volatile("ld.volatile.shared.v2.f64 {%0, %1}, [%2];" : "=d"(c[0]), "=d"(c[1]) : "r"(address));
  asm volatile("ld.volatile.shared.v2.f64 {%0, %1}, [%2];" : "=d"(c[2]), "=d"(c[3]) : "r"(address));
}

/// Returns 2^-128 r2 as a float if r2 is in [2, 2^255). Below 4 the result is not a normal float, and below 2 it is not
/// positive.
__device__ __forceinline__ float scaled_float(double r2) {
  return __uint_as_float(__funnelshift_l(__double2loint(r2), __double2hiint(r2), 3));
}
/// Coordinate of padding rows and columns. The magnitudes of all other coordinates are below 2^22.
inline constexpr double nowhere = 0x1p26;
/// Factor that turns 1/sqrt(scaled_float(r^2)) into 1/r.
inline constexpr double per_scaled_root = 0x1p-64;
/// Corrects the mean error of scaled_float(), which rounds r^2 towards 0. This makes 1/r too large by 0.72 2^-25 on
/// average.
inline constexpr double correction_of_truncation = 1 - 0.72 * 0x1p-25;

/// A column (b, 1) of the second matrix.
struct alignas(32) StagedPlace {
  double x, y, z, one;
};
union PairMemory {
  struct {
    StagedPlace place[columns_staged];
    double norm2[columns_staged];
    float charge[columns_staged];
    RowSum row[rows_per_block];
  } single;
  struct {
    GatheredPlace place[columns_staged];
    double charge[columns_staged];
  } exact;
};

/// A block's rows, and the columns of one of its pieces.
struct PairTile {
  GatheredSpan rows, columns;
  std::int64_t first_row;  // the block's first row, counted from rows.first
  bool meets_itself;       // rows and columns are one set
  bool each_once;          // only columns before the row count
};

/// Computes the RowSums of rows threadIdx.x + k pair_threads of the block, from the original coordinates.
template <class Sums>
__device__ void sum_in_double(const Gathered& gathered, const PairTile& tile, const PairEnergyOptions& options,
                              PairMemory& shared, RowSum (&found)[rows_per_thread]) {
  auto& memory = shared.exact;
  const typename Sums::Constants constants(options);
  GatheredPlace here[rows_per_thread];
  std::int64_t own[rows_per_thread];
  Sums sums[rows_per_thread];
#pragma unroll
  for (int k = 0; k < rows_per_thread; ++k) {
    own[k] = tile.rows.first + min(tile.first_row + k * pair_threads + threadIdx.x, tile.rows.count - 1);
    here[k] = gathered.place[own[k]];
  }
  for (std::int64_t begin = 0; begin < tile.columns.count; begin += columns_staged) {
    const auto staged = static_cast<int>(min(tile.columns.count - begin, std::int64_t{columns_staged}));
    __syncthreads();  // all threads have read the previous columns
    if (threadIdx.x < staged) {
      memory.place[threadIdx.x] = gathered.place[tile.columns.first + begin + threadIdx.x];
      memory.charge[threadIdx.x] = gathered.charge[tile.columns.first + begin + threadIdx.x];
    }
    __syncthreads();  // the new columns are there
#pragma unroll 1
    for (int group = 0; group < staged; group += charges_per_sum) {
#pragma unroll 1
      for (int j = group; j < min(group + charges_per_sum, staged); ++j) {
        const GatheredPlace there = memory.place[j];
        const std::int64_t index = tile.columns.first + begin + j;
#pragma unroll
        for (int k = 0; k < rows_per_thread; ++k) {
          if (tile.meets_itself && (tile.each_once ? index >= own[k] : index == own[k])) continue;
          const double d[3] = {here[k].x - there.x, here[k].y - there.y, here[k].z - there.z};
          sums[k].add(memory.charge[j], d, here[k].norm2 + there.norm2, constants);
        }
      }
#pragma unroll
      for (int k = 0; k < rows_per_thread; ++k) sums[k].settle();
    }
  }
#pragma unroll
  for (int k = 0; k < rows_per_thread; ++k) found[k] = {sums[k].total.value(), sums[k].above, sums[k].below};
}

/// Computes the RowSums of rows threadIdx.x + k pair_threads of the block in single precision.
template <bool Cutoff>
__device__ __forceinline__ void sum_in_single(const ChargeBatch& charges, const Gathered& gathered,
                                              const PairTile& tile, const ProblemState& state,
                                              const PairEnergyOptions& options, PairMemory& shared,
                                              RowSum (&found)[rows_per_thread]) {
  auto& memory = shared.single;
  const int lane = threadIdx.x % warp_lanes, g = lane / 4, t = lane % 4;
  const int first_of_warp = threadIdx.x / warp_lanes * rows_per_warp;  // in the block
  const std::int64_t row0 = tile.first_row + first_of_warp;
  const double scale = length_scale(state, options), softening = scale * options.softening;
  double a[tiles_per_warp][2];                                       // in registers
  float sum[tiles_per_warp][2] = {}, total[tiles_per_warp][2] = {};  // in registers
#pragma unroll
  for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t row = row0 + i * rows_per_tile + 8 * r + g;
      const GatheredPlace place = row < tile.rows.count ? gathered.place[tile.rows.first + row]
                                                        : GatheredPlace{0, nowhere, 0, nowhere * nowhere};
      a[i][r] = t == 3 ? fma(softening, softening, place.norm2) : -2 * (t == 0 ? place.x : t == 1 ? place.y : place.z);
    }
  // Factors that give w from 2^-128 rho^2.
  const double cutoff = scale * options.cutoff;
  const auto per_cutoff2 = static_cast<float>(0x1p128 / (cutoff * cutoff) * (1 + 0x1p-20));
  const auto one = static_cast<float>(fma(0x1p-128 * softening * softening, static_cast<double>(per_cutoff2), 1.0));

  const auto columns = static_cast<int>(tile.columns.count);
#pragma unroll 1
  for (int begin = 0; begin < columns; begin += columns_staged) {
    __syncthreads();  // all threads have read the previous columns
    {
      const int j = begin + static_cast<int>(threadIdx.x);
      const bool is_column = j < columns;
      const GatheredPlace place =
          is_column ? gathered.place[tile.columns.first + j] : GatheredPlace{nowhere, 0, 0, nowhere * nowhere};
      memory.place[threadIdx.x] = {place.x, place.y, place.z, 1};
      memory.norm2[threadIdx.x] = place.norm2;
      memory.charge[threadIdx.x] = is_column ? static_cast<float>(gathered.charge[tile.columns.first + j]) : 0;
    }
    __syncthreads();  // the new columns are there
    // Staged column j is row j + ahead, counted from the warp's first row.
    const auto ahead =
        static_cast<int>(max(std::int64_t{-columns_staged},
                             min(tile.columns.first + begin - (tile.rows.first + row0), std::int64_t{rows_per_warp})));
    const bool compare = tile.meets_itself && ahead + columns_staged > 0 && (tile.each_once || ahead < rows_per_warp);
    const auto* const b = reinterpret_cast<const double*>(memory.place);
#pragma unroll 1
    for (int group = 0; group < min(columns_staged, columns - begin); group += columns_per_sum) {
      const auto add = [&](int first, bool compared) __attribute__((always_inline)) {
        const double of_columns = b[4 * first + lane];
        double norm2[4];
        load_twice(memory.norm2 + first + 2 * t, norm2);
        const float2 q = *reinterpret_cast<const float2*>(memory.charge + first + 2 * t);
#pragma unroll
        for (int i = 0; i < tiles_per_warp; ++i) {
          double r2[4];
          multiply_tile(a[i], of_columns, norm2, r2);
#pragma unroll
          for (int v = 0; v < 4; ++v) {
            float x = scaled_float(r2[v]), charge = v % 2 == 0 ? q.x : q.y;
            if (compared) {
              const int further = ahead + first + 2 * t + v % 2 - (i * rows_per_tile + 8 * (v / 2) + g);
              if (tile.each_once ? further >= 0 : further == 0) {
                x = 1;
                charge = 0;
              }
            }
            float& to = sum[i][v / 2];
            if constexpr (Cutoff) {
              const float w = saturate(fmaf(-x, per_cutoff2, one));
              to = fmaf(__fmul_rn(charge, w), __fmul_rn(inverse_sqrt(x), w), to);
            } else {
              to = fmaf(charge, inverse_sqrt(x), to);
            }
          }
        }
      };
      if (compare) {
#pragma unroll 1
        for (int first = group; first < group + columns_per_sum; first += columns_per_tile) add(first, true);
      } else {
#pragma unroll(Cutoff ? 1 : 2)
        for (int first = group; first < group + columns_per_sum; first += columns_per_tile) add(first, false);
      }
#pragma unroll
      for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r) settle(total[i][r], sum[i][r]);
    }
  }

  const double unit = per_scaled_root * correction_of_truncation * length_scale(state, options);
#pragma unroll
  for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      double whole = static_cast<double>(total[i][r]) + static_cast<double>(sum[i][r]);
      whole += __shfl_xor_sync(whole_warp, whole, 1);
      whole += __shfl_xor_sync(whole_warp, whole, 2);
      if (t == 0) memory.row[first_of_warp + i * rows_per_tile + 8 * r + g] = {unit * whole, 0, 0};
    }
  __syncwarp();  // the warp's rows are there
#pragma unroll 1
  for (int begin = 0; begin < rows_per_warp; begin += warp_lanes) {
    const int mine = begin + lane;
    const bool again = row0 + mine < tile.rows.count && !isfinite(memory.row[first_of_warp + mine].sum);
#pragma unroll 1
    for (unsigned bits = __ballot_sync(whole_warp, again); bits != 0; bits &= bits - 1) {
      const int place = begin + __ffs(bits) - 1;
      const std::int64_t here = tile.rows.first + row0 + place;
      const std::int64_t end = tile.columns.first + tile.columns.count;
      const RowSum exact =
          sum_again(charges, gathered, here, tile.columns.first, tile.each_once ? min(end, here) : end, options);
      __syncwarp();  // all lanes have read the sum that this one replaces
      if (lane == 0) memory.row[first_of_warp + place] = exact;
    }
  }
  __syncthreads();  // all rows are there
#pragma unroll
  for (int k = 0; k < rows_per_thread; ++k) found[k] = memory.row[threadIdx.x + k * pair_threads];
}

}  // namespace

}  // namespace smallbatch
