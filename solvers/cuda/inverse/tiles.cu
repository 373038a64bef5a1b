// Inverses by the symmetric sweep of 8 x 8 tiles, and their judgement.
//
// A warp has one system. The lower triangle of tiles is in registers while it is swept. The inverse is then in shared
// memory. Both triangles are stored from there. For the residual, the tensor cores read the inverse there, and A is
// read a second time, from the cache. Floats are swept in double precision, too. Whole matrices of 32 to 48 rows of
// doubles are loaded through the same shared memory, which later holds the halves of X.
#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/pivot_numbers.cuh"
#include "solvers/cuda/common/tile.cuh"
#include "solvers/cuda/inverse/tile_products.cuh"
#include "solvers/cuda/inverse/tiles.cuh"
#include "solvers/cuda/kernels.cuh"

namespace smallbatch {

namespace {

/// Scales the tiles to D a D. `powers` is the diagonal of D, in shared memory.
template <int B>
__device__ __forceinline__ void scale_tiles(Fragment (&a)[B][B], const double* powers) {
  const int row = fragment_row(), column = fragment_column();
#pragma unroll
  for (int i = 0; i < B; ++i)
#pragma unroll
    for (int j = 0; j <= i; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        a[i][j].value[h] = a[i][j].value[h] * powers[tile_rows * i + row] * powers[tile_rows * j + column + h];
}

/// Returns the offset in shared memory of piece p (two numbers) of a row of a whole matrix. Lanes that read along the
/// rows of a tile, or its columns, meet every bank once.
template <int B>
__device__ __forceinline__ int staged_piece(int row, int p) {
  constexpr int pitch = (4 * B + 7) / 8 * 8;  // pieces
  return (row * pitch + (p ^ (row & 6) ^ (row & 1) * 4)) * 2;
}

/// Loads the tiles of a whole matrix through the shared memory `staged`. Copies in progress then occupy no space in the
/// first-level cache. Returns whether the triangles of A differ in the lane's numbers. The whole warp calls.
template <int B>
__device__ __forceinline__ bool stage_tiles(const Arguments<double>& args, std::int64_t system, double* staged,
                                            Fragment (&tiles)[B][B]) {
  {
    constexpr int per_row = 4 * B, pieces = tile_rows * B * per_row;  // a multiple of 32
    const int lane = fresh(threadIdx.x);
    const double* const from = args.a + system * args.a_step + lane * 2;
    if constexpr (warp_lanes % per_row == 0) {
      constexpr int rows = warp_lanes / per_row;
#pragma unroll
      for (int row = 0; row < tile_rows * B; row += rows)
        copy_async<2>(staged + staged_piece<B>(row + lane / per_row, lane % per_row), from + row * (tile_rows * B));
    } else {
#pragma unroll 4
      for (int e = 0; e < pieces; e += warp_lanes)
        copy_async<2>(staged + staged_piece<B>((e + lane) / per_row, (e + lane) % per_row), from + e * 2);
    }
  }
  wait_for_copies();
  const int row = fresh(fragment_row()), column = fresh(fragment_column());
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < B; ++i)
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      no_loads_ahead();
      const int r = tile_rows * i + row, c = tile_rows * j + column;
      tiles[i][j] = *reinterpret_cast<const Fragment*>(staged + staged_piece<B>(r, c / 2));
#pragma unroll
      for (int h = 0; h < 2; ++h)
        bits |= differing_bits(tiles[i][j].value[h], staged[staged_piece<B>(c + h, r / 2) + r % 2]);
    }
  __syncwarp();  // the matrix has been read: other data take its place
  return bits != 0;
}

/// Number of warps that a multiprocessor holds at a time.
template <int B, bool Whole>
inline constexpr int resident_warps = B == 3 || B == 4 ? (Whole ? 16 : 12)
                                      : B == 5         ? 12
                                                       : 8;

/// Whether A is read two numbers at a time if its alignment permits. This needs enough registers.
template <class T, int B>
inline constexpr bool is_read_by_twos = B < 8 || (sizeof(T) == sizeof(float) && registers_suffice());

template <class T, int B, bool Whole>
__global__ void __launch_bounds__(warp_lanes, resident_warps<B, Whole>) block_sweep_kernel(Arguments<T> args) {
  constexpr bool scaled = sizeof(T) == sizeof(double);  // for floats, the range of double suffices
  // Whether X is judged by row_norms_by_halves(). Shared memory must have room for A first, and later for the halves.
  constexpr bool by_halves = scaled && Whole && B >= 4 && B <= 6;
  __shared__ std::conditional_t<by_halves, HalvedMemory<B>, InverseMemory<B>> memory;
  __shared__ int a_exponent, x_exponent;  // exponents of the factors for A and X; in shared memory, because the
                                          // matrices occupy the registers
  __shared__ std::int32_t kept_status;
  __shared__ bool kept_differs;
  const int n = Whole ? tile_rows * B : args.n;
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t system = task;
    const int lane = threadIdx.x;
    Fragment a[B][B];
    bool differs;
    if constexpr (by_halves) {
      static_assert(sizeof(memory.tiles) + sizeof(memory.highs) >=
                    sizeof(double) * tile_rows * B * ((4 * B + 7) / 8 * 16));
      differs = __any_sync(whole_warp, stage_tiles<B>(args, system, memory.tiles[0], a));
    } else {
      differs = __any_sync(whole_warp, with_reading<Whole, is_read_by_twos<T, B>>(
                                           args, [&](auto how) { return load_tiles<how, B>(args, system, a); }));
    }
    std::int32_t status = 0;
    if (differs) status = inspect<warp_lanes>(args, system, lane);
    bool far = false;
    if constexpr (scaled) {
      const int row = fragment_row();
      unsigned bits = 0;
#pragma unroll
      for (int i = 0; i < B; ++i)
        if (row / 2 * 2 == fragment_column()) bits |= far_bits(row % 2 == 0 ? a[i][i].value[0] : a[i][i].value[1]);
      far = __any_sync(whole_warp, bits != 0);
      const int exponent = normalizing_exponent(largest_diagonal<B>(a, n));
      if (lane == 0) a_exponent = exponent;
      if (far) {
#pragma unroll 1
        for (int k = lane; k < tile_rows * B; k += warp_lanes)
          memory.powers[k] = power_of_two<double>(max(scaling_exponent(args, system, k, far), -1022));
        __syncwarp();  // the powers are complete
        scale_tiles<B>(a, memory.powers);
      }
    }
    sweep<B, scaled>(a, memory.pivots, memory.tiles);
    if (scaled && far) scale_tiles<B>(a, memory.powers);
    if constexpr (scaled) {
      const int exponent = normalizing_exponent(largest_diagonal<B>(a, n));
      if (lane == 0) x_exponent = exponent;
    }
    double zero = 0;  // becomes NaN if an element is not finite
#pragma unroll
    for (int i = 0; i < B; ++i)
#pragma unroll
      for (int j = 0; j <= i; ++j) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          a[i][j].value[h] = static_cast<double>(static_cast<T>(-a[i][j].value[h]));
          zero = fma(a[i][j].value[h], 0.0, zero);
        }
        store_fragment(memory.tiles[tile_index(i, j)], a[i][j]);
      }
    __syncwarp();  // the pivots and the tiles are complete

    // In tiles on the diagonal, the lower triangle is copied to the upper triangle, so that the inverse is exactly
    // symmetric.
