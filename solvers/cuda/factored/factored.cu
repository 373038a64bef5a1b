// Factors L D L^T once, and solves with the factors many times. The two kernels are the two halves of the kernel in
// solve/general.cu. They distribute systems over the lanes as it does, and compute with the same arithmetic. The
// factors are in device memory, packed by rows.
//
// Device memory holds the factors of A itself, without scaling. In registers, systems far from 1 are scaled by powers
// of two. The factorization takes these powers from the diagonal of A. The solution takes them from the pivots, the D
// of L D L^T.
#include <limits>

#include "solvers/cuda/common/ldlt_systems.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

template <class T>
struct FactoredArguments : Arguments<T> {
  const std::int32_t* factors_info;
  int numbers;   ///< numbers in the factors of one system
  bool whole;    ///< factors may be copied in pieces of 16 bytes
  int zero = 0;  ///< always 0, but the compiler does not know, and computes sums with `zero` again for each use
};

/// Returns the group's packed triangle in shared memory.
template <class T, class L>
__device__ __forceinline__ T* triangle_of(GeneralMemory<T, L>& memory, int group) {
  static_assert(packed_pitch<L> <= L::staged_numbers && packed_pitch<L> % L::piece == 0);
  return memory.tile.matrix[0] + group * packed_pitch<L>;
}

/// Stores the factors of a system with A far from 1, from shared memory to `to`. They differ from those of the scaled
/// matrix by powers of two. Reports overflows and underflows of T. The whole warp calls.
template <class T>
__device__ __forceinline__ void store_scaled_back(const Arguments<T>& args, std::int64_t system, const T* triangle,
                                                  T* to, bool& overflows, bool& underflows) {
#pragma unroll 1
  for (int row = 0; row < args.n; ++row) {
    const int of_row = scaling_exponent(args, system, row, true), begin = row * (row + 1) / 2;
#pragma unroll 1
    for (int column = threadIdx.x; column <= row; column += warp_lanes) {
      const int exponent = column == row ? -2 * of_row : scaling_exponent(args, system, column, true) - of_row;
      const T value = triangle[begin + column], stored = scale(value, exponent);
      overflows |= not_finite(stored);
      underflows |= column == row && scale(stored, -exponent) != value;
      to[begin + column] = stored;
    }
  }
}

/// Factors systems; the factors go to args.to.x. Each task has a block. In a loop over tasks, the compiler would keep
/// values in registers that it could compute again.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::general_warps) factor_kernel(FactoredArguments<T> args) {
  using L = typename LdltPlan<T, N>::General;
  __shared__ GeneralMemory<T, L> memory;
  find_systems<T, L>(args, blockIdx.x, memory);
  choose_systems<T, L>(args, blockIdx.x, memory);
  stage_systems<T, L>(args, memory);
  T a[L::rows][N], inverse[L::rows];
  NoRhs none;
  memory.far[own_group<L>()] = load_scaled<T, L>(args, memory, a);
  factor<L, 0, true, true>(own_group<L>(), own_lane<L>(), memory.tile, a, none, PivotsOnTheDiagonal{}, args.n,
                           args.once);
  const auto lane_again = [&]() __attribute__((always_inline)) { return own_lane<L>() + args.zero; };
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = slot;
    const int row = L::lanes * u + lane_again();
    T* const to = triangle_of(memory, own_group<L>()) + row * (row + 1) / 2;
#pragma unroll
    for (int i = 0; i < L::lanes * (u + 1); ++i)
      if (i <= row && row < args.n) to[i] = a[u][i];
  });
  __syncwarp();  // the triangles are complete
  T pivots[L::rows];
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int row = L::lanes * u + lane_again();
    pivots[u] = row < args.n ? triangle_of(memory, own_group<L>())[row * (row + 3) / 2] : T(1);
    inverse[u] = reciprocal(pivots[u]);  // computed again: the elimination has no registers to keep it
  }
  const int bad_pivot = first_bad_pivot<T, L>(lane_again(), inverse);
  if (args.pivot_numbers)
    store_pivots<T, L>(args, own_system(memory), own_rows(memory), is_own(memory), lane_again(), own_far(memory),
                       pivots);
  bool bad = bad_pivot != 0;
#pragma unroll 1
  for (int s = 0; s < memory.used; ++s) {
    const T* const from = triangle_of(memory, s);
    T* const to = args.to.x + memory.systems[s] * args.to.x_stride;
    if (memory.far[s]) {
      bool overflows = false, underflows = false;
      store_scaled_back<T>(args, memory.systems[s], from, to, overflows, underflows);
      if (__any_sync(whole_warp, overflows) && own_group<L>() == s) bad = true;
      if (underflows) memory.underflows[s] = true;
    } else if (args.whole) {
      using Piece = Vector<T, L::piece>;
#pragma unroll 1
      for (int e = threadIdx.x; e * L::piece < args.numbers; e += warp_lanes)
        reinterpret_cast<Piece*>(to)[e] = reinterpret_cast<const Piece*>(from)[e];
    } else {
#pragma unroll 1
      for (int e = threadIdx.x; e < args.numbers; e += warp_lanes) to[e] = from[e];
    }
  }
  settle<T, L>(args, memory, bad, bad_pivot);
  __syncwarp();  // statuses and factors are stored: NaN now replaces the factors of failed systems
  if (is_own(memory) && args.to.info[own_system(memory)] != 0) {
    T* const to = args.to.x + own_system(memory) * args.to.x_stride;
#pragma unroll 1
    for (int e = own_lane<L>(); e < args.numbers; e += L::lanes) to[e] = not_a_number<T>();
  }
}

