// U = f sum q_i q_j g(r_ij) over the pairs of two groups of charges, or of one set. The charges that take part are
// gathered first (three short kernels), so that no lane idles; then a block takes 256 rows and a piece of the columns,
// and leaves their energy; then a block for each problem adds those up. Every sum has one fixed order, which depends on
// the problem alone.
//
// Single precision: what limits a sum over pairs at arbitrary places is instructions, three differences and three
// multiply-adds for r^2 beside the root. Here the tensor cores do them, in double precision:
//     r^2 = (-2 a, |a|^2) . (b, 1) + |b|^2
// is one multiply-add of matrices (16 x 4) (4 x 8) for 128 pairs. Its cancellation costs 2^-48 L^2 at most, L the
// largest distance from the origin: less than the rounding of coordinates to single precision does wherever r > 2^-20
// L. A multiply-add of matrices by itself leaves doubles; of one that lies in [2, 2^255) bits 3 places to the left are
// 2^-128 times it as a float, cut off, and of every smaller one they are negative, a NaN, or no normal float. So
// coordinates are scaled by the power of two that puts pairs which are too near below 4: their root is no number, and
// neither is the row's sum, which a warp then makes again in double precision, from the original coordinates. No
// instruction looks for them, but of the roots that are made on the arithmetic pipes, to relieve the special-function
// unit.
//
// Double precision: a thread has two rows, columns through shared memory, differences of the original coordinates.
#include <algorithm>

#include "physics/cuda/device.cuh"
#include "physics/cuda/pieces.cuh"
#include "physics/pair_energies.cuh"
#include "physics/pair_energy_range.hpp"
#include "physics/potential_checks.hpp"

