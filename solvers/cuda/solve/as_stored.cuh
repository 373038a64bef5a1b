// Solutions of plain systems by L D L^T, x and the status alone, the backward error too, or with rcond all that may be
// asked, of dense matrices of any size, wherever they lie: as solve/pieces.cu has them of whole sizes. Matrices are
// copied as they are stored (common/stored_systems.cuh), each by one bulk copy; or, for x alone of some sizes whose
// rows are whole pieces of 16 bytes, rows an odd number of pieces apart, which serves the banks. For x alone the next
// systems are on their way, while a warp works on its own, into the shared memory that these have left. To be judged a
// matrix stays there, or, where that makes room for more warps, all of it but the last block on the diagonal, whose
// triangle is kept beside it: by symmetry, that is all. When it is judged, factors take its place, from where the norm
// of A^-1 is found (solve/kept_factors.cuh). What is not plain is marked for the general kernel (solve/general.cu).
// Private to solvers/cuda.
#pragma once

#include <algorithm>
#include <limits>

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/stored_systems.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/kept_factors.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

/// Rows as they are stored; or of N numbers, whole pieces of 16 bytes, which lie an odd number of pieces apart.
enum class Rows { as_stored, pieces };

/// Keeps d in registers, of the lane's rows.
template <class T, class L>
struct PivotsInRegisters {
  T (&pivots)[L::rows];
  template <int slot>
  __device__ __forceinline__ void keep(int lane, int owner, T pivot, T) const {
    if (lane == owner) pivots[slot] = pivot;
  }
};

/// Last: of so many last rows the triangle is kept, packed.
template <class T, class L, Rows Kind, int Last>
struct alignas(16) StoredXMemory {
  // It takes the place of the right-hand sides, or follows them where it is larger.
  static constexpr bool follows = packed_begin(Last) > L::column_pitch;
  static constexpr int triangle = follows ? L::column_pitch : 0;
  static constexpr int rhs_pitch = L::column_pitch + (follows ? packed_begin(Last) : 0);
  T identity[L::numbers];  // rows of it
  T rhs[L::systems * rhs_pitch];
  // Pivot columns of the step under way and of the next. In front of a column come places for rows that are done with.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][(L::size + 3) / 4 * 4 + 2];  // answers to be judged
  };
  std::uint64_t arrivals;  // of bulk copies
};

/// A warp's systems: the places of one task after the other in shared memory, and each step of the kernel.
template <class T, int N, Asked What, Rows Kind>
struct StoredWork {
  using Plan = AsStoredPlan<T, N, What, Kind == Rows::pieces>;
  using L = typename Plan::L;
  static constexpr int G = L::lanes, R = L::rows, P = L::piece;
  static constexpr bool judged = What != Asked::x, everything = What == Asked::everything;
  static constexpr bool pieces = Kind == Rows::pieces, bulk = has_bulk_copies() && !pieces;
  // The rows from `late` on are fetched first; those before it take the place of the rows from `place` on.
  static constexpr int late = Plan::late, place = Plan::place, gap = Plan::gap, least_n = pieces ? N : Plan::least_n;
  static constexpr int last = judged ? late : 0;  // rows of which the triangle alone is kept
  static_assert(late == 0 || (late % G == 0 && place % G == 0 && place >= late && place < least_n));
  static_assert(!judged || (!pieces && (late == 0 || place + late == L::width)));
  using Memory = StoredXMemory<T, L, Kind, last>;
  static constexpr bool rhs_stays = last == 0 || Memory::follows;

  const Arguments<T>& args;
  Memory& memory;
  const int n = pieces || least_n == N ? N : args.n, pitch = pieces ? apart_pitch<T>(N) : n;
  const int kept_step = pieces ? apart_step<T>(N, N - late > place ? N - late : place, G) : args.kept_step;
  const bool dense = args.storage == Storage::dense;