/// Starts to copy the packed factors of the systems to shared memory, in the same layout.
template <class T, class L>
__device__ __forceinline__ void stage_factors(const FactoredArguments<T>& args, GeneralMemory<T, L>& memory) {
  const auto source = [&](int s) { return args.a + memory.systems[s] * args.a_step; };
  if (args.whole) {
    stage_packed(source, memory.tile);
    return;
  }
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s) {
    const T* const from = source(s);
    T* const to = triangle_of(memory, s);
#pragma unroll 2
    for (int e = threadIdx.x; e < args.numbers; e += warp_lanes) copy_async<1>(to + e, from + e);
  }
}

/// Writes identity rows behind the packed rows. Copies of factors do not overwrite them.
template <class T, class L>
__device__ void fill_packed_padding(const Arguments<T>& args, GeneralMemory<T, L>& memory) {
#pragma unroll 1
  for (int s = 0; s < L::systems; ++s) {
    T* const triangle = triangle_of(memory, s);
#pragma unroll 1
    for (int row = args.n; row < L::size; ++row)
#pragma unroll 1
      for (int e = threadIdx.x; e <= row; e += warp_lanes) triangle[row * (row + 1) / 2 + e] = e == row ? T(1) : T(0);
  }
}

/// Computes 1 / d of the lane's rows. If the system is `far`, scales them and L. The whole warp calls. It costs nothing
/// if no system is far.
template <class T, class L>
__device__ __forceinline__ void scale_factors(const Arguments<T>& args, std::int64_t system, int lane, bool far,
                                              T (&a)[L::rows][L::size], T (&inverse)[L::rows]) {
  T power[L::rows], other_way[L::rows];
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int exponent = scaling_exponent(args, system, L::lanes * u + lane, far);
    power[u] = power_of_two<T>(exponent);
    other_way[u] = power_of_two<T>(-exponent);
    inverse[u] = reciprocal(diagonal<T, L>(lane, u, a) * power[u] * power[u]);
  }
  // Each loop has one turn or none, as in scale_rows().
  const int turns = __any_sync(whole_warp, far) ? 1 : 0;
  constexpr int columns = L::size > 32 ? 8 : L::size;
  unrolled<L::size / columns>([&](auto index) __attribute__((always_inline)) {
#pragma unroll 1
    for (int turn = fresh(turns); turn > 0; --turn)
#pragma unroll
      for (int i = columns * index; i < columns * (index + 1); ++i) {
        const T other = shuffle(other_way[i / L::lanes], i % L::lanes, L::lanes);
#pragma unroll
        for (int u = i / L::lanes; u < L::rows; ++u) a[u][i] = a[u][i] * power[u] * other;
      }
  });
}

