// Solves plain systems by Gauss-Jordan elimination, with right-hand sides carried along; solve/gauss_jordan_tile.cuh
// has the elimination.
//
// The kernels take any n up to N, any number of right-hand sides, systems of different sizes, and any storage and
// alignment. Systems that are not plain are marked for the general kernel (solve/gauss_jordan_general.cu). They are not
// symmetric to the bit, have numbers far from 1, or fail. A stays in shared memory until all right-hand sides are
// solved and judged.
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/gauss_jordan_plan.cuh"

namespace smallbatch {

namespace {

template <class T, class L, int C>
struct alignas(16) GaussJordanMemory {
  T matrix[L::numbers];
  T rhs[C][L::systems * L::column_pitch];
  // Pivot columns of the current and of the next step. Lanes also store elements of finished rows. These elements
  // are not used, but they may lie in front of a column, hence L::lanes additional numbers.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][L::size + 2];  // solutions to be judged
  };
  T pivots[L::systems][L::column_pitch];
  double worst[L::systems];  // largest backward error
};

/// State of a warp for one task; most steps are member functions. C is the number of right-hand sides at a time.
template <class T, int N, int C>
struct GaussJordanWork {
  using Plan = GaussJordanPlan<T, N>;
  using L = typename Plan::L;
  using Memory = GaussJordanMemory<T, L, C>;
  static constexpr int G = L::lanes, R = L::rows;

  const Arguments<T>& args;
  Memory& memory;
  const unsigned& task;
  const bool& whole;

  static __device__ __forceinline__ int lane() { return own_lane<L>(); }
  static __device__ __forceinline__ int group() { return own_group<L>(); }
  __device__ __forceinline__ std::int64_t system_of(int g) const { return system_of_task<L::systems>(args, task, g); }
  __device__ __forceinline__ std::int64_t system() const { return system_of(group()); }
  __device__ __forceinline__ int rows_of_system(int g) const { return max(rows_of(args, system_of(g)), 0); }
  __device__ __forceinline__ int rows() const { return rows_of_system(group()); }
  __device__ __forceinline__ T* own_matrix() const { return memory.matrix + L::begin(group()); }
  __device__ __forceinline__ T rhs(int c, int u) const {
    return has_row<L>(lane(), u) ? memory.rhs[c][group() * L::column_pitch + G * u + lane()] : T(0);
  }

