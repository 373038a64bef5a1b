// Inverses of small systems, several in a warp, by the symmetric sweep (J. H. Goodnight, "A tutorial on the SWEEP
// operator", 1979), and their judgement. Other sizes are in inverse/tiles.cu; up to 8 rows in single precision are in
// inverse/lanes.cu.
//
// The lower triangle is swept in the registers of a few lanes. The inverse replaces A in shared memory, with both
// triangles copied from the swept triangle. It is stored from there in whole rows, and judged on the tensor cores. For
// the judgement, A is read a second time, from the cache. With 16 rows in single precision, A stays in shared memory
// beside its inverse instead. This is one file, because all of these sizes have the same kernel.
#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/inverse/sweep.cuh"
#include "solvers/cuda/inverse/tile_products.cuh"
#include "solvers/cuda/kernels.cuh"

namespace smallbatch {

namespace {

/// A Tile in which each row of 6 pieces occupies a whole line of 8 pieces.
template <class T, int N, int Lanes>
struct SweptTile : Tile<T, N, Lanes, false> {
  using Base = Tile<T, N, Lanes, false>;
  static constexpr bool spread = Base::pieces_per_row == 6;
  static constexpr int staged_numbers = spread ? N * 8 * Base::piece : Base::staged_numbers;
  static constexpr int system_key(int system) {
    return spread ? Tile<T, 8 * Base::piece, Lanes, false>::system_key(system) : Base::system_key(system);
  }
};

/// The distribution of systems over lanes, as measured to be best.
template <class T, int N, bool Whole>
struct InversePlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  using L = SweptTile<T, N, N <= 16 ? 4 : single ? 8 : 16>;
  static constexpr int resident_warps = N == 8 ? 16 : single && (N < 32 || Whole) ? 12 : 8;
  static constexpr int warps_elsewhere = N == 32 && resident_warps == 12 ? 8 : resident_warps;  // the second argument
                                                                                                // of resident_blocks()
};

/// Whether A stays in shared memory beside its inverse, for the judgement. With larger matrices there is no room for
/// both.
template <class T, int N>
inline constexpr bool keeps_matrix = sizeof(T) == sizeof(float) && N == 16;

/// A and its inverse. The inverse takes the place of data that only the sweep needs.
template <class T, class L>
struct alignas(16) MatrixAndInverse {
  T matrix[L::systems][L::staged_numbers];
  T rhs[L::systems * L::column_pitch];
  T inverse[L::systems][L::staged_numbers];
};

/// Shared memory with the data about a warp's systems, because the matrices occupy the registers.
template <class T, class L>
struct InverseRowsMemory {
  union {
    TileMemory<T, L> tile;
    std::conditional_t<keeps_matrix<T, L::size>, MatrixAndInverse<T, L>, TileMemory<T, L>> judged;
  };
  std::int32_t states[L::systems];
  bool differs[L::systems];                              // whether the triangles of A differ
  int a_exponents[L::systems], x_exponents[L::systems];  // of the powers of two that bring A and X near 1
};

/// Stores the warp's inverses. Their negative lower triangles are in registers. The whole warp calls.
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

/// Returns the exponent of the power of two that brings the largest diagonal element of the lane's system near 1. The
/// whole warp calls.
template <class T, class L>
__device__ __forceinline__ int exponent_of_diagonal(int n, int lane, const T (&a)[L::rows][L::size]) {
  T largest = 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (L::lanes * u + lane < n) largest = max(largest, abs(diagonal<T, L>(lane, u, a)));
  return normalizing_exponent(max_of_group<L::lanes>(largest));
}

/// Copies the lower triangles to the upper triangles. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void mirror_triangles(TileMemory<T, L>& memory, const T (&a)[L::rows][L::size]) {
  const int thread = fresh(threadIdx.x), group = thread / L::lanes, lane = thread % L::lanes;
  __syncwarp();  // all rows have been read, including their elements above the diagonal
  visit_columns<0, L::size, T, L>(memory.matrix[group], group, lane, [&](int u, int row, T& value) {
    if (u > row / L::lanes || lane > row % L::lanes) value = a[u][row];
  });
}