#pragma unroll
    for (int i = 0; i < B; ++i) {
      const Fragment mirrored = load_transposed(memory.tiles[tile_index(i, i)]);
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (fragment_column() + h > fragment_row()) a[i][i].value[h] = mirrored.value[h];
    }
    __syncwarp();  // the tiles have been read
#pragma unroll
    for (int i = 0; i < B; ++i) store_fragment(memory.tiles[tile_index(i, i)], a[i][i]);
    int bad_pivot = INT32_MAX;
#pragma unroll
    for (int k = 0; k < tile_rows * B; k += warp_lanes)
      if (const int own = k + lane; own < n) {
        const double pivot = memory.pivots[own];
        if (!(pivot > 0 && pivot < infinity<double>())) bad_pivot = min(bad_pivot, own + 1);
      }
    if (__any_sync(whole_warp, !(zero == 0) || bad_pivot != INT32_MAX)) {
      bad_pivot = min_of_group<warp_lanes>(bad_pivot);
      const std::int32_t reason =
          explain_failure<warp_lanes>(args, system, bad_pivot == INT32_MAX ? 0 : bad_pivot, lane);
      if (status == 0) status = reason;
    }
    if (args.pivot_numbers && status == 0) {
      PivotNumbers<T> numbers;
#pragma unroll 1
      for (int k = lane; k < n; k += warp_lanes) numbers.add(memory.pivots[k], scaling_exponent(args, system, k, far));
      numbers.template combine<warp_lanes>();
      if (lane == 0) numbers.store(args, system);
    }
    if (lane == 0) {
      kept_status = status, kept_differs = differs;
      args.to.info[system] = status;
      if (status != 0) forget_pivots(args, system);
    }
    __syncwarp();  // the inverse is complete
    store_inverse<Whole, B>(args, system, status == 0, memory);
    if (is_judged(args)) {
      if constexpr (by_halves) {
        const InverseNorms norms = over_rows(row_norms_by_halves<B>(args, system, memory, a_exponent, x_exponent));
        if (threadIdx.x == 0)
          tell(args, static_cast<unsigned>(fresh(static_cast<int>(task))), kept_status, kept_differs, norms,
               factors_of<T>(a_exponent, x_exponent));
      } else {
        const Factors factors = factors_of<T>(a_exponent, x_exponent);
        const InverseNorms norms = with_reading<Whole, is_read_by_twos<T, B>>(
            args, [&](auto how) { return norms_of<how, B>(args, system, memory, factors); });
        if (lane == 0) tell(args, system, status, differs, norms, factors_of<T>(a_exponent, x_exponent));
      }
    }
    __syncwarp();  // the inverse has been read: the next one takes its place
  }
}

}  // namespace

