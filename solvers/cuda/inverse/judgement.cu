// Judges inverses that other kernels have stored; inverse/rows.cu judges its own.
#include "solvers/cuda/common/marked_systems.cuh"
#include "solvers/cuda/common/stored_judgement.cuh"
#include "solvers/cuda/inverse/tile_products.cuh"
#include "solvers/cuda/kernels.cuh"

namespace smallbatch {

namespace {

/// Calls work(system) for the systems of the batch for which wanted(system) is true. A warp takes one span of systems
/// at a time.
template <class T, class Wanted, class Work>
__device__ __forceinline__ void for_each_wanted(const Arguments<T>& args, Wanted&& wanted, Work&& work) {
  __shared__ unsigned all_wanted[warp_lanes];  // in shared memory, because the work occupies the registers
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system = [&](int i) __attribute__((always_inline)) {  // system i of the span
      return std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(task)))} * args.span + i;
    };
    if (!has_work(args, task)) continue;
    unsigned own = 0;  // bit i: system warp_lanes i + lane of the span
#pragma unroll
    for (int i = 0; i < longest_span; i += warp_lanes)
      if (const std::int64_t k = system(i + static_cast<int>(threadIdx.x)); i < args.span && k < args.count)
        own |= static_cast<unsigned>(wanted(k)) << i / warp_lanes;
    all_wanted[threadIdx.x] = own;
#pragma unroll 1
    for (int i = __any_sync(whole_warp, own != 0) ? longest_span : 0; (i -= warp_lanes) >= 0;)
#pragma unroll 1
      for (unsigned left = __ballot_sync(whole_warp, (all_wanted[threadIdx.x] >> i / warp_lanes & 1) != 0); left != 0;
           left &= left - 1)
        work(system(i + __ffs(static_cast<int>(left)) - 1));
  }
}

/// Loads the inverse as tiles into shared memory. Returns the largest element of its diagonal. The whole warp calls.
template <int B, class T>
__device__ __forceinline__ T load_inverse(const Arguments<T>& args, std::int64_t system, InverseMemory<B>& memory) {
  constexpr int size = tile_rows * B;
  const T* const x = args.to.x + system * args.to.x_stride;
  T largest = 0;
#pragma unroll 4
  for (int e = static_cast<int>(threadIdx.x); e < size * size; e += warp_lanes) {
    const int row = e / size, column = e % size, i = row / tile_rows, j = column / tile_rows;
    if (j > i) continue;
    const T value = row < args.n && column < args.n ? x[row * args.n + column] : row == column ? T(1) : T(0);
    if (row == column && row < args.n) largest = max(largest, abs(value));
    memory.tiles[tile_index(i, j)][place_in_tile(row % tile_rows, column % tile_rows)] = value;
  }
  return max_of_group<warp_lanes>(largest);
}

/// Returns the largest element of the diagonal of A. The whole warp calls.
template <class T>
__device__ __forceinline__ T largest_diagonal(const Arguments<T>& args, std::int64_t system) {
  T largest = 0;
  for (int k = static_cast<int>(threadIdx.x); k < args.n; k += warp_lanes)
    largest = max(largest, abs(element(args, system, k, k)));
  return max_of_group<warp_lanes>(largest);
}

/// Returns whether the triangles of A differ. The whole warp calls.
template <class T>
__device__ __forceinline__ bool triangles_differ(const Arguments<T>& args, std::int64_t system) {
  const int lane = threadIdx.x, n = args.n;
  unsigned bits = 0;
  if (args.storage != Storage::dense) return false;
#pragma unroll 4
  for (int e = lane; e < n * n; e += warp_lanes)
    bits |= differing_bits(element(args, system, e / n, e % n), element(args, system, e % n, e / n));
  return __any_sync(whole_warp, bits != 0);
}

/// Judges an inverse of a matrix with differing triangles: every element of A is used as it is stored. The whole warp
/// calls.
template <class T>
__device__ __forceinline__ void judge_stored_inverse(const Arguments<T>& args, std::int64_t system) {
  const int lane = threadIdx.x;
  const T error = static_cast<T>(judge_as_stored<warp_lanes>(args, system, lane, 0, args.n).backward_error);
  if (lane != 0) return;
  if (args.to.backward_error != nullptr) args.to.backward_error[system] = error;
  args.marks[system] = mark_of(args, error);
}

/// Judges inverses in global memory: all, or those that are marked unsettled.
template <class T, int B>
__global__ void __launch_bounds__(warp_lanes, 8) judge_inverse_kernel(Arguments<T> args) {
  __shared__ InverseMemory<B> memory;
  const auto wanted = [&](std::int64_t system) { return !args.marked || args.marks[system] == Mark::unsettled; };
  for_each_wanted(args, wanted, [&](std::int64_t system) {
    const std::int32_t status = args.to.info[system];
    bool differs = false;
    Factors factors;
    InverseNorms norms;
    if (status == 0) {
      const T largest_a = largest_diagonal(args, system);
      const T largest_x = load_inverse<B>(args, system, memory);
      factors = factors_of<T>(normalizing_exponent(largest_a), normalizing_exponent(largest_x));
      __syncwarp();  // the inverse is complete
      norms = with_reading<false>(args, [&](auto how) { return norms_of<how, B>(args, system, memory, factors); });
      __syncwarp();  // the inverse has been read: the next one takes its place
      differs = triangles_differ(args, system);
    }
    if (threadIdx.x == 0) tell(args, system, status, differs, norms, factors);
    if (differs) judge_stored_inverse(args, system);
  });
}

/// Judges the few inverses that the sweep has not judged, because the triangles of A differ.
template <class T>
__global__ void __launch_bounds__(warp_lanes) judge_stored_inverse_kernel(Arguments<T> args) {
  const auto wanted = [&](std::int64_t system) { return args.marks[system] == Mark::as_stored; };
  for_each_wanted(args, wanted, [&](std::int64_t system) { judge_stored_inverse(args, system); });
}

}  // namespace

template <class T>
cudaError_t launch_judge_stored_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        double resolve_above, cudaStream_t stream) {
  if (batch.shape.storage != Storage::dense) return cudaSuccess;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.resolve_above = static_cast<T>(resolve_above);
  arguments.marked = true;
  return launch<Arguments<T>>(judge_stored_inverse_kernel<T>, warp_lanes, in_spans(arguments), stream);
}

template <class T>
cudaError_t launch_judge_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                 SystemsToDo which, cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.marked = which == SystemsToDo::unsettled;
  arguments.vectors = batch.shape.storage == Storage::dense && in_pairs(batch.a, arguments.a_step, batch.shape.n);
  constexpr Kernel<Arguments<T>> kernels[] = {
      judge_inverse_kernel<T, 1>, judge_inverse_kernel<T, 2>, judge_inverse_kernel<T, 3>, judge_inverse_kernel<T, 4>,
      judge_inverse_kernel<T, 5>, judge_inverse_kernel<T, 6>, judge_inverse_kernel<T, 7>, judge_inverse_kernel<T, 8>};
  if (arguments.marked) arguments = in_spans(arguments);
  return launch<Arguments<T>>(kernels[(batch.shape.n - 1) / tile_rows], warp_lanes, arguments, stream);
}

template cudaError_t launch_judge_stored_inverse(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, double,
                                                 cudaStream_t);
template cudaError_t launch_judge_stored_inverse(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, double,
                                                 cudaStream_t);
template cudaError_t launch_judge_inverse(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, SystemsToDo,
                                          cudaStream_t);
template cudaError_t launch_judge_inverse(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, SystemsToDo,
                                          cudaStream_t);

}  // namespace smallbatch
