// Minimum, maximum and sum of the values of each problem, where they lie. Two kernels: a block for each piece of a
// problem's values, then a block for each problem adds its pieces up. Every sum has one fixed order.
#include <algorithm>

#include "physics/direct_sum_kernels.cuh"
#include "physics/pieces.cuh"

namespace smallbatch {

namespace {

constexpr std::int64_t values_per_piece = 1 << 15;
constexpr int summary_threads = 256;

__device__ void add(PotentialSummary& summary, const PotentialSummary& more) {
  summary.lowest = fmin(summary.lowest, more.lowest);
  summary.highest = fmax(summary.highest, more.highest);
  summary.sum += more.sum;
  summary.values += more.values;
}

/// Where the values of a problem lie.
struct Values {
  std::int64_t per_problem;
  const std::int64_t* offset;  // null: per_problem of each

  [[nodiscard]] __device__ std::int64_t first(std::int64_t problem) const {
    return offset != nullptr ? offset[problem] - offset[0] : problem * per_problem;
  }
};

template <class T>
__global__ void __launch_bounds__(summary_threads)
    piece_kernel(std::int64_t problems, Values values, const T* potential, PotentialSummary* partial) {
  const auto first_of = [&](std::int64_t problem) { return values.first(problem); };
  const Piece piece = piece_of(first_of, problems, values_per_piece, blockIdx.x);
  PotentialSummary summary;
  for (std::int64_t i = piece.first + threadIdx.x; i < piece.last; i += summary_threads) {
    const auto value = static_cast<double>(potential[i]);
    if (isfinite(value)) add(summary, {value, value, value, 1});
  }
  summary = add_over_block<summary_threads>(summary, add);
  if (threadIdx.x == 0) partial[blockIdx.x] = summary;
}

__global__ void __launch_bounds__(summary_threads)
    problem_kernel(Values values, const std::int32_t* info, const PotentialSummary* partial,
                   PotentialSummary* summaries) {
  const std::int64_t problem = blockIdx.x;
  const auto first_of = [&](std::int64_t p) { return values.first(p); };
  PotentialSummary summary;
  if (info[problem] >= 0)
    for (std::int64_t piece = first_piece(first_of, problem, values_per_piece) + threadIdx.x;
         piece < first_piece(first_of, problem + 1, values_per_piece); piece += summary_threads)
      add(summary, partial[piece]);
  summary = add_over_block<summary_threads>(summary, add);
  if (threadIdx.x == 0) summaries[problem] = summary;
}

}  // namespace

std::int64_t summary_pieces(std::int64_t problems, std::int64_t values) { return values / values_per_piece + problems; }

template <class T>
cudaError_t launch_summaries(std::int64_t problems, std::int64_t values, std::int64_t per_problem,
                             const std::int64_t* offset, const T* potential, const std::int32_t* info,
                             PotentialSummary* partial, PotentialSummary* summary, cudaStream_t stream) {
  const std::int64_t pieces = summary_pieces(problems, values);
  if (std::max(pieces, problems) > 0x7fffffff) return cudaErrorInvalidValue;
  const Values of{per_problem, offset};
  piece_kernel<<<static_cast<unsigned>(pieces), summary_threads, 0, stream>>>(problems, of, potential, partial);
  problem_kernel<<<static_cast<unsigned>(problems), summary_threads, 0, stream>>>(of, info, partial, summary);
  return cudaGetLastError();
}

template cudaError_t launch_summaries<float>(std::int64_t, std::int64_t, std::int64_t, const std::int64_t*,
                                             const float*, const std::int32_t*, PotentialSummary*, PotentialSummary*,
                                             cudaStream_t);
template cudaError_t launch_summaries<double>(std::int64_t, std::int64_t, std::int64_t, const std::int64_t*,
                                              const double*, const std::int32_t*, PotentialSummary*, PotentialSummary*,
                                              cudaStream_t);

}  // namespace smallbatch