namespace smallbatch {

namespace {

constexpr int charges_per_piece = 1024, gather_threads = 256;
constexpr int pair_threads = 128, pair_warps = pair_threads / warp_lanes;
constexpr int rows_per_tile = 16, columns_per_tile = 8;  // of the tensor cores
constexpr int tiles_per_warp = 4, rows_per_warp = tiles_per_warp * rows_per_tile;
/// Of so many of a warp's tiles a lane makes one root in four on the arithmetic pipes.
constexpr int tiles_with_software = 3;
constexpr int rows_per_block = pair_warps * rows_per_warp, rows_per_thread = rows_per_block / pair_threads;
constexpr int columns_staged = 128;
/// A lane has two columns of a tile.
constexpr int columns_per_sum = charges_per_sum / 2 * columns_per_tile;
static_assert(columns_staged % columns_per_sum == 0);

/// Columns of a piece: of a problem with so many, at most 64 pieces.
constexpr std::int64_t least_columns_per_piece = 4096, most_pieces = 64;
constexpr std::int64_t columns_per_piece(std::int64_t columns) {
  const std::int64_t wanted = (columns + most_pieces - 1) / most_pieces;
  return (wanted + least_columns_per_piece - 1) / least_columns_per_piece * least_columns_per_piece;
}
constexpr std::int64_t pieces_of(std::int64_t columns) {
  return columns == 0 ? 0 : (columns - 1) / columns_per_piece(columns) + 1;
}

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

/// A charge that takes part. Single precision: relative to the problem's first charge, scaled, with the square of the
/// norm; double precision: as it is given.
struct alignas(32) GatheredPlace {
  double x, y, z, norm2;
};
struct Gathered {
  GatheredPlace* place;  // of each problem the rows, then the columns, if they are others
  double* charge;        // scaled (pair_charge_scale) where sums are in double precision
  std::int64_t* source;  // where the charge lies in the batch
};

struct ChargesOf {
  const std::int64_t* offset;
  __device__ std::int64_t operator()(std::int64_t problem) const { return offset[problem] - offset[0]; }
};

enum Part : unsigned { row = 1, column = 2 };
__device__ unsigned part_of(const ChargeBatch& charges, std::int64_t place) {
  if (charges.charge[place] == 0) return 0;
  if (charges.group == nullptr) return row | column;
  return charges.group[place] == 1 ? row : charges.group[place] == 2 ? column : 0;
}

__device__ double shifted_norm(const double* position, const double* origin) {
  const double d[3] = {position[0] - origin[0], position[1] - origin[1], position[2] - origin[2]};
  return sqrt(square_of_norm(d));
}

__global__ void __launch_bounds__(gather_threads)
    inspect_kernel(ChargeBatch charges, double largest, ProblemState* states, PieceCounts* counts) {
  __shared__ unsigned faults;
  __shared__ unsigned long long extent, strongest;
  __shared__ int rows, columns;
  if (threadIdx.x == 0) {
    faults = 0;
    extent = strongest = 0;
    rows = columns = 0;
  }
  __syncthreads();  // these are 0
  const Piece piece = piece_of(ChargesOf{charges.offset}, charges.count, charges_per_piece, blockIdx.x);
  const double* origin = charges.position + 3 * charges.offset[piece.problem];
  unsigned my_faults = 0;
  double my_extent = 0, my_strongest = 0;
  int my_rows = 0, my_columns = 0;
  for (std::int64_t i = piece.first + threadIdx.x; i < piece.last; i += gather_threads) {
    const std::int64_t place = charges.offset[0] + i;
    const double* position = charges.position + 3 * place;
    const double q = charges.charge[place];
    if (!(fabs(q) <= largest)) my_faults |= isfinite(q) ? out_of_range : not_finite;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      if (!isfinite(position[axis])) my_faults |= not_finite;
      if (!(fabs(position[axis] - origin[axis]) <= largest)) my_faults |= out_of_range;
    }
    const unsigned part = part_of(charges, place);
    my_rows += (part & row) != 0 ? 1 : 0;
    my_columns += (part & column) != 0 ? 1 : 0;
    if (part == 0) continue;
    my_extent = fmax(my_extent, shifted_norm(position, origin));
    my_strongest = fmax(my_strongest, fabs(q));
  }
  if (my_faults != 0) atomicOr(&faults, my_faults);
  atomicAdd(&rows, my_rows);
  atomicAdd(&columns, my_columns);
  atomicMax(&extent, static_cast<unsigned long long>(__double_as_longlong(my_extent)));
  atomicMax(&strongest, static_cast<unsigned long long>(__double_as_longlong(my_strongest)));
  __syncthreads();  // all have counted
  if (threadIdx.x != 0) return;
  counts[blockIdx.x] = {rows, columns};
  ProblemState& state = states[piece.problem];
  if (faults != 0) atomicOr(&state.faults, faults);
  atomicMax(&state.extent, extent);
  atomicMax(&state.strongest, strongest);
}

/// The sum over the lanes up to this one.
__device__ std::int64_t sum_up_to_lane(std::int64_t mine) {
  const int lane = threadIdx.x % warp_lanes;
  for (int distance = 1; distance < warp_lanes; distance *= 2) {
    const std::int64_t before = __shfl_up_sync(whole_warp, mine, distance);
    if (lane >= distance) mine += before;
  }
  return mine;
}

/// A warp for each problem: where the charges of its pieces go.
__global__ void __launch_bounds__(gather_threads)
    place_kernel(ChargeBatch charges, ProblemState* states, PieceCounts* counts) {
  const std::int64_t problem = (static_cast<std::int64_t>(blockIdx.x) * gather_threads + threadIdx.x) / warp_lanes;
  const int lane = threadIdx.x % warp_lanes;
  if (problem >= charges.count) return;
  const ChargesOf first_of{charges.offset};
  const std::int64_t last = first_piece(first_of, problem + 1, charges_per_piece);
  PieceCounts before{0, 0};
  for (std::int64_t begin = first_piece(first_of, problem, charges_per_piece); begin < last; begin += warp_lanes) {
    const bool is_piece = begin + lane < last;
    const PieceCounts mine = is_piece ? counts[begin + lane] : PieceCounts{0, 0};
    const PieceCounts sum{sum_up_to_lane(mine.rows), sum_up_to_lane(mine.columns)};
    if (is_piece)
      counts[begin + lane] = {before.rows + sum.rows - mine.rows, before.columns + sum.columns - mine.columns};
    before.rows += __shfl_sync(whole_warp, sum.rows, warp_lanes - 1);
    before.columns += __shfl_sync(whole_warp, sum.columns, warp_lanes - 1);
  }
  if (lane != 0) return;
  states[problem].rows = before.rows;
  states[problem].columns = before.columns;
}

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

template <bool Single>
__global__ void __launch_bounds__(gather_threads)
    gather_kernel(ChargeBatch charges, PairEnergyOptions options, const ProblemState* states, const PieceCounts* counts,
                  Gathered gathered, double* energy_per_charge) {
  constexpr int warps = gather_threads / warp_lanes;
  __shared__ int of_warp[2][warps];
  const Piece piece = piece_of(ChargesOf{charges.offset}, charges.count, charges_per_piece, blockIdx.x);
  if (piece.first >= piece.last) return;
  const ProblemState& state = states[piece.problem];
  const std::int64_t first = ChargesOf{charges.offset}(piece.problem);
  std::int64_t next[2] = {first + counts[blockIdx.x].rows, first + state.rows + counts[blockIdx.x].columns};
  const double* origin = charges.position + 3 * charges.offset[piece.problem];
  const double scale = Single ? length_scale(state, options) : charge_scale_of(state);
  const int warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
  for (std::int64_t begin = piece.first; begin < piece.last; begin += gather_threads) {
    const std::int64_t i = begin + threadIdx.x, place = charges.offset[0] + i;
    const bool is_charge = i < piece.last;
    if (is_charge && energy_per_charge != nullptr)
      energy_per_charge[i] = state.faults != 0 ? static_cast<double>(NAN) : 0;
    const unsigned part = is_charge && state.faults == 0 ? part_of(charges, place) : 0;
    // Where rows are columns, they are gathered once.
    const bool wanted[2] = {(part & row) != 0, part == column};
    unsigned lanes[2];
#pragma unroll
    for (int set = 0; set < 2; ++set) {
      lanes[set] = __ballot_sync(whole_warp, wanted[set]);
      if (lane == 0) of_warp[set][warp] = __popc(lanes[set]);
    }
    __syncthreads();  // all warps have counted
#pragma unroll
    for (int set = 0; set < 2; ++set) {
      std::int64_t to = next[set] + __popc(lanes[set] & ((1U << lane) - 1));
      for (int w = 0; w < warps; ++w) {
        if (w < warp) to += of_warp[set][w];
        next[set] += of_warp[set][w];
      }
      if (!wanted[set]) continue;
      const double* s = charges.position + 3 * place;
      GatheredPlace at{s[0], s[1], s[2], 0};
      if (Single) {
        at = {scale * (s[0] - origin[0]), scale * (s[1] - origin[1]), scale * (s[2] - origin[2]), 0};
        at.norm2 = fma(at.x, at.x, fma(at.y, at.y, at.z * at.z));
      }
      gathered.place[to] = at;
      gathered.charge[to] = Single ? charges.charge[place] : scale * charges.charge[place];
      gathered.source[to] = place;
    }
    __syncthreads();  // all have read the counts
  }
}

/// Which pairs a launch sums.
enum class Pass {
  between,       ///< rows with columns
  between_back,  ///< columns with rows
  each_once,     ///< of one set, each pair once: columns before the row
  each_twice,    ///< of one set, all columns but the row itself
};

/// Gathered charges first .. first + count - 1.
struct GatheredSpan {
  std::int64_t first, count;
};
struct PassSpans {
  GatheredSpan rows, columns;
};
__device__ PassSpans spans_of(Pass pass, const ProblemState& state, std::int64_t first) {
  const GatheredSpan rows{first, state.rows}, columns{first + state.rows, state.columns};
  if (pass == Pass::between) return {rows, columns};
  if (pass == Pass::between_back) return {columns, rows};
  return {rows, rows};
}

/// What the columns give at a row: sum q_j g, and how many above and below 0 share its place.
struct RowSum {
  double sum;
  unsigned above, below;
};

/// What double precision adds up.
struct PairSums {
  Total total;
  double sum = 0;  // of the last few pairs
  unsigned above = 0, below = 0;

