// Solutions of plain systems by L D L^T, x and the status alone or the backward error too, of dense matrices of any
// size, wherever they lie: as ldlt_x.cu has them of whole sizes. The matrices are copied as they are stored
// (stored_systems.cuh), or, where rows are whole pieces of 16 bytes, with a piece between them; while a warp works on
// its systems, the next ones are on their way into the shared memory that these have left. What is not plain is marked
// for the general kernel (ldlt_general.cu).
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/stored_systems.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

/// Rows as they are stored; whole pieces of 16 bytes, which lie an odd number of pieces apart; such of size N.
enum class Rows { as_stored, pieces, whole };

template <class T, class L, Rows Kind>
struct alignas(16) StoredXMemory {
  T identity[Kind == Rows::pieces ? L::piece * L::numbers : L::numbers];  // rows of it
  T rhs[L::systems * L::column_pitch];
  // Pivot columns of the step under way and of the next. In front of a column come places for rows that are done with.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][L::size + 2];  // answers to be judged
  };
};

/// Solves what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie far from 1
/// or that fail. The last task begins where it ends with the batch: some systems are solved twice, alike.
template <class T, int N, bool Judged, Rows Kind>
__global__ void __launch_bounds__(warp_lanes, StoredXPlan<T, N>::warps) x_as_stored_kernel(Arguments<T> args) {
  using Plan = StoredXPlan<T, N>;
  using L = typename Plan::L;
  constexpr int G = L::lanes, R = L::rows, P = L::piece;
  // The rows from `late` on are fetched ahead; those before it take the place of the rows from `place` on.
  constexpr bool whole = Kind == Rows::whole, pieces = Kind != Rows::as_stored;
  constexpr int late = Plan::late(pieces), place = Plan::place, least_n = whole ? N : Plan::least_n;
  static_assert(late % G == 0 && place % G == 0 && (late == 0 || (place >= late && place + late <= least_n)));
  __shared__ StoredXMemory<T, L, Kind> memory;
  if constexpr (Kind == Rows::pieces)
#pragma unroll
    for (int i = 0; i < P; ++i) make_identity<T, L>(memory.identity + i * L::numbers, i);
  else if constexpr (whole && L::width > N)  // what lanes have beyond the last row
    for (int e = static_cast<int>(threadIdx.x); e < L::numbers; e += warp_lanes) memory.identity[e] = 0;
  else if constexpr (Kind == Rows::as_stored)
    make_identity<T, L>(memory.identity);
  const int n = whole ? N : args.n, pitch = whole ? apart_pitch<T>(N) : pieces ? args.kept_pitch : n;
  const int kept_step = whole ? apart_step<T>(N, N - late) : args.kept_step;
  const bool dense = args.storage == Storage::dense;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  const auto begin_of = [&](unsigned task) { return min(std::int64_t{task} * L::systems, args.count - L::systems); };
  const auto source = [&](unsigned task) {
    return [&args, a = args.a + begin_of(task) * args.a_step](int s) { return a + s * args.a_step; };
  };
  const auto stage = [&](unsigned task) __attribute__((always_inline)) {
    if constexpr (pieces)
      copy_rows_apart<T, L>(n, pitch, kept_step, source(task), late, n, 0, stored_matrices<T>());
    else
      copy_run<T, L>(args, source(task), late * n, n * n, 0, stored_matrices<T>());
    const T* const from = args.b + (begin_of(task) + group()) * args.b_step + lane();
    T* const to = memory.rhs + group() * L::column_pitch + lane();
#pragma unroll
    for (int u = 0; u < R; ++u) {
      const bool copied = G * (u + 1) <= least_n || G * u + lane() < n;
      copy_async_or_zero(to + G * u, from + (copied ? G * u : 0), copied);
    }
  };
  unsigned task = blockIdx.x;
  if (task < args.tasks) stage(task);
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    T a[R][N], b[1][R], inverse[R];
    unsigned odd = 0;  // not zero: the system is not plain
    // Where row 0 would lie before the rows from `late` on.
    const T* const matrix =
        stored_matrices<T>() - late * pitch + group() * kept_step + (pieces ? 0 : beyond_piece(source(task)(group())));
    int once = args.once;
    const auto take_slot = [&]<int u>(const T* rows) __attribute__((always_inline)) {
      const int row = G * u + lane();
      if constexpr (pieces) {
        const int beyond = whole ? 0 : row % P * L::numbers + L::width - row / P * P;
        const T* const from = G * (u + 1) <= least_n || row < n ? rows + row * pitch : memory.identity + beyond;
#pragma unroll
        for (int c = 0; c < L::columns(u); c += P) {
          const auto in = *reinterpret_cast<const Vector<T, P>*>(from + c);
#pragma unroll
          for (int p = 0; p < P; ++p) a[u][c + p] = in.value[p];
        }
      } else {
        const T* const from = G * (u + 1) <= least_n || row < n ? rows + row * n : memory.identity + (L::width - row);
#pragma unroll
        for (int c = 0; c < L::columns(u); ++c) a[u][c] = from[c];
      }
      if (!dense) return;
        // Rows of this slot, right of the diagonal and on it.
#pragma unroll
      for (int c = G * u; c < L::columns(u); ++c) {
        if (c >= least_n && c >= n) continue;
        const T* const mirrored = rows + c * pitch + lane();
#pragma unroll
        for (int v = u; v < R; ++v)
          if (G * (v + 1) <= least_n || G * v + lane() < n) odd |= differing_bits(a[v][c], mirrored[G * v]);
      }
    };
    const auto take = [&]<int u>(const T* rows) __attribute__((always_inline)) {
      if constexpr (R >= 8)  // there are few registers left for loads under way
        apart(
            once, [&]() __attribute__((always_inline)) { take_slot.template operator()<u>(rows); });
      else
        take_slot.template operator()<u>(rows);
    };
    wait_for_copies();
    unrolled<R>([&](auto index) __attribute__((always_inline)) {
      constexpr int u = R - 1 - index;
      if constexpr (late > 0 && G * (u + 1) == place) {
        __syncwarp();  // the rows from `place` on have been read, where the first ones go
        if constexpr (pieces)
          copy_rows_apart<T, L>(n, pitch, kept_step, source(task), 0, late, place - late, stored_matrices<T>());
        else
          copy_run<T, L>(args, source(task), 0, late * n, (place - late) * n, stored_matrices<T>());
      }
      if constexpr (late > 0 && G * (u + 1) == late) wait_for_copies();
      take.template operator()<u>(G * u < late ? matrix + place * pitch : matrix);
    });
#pragma unroll
    for (int u = 0; u < R; ++u) {
      if (has_row<L>(lane(), u)) odd |= far_bits(diagonal<T, L>(lane(), u, a));
      b[0][u] = memory.rhs[group() * L::column_pitch + G * u + lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
      inverse[u] = 1;
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // which says so at the end
    __syncwarp();  // the matrices and right-hand sides have been read, whose places the next take
    if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks)
      stage(next);
    factor<L, Plan::turning(whole), Plan::apart, false>(group(), lane(), memory, a, b[0],
                                                        ReciprocalsInRegisters<T, L>{inverse}, N, args.once);
#pragma unroll
    for (int u = 0; u < R; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded; the same in all kernels
    }
    substitute_back<L, Plan::apart, false>(group(), lane(), memory, a, b, args.once);
    const bool plain = !any_of_group<G>(!are_answers(b[0], inverse));
    const std::int64_t system = begin_of(task) + group();
    T* const x = args.to.x + system * args.to.x_stride + lane();
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (G * (u + 1) <= least_n || G * u + lane() < n) x[G * u] = b[0][u];
    double error = 0, norm_a = 0;
    if constexpr (Judged)
      error = judge_rows_again<T, L>(n, lane(), args.a + system * args.a_step, args.b + system * args.b_step,
                                     memory.x[group()], b[0], norm_a);
    if (lane() != 0) continue;
    if constexpr (Judged) args.to.backward_error[system] = static_cast<T>(error);
    args.to.info[system] = 0;
    args.marks[system] = plain ? Mark::settled : Mark::unsettled;
  }
}

