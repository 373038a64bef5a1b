// A^-1 in place by the symmetric sweep (J. H. Goodnight, "A tutorial on the SWEEP operator", 1979).
//
// The lower triangle is swept in registers (n <= 32), or whole rows in shared memory. The result takes the place of A
// in shared memory, and leaves in whole rows, both triangles from one.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/sweep_elimination.cuh"
#include "solvers/cuda/tile_judgement.cuh"
#include "solvers/cuda/whole_rows_judgement.cuh"

namespace smallbatch {

namespace {

/// Stores the rows first .. end - 1 of the warp's inverses, whose negative lower triangles are in registers. The whole
/// warp calls.
template <int first, int end, class T, class L>
__device__ __forceinline__ void store_inverses(const Arguments<T>& args, unsigned task,
                                               const std::int32_t (&states)[L::systems], TileMemory<T, L>& memory,
                                               const T (&a)[L::rows][L::size]) {
  constexpr int P = L::piece;
  const int n = args.n, thread = fresh(threadIdx.x);
  const bool in_pieces =
      n == L::size && reinterpret_cast<std::uintptr_t>(args.to.x) % 16 == 0 && args.to.x_stride % P == 0;
  store_negative<first, end, T, L>(memory.matrix[thread / L::lanes], thread / L::lanes, thread % L::lanes, a);
  __syncwarp();  // these rows of A^-1 are complete
#pragma unroll 1
  for (int s = 0; s < L::systems && std::int64_t{task} * L::systems + s < args.count; ++s) {
    const bool solved = states[s] == 0;
    T* const x = args.to.x + system_of<T, L>(args, task, s) * args.to.x_stride;
    if (in_pieces && solved) {
#pragma unroll
      for (int q = first * L::pieces_per_row; q < end * L::pieces_per_row; q += warp_lanes) {
        const int own = q + static_cast<int>(threadIdx.x);
        if (end * L::pieces_per_row - q >= warp_lanes || own < end * L::pieces_per_row)
          *reinterpret_cast<Vector<T, P>*>(x + own * P) = *reinterpret_cast<const Vector<T, P>*>(
              &staged<L>(memory.matrix[s], s, own / L::pieces_per_row, own % L::pieces_per_row * P));
      }
    } else {
#pragma unroll 1
      for (int e = first * n + static_cast<int>(threadIdx.x); e < min(end, n) * n; e += warp_lanes)
        x[e] = solved ? staged<L>(memory.matrix[s], s, e / n, e % n) : not_a_number<T>();
    }
  }
}

template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, SweepPlan<T, N>::resident_warps) sweep_kernel(Arguments<T> args) {
  using L = typename SweepPlan<T, N>::L;
  constexpr int G = L::lanes;
  __shared__ TileMemory<T, L> memory;
  __shared__ std::int32_t states[L::systems];
  // Whose work a lane does; computed again where it is asked for: the matrices take the registers.
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  // Of the rows of the lane's system, while the matrix is in registers.
  const auto pivots = [&]() __attribute__((always_inline)) { return memory.matrix[group()]; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return system_of<T, L>(args, task, group()); };
    const auto mine = [&]() __attribute__((always_inline)) {
      return std::int64_t{fresh(static_cast<int>(task))} * L::systems + group() < args.count;
    };
    T a[L::rows][N];
    const bool differs = any_of_group<G>(load_to_sweep<T, L>(args, task, memory, a) != 0);
    if (lane() == 0) states[group()] = 0;
    if (__any_sync(whole_warp, differs)) {
      const std::int32_t status = inspect<G>(args, system(), lane());
      if (lane() == 0) states[group()] = status;
    }
    const bool far = any_of_group<G>(diagonal_far_bits<T, L>(lane(), a) != 0);
    scale_rows<T, L>(args, system(), lane(), far, a);
    __syncwarp();  // the matrices have been read, whose place the pivots take
    sweep<T, L>(group(), lane(), memory, a, pivots(), args.once);
    __syncwarp();  // the last pivots are there
    T pivot[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) pivot[u] = pivots()[G * u + lane()];
    const int bad_pivot = first_bad_pivot<T, L>(lane(), pivot);
    if (args.pivot_numbers) store_pivots<T, L>(args, system(), args.n, mine(), lane(), far, pivot);
    scale_rows<T, L>(args, system(), lane(), far, a);
    const bool bad = any_of_group<G>(!is_finite<T, L>(lane(), a) || bad_pivot != 0);
    if (__any_sync(whole_warp, bad)) {
      const std::int32_t reason = explain_failure<G>(args, system(), bad_pivot, lane());
      if (lane() == 0 && bad && states[group()] == 0) states[group()] = reason;
    }
    __syncwarp();  // the status is known to all lanes, and the pivots have been read
    if (mine() && lane() == 0) {
      args.to.info[system()] = states[group()];
      if (states[group()] != 0) forget_pivots(args, system());
    }
    if constexpr (L::split) {
      store_inverses<L::quarter, N, T, L>(args, task, states, memory, a);
      __syncwarp();  // the last of these rows have been read, whose place the others take
      store_inverses<0, L::quarter, T, L>(args, task, states, memory, a);
    } else {
      store_inverses<0, N, T, L>(args, task, states, memory, a);
    }
  }
}

