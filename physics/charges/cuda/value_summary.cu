// Minimum, maximum and sum of values on the device, in rows: planes of lattices, or problems at points. Rows are cut
// into pieces of up to 4096 values, one warp each. If a row has more than one piece, a warp for each row then adds its
// pieces. Every sum has a fixed order, which depends only on the row's number of values.
#include <algorithm>

#include "physics/charges/cuda/device.cuh"
#include "physics/charges/cuda/kernels.cuh"
#include "physics/charges/cuda/pieces.cuh"

namespace smallbatch {

namespace {

constexpr std::int64_t values_per_piece = 4096;
constexpr int summary_threads = 256, warps_per_block = summary_threads / warp_lanes;

__device__ void add(PotentialSummary& summary, const PotentialSummary& more) {
  summary.lowest = fmin(summary.lowest, more.lowest);
  summary.highest = fmax(summary.highest, more.highest);
  summary.sum += more.sum;
  summary.values += more.values;
}

/// Adds the lanes' summaries. The result is valid in lane 0.
__device__ PotentialSummary add_over_warp(PotentialSummary summary) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    PotentialSummary more;
    more.lowest = __shfl_down_sync(whole_warp, summary.lowest, distance);
    more.highest = __shfl_down_sync(whole_warp, summary.highest, distance);
    more.sum = __shfl_down_sync(whole_warp, summary.sum, distance);
    more.values = __shfl_down_sync(whole_warp, summary.values, distance);
    add(summary, more);
  }
  return summary;
}

constexpr __host__ __device__ std::int64_t pieces_of(std::int64_t values) {
  return (values + values_per_piece - 1) / values_per_piece;
}

/// Index of the first piece of a row. If all rows have equally many values, no piece is empty. Otherwise the last piece
/// of a row may be empty (pieces.cuh).
struct FirstPiece {
  SummaryRows rows;
  __device__ std::int64_t first_value(std::int64_t row) const { return rows.offset[row] - rows.offset[0]; }
  __device__ std::int64_t operator()(std::int64_t row) const {
    if (rows.offset == nullptr) return row * pieces_of(rows.each);
    return first_piece([&](std::int64_t r) { return first_value(r); }, row, values_per_piece);
  }
};

__device__ Piece piece_at(const SummaryRows& rows, std::int64_t index) {
  const FirstPiece first_of{rows};
  if (rows.offset != nullptr)
    return piece_of([&](std::int64_t row) { return first_of.first_value(row); }, rows.rows, values_per_piece, index);
  const std::int64_t row = index / pieces_of(rows.each);
  const std::int64_t first = row * rows.each + index % pieces_of(rows.each) * values_per_piece;
  return {row, first, min(first + values_per_piece, (row + 1) * rows.each)};
}

template <class T>
__global__ void __launch_bounds__(summary_threads)
    piece_kernel(SummaryRows rows, std::int64_t pieces, const T* potential, PotentialSummary* of_piece) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warp_lanes;
  if (index >= pieces) return;
  const Piece piece = piece_at(rows, index);
  PotentialSummary summary;
#pragma unroll 8
  for (std::int64_t i = piece.first + threadIdx.x % warp_lanes; i < piece.last; i += warp_lanes) {
    const auto value = static_cast<double>(potential[i]);
    if (isfinite(value)) add(summary, {value, value, value, 1});
  }
  summary = add_over_warp(summary);
  if (threadIdx.x % warp_lanes == 0) of_piece[index] = summary;
}

__global__ void __launch_bounds__(summary_threads)
    row_kernel(SummaryRows rows, const PotentialSummary* of_piece, PotentialSummary* summaries) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warp_lanes;
  if (row >= rows.rows) return;
  const FirstPiece first_of{rows};
  const std::int64_t last = first_of(row + 1);
  PotentialSummary summary;
#pragma unroll 4
  for (std::int64_t piece = first_of(row) + threadIdx.x % warp_lanes; piece < last; piece += warp_lanes)
    add(summary, of_piece[piece]);
  summary = add_over_warp(summary);
  if (threadIdx.x % warp_lanes == 0) summaries[row] = summary;
}

bool one_piece_each(const SummaryRows& rows) { return rows.offset == nullptr && rows.each <= values_per_piece; }
std::int64_t blocks_of(std::int64_t warps) { return (warps + warps_per_block - 1) / warps_per_block; }
std::int64_t all_pieces(const SummaryRows& rows) {
  return rows.offset == nullptr ? rows.rows * pieces_of(rows.each) : rows.values / values_per_piece + rows.rows;
}

}  // namespace

std::int64_t summary_pieces(const SummaryRows& rows) { return one_piece_each(rows) ? 0 : all_pieces(rows); }

template <class T>
cudaError_t launch_summaries(const SummaryRows& rows, const T* potential, PotentialSummary* partial,
                             PotentialSummary* summary, cudaStream_t stream) {
  const std::int64_t pieces = all_pieces(rows);
  if (std::max(blocks_of(pieces), blocks_of(rows.rows)) > 0x7fffffff) return cudaErrorInvalidValue;
  PotentialSummary* const of_piece = one_piece_each(rows) ? summary : partial;
  piece_kernel<<<static_cast<unsigned>(blocks_of(pieces)), summary_threads, 0, stream>>>(rows, pieces, potential,
                                                                                         of_piece);
  if (of_piece != summary)
    row_kernel<<<static_cast<unsigned>(blocks_of(rows.rows)), summary_threads, 0, stream>>>(rows, partial, summary);
  return cudaGetLastError();
}

template cudaError_t launch_summaries<float>(const SummaryRows&, const float*, PotentialSummary*, PotentialSummary*,
                                             cudaStream_t);
template cudaError_t launch_summaries<double>(const SummaryRows&, const double*, PotentialSummary*, PotentialSummary*,
                                              cudaStream_t);

}  // namespace smallbatch
