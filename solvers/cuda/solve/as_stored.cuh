// Solves plain systems by L D L^T. The kernels store x and the status, and if wanted also backward errors or all
// numbers. They take dense matrices of any size and alignment. solve/pieces.cu takes matrices that fill their padded
// size. Private to solvers/cuda.
//
// Each matrix is copied as it is stored (common/stored_systems.cuh), by one bulk copy. If only x is wanted and rows are
// whole 16-byte pieces, some kernels leave gaps between the copied rows (Rows::pieces). The distance between rows is
// then an odd number of pieces. This avoids bank conflicts. If only x is wanted, the next systems are copied while the
// warp works on the current systems, which are in registers by then.
//
// A matrix that is judged stays in shared memory. If more warps fit that way, the last rows are not kept, except for
// the packed lower triangle of their block on the diagonal. The remaining elements are in the other rows, by symmetry.
// After the judgement the factors replace the matrix. The norm of A^-1 is computed from them (solve/kept_factors.cuh).
// Systems that are not plain are marked for the general kernel (solve/general.cu).
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

/// How rows are arranged in shared memory: as they are stored, or with a distance of an odd number of 16-byte pieces
/// (`pieces`). `pieces` needs rows of N elements that are whole pieces.
enum class Rows { as_stored, pieces };

/// Keeps d of the lane's rows in registers.
template <class T, class L>
struct PivotsInRegisters {
  T (&pivots)[L::rows];
  template <int slot>
  __device__ __forceinline__ void keep(int lane, int owner, T pivot, T) const {
    if (lane == owner) pivots[slot] = pivot;
  }
};

/// Shared memory of a warp. From the last `Last` rows, only the packed triangle of their diagonal block is kept.
template <class T, class L, Rows Kind, int Last>
struct alignas(16) StoredXMemory {
  // The triangle replaces the right-hand side, or follows it if it is larger.
  static constexpr bool follows = packed_begin(Last) > L::column_pitch;
  static constexpr int triangle = follows ? L::column_pitch : 0;
  static constexpr int rhs_pitch = L::column_pitch + (follows ? packed_begin(Last) : 0);
  T identity[L::numbers];  // rows of the identity
  T rhs[L::systems * rhs_pitch];
  // Pivot columns of the current and of the next step. Lanes also store elements of finished rows. These elements
  // are not used, but they may lie in front of a column, hence L::lanes additional numbers.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][(L::size + 3) / 4 * 4 + 2];  // solutions to be judged
  };
  std::uint64_t arrivals;  // of bulk copies
};

/// The steps of the kernel for the systems of a task, and the addresses of these systems in shared memory.
template <class T, int N, Asked What, Rows Kind>
struct StoredWork {
  using Plan = AsStoredPlan<T, N, What, Kind == Rows::pieces>;
  using L = typename Plan::L;
  static constexpr int G = L::lanes, R = L::rows, P = L::piece;
  static constexpr bool judged = What != Asked::x, everything = What == Asked::everything;
  static constexpr bool pieces = Kind == Rows::pieces, bulk = has_bulk_copies() && !pieces;
  // Rows from `late` on are fetched first. The rows before `late` then replace the rows from `place` on.
  static constexpr int late = Plan::late, place = Plan::place, gap = Plan::gap, least_n = pieces ? N : Plan::least_n;
  static constexpr int last = judged ? late : 0;  // rows of which only the triangle is kept
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
  /// Returns whether the lane's row of slot u belongs to the system.
  __device__ __forceinline__ bool is_own(int u) const { return G * (u + 1) <= least_n || G * u + lane() < n; }
  __device__ __forceinline__ std::int64_t begin_of(unsigned task) const {
    return min(std::int64_t{task} * L::systems, args.count - L::systems);
  }
  __device__ __forceinline__ auto source(unsigned task) const {
    return [&args = args, a = args.a + begin_of(task) * args.a_step](int s) { return a + s * args.a_step; };
  }
  __device__ __forceinline__ T* own_rhs() const { return memory.rhs + group() * Memory::rhs_pitch; }
  __device__ __forceinline__ T* own_triangle() const { return own_rhs() + Memory::triangle; }
  /// Returns the address that row 0 would have in front of the rows from `late` on.
  __device__ __forceinline__ const T* own_rows(unsigned task) const {
    return stored_matrices<T>() - late * pitch + group() * kept_step +
           (pieces ? 0 : beyond_piece(source(task)(group())));
  }

