// Solves plain systems by Gauss-Jordan elimination, for x and the status alone. The kernels take whole matrices of size
// N that begin at multiples of 16 bytes, with one right-hand side. Systems that are not plain are marked for the
// general kernel (solve/gauss_jordan_general.cu).
#include "solvers/cuda/common/status.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/gauss_jordan_plan.cuh"

namespace smallbatch {

namespace {

/// Solves plain systems, and marks all others: systems that are not symmetric to the bit, have numbers far from 1, or
/// fail. The last task consists of the last systems of the batch. It may solve some of them a second time, with equal
/// results.
template <class T, int N>
__global__ void __launch_bounds__(warp_lanes,
                                  resident_blocks(GaussJordanPlan<T, N>::warps, GaussJordanPlan<T, N>::warps_elsewhere))
    gauss_jordan_x_kernel(Arguments<T> args) {
  using Plan = GaussJordanPlan<T, N>;
  using L = typename Plan::Alone;
  constexpr int G = L::lanes, R = L::rows;
  __shared__ TileMemory<T, L> memory;
  const bool dense = args.storage == Storage::dense;
  const auto begin_of = [&](unsigned task) __attribute__((always_inline)) {
    return first_of_task<L::systems>(args, task);
  };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const int thread = fresh(threadIdx.x), lane = thread % G, group = G == warp_lanes ? 0 : thread / G;
    T* const place = memory.rhs + group * L::column_pitch;
    __syncwarp();  // the previous systems are done
    {
      const std::int64_t begin = begin_of(task);
      const T* const first = args.a + begin * args.a_step;
      stage_pieces<0, N>([&](int s) { return first + s * args.a_step; }, memory);
      stage_rhs(args.b + (begin + group) * args.b_step, group, lane, memory);
    }
    wait_for_copies();
    T a[R][N], b[1][R];
    unsigned odd = 0;  // not zero: the system is not plain
    const T* const matrix = memory.matrix[group];
    load_rows<0, N, T, L>(matrix, group, lane, a);
    if (dense)
      visit_columns<0, N, T, L>(matrix, group, lane,
                                [&](int u, int row, const T& value) { odd |= differing_bits(a[u][row], value); });
    else
      mirror_blocks<T, PlainLayout<T, N, G>>(matrix, group, lane, a);
#pragma unroll
    for (int u = 0; u < R; ++u) {
      odd |= far_bits(diagonal<T, L>(lane, u, a));
      b[0][u] = place[G * u + lane];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // x becomes NaN, so the system is marked
    __syncwarp();                               // the right-hand sides have been read: the pivots take their place
    reduce_to_identity<typename Plan::Steps, L>(group, lane, memory, a, b, place, args.once);
    const std::int64_t system = begin_of(task) + group;
    T* const x = args.to.x + system * args.to.x_stride + lane;
    T zero = 0, least = 1;  // zero becomes NaN if a number is not finite
#pragma unroll
    for (int u = 0; u < R; ++u) {
      const T inverse = reciprocal(place[G * u + lane]);
      b[0][u] *= inverse;
      zero = fma(inverse, T(0), fma(b[0][u], T(0), zero));
      least = min(least, inverse);
      x[G * u] = b[0][u];
    }
    const bool plain = !any_of_group<G>(!(zero == 0 && least > 0));
    if (lane != 0) continue;
    args.to.info[system] = 0;
    args.marks[system] = plain ? Mark::settled : Mark::unsettled;
  }
}

template <class T>
Kernels<T> gauss_jordan_x_kernels() {
  Kernels<T> kernels{{gauss_jordan_x_kernel<T, 8>, GaussJordanPlan<T, 8>::L::systems},
                     {gauss_jordan_x_kernel<T, 16>, GaussJordanPlan<T, 16>::L::systems},
                     {gauss_jordan_x_kernel<T, 32>, GaussJordanPlan<T, 32>::L::systems},
                     {}};
  if constexpr (sizeof(T) == sizeof(float))
    kernels.of64 = {gauss_jordan_x_kernel<T, 64>, GaussJordanPlan<T, 64>::L::systems};
  return kernels;
}

}  // namespace

template <class T>
bool gauss_jordan_x_takes(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
  const SpdShape& shape = batch.shape;
  constexpr int most_systems = GaussJordanPlan<T, 8>::L::systems;  // most systems in a task
  return shape.nrhs == 1 && shape.storage != Storage::packed_lower && batch.sizes == nullptr &&
         batch.count >= most_systems && in_whole_pieces(batch) && solution.backward_error == nullptr &&
         !arguments_of(batch, solution).pivot_numbers;
}

template <class T>
cudaError_t launch_gauss_jordan_x(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                  cudaStream_t stream) {
  return launch<T>(gauss_jordan_x_kernels<T>(), arguments_of(batch, solution, marks), stream);
}

template bool gauss_jordan_x_takes(const SpdBatch<float>&, const SpdSolution<float>&);
template bool gauss_jordan_x_takes(const SpdBatch<double>&, const SpdSolution<double>&);
template cudaError_t launch_gauss_jordan_x(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);
template cudaError_t launch_gauss_jordan_x(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