  __device__ void add(double q, const double (&d)[3], const PairEnergyOptions& options, double cutoff2) {
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
/// 0: none. As good as any whose square vanishes.
__device__ double cutoff_squared(const PairEnergyOptions& options) {
  const double cutoff = fmax(options.cutoff, 0x1p-500);
  return options.cutoff > 0 ? cutoff * cutoff : 0;
}

/// The columns first .. last - 1 but the row itself, by a warp in double precision, from the original coordinates.
__device__ RowSum sum_again(const ChargeBatch& charges, const Gathered& gathered, std::int64_t here, std::int64_t first,
                            std::int64_t last, const PairEnergyOptions& options) {
  const double* p = charges.position + 3 * gathered.source[here];
  const double cutoff2 = cutoff_squared(options);
  PairSums sums;
#pragma unroll 1
  for (std::int64_t j = first + threadIdx.x % warp_lanes; j < last; j += warp_lanes) {
    if (j == here) continue;
    const double* s = charges.position + 3 * gathered.source[j];
    sums.add(gathered.charge[j], {p[0] - s[0], p[1] - s[1], p[2] - s[2]}, options, cutoff2);
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

inline constexpr int oldest_architecture = std::min({__CUDA_ARCH_LIST__});

/// d = a b + c, 16 x 8 pairs of a warp: lane 4 g + t has a (g, t) and (g + 8, t), b (t, g), the columns 2 t and 2 t + 1
/// of c, whose rows are all the same, and of d row g there in d[0], d[1], row g + 8 in d[2], d[3].
__device__ __forceinline__ void multiply_tile(const double (&a)[2], double b, const double (&c)[4], double (&d)[4]) {
  if constexpr (oldest_architecture >= 900) {
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
        : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(b), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
  } else {
#pragma unroll
    for (int r = 0; r < 2; ++r)
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
          : "=d"(d[2 * r]), "=d"(d[2 * r + 1])
          : "d"(a[r]), "d"(b), "d"(c[2 * r]), "d"(c[2 * r + 1]));
  }
}

/// 2^-128 r2 as a float where r2 is in [2, 2^255); no positive number for what is smaller, no normal one below 4.
__device__ __forceinline__ float scaled_float(double r2) {
  return __uint_as_float(__funnelshift_l(__double2loint(r2), __double2hiint(r2), 3));
}
/// Where rows and columns stand that only fill up a tile: all others are nearer than 2^22 to 0.
inline constexpr double nowhere = 0x1p26;
/// What scaled_float() makes of 1/r.
inline constexpr double per_scaled_root = 0x1p-64;
/// Cutting r^2 off makes 1/r too large, by 0.72 2^-25 of it on average.
inline constexpr double mean_of_cut_off = 1 - 0.72 * 0x1p-25;

/// What the matrix of columns has of one.
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
  std::int64_t first_row;  // of the block, counted from the first of the rows
  bool meets_itself;       // rows and columns are one set
  bool each_once;
};

/// RowSums of rows threadIdx.x + k pair_threads of the block in double precision.
__device__ void sum_in_double(const Gathered& gathered, const PairTile& tile, const PairEnergyOptions& options,
                              PairMemory& shared, RowSum (&found)[rows_per_thread]) {
  auto& memory = shared.exact;
  const double cutoff2 = cutoff_squared(options);
  GatheredPlace here[rows_per_thread];
  std::int64_t own[rows_per_thread];
  PairSums sums[rows_per_thread];
#pragma unroll
  for (int k = 0; k < rows_per_thread; ++k) {
    own[k] = tile.rows.first + min(tile.first_row + k * pair_threads + threadIdx.x, tile.rows.count - 1);
    here[k] = gathered.place[own[k]];
  }
  for (std::int64_t begin = 0; begin < tile.columns.count; begin += columns_staged) {
    const auto staged = static_cast<int>(min(tile.columns.count - begin, std::int64_t{columns_staged}));
    __syncthreads();  // the columns before these have been read by all
    if (threadIdx.x < staged) {
      memory.place[threadIdx.x] = gathered.place[tile.columns.first + begin + threadIdx.x];
      memory.charge[threadIdx.x] = gathered.charge[tile.columns.first + begin + threadIdx.x];
    }
    __syncthreads();  // these are there
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
          sums[k].add(memory.charge[j], d, options, cutoff2);
        }
      }
#pragma unroll
      for (int k = 0; k < rows_per_thread; ++k) sums[k].settle();
    }
  }
#pragma unroll
  for (int k = 0; k < rows_per_thread; ++k) found[k] = {sums[k].total.value(), sums[k].above, sums[k].below};
}