  static __device__ __forceinline__ int lane() { return own_lane<L>(); }
  static __device__ __forceinline__ int group() { return own_group<L>(); }
  /// Whether the lane's row of slot u is one of the system's.
  __device__ __forceinline__ bool is_own(int u) const { return G * (u + 1) <= least_n || G * u + lane() < n; }
  __device__ __forceinline__ std::int64_t begin_of(unsigned task) const {
    return min(std::int64_t{task} * L::systems, args.count - L::systems);
  }
  __device__ __forceinline__ auto source(unsigned task) const {
    return [&args = args, a = args.a + begin_of(task) * args.a_step](int s) { return a + s * args.a_step; };
  }
  __device__ __forceinline__ T* own_rhs() const { return memory.rhs + group() * Memory::rhs_pitch; }
  __device__ __forceinline__ T* own_triangle() const { return own_rhs() + Memory::triangle; }
  /// Where row 0 would lie before the rows from `late` on.
  __device__ __forceinline__ const T* own_rows(unsigned task) const {
    return stored_matrices<T>() - late * pitch + group() * kept_step +
           (pieces ? 0 : beyond_piece(source(task)(group())));
  }

  __device__ __forceinline__ void begin() const {
    if constexpr (bulk)
      if (threadIdx.x == 0) expect_bulk_copies<L::systems>(memory.arrivals);
    if constexpr (!pieces)
      make_identity<T, L>(memory.identity);
    else if constexpr (L::width > N)  // what lanes have beyond the last row
      for (int e = static_cast<int>(threadIdx.x); e < L::numbers; e += warp_lanes) memory.identity[e] = 0;
  }

  __device__ __forceinline__ void copy_rows(unsigned task, int first, int end, int to) const {
    if constexpr (pieces)
      copy_rows_apart<T, L>(n, pitch, kept_step, source(task), first, end, to, stored_matrices<T>());
    else if constexpr (bulk)
      copy_run_in_bulk<T, L>(args, source(task), first * n, end * n, to * n + (first < late ? gap : 0),
                             stored_matrices<T>(), memory.arrivals);
    else
      copy_run<T, L>(args, source(task), first * n, end * n, to * n + (first < late ? gap : 0), stored_matrices<T>());
  }
  __device__ __forceinline__ void wait_for_rows(unsigned parity) const {
    if constexpr (bulk) wait_for_bulk_copies(memory.arrivals, parity);
    wait_for_copies();
  }
  /// Starts to copy the systems of a task, but for their late rows.
  __device__ __forceinline__ void stage(unsigned task) const {
    copy_rows(task, late, n, 0);
    const T* const from = args.b + (begin_of(task) + group()) * args.b_step + lane();
    T* const to = own_rhs() + lane();
#pragma unroll
    for (int u = 0; u < R; ++u) {
      const bool copied = is_own(u);
      copy_async_or_zero(to + G * u, from + (copied ? G * u : 0), copied);
    }
  }

  /// The lane's row of slot u; what is not zero where the triangles differ is added to `odd`.
  template <int u>
  __device__ __forceinline__ void take_slot(const T* rows, T (&a)[R][N], unsigned& odd) const {
    const int row = G * u + lane();
    if constexpr (pieces) {
      const T* const from = G * (u + 1) <= N || row < N ? rows + row * pitch : memory.identity;
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
        if (is_own(v)) odd |= differing_bits(a[v][c], mirrored[G * v]);
    }
  }
  /// Late rows take the place of others, which have been read. The triangle of these is kept.
  __device__ __forceinline__ void exchange_rows(unsigned task, const T (&a)[R][N]) const {
    if constexpr (bulk) leave_to_bulk_copies();
    __syncwarp();  // the rows from `place` on have been read, where the first ones go
    copy_rows(task, 0, late, place - late);
    if constexpr (last > 0) {
      T* const triangle = own_triangle();
#pragma unroll
      for (int v = place / G; v < R; ++v)
#pragma unroll
        for (int c = 0; c < L::columns(v) - place; ++c) {
          const int row = G * v - place + lane();
          if (c <= row) triangle[packed_begin(row) + c] = a[v][place + c];
        }
    }
  }
  /// The matrix, from the last slot to the first.
  __device__ __forceinline__ void take_matrix(unsigned task, int once, T (&a)[R][N], unsigned& odd) const {
    const T* const matrix = own_rows(task);
    unrolled<R>([&](auto index) __attribute__((always_inline)) {
      constexpr int u = R - 1 - index;
      if constexpr (late > 0 && G * (u + 1) == place) exchange_rows(task, a);
      if constexpr (late > 0 && G * (u + 1) == late) wait_for_rows(1);
      const T* const rows = G * u < late ? matrix + place * pitch + gap : matrix;
      const auto take = [&]() __attribute__((always_inline)) { take_slot<u>(rows, a, odd); };
      if constexpr (R >= 8)  // there are few registers left for loads under way
        apart(once, take);
      else
        take();
    });
  }

