// U = f sum q_i q_j g(r_ij) over the pairs of two groups of charges, or of one set. Three short kernels first gather
// the charges that form pairs, so that no lane idles. Then each block sums the pairs of 256 rows with a piece of the
// columns, and stores their energy. Finally a block for each problem adds these energies. Every sum has a fixed order,
// which depends only on the problem.
#include <algorithm>

#include "physics/charges/cuda/pair_tiles.cuh"
#include "physics/charges/potential_checks.hpp"

namespace smallbatch {

namespace {

/// Number of columns of a piece: a multiple of 2048, large enough that a problem has at most 64 pieces.
constexpr std::int64_t least_columns_per_piece = 2048, most_pieces = 64;
constexpr std::int64_t columns_per_piece(std::int64_t columns) {
  const std::int64_t wanted = (columns + most_pieces - 1) / most_pieces;
  return (wanted + least_columns_per_piece - 1) / least_columns_per_piece * least_columns_per_piece;
}
constexpr std::int64_t pieces_of(std::int64_t columns) {
  return columns == 0 ? 0 : (columns - 1) / columns_per_piece(columns) + 1;
}

/// Energies of each block of rows with each piece of columns. Most problems have one piece. The energies of further
/// pieces are stored separately. Their positions in `more` follow from the problem's first charge, without a sum over
/// the previous problems. This works because a problem with more than one piece has at least least_columns_per_piece
/// charges.
struct Partials {
  double* first_pieces;  // (blocks)
  double* more;          // (blocks of problems with more than one piece, most_pieces - 1)