template <class T>
cudaError_t launch_block_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                               double resolve_above, cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.resolve_above = static_cast<T>(resolve_above);
  arguments.tasks = static_cast<unsigned>(batch.count);
  const int n = batch.shape.n;
  arguments.vectors = batch.shape.storage == Storage::dense && in_pairs(batch.a, arguments.a_step, n);
  const bool whole = arguments.vectors && n % tile_rows == 0 && in_pairs(arguments.to.x, arguments.to.x_stride, n);
  const auto of_size = [whole]<int B>(std::integral_constant<int, B>) -> Kernel<Arguments<T>> {
    return whole ? block_sweep_kernel<T, B, true> : block_sweep_kernel<T, B, false>;
  };
  constexpr int of_24 = sizeof(T) == sizeof(double) ? 3 : 5, of_32 = of_24 == 3 ? 4 : 5;  // floats never use these
                                                                                          // sizes
  const auto kernel = n <= 24   ? of_size(std::integral_constant<int, of_24>{})
                      : n <= 32 ? of_size(std::integral_constant<int, of_32>{})
                      : n <= 40 ? of_size(std::integral_constant<int, 5>{})
                      : n <= 48 ? of_size(std::integral_constant<int, 6>{})
                      : n <= 56 ? of_size(std::integral_constant<int, 7>{})
                                : of_size(std::integral_constant<int, 8>{});
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(kernel, dim3(std::min(1U << 15, arguments.tasks)), dim3(warp_lanes), parameters, 0, stream);
}

template cudaError_t launch_block_sweep(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, double, cudaStream_t);
template cudaError_t launch_block_sweep(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, double,
                                        cudaStream_t);

}  // namespace smallbatch