/// The same in single precision.
template <bool Cutoff>
__device__ __forceinline__ void sum_in_single(const ChargeBatch& charges, const Gathered& gathered,
                                              const PairTile& tile, double scale, const PairEnergyOptions& options,
                                              PairMemory& shared, RowSum (&found)[rows_per_thread]) {
  auto& memory = shared.single;
  const int lane = threadIdx.x % warp_lanes, g = lane / 4, t = lane % 4;
  const int first_of_warp = threadIdx.x / warp_lanes * rows_per_warp;  // in the block
  const std::int64_t row0 = tile.first_row + first_of_warp;
  const double softening = scale * options.softening;
  double a[tiles_per_warp][2], total[tiles_per_warp][2];  // registers
#pragma unroll
  for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t row = row0 + i * rows_per_tile + 8 * r + g;
      const GatheredPlace place = row < tile.rows.count ? gathered.place[tile.rows.first + row]
                                                        : GatheredPlace{0, nowhere, 0, nowhere * nowhere};
      a[i][r] = t == 3 ? fma(softening, softening, place.norm2) : -2 * (t == 0 ? place.x : t == 1 ? place.y : place.z);
      total[i][r] = 0;
    }
  // w of 2^-128 rho^2
  const double cutoff = scale * options.cutoff;
  const auto per_cutoff2 = static_cast<float>(0x1p128 / (cutoff * cutoff) * (1 + 0x1p-20));
  const auto one = static_cast<float>(1 + softening * softening / (cutoff * cutoff));
  float lowest = 1;  // of the r^2 whose roots are made in software

  for (std::int64_t begin = 0; begin < tile.columns.count; begin += columns_staged) {
    __syncthreads();  // the columns before these have been read by all
    {
      const std::int64_t j = begin + threadIdx.x;
      const bool is_column = j < tile.columns.count;
      const GatheredPlace place =
          is_column ? gathered.place[tile.columns.first + j] : GatheredPlace{nowhere, 0, 0, nowhere * nowhere};
      memory.place[threadIdx.x] = {place.x, place.y, place.z, 1};
      memory.norm2[threadIdx.x] = place.norm2;
      memory.charge[threadIdx.x] = is_column ? static_cast<float>(gathered.charge[tile.columns.first + j]) : 0;
    }
    __syncthreads();  // these are there
    const auto staged = static_cast<int>(min(tile.columns.count - begin, std::int64_t{columns_staged}));
    // Column j of these has the place j + ahead among the rows of the warp's first tile.
    const std::int64_t ahead = tile.columns.first + begin - (tile.rows.first + row0);
    const bool compare = tile.meets_itself && ahead + columns_staged > 0 && (tile.each_once || ahead < rows_per_warp);
    const auto* const b = reinterpret_cast<const double*>(memory.place);
#pragma unroll 1
    for (int group = 0; group < staged; group += columns_per_sum) {
      float sum[tiles_per_warp][2] = {};
      const auto add = [&](int first, bool compared) __attribute__((always_inline)) {
        const double of_columns = b[4 * first + lane];
        double norm2[4];
        const auto address = static_cast<unsigned>(__cvta_generic_to_shared(memory.norm2 + first + 2 * t));
        asm volatile("ld.volatile.shared.v2.f64 {%0, %1}, [%2];" : "=d"(norm2[0]), "=d"(norm2[1]) : "r"(address));
        asm volatile("ld.volatile.shared.v2.f64 {%0, %1}, [%2];" : "=d"(norm2[2]), "=d"(norm2[3]) : "r"(address));
        const float2 q = *reinterpret_cast<const float2*>(memory.charge + first + 2 * t);
#pragma unroll
        for (int i = 0; i < tiles_per_warp; ++i) {
          double r2[4];
          multiply_tile(a[i], of_columns, norm2, r2);
#pragma unroll
          for (int v = 0; v < 4; ++v) {
            float x = scaled_float(r2[v]), charge = v % 2 == 0 ? q.x : q.y;
            if (compared) {
              const std::int64_t further = ahead + first + 2 * t + v % 2 - (i * rows_per_tile + 8 * (v / 2) + g);
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
              const bool in_software = v == 3 && i < tiles_with_software;
              if (in_software) lowest = fminf(lowest, x);
              add_root(x, charge, in_software, to);
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
        for (int r = 0; r < 2; ++r) total[i][r] += static_cast<double>(sum[i][r]);
    }
  }

  const bool too_near = !(lowest >= 0x1p-126F);
  const double unit = per_scaled_root * mean_of_cut_off * scale;
#pragma unroll
  for (int i = 0; i < tiles_per_warp; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      double sum = too_near ? static_cast<double>(NAN) : total[i][r];
      sum += __shfl_xor_sync(whole_warp, sum, 1);
      sum += __shfl_xor_sync(whole_warp, sum, 2);
      if (t == 0) memory.row[first_of_warp + i * rows_per_tile + 8 * r + g] = {unit * sum, 0, 0};
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
      if (lane == 0) memory.row[first_of_warp + place] = exact;
    }
  }
  __syncthreads();  // all rows are there
#pragma unroll
  for (int k = 0; k < rows_per_thread; ++k) found[k] = memory.row[threadIdx.x + k * pair_threads];
}

/// A block sums its rows over one piece of the columns after the other, from blockIdx.y on in steps of gridDim.y.
template <bool Single, bool Cutoff>
__global__ void __launch_bounds__(pair_threads, Single&& Cutoff ? 3 : 4)
    pair_kernel(ChargeBatch charges, Gathered gathered, PairEnergyOptions options, Pass pass, ProblemState* states,
                std::int64_t slots, double* partial, double* energy_per_charge) {
  __shared__ PairMemory memory;
  __shared__ RowSum all[rows_per_block];  // over all pieces of the columns, where charges' energies are wanted
  const Piece piece = piece_of(ChargesOf{charges.offset}, charges.count, rows_per_block, blockIdx.x);
  if (piece.first >= piece.last) return;
  ProblemState& state = states[piece.problem];
  const std::int64_t first = ChargesOf{charges.offset}(piece.problem);
  const PassSpans spans = spans_of(pass, state, first);
  PairTile tile{spans.rows, spans.columns, piece.first - first, pass == Pass::each_once || pass == Pass::each_twice,
                pass == Pass::each_once};
  if (state.faults != 0 || tile.first_row >= tile.rows.count) return;
  const bool counts_pairs = pass == Pass::between || pass == Pass::each_once;
  const std::int64_t columns = spans.columns.count, each = columns_per_piece(columns);
  // Where each pair counts once, a block looks at the columns up to its own last row.
  const std::int64_t end = tile.each_once ? min(columns, tile.first_row + rows_per_block) : columns;

  const auto row_of = [&](int r) { return tile.first_row + r * pair_threads + threadIdx.x; };
  for (int r = 0; r < rows_per_thread && energy_per_charge != nullptr; ++r)
    all[threadIdx.x + r * pair_threads] = {0, 0, 0};
  for (std::int64_t k = blockIdx.y; k * each < columns; k += gridDim.y) {
    tile.columns = {spans.columns.first + k * each, max(std::int64_t{0}, min(each, end - k * each))};
    RowSum found[rows_per_thread];
    if constexpr (Single)
      sum_in_single<Cutoff>(charges, gathered, tile, length_scale(state, options), options, memory, found);
    else
      sum_in_double(gathered, tile, options, memory, found);
    double energy = 0;
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (row_of(r) >= tile.rows.count) continue;
      const double q = gathered.charge[tile.rows.first + row_of(r)];
      energy += q * found[r].sum;
      if (energy_per_charge != nullptr) {
        RowSum& sum = all[threadIdx.x + r * pair_threads];
        sum = {sum.sum + found[r].sum, sum.above + found[r].above, sum.below + found[r].below};
      }
      if (!counts_pairs || found[r].above + found[r].below == 0) continue;
      atomicAdd(&state.alike, static_cast<unsigned long long>(q > 0 ? found[r].above : found[r].below));
      atomicAdd(&state.unlike, static_cast<unsigned long long>(q > 0 ? found[r].below : found[r].above));
    }
    if (counts_pairs) {
      energy = add_over_block<pair_threads>(energy, [](double& sum, double more) { sum += more; });
      if (threadIdx.x == 0) partial[blockIdx.x * slots + k] = energy;
    }
    __syncthreads();  // all have read what the next piece overwrites
  }
  if (energy_per_charge == nullptr) return;
#pragma unroll
  for (int r = 0; r < rows_per_thread; ++r) {
    if (row_of(r) >= tile.rows.count) continue;
    const std::int64_t here = tile.rows.first + row_of(r);
    const RowSum& sum = all[threadIdx.x + r * pair_threads];
    const double q = gathered.charge[here], scale = Single ? 1 : charge_scale_of(state);
    double half = unscaled_energy(q * sum.sum, 0.5 * options.unit_factor, scale);
    if (isinf(half)) atomicOr(&state.out_of_range, 1U);
    if (options.singular == Singular::infinite) {
      const double signed_factor = options.unit_factor * (q > 0 ? 1 : -1);
      if (sum.above > 0) half += signed_factor * HUGE_VAL;
      if (sum.below > 0) half -= signed_factor * HUGE_VAL;
    }
    energy_per_charge[gathered.source[here] - charges.offset[0]] = half;
  }
}

/// A block for each problem adds its blocks' energies.
template <bool Single>
__global__ void __launch_bounds__(pair_threads)
    finish_kernel(ChargeBatch charges, PairEnergyOptions options, const ProblemState* states, std::int64_t slots,
                  const double* partial, PairEnergyResult result) {
  const std::int64_t problem = blockIdx.x;
  const ProblemState& state = states[problem];
  const bool in_groups = charges.group != nullptr;
  const std::int64_t rows = state.faults != 0 ? 0 : state.rows, columns = in_groups ? state.columns : state.rows;
  const std::int64_t pieces = pieces_of(columns), units = (rows + rows_per_block - 1) / rows_per_block * pieces;
  const std::int64_t first = first_piece(ChargesOf{charges.offset}, problem, rows_per_block);
  Total sum;
  for (std::int64_t unit = threadIdx.x; unit < units; unit += pair_threads)
    sum.add(partial[(first + unit / pieces) * slots + unit % pieces]);
  const double whole = add_over_block<pair_threads>(sum.value(), [](double& one, double more) { one += more; });
  if (threadIdx.x != 0) return;
  double energy = unscaled_energy(whole, options.unit_factor, Single ? 1 : charge_scale_of(state));
  const bool beyond = isinf(energy) || state.out_of_range != 0;
  if (options.singular == Singular::infinite) {
    if (state.alike > 0) energy += options.unit_factor * HUGE_VAL;
    if (state.unlike > 0) energy -= options.unit_factor * HUGE_VAL;
  }
  result.energy[problem] = state.faults != 0 ? static_cast<double>(NAN) : energy;
  result.info[problem] = state.faults != 0 ? info_of_faults(state.faults)
                         : beyond          ? info_values_out_of_range
                                           : static_cast<std::int32_t>(min(state.alike + state.unlike, 0x7fffffffULL));
}

std::int64_t blocks_of(std::int64_t problems, std::int64_t charges, std::int64_t each) {
  return charges / each + problems;
}
std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Where everything lies in the workspace.
struct Workspace {
  ProblemState* states;
  PieceCounts* counts;
  Gathered gathered;
  double* partial;
  std::int64_t slots;  ///< of a block: one for each piece of the columns
  std::size_t bytes = 0;

  Workspace(void* memory, std::int64_t problems, const PairEnergySizes& sizes)
      : slots(std::max<std::int64_t>(1, pieces_of(std::min(sizes.charges, sizes.largest)))) {
    const auto take = [&]<class V>(V*& place, std::int64_t count) {
      place = reinterpret_cast<V*>(static_cast<char*>(memory) + bytes);
      bytes += padded(static_cast<std::size_t>(count) * sizeof(V));
    };
    take(states, problems);
    take(counts, blocks_of(problems, sizes.charges, charges_per_piece));
    take(gathered.place, sizes.charges);
    take(gathered.charge, sizes.charges);
    take(gathered.source, sizes.charges);
    take(partial, blocks_of(problems, sizes.charges, rows_per_block) * slots);
  }
};

template <bool Single>
void launch_passes(const ChargeBatch& charges, const PairEnergySizes& sizes, const PairEnergyOptions& options,
                   const PairEnergyResult& result, const Workspace& work, cudaStream_t stream) {
  const auto pieces = static_cast<unsigned>(blocks_of(charges.count, sizes.charges, charges_per_piece));
  const auto blocks = static_cast<unsigned>(blocks_of(charges.count, sizes.charges, rows_per_block));
  const bool in_groups = charges.group != nullptr;
  gather_kernel<Single><<<pieces, gather_threads, 0, stream>>>(charges, options, work.states, work.counts,
                                                               work.gathered, result.energy_per_charge);
  const auto sum = [&](Pass pass, bool of_charges) {
    // Rows' sums over all pieces of the columns are one block's.
    const dim3 grid(blocks, of_charges ? 1 : static_cast<unsigned>(work.slots));
    const auto kernel = Single && options.cutoff > 0 ? pair_kernel<Single, true> : pair_kernel<Single, false>;
    kernel<<<grid, pair_threads, 0, stream>>>(charges, work.gathered, options, pass, work.states, work.slots,
                                              work.partial, of_charges ? result.energy_per_charge : nullptr);
  };
  const bool of_charges = result.energy_per_charge != nullptr;
  sum(in_groups ? Pass::between : Pass::each_once, of_charges && in_groups);
  if (of_charges) sum(in_groups ? Pass::between_back : Pass::each_twice, true);
  finish_kernel<Single><<<static_cast<unsigned>(charges.count), pair_threads, 0, stream>>>(
      charges, options, work.states, work.slots, work.partial, result);
}

}  // namespace

