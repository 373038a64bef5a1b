// Solves systems of more than 64 rows by A = L D L^T, one block per system: the kernels, their memory and their
// launches. One kernel computes all wanted numbers. For the residual, A is loaded again.
#include <algorithm>
#include <limits>

#include "solvers/cuda/common/stored_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/wide_answers.cuh"
#include "solvers/cuda/solve/wide_judgement.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

/// Vectors in shared memory behind the tiles: pivots, their reciprocals, and vectors to work with. Several right-hand
/// sides and inverses need more of them.
constexpr int work_vectors(bool several) { return several ? tile_rows : 2; }

/// Arguments of a kernel, also for systems with tiles that do not fit into shared memory.
template <class T>
struct WideArguments : Arguments<T> {
  int kept = 0;              ///< columns of tiles in shared memory
  T* beyond = nullptr;       ///< the other columns of all blocks
  std::int64_t beyond_step;  ///< numbers from one block to the next
};

extern __shared__ uint4 block_memory[];

/// Returns system `system`, for the block.
template <bool Fits, class T>
__device__ __forceinline__ Wide<T> system_of_block(const WideArguments<T>& args, std::int64_t system, bool carried,
                                                   bool several) {
  const int columns = tiles_of(args.n), rows = columns + (carried ? 1 : 0), padded = tile_rows * columns;
  T* const first = reinterpret_cast<T*>(block_memory);
  T* const vectors = first + tile_numbers * Tiles<T>::count(rows, Fits ? columns : args.kept);
  T* const work = vectors + 2 * padded;
  return {args,
          system,
          {first, rows, columns, Fits ? nullptr : args.beyond + blockIdx.x * args.beyond_step, args.kept},
          vectors,
          vectors + padded,
          reinterpret_cast<short*>(work + work_vectors(several) * padded),
          work};
}
/// Calls work(system) for the systems of the block. If the tiles fit, a block has one system.
template <bool Fits, class T, class Work>
__device__ __forceinline__ void for_each_system(const Arguments<T>& args, Work&& work) {
  if constexpr (Fits) {
    work(std::int64_t{blockIdx.x});
  } else {
#pragma unroll 1
    for (std::int64_t system = blockIdx.x; system < args.count; system += gridDim.x) {
      work(system);
      __syncthreads();  // the system is no longer needed
    }
  }
}

/// Returns whether a launch needs A^-1.
template <class T>
__host__ __device__ constexpr bool inverts(const Arguments<T>& args) {
  return args.inverse || args.to.rcond != nullptr;
}
/// Returns whether a launch needs all work vectors.
template <class T>
__host__ __device__ constexpr bool needs_several(const Arguments<T>& args) {
  return args.nrhs > 1 || inverts(args);
}

/// Solves a system. `Inverts`: whether A^-1 is needed. `Fits`: whether the tiles fit into shared memory.
template <class T, bool Inverts, bool Fits>
__device__ __forceinline__ void solve_system(const WideArguments<T>& args, std::int64_t system) {
  __shared__ int shift[carried_rhs];
  Wide<T> w = system_of_block<Fits>(args, system, args.nrhs > 0, needs_several(args));
  Outcome outcome;
  if (args.storage == Storage::dense) prefetch_matrix(w);
  begin_triangle(w);
  if (args.nrhs > 0) begin_rhs(w);
  finish_copies();
  const Input input = compare_triangles(w);
  MatrixNorm norm;
  if (Inverts && args.to.rcond != nullptr) norm = norm_of(w);
  w.far = scale_triangle<false>(w);
  if (args.nrhs > 0) scale_carried(w, shift, outcome);
  __syncthreads();  // the right-hand sides are scaled
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  if (args.nrhs > 0) solve_all(w, shift, outcome);
  if (Inverts && inverts(args)) {
    invert_factor(w);
    if (args.inverse) outcome.bad = store_inverse(w);
    if (args.to.rcond != nullptr) store_rcond(w, norm);
  }
  const std::int32_t status = status_of(w, input, outcome.bad, outcome.tiny, bad_pivot);
  double error = 0;
  if (status != 0) {
    forget_x(w);
    error = not_a_number<double>();
  } else if (args.to.backward_error != nullptr && args.to.x != nullptr) {
    if (input.differ) {
      error = judge_as_stored<warp_lanes>(args, w.system, lane_of_warp(), 0, args.inverse ? args.n : args.nrhs)
                  .backward_error;
    } else {
      begin_triangle(w);
      finish_copies();
      error = judge(w);
    }
  }
  if (threadIdx.x != 0) return;
  args.to.info[w.system] = status;
  if (args.to.backward_error != nullptr) args.to.backward_error[w.system] = static_cast<T>(error);
  if (status == 0) return;
  if (args.to.rcond != nullptr) args.to.rcond[w.system] = not_a_number<T>();
  forget_pivots(args, w.system);
}
template <class T, bool Inverts, bool Fits>
__global__ void __launch_bounds__(most_warps* warp_lanes, Fits ? 2 : 1) wide_ldlt_kernel(WideArguments<T> args) {
  for_each_system<Fits>(args, [&](std::int64_t system) { solve_system<T, Inverts, Fits>(args, system); });
}

