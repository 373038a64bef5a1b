// The reductions of core/reductions.hpp in one kernel. A block takes one leaf of the tree at a time. A thread loads 16
// bytes of each row of the leaf, several rows ahead. A counter tells which block finishes last; that block joins the
// results of the leaves. No two threads add to the same state, so results do not depend on the order in which blocks
// finish.
#include <algorithm>

#include "core/reduction_tree.hpp"
#include "core/reductions.cuh"

namespace smallbatch {

namespace {

constexpr int threads = leaves_per_row, warp_lanes = 32, warps = threads / warp_lanes;
constexpr int rows_ahead = 4;  // the number of rows of a leaf is a multiple of this
constexpr unsigned whole_warp = 0xffffffffU;

/// The part of a row that one thread loads.
template <class T>
struct alignas(16) Word {
  static constexpr int values = 16 / sizeof(T);
  T value[values];
};
static_assert(threads * Word<float>::values == values_per_row<float>);
static_assert(threads * Word<double>::values == values_per_row<double>);

template <class T>
__device__ T from_lane_below(T state, int distance) {
  return __shfl_down_sync(whole_warp, state, distance);
}
template <class T>
__device__ CompensatedSum<T> from_lane_below(CompensatedSum<T> state, int distance) {
  return {from_lane_below(state.sum, distance), from_lane_below(state.lost, distance)};
}

/// Joins the states of `Lanes` neighbouring lanes, neighbours first. The result is valid in the first lane.
template <class Operation, int Lanes>
__device__ typename Operation::State join_lanes(typename Operation::State state) {
#pragma unroll
  for (int distance = 1; distance < Lanes; distance *= 2)
    state = Operation::join(state, from_lane_below(state, distance));
  return state;
}

/// Joins the states of a block's threads, neighbours first. The result is valid in thread 0.
template <class Operation>
__device__ typename Operation::State join_block(typename Operation::State state) {
  __shared__ typename Operation::State of_warp[warps];
  state = join_lanes<Operation, warp_lanes>(state);
  __syncthreads();  // the results of the previous call have been read
  if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = state;
  __syncthreads();  // the results of this call are complete
  return join_lanes<Operation, warps>(of_warp[threadIdx.x % warps]);
}

template <bool Aligned, class T>
__device__ __forceinline__ Word<T> load(const T* from) {
  if constexpr (Aligned) {
    return *reinterpret_cast<const Word<T>*>(from);
  } else {
    Word<T> word;
#pragma unroll
    for (int i = 0; i < Word<T>::values; ++i) word.value[i] = from[i];
    return word;
  }
}

/// Joins a thread's part of `Rows` rows: all loads first, then the additions.
template <class Operation, bool Aligned, int Rows, class T>
__device__ __forceinline__ void join_rows(const T* x, const T* y,
                                          typename Operation::State (&column)[Word<T>::values]) {
  Word<T> of_x[Rows], of_y[Rows];  // registers
#pragma unroll
  for (int row = 0; row < Rows; ++row) {
    of_x[row] = load<Aligned>(x + row * values_per_row<T>);
    if constexpr (reads_y<Operation>) of_y[row] = load<Aligned>(y + row * values_per_row<T>);
  }
#pragma unroll
  for (int row = 0; row < Rows; ++row)
#pragma unroll
    for (int i = 0; i < Word<T>::values; ++i) {
      T second = 0;
      if constexpr (reads_y<Operation>) second = of_y[row].value[i];
      column[i] = Operation::join(column[i], Operation::of(of_x[row].value[i], second));
    }
}

/// Returns the join of a thread's columns of a leaf with `count` values.
template <class Operation, bool Aligned, class T>
__device__ typename Operation::State join_columns(const T* x, const T* y, std::int64_t count) {
  constexpr int values = Word<T>::values;
  constexpr std::int64_t of_row = values_per_row<T>;
  typename Operation::State column[values];  // registers
#pragma unroll
  for (int i = 0; i < values; ++i) column[i] = Operation::empty();
  const int mine = static_cast<int>(threadIdx.x) * values;
  std::int64_t first = mine;
  const std::int64_t whole_rows = count - count % of_row;
#pragma unroll 1
  for (; first + (rows_ahead - 1) * of_row < whole_rows; first += rows_ahead * of_row)
    join_rows<Operation, Aligned, rows_ahead>(x + first, y + first, column);
#pragma unroll 1
  for (; first < whole_rows; first += of_row) join_rows<Operation, Aligned, 1>(x + first, y + first, column);
    // the beginning of an incomplete last row
#pragma unroll
  for (int i = 0; i < values; ++i)
    if (first + i < count) {
      T second = 0;
      if constexpr (reads_y<Operation>) second = y[first + i];
      column[i] = Operation::join(column[i], Operation::of(x[first + i], second));
    }
#pragma unroll
  for (int distance = 1; distance < values; distance *= 2)
#pragma unroll
    for (int i = 0; i + distance < values; i += 2 * distance)
      column[i] = Operation::join(column[i], column[i + distance]);
  return column[0];
}

template <class Operation, class T>
__global__ void __launch_bounds__(threads)
    reduce_kernel(const T* __restrict__ x, const T* __restrict__ y, std::int64_t count, std::int64_t of_leaf,
                  bool aligned, typename Operation::State* leaf, unsigned* finished, double* result) {
  __shared__ bool is_last;
  const std::int64_t leaves = (count + of_leaf - 1) / of_leaf;
  for (std::int64_t k = blockIdx.x; k < leaves; k += gridDim.x) {
    const std::int64_t first = k * of_leaf, values = min(of_leaf, count - first);
    const auto state = join_block<Operation>(aligned ? join_columns<Operation, true>(x + first, y + first, values)
                                                     : join_columns<Operation, false>(x + first, y + first, values));
    if (threadIdx.x == 0) leaf[k] = state;
  }
  if (threadIdx.x == 0) {
    __threadfence();  // the block's leaves are visible before the block counts as finished
    is_last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;  // atomicInc also sets the counter back to 0
    __threadfence();  // the leaves of all finished blocks are visible from here on
  }
  __syncthreads();  // is_last is set
  if (!is_last) return;
  typename Operation::State state = Operation::empty();
#pragma unroll 8
  for (std::int64_t k = threadIdx.x; k < leaves; k += threads) state = Operation::join(state, leaf[k]);
  state = join_block<Operation>(state);
  if (threadIdx.x == 0) *result = result_of<Operation>(state);
}

constexpr std::size_t bytes_before_leaves = 16;  // the counter, and padding for alignment

bool is_aligned(const void* array) { return reinterpret_cast<std::uintptr_t>(array) % sizeof(Word<float>) == 0; }

}  // namespace

std::size_t reduction_workspace_bytes(std::int64_t count) {
  return bytes_before_leaves + static_cast<std::size_t>(leaf_count(count)) * sizeof(CompensatedSum<double>);
}

template <class T>
cudaError_t launch_reduction(Reduction reduction, Accumulation accumulation, const T* x, const T* y, std::int64_t count,
                             double* result, void* workspace, cudaStream_t stream, unsigned blocks) {
  if (count < 0) return cudaErrorInvalidValue;
  const auto leaves = static_cast<unsigned>(leaf_count(count));
  const unsigned grid = std::max(1U, blocks == 0 ? leaves : std::min(blocks, leaves));
  return with_operation<T>(reduction, accumulation, [&]<class Operation>(Operation) {
    const bool aligned = is_aligned(x) && (!reads_y<Operation> || is_aligned(y));
    auto* const leaf =
        reinterpret_cast<typename Operation::State*>(static_cast<std::byte*>(workspace) + bytes_before_leaves);
    reduce_kernel<Operation><<<grid, threads, 0, stream>>>(x, y, count, leaf_values(count), aligned, leaf,
                                                           static_cast<unsigned*>(workspace), result);
    return cudaGetLastError();
  });
}

template cudaError_t launch_reduction(Reduction, Accumulation, const float*, const float*, std::int64_t, double*, void*,
                                      cudaStream_t, unsigned);
template cudaError_t launch_reduction(Reduction, Accumulation, const double*, const double*, std::int64_t, double*,
                                      void*, cudaStream_t, unsigned);

}  // namespace smallbatch