template <class T>
struct StoredXKernel {
  int systems, lanes, late;
  bool pieces;  // rows lie apart
  Kernel<Arguments<T>> kernel;
};

/// The kernel of the first of the sizes N, which ascend, that is large enough; none of sizes that others are better at.
template <class T, bool Judged, Rows Kind, int... N>
StoredXKernel<T> x_as_stored_kernel_of(int n) {
  StoredXKernel<T> chosen{};
  (void)((n <= N &&
          (n >= StoredXPlan<T, N>::least_n ? chosen = {StoredXPlan<T, N>::L::systems, StoredXPlan<T, N>::L::lanes,
                                                       StoredXPlan<T, N>::late(Kind != Rows::as_stored),
                                                       Kind != Rows::as_stored, x_as_stored_kernel<T, N, Judged, Kind>}
                                           : chosen,
           true)) ||
         ...);
  return chosen;
}
template <class T>
StoredXKernel<T> x_as_stored_kernel_of(int n, bool judged, bool pieces) {
  constexpr bool single = sizeof(T) == sizeof(float);
  // Of some sizes whose rows are whole pieces one pass is quicker.
  if (pieces && (n == 20 || (single && (n == 24 || n == 36)))) return {};
  if constexpr (single) {
    if (pieces && (n == 40 || n == 48 || n == 56))
      return judged ? x_as_stored_kernel_of<T, true, Rows::whole, 56>(n)
                    : x_as_stored_kernel_of<T, false, Rows::whole, 40, 48, 56>(n);
    if (pieces && (n == 44 || n == 52) && !judged) return x_as_stored_kernel_of<T, false, Rows::pieces, 48, 56>(n);
    return judged ? x_as_stored_kernel_of<T, true, Rows::as_stored, 40>(n)
                  : x_as_stored_kernel_of<T, false, Rows::as_stored, 20, 24, 32, 40, 48, 56, 64>(n);
  } else {
    return judged ? StoredXKernel<T>{} : x_as_stored_kernel_of<T, false, Rows::as_stored, 16, 20, 24, 28, 32>(n);
  }
}

}  // namespace