  static __host__ __device__ std::int64_t blocks_of_more(std::int64_t first) {
    return first / rows_per_block + first / least_columns_per_piece;
  }
  /// Returns the energy of block `block` of a problem's rows with piece `piece` of its columns. The problem's first
  /// charge is `first`, and its first block is `first_block`.
  __device__ double& at(std::int64_t first, std::int64_t first_block, std::int64_t block, std::int64_t piece) const {
    if (piece == 0) return first_pieces[first_block + block];
    return more[(blocks_of_more(first) + block) * (most_pieces - 1) + piece - 1];
  }
};

/// The pairs that a launch sums.
enum class Pass {
  between,       ///< group 1 as rows, group 2 as columns
  between_back,  ///< group 2 as rows, group 1 as columns
  each_once,     ///< the same charges as rows and columns, each pair once: the columns before the row
  each_twice,    ///< the same charges as rows and columns, each pair twice: all but the row's own charge
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

/// The tile of a block's rows and piece `k` of the columns.
__device__ PairTile tile_of(Pass pass, const PassSpans& spans, std::int64_t first_row, std::int64_t k) {
  const bool each_once = pass == Pass::each_once;
  const std::int64_t columns = spans.columns.count, each = columns_per_piece(columns);
  // If each pair counts once, a block needs only the columns up to its own last row.
  const std::int64_t end = each_once ? min(columns, first_row + rows_per_block) : columns;
  return {spans.rows,
          {spans.columns.first + k * each, max(std::int64_t{0}, min(each, end - k * each))},
          first_row,
          each_once || pass == Pass::each_twice,
          each_once};
}

/// Sums a block's rows over pieces of the columns, from piece blockIdx.y on in steps of gridDim.y.
template <bool Single, bool Cutoff, class Sums = PairSums>
__global__ void __launch_bounds__(pair_threads, 4)
    pair_kernel(ChargeBatch charges, Gathered gathered, PairEnergyOptions options, Pass pass, ProblemState* states,
                Partials partials, double* energy_per_charge) {
  __shared__ PairMemory memory;
  __shared__ RowSum all[rows_per_block];  // sums over all pieces of columns, for energies of charges
  __shared__ Piece piece;                 // shared, so that no registers keep it during the sums
  __shared__ PairTile tile;               // shared for the same reason
  if (threadIdx.x == 0) piece = piece_of(ChargesOf{charges.offset}, charges.count, rows_per_block, blockIdx.x);
  __syncthreads();  // the piece is there
  if (piece.first >= piece.last) return;
  ProblemState& state = states[piece.problem];
  const auto first_charge = [&] { return ChargesOf{charges.offset}(piece.problem); };
  const auto first_row = [&] { return piece.first - first_charge(); };  // the block's first row in its problem
  const auto spans = [&] { return spans_of(pass, state, first_charge()); };
  if (state.faults != 0 || first_row() >= spans().rows.count) return;
  const bool counts_pairs = pass == Pass::between || pass == Pass::each_once;

  const auto row_of = [&](int r) { return first_row() + r * pair_threads + threadIdx.x; };
  for (int r = 0; r < rows_per_thread && energy_per_charge != nullptr; ++r)
    all[threadIdx.x + r * pair_threads] = {0, 0, 0};
  for (std::int64_t k = blockIdx.y; k < pieces_of(spans().columns.count); k += gridDim.y) {
    if (threadIdx.x == 0) tile = tile_of(pass, spans(), first_row(), k);
    __syncthreads();  // the tile is there
    RowSum found[rows_per_thread];
    if constexpr (Single)
      sum_in_single<Cutoff>(charges, gathered, tile, state, options, memory, found);
    else
      sum_in_double<Sums>(gathered, tile, options, memory, found);
    const GatheredSpan rows = spans().rows;
    double energy = 0;
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (row_of(r) >= rows.count) continue;
      const double q = gathered.charge[rows.first + row_of(r)];
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
      const std::int64_t block = first_row() / rows_per_block;
      if (threadIdx.x == 0) partials.at(first_charge(), blockIdx.x - block, block, k) = energy;
    }
    __syncthreads();  // all threads have read the memory that the next piece overwrites
  }
  if (energy_per_charge == nullptr) return;
  const GatheredSpan rows = spans().rows;
#pragma unroll
  for (int r = 0; r < rows_per_thread; ++r) {
    if (row_of(r) >= rows.count) continue;
    const std::int64_t here = rows.first + row_of(r);
    const RowSum& sum = all[threadIdx.x + r * pair_threads];
    const double q = gathered.charge[here], scale = Single ? 1 : charge_scale_of(state);
    double half = unscaled_energy(q * sum.sum, 0.5 * options.unit_factor, scale);
    if (isinf(half)) atomicOr(&state.out_of_range, 1U);
    if (options.singular == Singular::infinite) {
      const double signed_factor = options.unit_factor * (q > 0 ? 1 : -1);
      if (sum.above > 0 || sum.below > 0) half = 0;  // pairs at one position decide
      if (sum.above > 0) half += signed_factor * HUGE_VAL;
      if (sum.below > 0) half -= signed_factor * HUGE_VAL;
    }
    energy_per_charge[gathered.source[here] - charges.offset[0]] = half;
  }
}

/// Adds the energies of a problem's blocks. A block handles one problem.
template <bool Single>
__global__ void __launch_bounds__(pair_threads)
    finish_kernel(ChargeBatch charges, PairEnergyOptions options, const ProblemState* states, Partials partials,
                  PairEnergyResult result) {
  const std::int64_t problem = blockIdx.x;
  const ProblemState& state = states[problem];
  const bool in_groups = charges.group != nullptr;
  const std::int64_t rows = state.faults != 0 ? 0 : state.rows, columns = in_groups ? state.columns : state.rows;
  const std::int64_t pieces = pieces_of(columns), units = (rows + rows_per_block - 1) / rows_per_block * pieces;
  const ChargesOf first_of{charges.offset};
  const std::int64_t first = first_of(problem), first_block = first_piece(first_of, problem, rows_per_block);
  Total sum;
  for (std::int64_t unit = threadIdx.x; unit < units; unit += pair_threads)
    sum.add(partials.at(first, first_block, unit / pieces, unit % pieces));
  const double whole = add_over_block<pair_threads>(sum.value(), [](double& one, double more) { one += more; });
  if (threadIdx.x != 0) return;
  double energy = unscaled_energy(whole, options.unit_factor, Single ? 1 : charge_scale_of(state));
  const bool beyond = isinf(energy) || state.out_of_range != 0;
  if (options.singular == Singular::infinite) {
    if (state.alike > 0 || state.unlike > 0) energy = 0;  // pairs at one position decide
    if (state.alike > 0) energy += options.unit_factor * HUGE_VAL;
    if (state.unlike > 0) energy -= options.unit_factor * HUGE_VAL;
  }
  result.energy[problem] = state.faults != 0 ? static_cast<double>(NAN) : energy;
  result.info[problem] = state.faults != 0 ? info_of_faults(state.faults)
                         : beyond          ? info_values_out_of_range
                                           : static_cast<std::int32_t>(min(state.alike + state.unlike, 0x7fffffffULL));
}

std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Parts of the workspace.
struct Workspace {
  ProblemState* states;
  PieceCounts* counts;
  Gathered gathered;
  Partials partials;
  std::size_t bytes = 0;