  /// The elimination. pivots: becomes 1 / d, or d where everything is asked for.
  __device__ __forceinline__ void eliminate(T (&a)[R][N], T (&b)[R], T (&pivots)[R], int& signs) const {
    const auto run = [&](auto kept) __attribute__((always_inline)) {
      factor<L, Plan::turning, Plan::factor_apart, false>(group(), lane(), memory, a, b, kept, N, args.once);
    };
    if constexpr (everything)
      run(PivotsInRegisters<T, L>{pivots});
    else if constexpr (Plan::signs)
      run(SignsOfPivots{signs});
    else
      run(ReciprocalsInRegisters<T, L>{pivots});
  }
  /// Stores the numbers that the pivots give.
  __device__ __forceinline__ void tell_pivots(std::int64_t system, const T (&pivots)[R]) const {
    PivotNumbers<T> numbers[L::shares];
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (is_own(u)) numbers[u % L::shares].add(pivots[u], 0);
    static_assert(L::shares <= 2 || !everything);
    if constexpr (L::shares == 2) numbers[0].add(numbers[1]);
    numbers[0].template combine<G>();
    if (lane() == 0) numbers[0].store(args, system);
  }
  __device__ __forceinline__ double judge(unsigned task, std::int64_t system, const T (&x)[R], double& norm_a) const {
    T right[R];
#pragma unroll
    for (int u = 0; u < R; ++u) {
      if constexpr (rhs_stays)
        right[u] = own_rhs()[G * u + lane()];
      else
        right[u] = is_own(u) ? args.b[system * args.b_step + G * u + lane()] : T(0);
    }
    constexpr int at_once = everything ? 2 : 4;
    return judge_stored_rows<T, L, late, gap, at_once>(n, lane(), own_rows(task), own_triangle(), memory.x[group()], x,
                                                       right, norm_a);
  }
  /// ||A^-1||_1 by the factors, which take the place of the matrix.
  __device__ __forceinline__ double inverse_norm(const T (&a)[R][N], const T (&inverse)[R]) const {
    using Kept = KeptFactors<T, L>;
    T* const factors = stored_matrices<T>() + group() * Kept::pitch;
    T* const reciprocals = memory.column[0] + group() * L::column_pitch;
    __syncwarp();  // the matrices and answers have been read, whose places factors and reciprocals take
    Kept::store(factors, lane(), a);
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (has_row<L>(lane(), u)) reciprocals[G * u + lane()] = inverse[u];
    __syncwarp();  // they are complete
    return norm_of_kept<T, L>(n, lane(), factors, reciprocals, nullptr);
  }
};