/// Stores a pair of numbers of tile (i, j) of an inverse in global memory.
template <class L>
__device__ __forceinline__ void store_pair(float* x, int row, int column, int i, int j, const Vector<float, 2>& pair) {
  float* const to = x + (tile_rows * i + row) * L::size + tile_rows * j + column;
  *reinterpret_cast<float2*>(to) = float2{pair.value[0], pair.value[1]};
}

/// Stores an inverse in global memory number by number, if pairs are not possible or the system is not solved.
template <class T, class L>
__device__ __forceinline__ void store_number_by_number(const Arguments<T>& args, T* x, bool solved, const T* inverse,
                                                       int s) {
  const int n = args.n;
#pragma unroll 1
  for (int e = fresh(threadIdx.x); e < n * n; e += warp_lanes)
    x[e] = solved ? staged<L>(inverse, s, e / n, e % n) : not_a_number<T>();
}

/// Returns the largest sum of magnitudes in a row of `matrix`, A or its inverse, in double precision. The whole warp
/// calls.
template <class L>
__device__ double largest_row(int n, const float* matrix, int s) {
  double largest = 0;
#pragma unroll 1
  for (int i = fresh(threadIdx.x); i < n; i += warp_lanes) {
    double sum = 0;
#pragma unroll 1
    for (int j = 0; j < n; ++j) sum += abs(staged<L>(matrix, s, i, j));
    largest = max(largest, sum);
  }
  return max_of_group<warp_lanes>(largest);
}

/// Returns the norms of one inverse in single precision, and stores the inverse on the way. Each lane computes sums of
/// some rows. At the end all lanes have the largest sums. The whole warp calls.
template <class L>
__device__ __forceinline__ InverseNorms store_and_judge(const Arguments<float>& args, float* x, bool in_pairs,
                                                        const float* matrix, const float* inverse, int s) {
  constexpr int B = L::size / tile_rows, I = B < 2 ? B : 2, P = L::piece;
  const int row = fragment_row(), column = fragment_column(), quarter = column / 2;
  const int line = L::line(row, column / P) * 8 * P + column % P;
  const int key = L::key(row, column / P) ^ L::system_key(s);
  const auto pair_of = [&](const float* of, int i, int j) __attribute__((always_inline)) {
    return *reinterpret_cast<const Vector<float, 2>*>(of + line + L::line(tile_rows * i, tile_rows * j / P) * 8 * P +
                                                      (key ^ L::key(tile_rows * i, tile_rows * j / P)) * P);
  };
  const auto largest_sum = [&](float(&of_rows)[B]) __attribute__((always_inline)) {
    static_assert(B <= 4);
    const float sum = sum_for_each<4, B>(quarter, of_rows);
    const bool is_row = tile_rows * (quarter % B) + row < args.n;
    return static_cast<double>(
        __int_as_float(static_cast<int>(__reduce_max_sync(whole_warp, is_row ? __float_as_uint(sum) : 0U))));
  };
  InverseNorms norms;
  Fragment a[B][B];
  {
    float sums[B];
#pragma unroll
    for (int t = 0; t < B; ++t) {
      sums[t] = 0;
#pragma unroll
      for (int k = 0; k < B; ++k) {
        const Vector<float, 2> pair = pair_of(matrix, t, k);
#pragma unroll
        for (int h = 0; h < 2; ++h) a[t][k].value[h] = static_cast<double>(pair.value[h]);
        sums[t] += abs(pair.value[0]) + abs(pair.value[1]);
      }
    }
    norms.matrix = largest_sum(sums);
  }
  float sums[B];
  double residual[B];
  unrolled<B / I>([&](auto index) __attribute__((always_inline)) {
    constexpr int i = I * index;
    Fragment products[B][I];
#pragma unroll
    for (int t = 0; t < B; ++t)
#pragma unroll
      for (int u = 0; u < I; ++u)
#pragma unroll
        for (int h = 0; h < 2; ++h) products[t][u].value[h] = i + u == t && row == column + h ? -1.0 : 0.0;
#pragma unroll
    for (int k = 0; k < B; ++k) {
      Fragment of_x[I];
#pragma unroll
      for (int u = 0; u < I; ++u) {
        const Vector<float, 2> pair = pair_of(inverse, i + u, k);
        if (in_pairs) store_pair<L>(x, row, column, i + u, k, pair);
        const float sum = abs(pair.value[0]) + abs(pair.value[1]);
        sums[i + u] = k == 0 ? sum : sums[i + u] + sum;
#pragma unroll
        for (int h = 0; h < 2; ++h) of_x[u].value[h] = static_cast<double>(pair.value[h]);
      }
#pragma unroll
      for (int t = 0; t < B; ++t) multiply_add<I>(of_x, a[t][k], products[t]);
    }
#pragma unroll
    for (int u = 0; u < I; ++u) {
      double part[B];
#pragma unroll
      for (int t = 0; t < B; ++t) part[t] = magnitude(products[t][u]);
#pragma unroll
      for (int half = B / 2; half > 0; half /= 2)
#pragma unroll
        for (int t = 0; t < half; ++t) part[t] += part[t + half];
      residual[i + u] = part[0];
    }
  });
  norms.inverse = largest_sum(sums);
  if (!(norms.matrix < infinity<double>())) norms.matrix = largest_row<L>(args.n, matrix, s);
  if (!(norms.inverse < infinity<double>())) norms.inverse = largest_row<L>(args.n, inverse, s);
  int high = 0;  // the upper half of the largest sum: it has enough digits
#pragma unroll
  for (int i = 0; i < B; ++i) high = max(high, __double2hiint(sum_of_row(residual[i])) & 0x7fffffff);
  high = static_cast<int>(__reduce_max_sync(whole_warp, static_cast<unsigned>(high)));
  norms.residual = __hiloint2double(high, 0);
  return norms;
}