  /// Starts to copy the matrices.
  __device__ __forceinline__ void fetch() const {
    const auto source = [&](int s) { return args.a + system_of(s) * args.a_step; };
    if (whole)
      copy_pieces<T, L>(source, memory.matrix);
    else
      copy_rows<T, L>(
          args, source, [&](int s) { return rows_of_system(s); }, memory.matrix);
  }
  /// Copies right-hand sides from column `first` on. The first call also waits for the matrices and pads them.
  __device__ __forceinline__ void fetch_columns(int first) const {
    __syncwarp();  // the previous right-hand sides have been read
    const T* const from = args.b + system() * args.b_step + first;
    const int place = group() * L::column_pitch + lane(), end = rows();
#pragma unroll
    for (int u = 0; u < R; ++u)
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const int row = G * u + lane();
        const bool copied = row < end && first + c < args.nrhs;
        copy_async_or_zero(&memory.rhs[c][place + G * u],
                           from + (copied ? static_cast<std::int64_t>(row) * args.nrhs + c : 0), copied);
      }
    wait_for_copies();
    if (whole || first > 0) return;
#pragma unroll 1
    for (int row = rows() + lane(); row < N; row += G) kept<L>(own_matrix(), group(), row, row) = 1;
    __syncwarp();  // the padding is complete
  }
  /// Loads the matrix and right-hand sides into registers. `b` becomes NaN if the system is not plain.
  __device__ __forceinline__ void take(T (&a)[R][N], T (&b)[C][R]) const {
    load_kept<T, L>(own_matrix(), group(), lane(), a);
    unsigned odd = 0;
    if (args.storage == Storage::dense) {
      odd = kept_difference<T, L>(own_matrix(), group(), lane(), a);
    } else {
      mirror_blocks<T, L>(own_matrix(), group(), lane(), a);
      if (args.to.backward_error != nullptr) mirror_kept<T, L>(own_matrix(), group(), lane(), a);
    }
#pragma unroll
    for (int u = 0; u < R; ++u) {
      if (has_row<L>(lane(), u)) odd |= far_bits(diagonal<T, L>(lane(), u, a));
#pragma unroll
      for (int c = 0; c < C; ++c) {
        b[c][u] = rhs(c, u);
        odd |= static_cast<unsigned>(is_far(b[c][u], Traits<T>::rhs_window));
      }
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // x becomes NaN, so the system is marked
  }
  /// Stores the numbers that are computed from the pivots.
  __device__ __forceinline__ void tell_pivots() const {
    PivotNumbers<T> numbers;
    const int end = rows();
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (G * u + lane() < end) numbers.add(memory.pivots[group()][G * u + lane()], 0);
    numbers.template combine<G>();
    if (lane() == 0) numbers.store(args, system());
  }
  /// Turns b into x and stores it from column `first` on. Returns whether x and the pivots are usable.
  __device__ __forceinline__ bool finish(int first, T (&b)[C][R]) const {
    T zero = 0, least = 1;  // zero becomes NaN if a number is not finite
    T* const x = args.to.x + system() * args.to.x_stride + first;
#pragma unroll
    for (int u = 0; u < R; ++u) {
      const int row = G * u + lane();
      const T inverse = has_row<L>(lane(), u) ? reciprocal(memory.pivots[group()][row]) : T(1);
      zero = fma(inverse, T(0), zero);
      least = min(least, inverse);
#pragma unroll
      for (int c = 0; c < C; ++c) {
        b[c][u] *= inverse;
        zero = fma(b[c][u], T(0), zero);
        if (row < args.n && (C == 1 || first + c < args.nrhs))
          x[static_cast<std::int64_t>(row) * args.nrhs + c] = b[c][u];
      }
    }
    return zero == 0 && least > 0;
  }
  /// Judges the answers in b, and overwrites b.
  __device__ __forceinline__ void judge(int first, T (&b)[C][R]) const {
#pragma unroll 1
    for (int c = 0; c < C && first + c < args.nrhs; ++c) {
      T right[R];
      double norm_a;
#pragma unroll
      for (int u = 0; u < R; ++u) right[u] = rhs(c, u);
      const double error =
          judge_kept<T, L>(rows(), group(), lane(), own_matrix(), memory.x[group()], b[0], right, norm_a);
      if (lane() == 0) memory.worst[group()] = max(memory.worst[group()], error);
      if (C > 1) {
#pragma unroll
        for (int u = 0; u < R; ++u) b[0][u] = b[C - 1][u];
      }
    }
  }
};

template <class T, int N, int C>
__global__ void __launch_bounds__(warp_lanes,
                                  resident_blocks(GaussJordanPlan<T, N>::warps, GaussJordanPlan<T, N>::warps_elsewhere))
    gauss_jordan_kernel(Arguments<T> args) {
  using Work = GaussJordanWork<T, N, C>;
  using L = typename Work::L;
  __shared__ typename Work::Memory memory;
  const bool whole = args.vectors && args.sizes == nullptr;
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const Work work{args, memory, task, whole};
    __syncwarp();  // the previous systems are done
    work.fetch();
    bool plain = rows_of(args, work.system()) > 0;
    if (work.lane() == 0) memory.worst[work.group()] = 0;
#pragma unroll 1
    for (int column = 0; column < args.nrhs; column += C) {
      work.fetch_columns(column);
      T a[L::rows][N], b[C][L::rows];
      work.take(a, b);
      reduce_to_identity<typename Work::Plan::Steps, L>(work.group(), work.lane(), memory, a, b,
                                                        memory.pivots[work.group()], args.once);
      if (args.pivot_numbers && column == 0) work.tell_pivots();
      plain = work.finish(column, b) && plain;
      if (args.to.backward_error != nullptr) work.judge(column, b);
    }
    plain = !any_of_group<L::lanes>(!plain);
    if (work.lane() != 0) continue;
    const std::int64_t system = work.system();
    if (args.to.backward_error != nullptr) args.to.backward_error[system] = static_cast<T>(memory.worst[work.group()]);
    args.to.info[system] = 0;
    args.marks[system] = plain ? Mark::settled : Mark::unsettled;
  }
}

template <class T>
struct GaussJordanKernel {
  int size;
  Kernel<Arguments<T>> kernel;
  int systems;
};

/// Returns the kernel for the smallest N that is at least n. The sizes N must ascend.
template <class T, int C, int... N>
GaussJordanKernel<T> gauss_jordan_kernel_of(int n) {
  GaussJordanKernel<T> chosen{};
  (void)((n <= N && (chosen = {N, gauss_jordan_kernel<T, N, C>, GaussJordanPlan<T, N>::L::systems}, true)) || ...);
  return chosen;
}

}  // namespace

template <class T>
cudaError_t launch_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  const int n = batch.shape.n;
  GaussJordanKernel<T> chosen;
  if constexpr (sizeof(T) == sizeof(float))
    chosen = batch.shape.nrhs == 1 ? gauss_jordan_kernel_of<T, 1, 8, 16, 24, 32, 40, 48, 64>(n)
                                   : gauss_jordan_kernel_of<T, 2, 8, 16, 32, 64>(n);
  else
    chosen = batch.shape.nrhs == 1 ? gauss_jordan_kernel_of<T, 1, 8, 16, 24, 32>(n)
                                   : gauss_jordan_kernel_of<T, 2, 8, 16, 32>(n);
  arguments.vectors = batch.shape.storage != Storage::packed_lower && n == chosen.size && lies_in_pieces(batch);
  return launch(chosen.kernel, chosen.systems, arguments, stream);
}

template cudaError_t launch_gauss_jordan(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);
template cudaError_t launch_gauss_jordan(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
