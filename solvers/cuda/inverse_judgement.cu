// How good inverses are that other kernels have stored; inverse.cu judges its own.
#include "solvers/cuda/inverse_tiles.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/stored_judgement.cuh"

namespace smallbatch {

namespace {

/// Calls work(system) for those systems of the batch that are `wanted`, a warp for each.
template <class T, class Wanted, class Work>
__device__ __forceinline__ void for_each_wanted(const Arguments<T>& args, Wanted&& wanted, Work&& work) {
  const int lane = threadIdx.x;
#pragma unroll 1
  for (std::int64_t first = std::int64_t{blockIdx.x} * warp_lanes; first < args.count;
       first += std::int64_t{gridDim.x} * warp_lanes) {
    const bool own = first + lane < args.count && wanted(first + lane);
#pragma unroll 1
    for (unsigned left = __ballot_sync(whole_warp, own); left != 0; left &= left - 1)
      work(first + __ffs(static_cast<int>(left)) - 1);
  }
}

/// The inverse as tiles in shared memory; the largest element of its diagonal. The whole warp calls.
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

/// Whether the triangles of A differ; the largest element of its diagonal. The whole warp calls.
template <class T>
__device__ __forceinline__ bool look_at_matrix(const Arguments<T>& args, std::int64_t system, T& largest) {
  const int lane = threadIdx.x, n = args.n;
  unsigned bits = 0;
  largest = 0;
  for (int k = lane; k < n; k += warp_lanes) largest = max(largest, abs(element(args, system, k, k)));
  largest = max_of_group<warp_lanes>(largest);
  if (args.storage != Storage::dense) return false;
#pragma unroll 4
  for (int e = lane; e < n * n; e += warp_lanes)
    bits |= differing_bits(element(args, system, e / n, e % n), element(args, system, e % n, e / n));
  return __any_sync(whole_warp, bits != 0);
}

/// The numbers of inverses as they are stored, of all systems or of those that are marked unsettled.
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
      T largest_a;
      differs = look_at_matrix(args, system, largest_a);
      const T largest_x = load_inverse<B>(args, system, memory);
      factors = factors_of<T>(normalizing_exponent(largest_a), normalizing_exponent(largest_x));
      __syncwarp();  // the inverse is complete
      norms = with_reading<false>(args, [&](auto how) { return norms_of<how, B>(args, system, memory, factors); });
      __syncwarp();  // the inverse has been read, whose place the next one takes
    }
    if (threadIdx.x == 0) tell(args, system, status, differs, norms, factors);
  });
}

/// The backward errors of the few inverses that are left, because the triangles of A differ: every element of A as it
/// is stored.
template <class T>
__global__ void __launch_bounds__(warp_lanes) judge_stored_inverse_kernel(Arguments<T> args) {
  const auto wanted = [&](std::int64_t system) { return args.marks[system] == Mark::as_stored; };
  for_each_wanted(args, wanted, [&](std::int64_t system) {
    const int lane = threadIdx.x;
    const T error = static_cast<T>(judge_as_stored<warp_lanes>(args, system, lane, 0, args.n).backward_error);
    if (lane != 0) return;
    if (args.to.backward_error != nullptr) args.to.backward_error[system] = error;
    args.marks[system] = mark_of(args, error);
  });
}

template <class T>
cudaError_t launch_warps(Kernel<Arguments<T>> kernel, Arguments<T> arguments, cudaStream_t stream) {
  const std::int64_t warps = (arguments.count + warp_lanes - 1) / warp_lanes;
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(std::min<std::int64_t>(1 << 15, warps))), dim3(warp_lanes),
                          parameters, 0, stream);
}

}  // namespace

template <class T>
cudaError_t launch_judge_stored_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        double resolve_above, cudaStream_t stream) {
  if (batch.shape.storage != Storage::dense) return cudaSuccess;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.resolve_above = static_cast<T>(resolve_above);
  return launch_warps<T>(judge_stored_inverse_kernel<T>, arguments, stream);
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
  const cudaError_t status = launch_warps<T>(kernels[(batch.shape.n - 1) / tile_rows], arguments, stream);
  return status != cudaSuccess ? status : launch_judge_stored_inverse(batch, solution, marks, -1, stream);
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