/// Stores and judges the warp's inverses. Their negative lower triangles are in registers. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void store_and_judge_inverses(const Arguments<T>& args, unsigned task,
                                                         InverseRowsMemory<T, L>& memory,
                                                         const T (&a)[L::rows][L::size]) {
  const bool in_pairs = fresh(args.n) == L::size &&
                        reinterpret_cast<std::uintptr_t>(args.to.x) % (2 * sizeof(T)) == 0 && args.to.x_stride % 2 == 0;
  {
    const int thread = fresh(threadIdx.x), group = thread / L::lanes;
    store_negative<0, L::size, T, L>(memory.judged.inverse[group], group, thread % L::lanes, a);
  }
  __syncwarp();  // the inverses are complete
  InverseNorms own;
  const std::int64_t first = std::int64_t{fresh(static_cast<int>(task))} * L::systems;
#pragma unroll 1
  for (int s = 0; s < L::systems && first + s < args.count; ++s) {
    T* const x = args.to.x + (first + s) * args.to.x_stride;
    const bool solved = memory.states[s] == 0, by_pairs = in_pairs && solved;
    const InverseNorms norms =
        store_and_judge<L>(args, x, by_pairs, memory.judged.matrix[s], memory.judged.inverse[s], s);
    if (!by_pairs) store_number_by_number<T, L>(args, x, solved, memory.judged.inverse[s], s);
    if (static_cast<int>(threadIdx.x) == s) own = norms;
  }
  const int s = fresh(threadIdx.x);
  if (s < L::systems && first + s < args.count)
    tell(args, first + s, memory.states[s], memory.differs[s], own, Factors{});
}

