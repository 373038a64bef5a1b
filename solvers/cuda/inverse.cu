// A^-1 by the symmetric sweep (J. H. Goodnight, "A tutorial on the SWEEP operator", 1979), and how good it is: small
// systems, several of them in a warp. The others are block_sweep.cu's.
//
// The lower triangle is swept in the registers of a few lanes. The result takes the place of A in shared memory, leaves
// in whole rows, both triangles from one, and is judged on the tensor cores: A comes a second time, from the cache.
#include "core/gpu_plans.cuh"
#include "solvers/cuda/inverse_tiles.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/sweep_elimination.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

/// How systems lie in the lanes; measured to be best.
template <class T, int N, bool Whole>
struct InversePlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  using L = Tile<T, N, N <= 16 ? 4 : single ? 8 : 16, false>;
  static constexpr int resident_warps = N == 8 ? 16 : single && (N == 16 || Whole) ? 12 : 8;
  static constexpr int warps_elsewhere = N == 32 && resident_warps == 12 ? 8 : resident_warps;  // resident_blocks()
};

/// What a warp keeps in mind of its systems: the matrices take the registers.
template <class T, class L>
struct InverseRowsMemory {
  TileMemory<T, L> tile;
  std::int32_t states[L::systems];
  bool differs[L::systems];                              // the triangles of A do
  int a_exponents[L::systems], x_exponents[L::systems];  // of what brings A and X next to 1
};

/// Stores the warp's inverses, whose negative lower triangles are in registers. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void store_inverses(const Arguments<T>& args, unsigned task, InverseRowsMemory<T, L>& memory,
                                               const T (&a)[L::rows][L::size]) {
  constexpr int P = L::piece, N = L::size;
  const int n = args.n, thread = fresh(threadIdx.x);
  const bool in_pieces = n == N && reinterpret_cast<std::uintptr_t>(args.to.x) % 16 == 0 && args.to.x_stride % P == 0;
  store_negative<0, N, T, L>(memory.tile.matrix[thread / L::lanes], thread / L::lanes, thread % L::lanes, a);
  __syncwarp();  // the inverses are complete
#pragma unroll 1
  for (int s = 0; s < L::systems && std::int64_t{task} * L::systems + s < args.count; ++s) {
    const bool solved = memory.states[s] == 0;
    T* const x = args.to.x + system_of<T, L>(args, task, s) * args.to.x_stride;
    const T* const matrix = memory.tile.matrix[s];
    if (in_pieces && solved) {
#pragma unroll
      for (int q = 0; q < L::pieces; q += warp_lanes) {
        const int own = q + static_cast<int>(threadIdx.x);
        if (L::pieces - q >= warp_lanes || own < L::pieces)
          *reinterpret_cast<Vector<T, P>*>(x + own * P) = *reinterpret_cast<const Vector<T, P>*>(
              &staged<L>(matrix, s, own / L::pieces_per_row, own % L::pieces_per_row * P));
      }
    } else {
#pragma unroll 1
      for (int e = static_cast<int>(threadIdx.x); e < n * n; e += warp_lanes)
        x[e] = solved ? staged<L>(matrix, s, e / n, e % n) : not_a_number<T>();
    }
  }
}

/// The exponent that brings the largest diagonal element of the lane's system next to 1. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ int exponent_of_diagonal(int n, int lane, const T (&a)[L::rows][L::size]) {
  T largest = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (L::lanes * u + lane < n) largest = max(largest, abs(diagonal<T, L>(lane, u, a)));
  return normalizing_exponent(max_of_group<L::lanes>(largest));
}

/// Judges the warp's inverses in shared memory, whose place their norms take. The whole warp calls.
template <Reading how, class T, class L>
__device__ __forceinline__ void judge_inverses(const Arguments<T>& args, unsigned task,
                                               InverseRowsMemory<T, L>& memory) {
  static_assert(tile_rows * sizeof(InverseNorms) <= L::size * L::size * sizeof(T));
  constexpr int B = L::size / tile_rows, P = L::piece, together = L::systems < 4 ? L::systems : 4;
  const int row = fresh(fragment_row()), column = fresh(fragment_column()), quarter = column / 2;
  const int line = L::line(row, column / P) * 8 * P + column % P, key = L::key(row, column / P);
#pragma unroll 1
  for (int first = 0; first < L::systems; first += together) {
    // Of a system: what a quarter of the lanes, one for each row of a tile, has seen.
    const auto norms_of = [&](int s) { return reinterpret_cast<InverseNorms*>(memory.tile.matrix[s]) + row; };
#pragma unroll(B == 1 ? together : 1)
    for (int t = 0; t < together; ++t) {
      const int s = first + t;
      const Factors factors = factors_of<T>(memory.a_exponents[s], memory.x_exponents[s]);
      const T* const matrix = memory.tile.matrix[s] + line;
      const int system_key = key ^ L::system_key(s);
      const InverseNorms norms = row_norms<how, B>(
          args, system_of<T, L>(args, task, s),
          [&](int i, int j) __attribute__((always_inline)) {
            const auto pair =
                *reinterpret_cast<const Vector<T, 2>*>(matrix + L::line(tile_rows * i, tile_rows * j / P) * 8 * P +
                                                       (system_key ^ L::key(tile_rows * i, tile_rows * j / P)) * P);
            return Fragment{{static_cast<double>(pair.value[0]), static_cast<double>(pair.value[1])}};
          },
          factors);
      __syncwarp();  // the inverse has been read
      if (quarter == t) *norms_of(s) = norms;
    }
    const int s = first + quarter;
    InverseNorms own;
    if (together == 4 || quarter < together) own = *norms_of(s);
    own = over_rows(own);
    if (row == 0 && quarter < together && std::int64_t{task} * L::systems + s < args.count)
      tell(args, std::int64_t{task} * L::systems + s, memory.states[s], memory.differs[s], own,
           factors_of<T>(memory.a_exponents[s], memory.x_exponents[s]));
  }
}