/// Factors a system; the factors, packed by rows, go to args.to.x.
template <class T, bool Fits>
__device__ __forceinline__ void factor_system(const WideArguments<T>& args, std::int64_t system) {
  Wide<T> w = system_of_block<Fits>(args, system, false, false);
  begin_triangle(w);
  finish_copies();
  const Input input = compare_triangles(w);
  w.far = scale_triangle<false>(w);
  factor(w);
  const int bad_pivot = first_bad_pivot_of_block(w);
  if (args.pivot_numbers) store_pivot_numbers(w);
  // Stores the factors of A itself. The factors of the scaled matrix differ from them by powers of two.
  bool overflows = false, underflows = false;
  T* const factors = args.to.x + w.system * args.to.x_stride;
#pragma unroll 1
  for (int i = warp_of_block(); i < args.n; i += warps_of_block())
#pragma unroll 1
    for (int j = lane_of_warp(); j <= i; j += warp_lanes) {
      const T value = i == j ? w.pivot[i] : w.a.at(i, j);
      T stored = value;
      if (w.far) {
        const int exponent = i == j ? -2 * w.exponent[i] : w.exponent[j] - w.exponent[i];
        stored = scale(value, exponent);
        underflows |= i == j && scale(stored, -exponent) != value;
      }
      overflows |= not_finite(stored);
      factors[i * (i + 1) / 2 + j] = stored;
    }
  const std::int32_t status = status_of(w, input, overflows, underflows, bad_pivot);
  for (int e = threadIdx.x; status != 0 && e < args.n * (args.n + 1) / 2; e += blockDim.x)
    factors[e] = not_a_number<T>();
  if (threadIdx.x != 0) return;
  args.to.info[w.system] = status;
  if (status != 0) forget_pivots(args, w.system);
}

template <class T, bool Fits>
__global__ void __launch_bounds__(most_warps* warp_lanes, Fits ? 2 : 1) wide_factor_kernel(WideArguments<T> args) {
  for_each_system<Fits>(args, [&](std::int64_t system) { factor_system<T, Fits>(args, system); });
}

/// Solves with the factors args.a, which are packed_lower.
template <class T, bool Fits>
__device__ __forceinline__ void solve_factored_system(const WideArguments<T>& args, const std::int32_t* factors_info,
                                                      std::int64_t system) {
  Wide<T> w = system_of_block<Fits>(args, system, false, args.nrhs > 1);
  begin_triangle(w);
  finish_copies();
  w.far = scale_triangle<true>(w);
  for (int i = threadIdx.x; i < w.padded(); i += blockDim.x) w.reciprocal[i] = reciprocal(w.a.at(i, i));
  __syncthreads();  // 1 / d is complete
  Outcome outcome;
  solve_all(w, nullptr, outcome);
  const bool bad_rhs = any_of_block(outcome.bad_rhs), bad = any_of_block(outcome.bad),
             tiny = any_of_block(outcome.tiny);
  std::int32_t status = factors_info[args.a_step == 0 ? 0 : w.system];
  if (status == 0)
    status = bad_rhs ? info_rhs_not_finite : bad ? info_result_not_finite : tiny ? info_result_underflowed : 0;
  if (status != 0) forget_x(w);
  if (threadIdx.x == 0) args.to.info[w.system] = status;
}
template <class T, bool Fits>
__global__ void __launch_bounds__(most_warps* warp_lanes, Fits ? 2 : 1)
    wide_solve_factored_kernel(WideArguments<T> args, const std::int32_t* factors_info) {
  for_each_system<Fits>(args, [&](std::int64_t system) { solve_factored_system<T, Fits>(args, factors_info, system); });
}