template <class T>
bool x_as_stored_takes(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
  const SpdShape& shape = batch.shape;
  const bool judged = solution.backward_error != nullptr;
  if (shape.nrhs != 1 || batch.sizes != nullptr || shape.storage == Storage::packed_lower ||
      reinterpret_cast<std::uintptr_t>(batch.a) % 16 != 0 || (judged && shape.storage != Storage::dense) ||
      solution.rcond != nullptr || arguments_of(batch, solution).pivot_numbers)
    return false;
  const StoredXKernel<T> chosen = x_as_stored_kernel_of<T>(shape.n, judged, rows_are_pieces(batch));
  return chosen.kernel != nullptr && batch.count >= chosen.systems;
}

template <class T>
cudaError_t launch_x_as_stored(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                               cudaStream_t stream) {
  const int n = batch.shape.n;
  const StoredXKernel<T> chosen =
      x_as_stored_kernel_of<T>(n, solution.backward_error != nullptr, rows_are_pieces(batch));
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  if (chosen.pieces) {
    arguments.kept_pitch = apart_pitch<T>(n);
    arguments.kept_step = apart_step<T>(n, n - chosen.late);
  } else {
    arguments.kept_step = stored_step(batch, chosen.lanes, (n - chosen.late) * n);
  }
  // Rows are read as far as those of the kernel's size.
  const std::size_t numbers = chosen.systems * arguments.kept_step + 8;
  return launch(chosen.kernel, chosen.systems, arguments, stream, 1 << 15, (numbers * sizeof(T) + 15) / 16 * 16);
}

template bool x_as_stored_takes(const SpdBatch<float>&, const SpdSolution<float>&);
template bool x_as_stored_takes(const SpdBatch<double>&, const SpdSolution<double>&);
template cudaError_t launch_x_as_stored(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);
template cudaError_t launch_x_as_stored(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
