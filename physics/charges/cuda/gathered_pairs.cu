// Gathers the charges that form pairs, in their order. In inspect_kernel, a block checks one piece of a problem's
// charges and counts those that form pairs. In place_kernel, a warp adds the counts of one problem, which gives the
// destination of each piece. In gather_kernel, a block copies one piece. Each destination depends only on the problem.
#include "physics/charges/cuda/gathered_pairs.cuh"

namespace smallbatch {

namespace {

constexpr int gather_threads = 256;

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
  __syncthreads();  // the shared variables are 0
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
    if (charges.width != nullptr) {
      const double width = charges.width[place];
      if (!isfinite(width) || width < 0) my_faults |= not_finite;
      if (width > largest) my_faults |= out_of_range;
    }
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
  __syncthreads();  // all threads have counted
  if (threadIdx.x != 0) return;
  counts[blockIdx.x] = {rows, columns};
  ProblemState& state = states[piece.problem];
  if (faults != 0) atomicOr(&state.faults, faults);
  atomicMax(&state.extent, extent);
  atomicMax(&state.strongest, strongest);
}

/// Returns the sum over the lanes up to and including this one.
__device__ std::int64_t sum_up_to_lane(std::int64_t mine) {
  const int lane = threadIdx.x % warp_lanes;
  for (int distance = 1; distance < warp_lanes; distance *= 2) {
    const std::int64_t before = __shfl_up_sync(whole_warp, mine, distance);
    if (lane >= distance) mine += before;
  }
  return mine;
}

/// Replaces the counts of each piece by their sums over the previous pieces of its problem. A warp handles one problem.
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
    // If rows and columns are the same charges, they are gathered once.
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
      const double width = Single || charges.width == nullptr ? 0 : charges.width[place];
      GatheredPlace at{s[0], s[1], s[2], width < least_width ? 0 : 2 * width * width};
      if (Single) {
        at = {scale * (s[0] - origin[0]), scale * (s[1] - origin[1]), scale * (s[2] - origin[2]), 0};
        at.norm2 = fma(at.x, at.x, fma(at.y, at.y, at.z * at.z));
      }
      gathered.place[to] = at;
      gathered.charge[to] = Single ? charges.charge[place] : scale * charges.charge[place];
      gathered.source[to] = place;
    }
    __syncthreads();  // all threads have read the counts
  }
}

}  // namespace

cudaError_t launch_gathering(const ChargeBatch& charges, std::int64_t charge_count, const PairEnergyOptions& options,
                             ProblemState* states, PieceCounts* counts, const Gathered& gathered,
                             double* energy_per_charge, cudaStream_t stream) {
  const auto problems = static_cast<std::size_t>(charges.count);
  const cudaError_t status = cudaMemsetAsync(states, 0, problems * sizeof(ProblemState), stream);
  if (status != cudaSuccess) return status;
  const auto pieces = static_cast<unsigned>(blocks_of(charges.count, charge_count, charges_per_piece));
  inspect_kernel<<<pieces, gather_threads, 0, stream>>>(charges, largest_input_of(options.precision), states, counts);
  constexpr int problems_per_block = gather_threads / warp_lanes;
  place_kernel<<<static_cast<unsigned>((charges.count + problems_per_block - 1) / problems_per_block), gather_threads,
                 0, stream>>>(charges, states, counts);
  const auto gather = gathers_as_given(charges, options) ? gather_kernel<false> : gather_kernel<true>;
  gather<<<pieces, gather_threads, 0, stream>>>(charges, options, states, counts, gathered, energy_per_charge);
  return cudaGetLastError();
}

}  // namespace smallbatch