/// The same for n > 32: whole rows in shared memory, where the result takes the place of A.
template <class T>
__global__ void __launch_bounds__(warp_lanes, std::min(8, WholeRows<T, 64>::resident_warps))
    wide_sweep_kernel(Arguments<T> args) {
  constexpr int N = 64;
  using L = WholeRows<T, N>;
  __shared__ WarpMemory<T, L, 1> memory;
  const int lane = threadIdx.x, n = args.n;
  T* const matrix = memory.matrix[0];
  static_assert(L::systems == 1);
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t system = task;
    stage_to_sweep(args, system, memory);
    T a[L::rows][N];
    load_rows<T, L>(matrix, lane, a);
    std::int32_t status = 0;
    if (args.storage == Storage::dense && __any_sync(whole_warp, differs_above<T, L>(matrix, lane, a)))
      status = inspect<L::lanes>(args, system, lane);
    const bool far = __any_sync(whole_warp, diagonal_is_far<T, L>(matrix, lane));
    T pivots[L::rows];
    sweep_in_shared_memory<T, L>(lane, far, matrix, pivots);
    scale_swept<T, L>(lane, matrix);
    __syncwarp();  // A^-1 is complete
    bool bad = false;
#pragma unroll 1
    for (int row = lane; row < n; row += L::lanes)
#pragma unroll 4
      for (int j = 0; j <= row; ++j) bad |= not_finite(matrix[row * L::row_pitch + j]);
    const int bad_pivot = first_bad_pivot<T, L>(lane, pivots);
    if (__any_sync(whole_warp, bad || bad_pivot != 0)) {
      const std::int32_t reason = explain_failure<L::lanes>(args, system, bad_pivot, lane);
      if (status == 0) status = reason;
    }
    // Both triangles from one: the inverse is exactly symmetric.
    T* const x = args.to.x + system * args.to.x_stride;
    for (int e = lane; e < n * n; e += warp_lanes)
      x[e] = status == 0 ? matrix[max(e / n, e % n) * L::row_pitch + min(e / n, e % n)] : not_a_number<T>();
    if (args.pivot_numbers) {
      __syncwarp();  // A^-1 has been stored; store_pivots() wants the diagonal of A
      stage_matrices<T, L>(args, system, memory);
      wait_for_copies();
      store_pivots<T, L>(args, system, true, lane, far, matrix);
    }
    if (lane == 0) {
      args.to.info[system] = status;
      if (status != 0) forget_pivots(args, system);
    }
  }
}

}  // namespace

template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  return launch<T>({{sweep_kernel<T, 8>, SweepPlan<T, 8>::L::systems},
                    {sweep_kernel<T, 16>, SweepPlan<T, 16>::L::systems},
                    {sweep_kernel<T, 32>, SweepPlan<T, 32>::L::systems},
                    {wide_sweep_kernel<T>, 1}},
                   arguments_of(batch, solution), stream);
}

template cudaError_t launch_sweep(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_sweep(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