/// Returns the arguments without the first `first` systems.
template <class T>
WideArguments<T> without(std::int64_t first, WideArguments<T> arguments) {
  const auto skip = [](auto*& array, std::int64_t numbers) {
    if (array != nullptr) array += numbers;
  };
  skip(arguments.a, first * arguments.a_step);
  skip(arguments.b, first * arguments.b_step);
  skip(arguments.to.x, first * arguments.to.x_stride);
  skip(arguments.to.info, first);
  for_each_spd_number<T>([&](const auto& number) { skip(arguments.to.*number.in_solution, first); });
  arguments.count -= first;
  return arguments;
}

/// The memory of a block. If tiles do not fit, also the global memory of all blocks that run at a time.
template <class T>
struct WideMemory {
  std::size_t most;   // bytes of shared memory for tiles and vectors, at most
  int rows, columns;  // of tiles
  bool several;       // whether all work vectors are needed
  int kept;           // columns of tiles in shared memory

  static constexpr std::int64_t most_blocks = 256;  // that run at a time if tiles do not fit
  static constexpr std::size_t variables = 1024;    // bytes for variables in shared memory

  WideMemory(int n, bool carried, bool several_vectors)
      : most(shared_bytes_of_device() - variables),
        rows(tiles_of(n) + (carried ? 1 : 0)),
        columns(tiles_of(n)),
        several(several_vectors),
        kept(columns) {
    while (kept > 0 && bytes() > most) --kept;
  }
  [[nodiscard]] bool fits() const { return kept == columns; }
  [[nodiscard]] std::size_t bytes() const {
    const int padded = tile_rows * columns;
    const int numbers = tile_numbers * Tiles<T>::count(rows, kept) + (2 + work_vectors(several)) * padded;
    return numbers * sizeof(T) + padded * sizeof(short);
  }
  /// Returns the numbers of a system that do not fit.
  [[nodiscard]] std::int64_t beyond() const {
    return std::int64_t{tile_numbers} * (Tiles<T>::count(rows, columns) - Tiles<T>::count(rows, kept));
  }
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t count) const {
    return static_cast<std::size_t>(std::min(count, most_blocks) * beyond()) * sizeof(T);
  }
};

/// Returns the warps of a block, as measured on an H200. More warps finish a system sooner, but wait longer for each
/// other.
template <class T>
constexpr int warps_for(int n) {
  if (sizeof(T) == sizeof(float)) return n <= 80 ? 1 : n <= 112 ? 2 : n <= 128 ? 3 : n <= 160 ? 4 : most_warps;
  return n <= 72 ? 2 : n <= 80 ? 3 : n <= 128 ? 4 : most_warps;
}