template <class T, int N, bool Whole>
__global__ void __launch_bounds__(warp_lanes, resident_blocks(InversePlan<T, N, Whole>::resident_warps,
                                                              InversePlan<T, N, Whole>::warps_elsewhere))
    row_sweep_kernel(Arguments<T> args) {
  using L = typename InversePlan<T, N, Whole>::L;
  constexpr int G = L::lanes;
  constexpr bool scaled = sizeof(T) == sizeof(double);
  __shared__ InverseRowsMemory<T, L> memory;
  // Whose work a lane does; computed again where it is asked for: the matrices take the registers.
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  // Of the rows of the lane's system, while the matrix is in registers.
  const auto pivots = [&]() __attribute__((always_inline)) { return memory.tile.matrix[group()]; };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return system_of<T, L>(args, task, group()); };
    const auto mine = [&]() __attribute__((always_inline)) {
      return std::int64_t{fresh(static_cast<int>(task))} * L::systems + group() < args.count;
    };
    T a[L::rows][N];
    const bool differs = any_of_group<G>(load_to_sweep<T, L>(args, task, memory.tile, a) != 0);
    if (lane() == 0) {
      memory.states[group()] = 0;
      memory.differs[group()] = differs;
    }
    if (__any_sync(whole_warp, differs)) {
      const std::int32_t status = inspect<G>(args, system(), lane());
      if (lane() == 0) memory.states[group()] = status;
    }
    if (scaled) {
      const int exponent = exponent_of_diagonal<T, L>(args.n, lane(), a);
      if (lane() == 0) memory.a_exponents[group()] = exponent;
    }
    const bool far = any_of_group<G>(diagonal_far_bits<T, L>(lane(), a) != 0);
    scale_rows<T, L>(args, system(), lane(), far, a);
    __syncwarp();  // the matrices have been read, whose place the pivots take
    sweep<T, L>(group(), lane(), memory.tile, a, pivots(), args.once);
    __syncwarp();  // the last pivots are there
    T pivot[L::rows];
#pragma unroll
    for (int u = 0; u < L::rows; ++u) pivot[u] = pivots()[G * u + lane()];
    const int bad_pivot = first_bad_pivot<T, L>(lane(), pivot);
    if (args.pivot_numbers) store_pivots<T, L>(args, system(), args.n, mine(), lane(), far, pivot);
    scale_rows<T, L>(args, system(), lane(), far, a);
    if (scaled) {
      const int exponent = exponent_of_diagonal<T, L>(args.n, lane(), a);
      if (lane() == 0) memory.x_exponents[group()] = exponent;
    }
    const bool bad = any_of_group<G>(!is_finite<T, L>(lane(), a) || bad_pivot != 0);
    if (__any_sync(whole_warp, bad)) {
      const std::int32_t reason = explain_failure<G>(args, system(), bad_pivot, lane());
      if (lane() == 0 && bad && memory.states[group()] == 0) memory.states[group()] = reason;
    }
    __syncwarp();  // the status is known to all lanes, and the pivots have been read
    if (mine() && lane() == 0) {
      args.to.info[system()] = memory.states[group()];
      if (memory.states[group()] != 0) forget_pivots(args, system());
    }
    store_inverses<T, L>(args, task, memory, a);
    if (is_judged(args)) with_reading<Whole>(args, [&](auto how) { judge_inverses<how, T, L>(args, task, memory); });
  }
}

}  // namespace

template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks, double resolve_above,
                         cudaStream_t stream) {
  if (is_swept_in_tiles(batch.shape.n)) return launch_block_sweep(batch, solution, marks, resolve_above, stream);
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.resolve_above = static_cast<T>(resolve_above);
  return arguments.vectors && batch.shape.storage == Storage::dense
             ? launch<T>({{row_sweep_kernel<T, 8, true>, InversePlan<T, 8, true>::L::systems},
                          {row_sweep_kernel<T, 16, true>, InversePlan<T, 16, true>::L::systems},
                          {row_sweep_kernel<T, 32, true>, InversePlan<T, 32, true>::L::systems},
                          {}},
                         arguments, stream)
             : launch<T>({{row_sweep_kernel<T, 8, false>, InversePlan<T, 8, false>::L::systems},
                          {row_sweep_kernel<T, 16, false>, InversePlan<T, 16, false>::L::systems},
                          {row_sweep_kernel<T, 32, false>, InversePlan<T, 32, false>::L::systems},
                          {}},
                         arguments, stream);
}

template cudaError_t launch_sweep(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, double, cudaStream_t);
template cudaError_t launch_sweep(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, double, cudaStream_t);

}  // namespace smallbatch
