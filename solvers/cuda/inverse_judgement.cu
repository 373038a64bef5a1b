// How good inverses are: their backward errors, from A and A^-1 as they are stored.
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/whole_rows_judgement.cuh"

namespace smallbatch {

namespace {

/// Whether a bit of the two triangles in shared memory differs in the lane's rows.
template <class T, class L>
__device__ bool triangles_differ(const T* matrix, int lane) {
  unsigned bits = 0;
#pragma unroll 1
  for (int i = lane; i < L::size; i += L::lanes)
#pragma unroll 4
    for (int j = 0; j < i; ++j) bits |= differing_bits(matrix[i * L::row_pitch + j], matrix[j * L::row_pitch + i]);
  return bits != 0;
}

/// What is left to do with an inverse of this backward error.
template <class T>
__device__ Mark mark_of(const Arguments<T>& args, T error) {
  return args.resolve_above >= 0 && !(error <= args.resolve_above) ? Mark::unsettled : Mark::settled;
}

/// ||I - A X||_1 / (||A||_1 ||X||_1), two columns of X at a time.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes, Layout<T, N>::resident_warps) judge_inverse_kernel(Arguments<T> args) {
  using L = Layout<T, N>;
  constexpr int C = 2;
  __shared__ WarpMemory<T, L, C> memory;
  const int lane = threadIdx.x % L::lanes, group = threadIdx.x / L::lanes, n = args.n;
  T* matrix = memory.matrix[group];

  fill_padding<T, L>(args, memory);
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    // The lane's system, computed again instead of kept.
    const auto system = [task]() __attribute__((always_inline)) {
      return std::int64_t{fresh(static_cast<int>(task))} * L::systems + fresh(threadIdx.x) / L::lanes;
    };
    const bool mine = system() < args.count && (!args.marked || args.marks[system()] == Mark::unsettled);
    if (!__any_sync(whole_warp, mine)) continue;
    __syncwarp();  // the last systems have been judged
    stage_matrices<T, L>(args, std::int64_t{task} * L::systems, memory);
    wait_for_copies();
    const bool solved = mine && args.to.info[system()] == 0;
    double common_factor = 1;
    if (sizeof(T) == sizeof(double)) {
      T largest = 0;
#pragma unroll 1
      for (int row = lane; solved && row < n; row += L::lanes)
        largest = max(largest, abs(args.to.x[system() * args.to.x_stride + row * (n + 1)]));
      common_factor = power_of_two<double>(normalizing_exponent(max_of_group<L::lanes>(largest)));
    }
    double worst = 0, norm_x = 0, norm_a = 0;
#pragma unroll 1
    for (int column = 0; column < n; column += C) {
      T x[C][L::rows], b[C][L::rows];
      const int own = fresh(lane);
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int u = 0; u < L::rows; ++u) {
          const int row = L::lanes * u + own;
          x[c][u] = 0;
          if (solved && row < n && column + c < n)
            x[c][u] = args.to.x[system() * args.to.x_stride + row * n + column + c];
          b[c][u] = row == column + c && row < n ? T(1) : T(0);
        }
      const Norms<C> norms = judge<T, L, C>(n, group, lane, memory, common_factor, x, b);
      norm_a = norms.matrix;
#pragma unroll
      for (int c = 0; c < C; ++c) {
        worst = max(worst, norms.residual[c]);
        norm_x = max(norm_x, norms.solution[c]);
      }
    }
    if (worst != 0) worst /= norm_a * norm_x;
    const bool differs = args.storage == Storage::dense && any_of_group<L::lanes>(triangles_differ<T, L>(matrix, lane));
    if (mine && lane == 0) {
      const T error = static_cast<T>(worst);
      args.to.backward_error[system()] = solved ? error : not_a_number<T>();
      args.marks[system()] = !solved ? Mark::settled : differs ? Mark::as_stored : mark_of(args, error);
    }
  }
}

/// Judges the few inverses that judge_inverse_kernel has left, whose triangles differ: every element of A as it is
/// stored.
template <class T>
__global__ void __launch_bounds__(warp_lanes) judge_stored_inverse_kernel(Arguments<T> args) {
  const int lane = threadIdx.x;
  for (std::int64_t first = std::int64_t{blockIdx.x} * warp_lanes; first < args.count;
       first += std::int64_t{gridDim.x} * warp_lanes) {
    const bool marked = first + lane < args.count && args.marks[first + lane] == Mark::as_stored;
#pragma unroll 1
    for (unsigned left = __ballot_sync(whole_warp, marked); left != 0; left &= left - 1) {
      const std::int64_t system = first + __ffs(static_cast<int>(left)) - 1;
      const T error = static_cast<T>(judge_as_stored<warp_lanes>(args, system, lane, 0, args.n).backward_error);
      if (lane != 0) continue;
      args.to.backward_error[system] = error;
      args.marks[system] = mark_of(args, error);
    }
  }
}

}  // namespace

template <class T>
cudaError_t launch_judge_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                 SystemsToDo which, double resolve_above, cudaStream_t stream) {
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.marked = which == SystemsToDo::unsettled;
  arguments.resolve_above = static_cast<T>(resolve_above);
  const cudaError_t status = launch<T>({{judge_inverse_kernel<T, 8>, Layout<T, 8>::systems},
                                        {judge_inverse_kernel<T, 16>, Layout<T, 16>::systems},
                                        {judge_inverse_kernel<T, 32>, Layout<T, 32>::systems},
                                        {judge_inverse_kernel<T, 64>, Layout<T, 64>::systems}},
                                       arguments, stream);
  if (status != cudaSuccess || batch.shape.storage != Storage::dense) return status;
  const typename Kernels<T>::OfSize stored{judge_stored_inverse_kernel<T>, warp_lanes};
  return launch<T>({stored, stored, stored, stored}, arguments, stream);
}

template cudaError_t launch_judge_inverse(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, SystemsToDo, double,
                                          cudaStream_t);
template cudaError_t launch_judge_inverse(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, SystemsToDo,
                                          double, cudaStream_t);

}  // namespace smallbatch