/// Solves what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie far from 1
/// or that fail. The last task begins where it ends with the batch: some systems are solved twice, alike.
template <class T, int N, Asked What, Rows Kind>
__global__ void __launch_bounds__(warp_lanes,
                                  resident_blocks(AsStoredPlan<T, N, What, Kind == Rows::pieces>::warps,
                                                  AsStoredPlan<T, N, What, Kind == Rows::pieces>::warps_elsewhere))
    as_stored_kernel(Arguments<T> args) {
  using Work = StoredWork<T, N, What, Kind>;
  using Plan = typename Work::Plan;
  using L = typename Work::L;
  constexpr int G = L::lanes, R = L::rows;
  __shared__ typename Work::Memory memory;
  const Work work{args, memory};
  work.begin();
  [[maybe_unused]] unsigned turn = 0;  // of tasks, 0 and 1, where dividing for it costs more than to keep it
  unsigned task = blockIdx.x;
  __syncwarp();  // what counts bulk copies is there
  if (!Work::judged && task < args.tasks) work.stage(task);
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    T a[R][N], b[1][R], inverse[R];
    unsigned odd = 0;  // not zero: the system is not plain
    if constexpr (Work::judged) {
      leave_to_bulk_copies();
      __syncwarp();  // the last systems are done with
      work.stage(task);
    }
    if constexpr (Work::late > 0) {
      work.wait_for_rows(0);
    } else if constexpr (Work::everything) {
      work.wait_for_rows(task / gridDim.x % 2);  // kept all the way it would be spilled
    } else {
      work.wait_for_rows(turn);
      turn ^= 1;
    }
    if constexpr (!Work::rhs_stays) {
#pragma unroll
      for (int u = 0; u < R; ++u) b[0][u] = work.own_rhs()[G * u + work.lane()];
    }
    work.take_matrix(task, args.once, a, odd);
#pragma unroll
    for (int u = 0; u < R; ++u) {
      if (has_row<L>(work.lane(), u)) odd |= far_bits(diagonal<T, L>(work.lane(), u, a));
      if constexpr (Work::rhs_stays) b[0][u] = work.own_rhs()[G * u + work.lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
      inverse[u] = 1;
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // which says so at the end
    if constexpr (!Work::judged) {
      if constexpr (Work::bulk) leave_to_bulk_copies();
      __syncwarp();  // the matrices and right-hand sides have been read, whose places the next take
      if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks)
        work.stage(next);
    }
    int signs = 0;
    work.eliminate(a, b[0], inverse, signs);
    if constexpr (Work::everything) {
      if (args.pivot_numbers) work.tell_pivots(work.begin_of(task) + work.group(), inverse);
#pragma unroll
      for (int u = 0; u < R; ++u) inverse[u] = reciprocal(inverse[u]);
    }
#pragma unroll
    for (int u = 0; u < R && !Plan::signs; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded; the same in all kernels
    }
    substitute_back<L, Plan::back_apart, false>(work.group(), work.lane(), memory, a, b, args.once);
    const bool plain = !any_of_group<G>(!(Plan::signs ? are_answers(b[0], signs) : are_answers(b[0], inverse)));
    const std::int64_t system = work.begin_of(task) + work.group();
    T* const x = args.to.x + system * args.to.x_stride + work.lane();
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (work.is_own(u)) x[G * u] = b[0][u];
    double error = 0, norm_a = 0;
    if constexpr (Work::judged) error = work.judge(task, system, b[0], norm_a);
    if constexpr (Work::everything) {
      const double norm_inverse = work.inverse_norm(a, inverse);
      if (work.lane() == 0) args.to.rcond[system] = rcond_of_norms<T>(work.n, norm_a, 0, norm_inverse, 0);
    }
    if (work.lane() != 0) continue;
    if (Work::judged && (!Work::everything || args.to.backward_error != nullptr))
      args.to.backward_error[system] = static_cast<T>(error);
    args.to.info[system] = 0;
    args.marks[system] = plain ? Mark::settled : Mark::unsettled;
  }
}

/// A kernel, and its part of the launch.
template <class T>
struct StoredKernel {
  int late, place, gap;
  int factors;  // numbers of them that take a matrix' place
  bool pieces;  // rows lie apart
  Kernel<Arguments<T>> kernel;
};

/// Numbers of factors that take a matrix' place.
template <class T, class L, Asked What>
constexpr int kept_numbers() {
  if constexpr (What == Asked::everything)
    return KeptFactors<T, L>::pitch;
  else
    return 0;
}

}  // namespace

template <class T>
cudaError_t launch_as_stored(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                             cudaStream_t stream) {
  StoredKernel<T> chosen{};
  with_row<T, Family::as_stored>(row, [&]<std::size_t i>() {
    constexpr auto What = static_cast<Asked>(solve_table[i].asked);
    constexpr bool pieces = solve_table[i].arrival == Arrival::pieces;
    constexpr int N = solve_table[i].padded;
    using Plan = AsStoredPlan<T, N, What, pieces>;
    chosen = {Plan::late,           Plan::place, Plan::gap, kept_numbers<T, typename Plan::L, What>(), pieces,
              as_stored_kernel < T, N,           What,      pieces ? Rows::pieces : Rows::as_stored > };
  });
  const int n = batch.shape.n;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  if (chosen.pieces) {
    arguments.kept_step = apart_step<T>(n, std::max(n - chosen.late, chosen.place), row.lanes);
  } else {
    const int numbers =
        std::max({(n - chosen.late) * n, chosen.late > 0 ? chosen.place * n + chosen.gap : 0, chosen.factors});
    arguments.kept_step = stored_step(batch, row.lanes, numbers);
  }
  // Rows are read as far as the kernel's lanes have some.
  const std::size_t numbers = row.systems() * arguments.kept_step + 16;
  // Where everything is asked for nothing is fetched ahead, and a block has one task.
  const unsigned blocks = chosen.factors > 0 ? std::numeric_limits<unsigned>::max() : 1 << 15;
  return launch(chosen.kernel, row.systems(), arguments, stream, blocks, (numbers * sizeof(T) + 15) / 16 * 16);
}

}  // namespace smallbatch