std::size_t pair_energies_workspace_bytes(std::int64_t problems, const PairEnergySizes& sizes) {
  return Workspace(nullptr, problems, sizes).bytes;
}

cudaError_t pair_energies(const ChargeBatch& charges, const PairEnergySizes& sizes, const PairEnergyOptions& options,
                          const PairEnergyResult& result, void* workspace, cudaStream_t stream) {
  if (charges.count < 0 || sizes.charges < 0 || sizes.largest < 0) return cudaErrorInvalidValue;
  if (!are_usable(potential_options(options))) return cudaErrorInvalidValue;
  if (charges.count == 0) return cudaSuccess;
  if (charges.offset == nullptr || result.energy == nullptr || result.info == nullptr || workspace == nullptr ||
      (sizes.charges > 0 && (charges.position == nullptr || charges.charge == nullptr)))
    return cudaErrorInvalidValue;
  if (blocks_of(charges.count, sizes.charges, rows_per_block) > 0x7fffffff) return cudaErrorInvalidValue;
  const Workspace work(workspace, charges.count, sizes);
  const auto problems = static_cast<std::size_t>(charges.count);
  const cudaError_t status = cudaMemsetAsync(work.states, 0, problems * sizeof(ProblemState), stream);
  if (status != cudaSuccess) return status;
  const auto pieces = static_cast<unsigned>(blocks_of(charges.count, sizes.charges, charges_per_piece));
  inspect_kernel<<<pieces, gather_threads, 0, stream>>>(charges, largest_input_of(options.precision), work.states,
                                                        work.counts);
  constexpr int problems_per_block = gather_threads / warp_lanes;
  place_kernel<<<static_cast<unsigned>((charges.count + problems_per_block - 1) / problems_per_block), gather_threads,
                 0, stream>>>(charges, work.states, work.counts);
  if (all_pairs_in_double(options))
    launch_passes<false>(charges, sizes, options, result, work, stream);
  else
    launch_passes<true>(charges, sizes, options, result, work, stream);
  return cudaGetLastError();
}

}  // namespace smallbatch