/// Solves with the factors args.a, which are packed_lower.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, LdltPlan<T, N>::general_warps)
    solve_factored_kernel(FactoredArguments<T> args) {
  using L = typename LdltPlan<T, N>::General;
  __shared__ GeneralMemory<T, L> memory;
  fill_packed_padding<T, L>(args, memory);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    find_systems<T, L>(args, task, memory);
    if (!choose_systems<T, L>(args, task, memory)) continue;
    stage_factors<T, L>(args, memory);
    stage_column(args, memory, 0);  // also waits for the factors
    T a[L::rows][N], b[1][L::rows], inverse[L::rows];
    load_packed<T, L>(triangle_of(memory, own_group<L>()), own_lane<L>(), a);
    const bool far = any_of_group<L::lanes>(diagonal_far_bits<T, L>(own_lane<L>(), a) != 0);
    scale_factors<T, L>(args, own_system(memory), own_lane<L>(), far, a, inverse);
    bool bad_rhs = false, bad = false;
#pragma unroll 1
    for (int column = 0; column < args.nrhs; ++column) {
      if (column > 0) stage_column(args, memory, column);
      int shift = 0;
      const bool scaled = take_rhs<T, L>(args, memory, far, b[0], shift);
#pragma unroll
      for (int u = 0; u < L::rows; ++u) bad_rhs |= not_finite(b[0][u]);
      substitute_forward<L, true>(own_lane<L>(), a, b, args.once);
#pragma unroll
      for (int u = 0; u < L::rows; ++u) {
        b[0][u] *= inverse[u];
        now(b[0][u]);
      }
      substitute_back<L, true, true>(own_group<L>(), own_lane<L>(), memory.tile, a, b, args.once);
      if (scaled) {
        T* const place = memory.tile.rhs + own_group<L>() * L::column_pitch + own_lane<L>();
        const bool tiny = rescale<T, L>(b[0], place, [&](int u) {
          return scaling_exponent(args, own_system(memory), L::lanes * u + own_lane<L>(), far) - shift;
        });
        if (tiny) memory.underflows[own_group<L>()] = true;
      }
#pragma unroll
      for (int u = 0; u < L::rows; ++u) bad |= not_finite(b[0][u]);
      if (is_own(memory)) {
        T* const x = args.to.x + own_system(memory) * args.to.x_stride + column;
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = L::lanes * u + own_lane<L>();
          if (row < args.n) x[static_cast<std::int64_t>(row) * args.nrhs] = b[0][u];
        }
      }
    }
    bad_rhs = any_of_group<L::lanes>(bad_rhs);
    bad = any_of_group<L::lanes>(bad);
    __syncwarp();  // all of x and memory.underflows are stored
    if (!is_own(memory)) continue;
    const std::int64_t system = own_system(memory);
    std::int32_t status = args.factors_info[args.a_step == 0 ? 0 : system];
    if (status == 0)
      status = bad_rhs                             ? info_rhs_not_finite
               : bad                               ? info_result_not_finite
               : memory.underflows[own_group<L>()] ? info_result_underflowed
                                                   : 0;
    if (status != 0) {
#pragma unroll 1
      for (std::int64_t e = own_lane<L>(); e < std::int64_t{args.n} * args.nrhs; e += L::lanes)
        args.to.x[system * args.to.x_stride + e] = not_a_number<T>();
    }
    if (own_lane<L>() == 0) args.to.info[system] = status;
  }
}

template <class T>
using FactoredKernels = Kernels<T, FactoredArguments<T>>;

template <class T>
FactoredKernels<T> factor_kernels() {
  return {{factor_kernel<T, 8>, LdltPlan<T, 8>::General::systems},
          {factor_kernel<T, 16>, LdltPlan<T, 16>::General::systems},
          {factor_kernel<T, 32>, LdltPlan<T, 32>::General::systems},
          {factor_kernel<T, 64>, LdltPlan<T, 64>::General::systems}};
}

template <class T>
FactoredKernels<T> solve_factored_kernels() {
  return {{solve_factored_kernel<T, 8>, LdltPlan<T, 8>::General::systems},
          {solve_factored_kernel<T, 16>, LdltPlan<T, 16>::General::systems},
          {solve_factored_kernel<T, 32>, LdltPlan<T, 32>::General::systems},
          {solve_factored_kernel<T, 64>, LdltPlan<T, 64>::General::systems}};
}

constexpr int numbers_of(int n) { return n * (n + 1) / 2; }

/// Returns whether packed triangles fill their padded size and begin at multiples of 16 bytes.
template <class T>
bool triangles_in_whole_pieces(int n, const T* triangles, std::int64_t step) {
  return in_whole_pieces(SpdBatch<T>{{n, 0, Storage::packed_lower}, 0, triangles, nullptr, step});
}

}  // namespace

template <class T>
cudaError_t launch_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, cudaStream_t stream) {
  const SpdBatch<T> matrices{
      {batch.shape.n, 0, batch.shape.storage, true}, batch.count, batch.a, nullptr, batch.a_stride};
  SpdSolution<T> to = of_pivots(factors);
  to.x = factors.factors;
  to.x_stride = factors.factors_step(batch.shape.n);
  FactoredArguments<T> arguments{arguments_of(matrices, to), nullptr, numbers_of(batch.shape.n),
                                 triangles_in_whole_pieces<T>(batch.shape.n, to.x, to.x_stride)};
  return launch<T>(factor_kernels<T>(), arguments, stream, std::numeric_limits<unsigned>::max());
}

template <class T>
cudaError_t launch_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                  cudaStream_t stream) {
  const SpdBatch<T> systems{batch.shape(), batch.count, batch.factors, batch.b, batch.factors_stride, batch.b_stride};
  FactoredArguments<T> arguments{arguments_of(systems, solution), batch.factors_info, numbers_of(batch.n),
                                 triangles_in_whole_pieces(batch.n, batch.factors, batch.factors_step())};
  return launch<T>(solve_factored_kernels<T>(), arguments, stream);
}

template cudaError_t launch_factor(const SpdBatch<float>&, const SpdFactors<float>&, cudaStream_t);
template cudaError_t launch_factor(const SpdBatch<double>&, const SpdFactors<double>&, cudaStream_t);
template cudaError_t launch_solve_factored(const SpdFactoredBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_solve_factored(const SpdFactoredBatch<double>&, const SpdSolution<double>&, cudaStream_t);

}  // namespace smallbatch