/// Judges the warp's inverses in shared memory, and replaces them there by their norms. A is read a second time. The
/// whole warp calls.
template <Reading how, class T, class L>
__device__ __forceinline__ void judge_inverses(const Arguments<T>& args, unsigned task,
                                               InverseRowsMemory<T, L>& memory) {
  static_assert(tile_rows * sizeof(InverseNorms) <= L::size * L::size * sizeof(T));
  constexpr int B = L::size / tile_rows, P = L::piece, together = L::systems < 4 ? L::systems : 4;
  const int row = fresh(fragment_row()), column = fresh(fragment_column()), quarter = column / 2;
  const int line = L::line(row, column / P) * 8 * P + column % P, key = L::key(row, column / P);
#pragma unroll 1
  for (int first = 0; first < L::systems; first += together) {
    // Address at which the lanes exchange the norms of system s. For each row of a tile, one lane stores the norms.
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
  constexpr bool a_is_kept = keeps_matrix<T, N>;
  __shared__ InverseRowsMemory<T, L> memory;
  // The lane's position in its group, computed again for each use because matrices occupy the registers.
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  // The pivots of the lane's system, while the matrix is in registers.
  const auto pivots = [&]() __attribute__((always_inline)) {
    return a_is_kept ? memory.tile.rhs + group() * L::column_pitch : memory.tile.matrix[group()];
  };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return system_of<T, L>(args, task, group()); };
    const auto mine = [&]() __attribute__((always_inline)) {
      return std::int64_t{fresh(static_cast<int>(task))} * L::systems + group() < args.count;
    };
    T a[L::rows][N];
    bool differs;
    if constexpr (Whole && a_is_kept) {
      Arguments<T> known = args;  // with constants that the compiler can use
      known.n = N, known.vectors = true, known.storage = Storage::dense;
      differs = any_of_group<G>(load_to_sweep<T, L>(known, task, memory.tile, a) != 0);
    } else {
      differs = any_of_group<G>(load_to_sweep<T, L>(args, task, memory.tile, a) != 0);
    }
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
    if (!Whole && a_is_kept && args.storage != Storage::dense) mirror_triangles<T, L>(memory.tile, a);
    const bool far = any_of_group<G>(diagonal_far_bits<T, L>(lane(), a) != 0);
    scale_rows<T, L>(args, system(), lane(), far, a);
    if (!a_is_kept) __syncwarp();  // the matrices have been read: the pivots take their place
    sweep<T, L>(group(), lane(), memory.tile, a, pivots(), args.once);
    __syncwarp();  // the last pivots are stored
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
    if constexpr (!a_is_kept) {
      store_inverses<T, L>(args, task, memory, a);
      if (is_judged(args)) with_reading<Whole>(args, [&](auto how) { judge_inverses<how, T, L>(args, task, memory); });
    } else if (is_judged(args)) {
      store_and_judge_inverses<T, L>(args, task, memory, a);
    } else {
      store_inverses<T, L>(args, task, memory, a);
    }
  }
}

template <class T, bool Whole>
Kernels<T> row_sweep_kernels() {
  Kernels<T> kernels{{},
                     {row_sweep_kernel<T, 16, Whole>, InversePlan<T, 16, Whole>::L::systems},
                     {row_sweep_kernel<T, 32, Whole>, InversePlan<T, 32, Whole>::L::systems},
                     {}};
  if constexpr (sizeof(T) == sizeof(double))
    kernels.of8 = {row_sweep_kernel<T, 8, Whole>, InversePlan<T, 8, Whole>::L::systems};
  return kernels;
}

}  // namespace

template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks, double resolve_above,
                         cudaStream_t stream) {
  const int n = batch.shape.n;
  const bool in_tiles = is_swept_in_tiles<T>(n) || (sizeof(T) == sizeof(double) && n > 24 && resolve_above >= 0);
  if (in_tiles) return launch_block_sweep(batch, solution, marks, resolve_above, stream);
  if constexpr (sizeof(T) == sizeof(float))
    if (n <= 8) return launch_lane_sweep(batch, solution, marks, resolve_above, stream);
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.resolve_above = static_cast<T>(resolve_above);
  if constexpr (sizeof(T) == sizeof(float))
    if (n > 16 && n <= 24) {
      arguments.vectors = n == 24 && batch.shape.storage == Storage::dense && lies_in_pieces(batch);
      return launch<Arguments<T>>(arguments.vectors ? row_sweep_kernel<T, 24, true> : row_sweep_kernel<T, 24, false>,
                                  InversePlan<T, 24, true>::L::systems, arguments, stream);
    }
  const bool whole = arguments.vectors && batch.shape.storage == Storage::dense;
  return launch<T>(whole ? row_sweep_kernels<T, true>() : row_sweep_kernels<T, false>(), arguments, stream);
}

template cudaError_t launch_sweep(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, double, cudaStream_t);
template cudaError_t launch_sweep(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, double, cudaStream_t);

}  // namespace smallbatch