  Workspace(void* memory, std::int64_t problems, std::int64_t charges) {
    const auto take = [&]<class V>(V*& place, std::int64_t count) {
      place = reinterpret_cast<V*>(static_cast<char*>(memory) + bytes);
      bytes += padded(static_cast<std::size_t>(count) * sizeof(V));
    };
    take(states, problems);
    take(counts, blocks_of(problems, charges, charges_per_piece));
    take(gathered.place, charges);
    take(gathered.charge, charges);
    take(gathered.source, charges);
    take(partials.first_pieces, blocks_of(problems, charges, rows_per_block));
    take(partials.more, charges > least_columns_per_piece ? Partials::blocks_of_more(charges) * (most_pieces - 1) : 0);
  }
};

/// Number of blocks that fills the device. The grid's y dimension divides the pieces of the columns among blocks only
/// until a launch has this many blocks.
constexpr std::int64_t enough_blocks = 1 << 16;

using PairKernel = decltype(&pair_kernel<true, false>);
template <InteractionKind kind>
PairKernel interacting_kernel(const PairEnergyOptions& options) {
  if (options.precision == ScalarType::float32) return pair_kernel<false, false, InteractingPairSums<float, kind>>;
  return pair_kernel<false, false, InteractingPairSums<double, kind>>;
}
PairKernel kernel_of(const ChargeBatch& charges, const PairEnergyOptions& options) {
  switch (interaction_kind(charges, potential_options(options))) {
    case InteractionKind::screened:
      return interacting_kernel<InteractionKind::screened>(options);
    case InteractionKind::gaussian:
      return interacting_kernel<InteractionKind::gaussian>(options);
    case InteractionKind::plain:
      break;
  }
  if (all_pairs_in_double(options)) return pair_kernel<false, false>;
  return options.cutoff > 0 ? pair_kernel<true, true> : pair_kernel<true, false>;
}

template <bool Single>
void launch_passes(const ChargeBatch& charges, std::int64_t charge_count, const PairEnergyOptions& options,
                   const PairEnergyResult& result, const Workspace& work, cudaStream_t stream) {
  const PairKernel kernel = kernel_of(charges, options);
  const std::int64_t blocks = blocks_of(charges.count, charge_count, rows_per_block);
  const std::int64_t pieces = std::min(pieces_of(charge_count), (enough_blocks - 1) / blocks + 1);
  const bool in_groups = charges.group != nullptr;
  const auto sum = [&](Pass pass, bool of_charges) {
    // For energies of charges, one block sums a row over all pieces of the columns.
    const dim3 grid(static_cast<unsigned>(blocks), of_charges || pieces == 0 ? 1 : static_cast<unsigned>(pieces));
    kernel<<<grid, pair_threads, 0, stream>>>(charges, work.gathered, options, pass, work.states, work.partials,
                                              of_charges ? result.energy_per_charge : nullptr);
  };
  const bool of_charges = result.energy_per_charge != nullptr;
  sum(in_groups ? Pass::between : Pass::each_once, of_charges && in_groups);
  if (of_charges) sum(in_groups ? Pass::between_back : Pass::each_twice, true);
  finish_kernel<Single><<<static_cast<unsigned>(charges.count), pair_threads, 0, stream>>>(
      charges, options, work.states, work.partials, result);
}

}  // namespace

std::size_t pair_energies_workspace_bytes(std::int64_t problems, std::int64_t charge_count) {
  return Workspace(nullptr, problems, charge_count).bytes;
}

cudaError_t pair_energies(const ChargeBatch& charges, std::int64_t charge_count, const PairEnergyOptions& options,
                          const PairEnergyResult& result, void* workspace, cudaStream_t stream) {
  if (charges.count < 0 || charge_count < 0) return cudaErrorInvalidValue;
  if (!are_usable(charges, potential_options(options))) return cudaErrorInvalidValue;
  if (charges.count == 0) return cudaSuccess;
  if (charges.offset == nullptr || result.energy == nullptr || result.info == nullptr || workspace == nullptr ||
      (charge_count > 0 && (charges.position == nullptr || charges.charge == nullptr)))
    return cudaErrorInvalidValue;
  if (blocks_of(charges.count, charge_count, rows_per_block) > 0x7fffffff) return cudaErrorInvalidValue;
  const Workspace work(workspace, charges.count, charge_count);
  const cudaError_t status = launch_gathering(charges, charge_count, options, work.states, work.counts, work.gathered,
                                              result.energy_per_charge, stream);
  if (status != cudaSuccess) return status;
  if (gathers_as_given(charges, options))
    launch_passes<false>(charges, charge_count, options, result, work, stream);
  else
    launch_passes<true>(charges, charge_count, options, result, work, stream);
  return cudaGetLastError();
}

}  // namespace smallbatch