/// Launches one block per system, in as many launches as needed. If tiles do not fit, blocks take several systems, and
/// `workspace` has room for the tiles. Some kernels have a last argument `of_matrices`, an array with one number per
/// matrix.
template <class T, class... OfMatrix>
cudaError_t launch_blocks(void (*kernel)(WideArguments<T>, const OfMatrix*...), const WideMemory<T>& memory,
                          const Arguments<T>& of_batch, void* workspace, cudaStream_t stream,
                          const OfMatrix*... of_matrices) {
  if (of_batch.count == 0) return cudaSuccess;
  WideArguments<T> arguments{of_batch, memory.kept, static_cast<T*>(workspace), memory.beyond()};
  if (!memory.fits() && workspace == nullptr) return cudaErrorNotSupported;
  arguments.vectors = memory.fits() && arguments.storage != Storage::packed_lower &&
                      arguments.n * sizeof(T) % 16 == 0 && lies_in_pieces(arguments.a, arguments.a_step);
  cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(memory.most));
  const std::int64_t most_systems = memory.fits() ? std::numeric_limits<int>::max() : arguments.count;
  const std::int64_t most_blocks = memory.fits() ? most_systems : WideMemory<T>::most_blocks;
  for (std::int64_t first = 0; status == cudaSuccess && first < arguments.count; first += most_systems) {
    const auto blocks = static_cast<unsigned>(std::min(most_blocks, arguments.count - first));
    kernel<<<blocks, warps_for<T>(arguments.n) * warp_lanes, memory.bytes(), stream>>>(
        without(first, arguments), of_matrices + (arguments.a_step == 0 ? 0 : first)...);
    status = cudaGetLastError();
  }
  return status;
}

}  // namespace

// All work vectors are counted, because they leave the least room for tiles.
template <class T>
std::size_t wide_workspace_bytes(const SpdShape& shape, std::int64_t count) {
  return WideMemory<T>(shape.n, shape.nrhs > 0, true).workspace_bytes(count);
}
template <class T>
std::size_t wide_factor_workspace_bytes(int n, std::int64_t count) {
  return WideMemory<T>(n, false, true).workspace_bytes(count);
}

template <class T>
cudaError_t launch_wide_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, void* workspace,
                             cudaStream_t stream) {
  const Arguments<T> arguments = arguments_of(batch, solution);
  const WideMemory<T> memory(arguments.n, arguments.nrhs > 0, needs_several(arguments));
  const auto kernel = !memory.fits()       ? wide_ldlt_kernel<T, true, false>
                      : inverts(arguments) ? wide_ldlt_kernel<T, true, true>
                                           : wide_ldlt_kernel<T, false, true>;
  return launch_blocks<T>(kernel, memory, arguments, workspace, stream);
}

template <class T>
cudaError_t launch_wide_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, void* workspace,
                               cudaStream_t stream) {
  const SpdBatch<T> matrices{
      {batch.shape.n, 0, batch.shape.storage, true}, batch.count, batch.a, nullptr, batch.a_stride};
  SpdSolution<T> to = of_pivots(factors);
  to.x = factors.factors;
  to.x_stride = factors.factors_step(batch.shape.n);
  const WideMemory<T> memory(batch.shape.n, false, false);
  return launch_blocks<T>(memory.fits() ? wide_factor_kernel<T, true> : wide_factor_kernel<T, false>, memory,
                          arguments_of(matrices, to), workspace, stream);
}

template <class T>
cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                       void* workspace, cudaStream_t stream) {
  const SpdBatch<T> systems{batch.shape(), batch.count, batch.factors, batch.b, batch.factors_stride, batch.b_stride};
  const WideMemory<T> memory(batch.n, false, batch.nrhs > 1);
  return launch_blocks<T>(memory.fits() ? wide_solve_factored_kernel<T, true> : wide_solve_factored_kernel<T, false>,
                          memory, arguments_of(systems, solution), workspace, stream, batch.factors_info);
}

template std::size_t wide_workspace_bytes<float>(const SpdShape&, std::int64_t);
template std::size_t wide_workspace_bytes<double>(const SpdShape&, std::int64_t);
template std::size_t wide_factor_workspace_bytes<float>(int, std::int64_t);
template std::size_t wide_factor_workspace_bytes<double>(int, std::int64_t);
template cudaError_t launch_wide_ldlt(const SpdBatch<float>&, const SpdSolution<float>&, void*, cudaStream_t);
template cudaError_t launch_wide_ldlt(const SpdBatch<double>&, const SpdSolution<double>&, void*, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<float>&, const SpdFactors<float>&, void*, cudaStream_t);
template cudaError_t launch_wide_factor(const SpdBatch<double>&, const SpdFactors<double>&, void*, cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<float>&, const SpdSolution<float>&, void*,
                                                cudaStream_t);
template cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<double>&, const SpdSolution<double>&, void*,
                                                cudaStream_t);

}  // namespace smallbatch