  __device__ __forceinline__ void begin() const {
    if constexpr (bulk)
      if (threadIdx.x == 0) expect_bulk_copies<L::systems>(memory.arrivals);
    if constexpr (!pieces)
      make_identity<T, L>(memory.identity);
    else if constexpr (L::width > N)  // padding, for lanes with rows beyond the last
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
  /// Starts to copy the systems of a task, except for their rows before `late`.
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

  /// Loads the lane's row of slot u. `odd` gets a bit if the triangles differ.
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
      // Compares the elements on and right of the diagonal, in rows of this slot, with their mirror images in
      // registers.
#pragma unroll
    for (int c = G * u; c < L::columns(u); ++c) {
      if (c >= least_n && c >= n) continue;
      const T* const mirrored = rows + c * pitch + lane();
#pragma unroll
      for (int v = u; v < R; ++v)
        if (is_own(v)) odd |= differing_bits(a[v][c], mirrored[G * v]);
    }
  }
  /// Starts to copy the rows before `late` over the rows from `place` on, which are in registers by now. If systems are
  /// judged, the triangle of the replaced rows is stored from these registers.
  __device__ __forceinline__ void exchange_rows(unsigned task, const T (&a)[R][N]) const {
    if constexpr (bulk) leave_to_bulk_copies();
    __syncwarp();  // the rows from `place` on have been read: the first rows take their place
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
  /// Loads the matrix, from the last slot to the first.
  __device__ __forceinline__ void take_matrix(unsigned task, int once, T (&a)[R][N], unsigned& odd) const {
    const T* const matrix = own_rows(task);
    unrolled<R>([&](auto index) __attribute__((always_inline)) {
      constexpr int u = R - 1 - index;
      if constexpr (late > 0 && G * (u + 1) == place) exchange_rows(task, a);
      if constexpr (late > 0 && G * (u + 1) == late) wait_for_rows(1);
      const T* const rows = G * u < late ? matrix + place * pitch + gap : matrix;
      const auto take = [&]() __attribute__((always_inline)) { take_slot<u>(rows, a, odd); };
      if constexpr (R >= 8)  // few registers are left for pending loads
        apart(once, take);
      else
        take();
    });
  }

  /// Eliminates the lane's system. `pivots` becomes d if everything is wanted. Otherwise `pivots` becomes 1 / d or,
  /// with Plan::signs, `signs` gets the signs of d.
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
  /// Stores the numbers that come from the pivots.
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
  /// Returns ||A^-1||_1 from the factors, which take the place of the matrix.
  __device__ __forceinline__ double inverse_norm(const T (&a)[R][N], const T (&inverse)[R]) const {
    using Kept = KeptFactors<T, L>;
    T* const factors = stored_matrices<T>() + group() * Kept::pitch;
    T* const reciprocals = memory.column[0] + group() * L::column_pitch;
    __syncwarp();  // the matrices and answers have been read: factors and reciprocals take their places
    Kept::store(factors, lane(), a);
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (has_row<L>(lane(), u)) reciprocals[G * u + lane()] = inverse[u];
    __syncwarp();  // factors and reciprocals are complete
    return norm_of_kept<T, L>(n, lane(), factors, reciprocals, nullptr);
  }
};

/// Solves plain systems, and marks all others: systems that are not symmetric to the bit, have numbers far from 1, or
/// fail. The last task consists of the last systems of the batch. It may solve some of them a second time, with equal
/// results.
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
  [[maybe_unused]] unsigned turn = 0;  // parity of tasks, kept because computing it by a division costs more
  unsigned task = blockIdx.x;
  __syncwarp();  // the counter of bulk copies is initialized
  if (!Work::judged && task < args.tasks) work.stage(task);
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    T a[R][N], b[1][R], inverse[R];
    unsigned odd = 0;  // not zero: the system is not plain
    if constexpr (Work::judged) {
      leave_to_bulk_copies();
      __syncwarp();  // the previous systems are done
      work.stage(task);
    }
    if constexpr (Work::late > 0) {
      work.wait_for_rows(0);
    } else if constexpr (Work::everything) {
      work.wait_for_rows(task / gridDim.x % 2);  // computed here, because a kept value would be spilled
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
    if (odd != 0) b[0][0] = not_a_number<T>();  // x becomes NaN, so the system is marked
    if constexpr (!Work::judged) {
      if constexpr (Work::bulk) leave_to_bulk_copies();
      __syncwarp();  // the matrices and right-hand sides have been read: the next ones take their places
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
      now(b[0][u]);  // rounded here, as in all kernels
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

/// A kernel, and the numbers that its launch needs.
template <class T>
struct StoredKernel {
  int late, place, gap;
  int factors;  // size of the factors that replace a matrix, in elements
  bool pieces;  // the kernel uses Rows::pieces
  Kernel<Arguments<T>> kernel;
};

/// Returns the size of the factors that replace a matrix in shared memory, in elements. It is 0 unless everything is
/// wanted.
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
  // Lanes read rows beyond the last, so the memory is a little larger.
  const std::size_t numbers = row.systems() * arguments.kept_step + 16;
  // If everything is wanted, nothing is fetched ahead, and a block has one task.
  const unsigned blocks = chosen.factors > 0 ? std::numeric_limits<unsigned>::max() : 1 << 15;
  return launch(chosen.kernel, row.systems(), arguments, stream, blocks, (numbers * sizeof(T) + 15) / 16 * 16);
}

}  // namespace smallbatch
