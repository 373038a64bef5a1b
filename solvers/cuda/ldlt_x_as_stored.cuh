// Solutions of plain systems by L D L^T, x and the status alone, the backward error too, or with rcond all that may be
// asked, of dense matrices of any size, wherever they lie: as ldlt_x.cu has them of whole sizes. Matrices are copied as
// they are stored (stored_systems.cuh), each by one bulk copy; or, for x alone of some sizes whose rows are whole
// pieces of 16 bytes, rows an odd number of pieces apart, which serves the banks. For x alone the next systems are on
// their way, while a warp works on its own, into the shared memory that these have left. To be judged a matrix stays
// there, or, where that makes room for more warps, all of it but the last block on the diagonal, whose triangle is kept
// beside it: by symmetry, that is all. When it is judged, factors take its place, from where the norm of A^-1 is found
// (kept_factors.cuh). What is not plain is marked for the general kernel (ldlt_general.cu). Private to solvers/cuda.
#pragma once

#include "core/gpu_plans.cuh"
#include "solvers/cuda/kept_factors.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/stored_systems.cuh"
#include "solvers/cuda/tile_judgement.cuh"

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

/// Solves what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie far from 1
/// or that fail. The last task begins where it ends with the batch: some systems are solved twice, alike.
template <class T, int N, Asked What, Rows Kind>
__global__ void __launch_bounds__(warp_lanes,
                                  resident_blocks(AsStoredPlan<T, N, What, Kind == Rows::pieces>::warps,
                                                  AsStoredPlan<T, N, What, Kind == Rows::pieces>::warps_elsewhere))
    x_as_stored_kernel(Arguments<T> args) {
  using Plan = AsStoredPlan<T, N, What, Kind == Rows::pieces>;
  constexpr bool Judged = What != Asked::x, everything = What == Asked::everything;
  using L = typename Plan::L;
  constexpr int G = L::lanes, R = L::rows, P = L::piece;
  constexpr bool pieces = Kind == Rows::pieces, bulk = has_bulk_copies() && !pieces;
  // The rows from `late` on are fetched first; those before it take the place of the rows from `place` on.
  constexpr int late = Plan::late, place = Plan::place, gap = Plan::gap, least_n = pieces ? N : Plan::least_n;
  constexpr int last = Judged ? late : 0;  // rows of which the triangle alone is kept
  static_assert(late == 0 || (late % G == 0 && place % G == 0 && place >= late && place < least_n));
  static_assert(!Judged || (!pieces && (late == 0 || place + late == L::width)));
  using Memory = StoredXMemory<T, L, Kind, last>;
  constexpr bool rhs_stays = last == 0 || Memory::follows;
  __shared__ Memory memory;
  if constexpr (bulk)
    if (threadIdx.x == 0) expect_bulk_copies<L::systems>(memory.arrivals);
  [[maybe_unused]] unsigned turn = 0;  // of tasks, 0 and 1, where dividing for it costs more than to keep it
  if constexpr (!pieces)
    make_identity<T, L>(memory.identity);
  else if constexpr (L::width > N)  // what lanes have beyond the last row
    for (int e = static_cast<int>(threadIdx.x); e < L::numbers; e += warp_lanes) memory.identity[e] = 0;
  const int n = pieces || least_n == N ? N : args.n, pitch = pieces ? apart_pitch<T>(N) : n;
  const int kept_step = pieces ? apart_step<T>(N, N - late > place ? N - late : place, G) : args.kept_step;
  const bool dense = args.storage == Storage::dense;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  const auto begin_of = [&](unsigned task) { return min(std::int64_t{task} * L::systems, args.count - L::systems); };
  const auto source = [&](unsigned task) {
    return [&args, a = args.a + begin_of(task) * args.a_step](int s) { return a + s * args.a_step; };
  };
  const auto copy_rows = [&](unsigned task, int first, int end, int to) __attribute__((always_inline)) {
    if constexpr (pieces)
      copy_rows_apart<T, L>(n, pitch, kept_step, source(task), first, end, to, stored_matrices<T>());
    else if constexpr (bulk)
      copy_run_in_bulk<T, L>(args, source(task), first * n, end * n, to * n + (first < late ? gap : 0),
                             stored_matrices<T>(), memory.arrivals);
    else
      copy_run<T, L>(args, source(task), first * n, end * n, to * n + (first < late ? gap : 0), stored_matrices<T>());
  };
  const auto wait_for_rows = [&](unsigned parity) __attribute__((always_inline)) {
    if constexpr (bulk) wait_for_bulk_copies(memory.arrivals, parity);
    wait_for_copies();
  };
  const auto stage = [&](unsigned task) __attribute__((always_inline)) {
    copy_rows(task, late, n, 0);
    const T* const from = args.b + (begin_of(task) + group()) * args.b_step + lane();
    T* const to = memory.rhs + group() * Memory::rhs_pitch + lane();
#pragma unroll
    for (int u = 0; u < R; ++u) {
      const bool copied = G * (u + 1) <= least_n || G * u + lane() < n;
      copy_async_or_zero(to + G * u, from + (copied ? G * u : 0), copied);
    }
  };
  unsigned task = blockIdx.x;
  __syncwarp();  // what counts bulk copies is there
  if (!Judged && task < args.tasks) stage(task);
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    T a[R][N], b[1][R], inverse[R];
    unsigned odd = 0;  // not zero: the system is not plain
    if constexpr (Judged) {
      leave_to_bulk_copies();
      __syncwarp();  // the last systems are done with
      stage(task);
    }
    // Where row 0 would lie before the rows from `late` on.
    const auto own_rows = [&]() __attribute__((always_inline)) {
      return stored_matrices<T>() - late * pitch + group() * kept_step +
             (pieces ? 0 : beyond_piece(source(task)(group())));
    };
    const T* const matrix = own_rows();
    int once = args.once;
    const auto take_slot = [&]<int u>(const T* rows) __attribute__((always_inline)) {
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
    if constexpr (late > 0) {
      wait_for_rows(0);
    } else if constexpr (everything) {
      wait_for_rows(task / gridDim.x % 2);  // kept all the way it would be spilled
    } else {
      wait_for_rows(turn);
      turn ^= 1;
    }
    if constexpr (!rhs_stays) {
#pragma unroll
      for (int u = 0; u < R; ++u) b[0][u] = memory.rhs[group() * Memory::rhs_pitch + G * u + lane()];
    }
    unrolled<R>([&](auto index) __attribute__((always_inline)) {
      constexpr int u = R - 1 - index;
      if constexpr (late > 0 && G * (u + 1) == place) {
        if constexpr (bulk) leave_to_bulk_copies();
        __syncwarp();  // the rows from `place` on have been read, where the first ones go
        copy_rows(task, 0, late, place - late);
        if constexpr (last > 0) {
          T* const triangle = memory.rhs + group() * Memory::rhs_pitch + Memory::triangle;
#pragma unroll
          for (int v = place / G; v < R; ++v)
#pragma unroll
            for (int c = 0; c < L::columns(v) - place; ++c) {
              const int row = G * v - place + lane();
              if (c <= row) triangle[packed_begin(row) + c] = a[v][place + c];
            }
        }
      }
      if constexpr (late > 0 && G * (u + 1) == late) wait_for_rows(1);
      take.template operator()<u>(G * u < late ? matrix + place * pitch + gap : matrix);
    });
#pragma unroll
    for (int u = 0; u < R; ++u) {
      if (has_row<L>(lane(), u)) odd |= far_bits(diagonal<T, L>(lane(), u, a));
      if constexpr (rhs_stays) b[0][u] = memory.rhs[group() * Memory::rhs_pitch + G * u + lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
      inverse[u] = 1;
    }
    if (odd != 0) b[0][0] = not_a_number<T>();  // which says so at the end
    if constexpr (!Judged) {
      if constexpr (bulk) leave_to_bulk_copies();
      __syncwarp();  // the matrices and right-hand sides have been read, whose places the next take
      if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks)
        stage(next);
    }
    int signs = 0;
    if constexpr (everything)
      factor<L, Plan::turning, Plan::factor_apart, false>(group(), lane(), memory, a, b[0],
                                                          PivotsInRegisters<T, L>{inverse}, N, args.once);
    else if constexpr (Plan::signs)
      factor<L, Plan::turning, Plan::factor_apart, false>(group(), lane(), memory, a, b[0], SignsOfPivots{signs}, N,
                                                          args.once);
    else
      factor<L, Plan::turning, Plan::factor_apart, false>(group(), lane(), memory, a, b[0],
                                                          ReciprocalsInRegisters<T, L>{inverse}, N, args.once);
    if constexpr (everything) {
      if (args.pivot_numbers) {
        PivotNumbers<T> numbers[L::shares];
#pragma unroll
        for (int u = 0; u < R; ++u)
          if (G * (u + 1) <= least_n || G * u + lane() < n) numbers[u % L::shares].add(inverse[u], 0);
        static_assert(L::shares <= 2);
        if constexpr (L::shares == 2) numbers[0].add(numbers[1]);
        numbers[0].template combine<G>();
        if (lane() == 0) numbers[0].store(args, begin_of(task) + group());
      }
#pragma unroll
      for (int u = 0; u < R; ++u) inverse[u] = reciprocal(inverse[u]);
    }
#pragma unroll
    for (int u = 0; u < R && !Plan::signs; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded; the same in all kernels
    }
    substitute_back<L, Plan::back_apart, false>(group(), lane(), memory, a, b, args.once);
    const bool plain = !any_of_group<G>(!(Plan::signs ? are_answers(b[0], signs) : are_answers(b[0], inverse)));
    const std::int64_t system = begin_of(task) + group();
    T* const x = args.to.x + system * args.to.x_stride + lane();
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (G * (u + 1) <= least_n || G * u + lane() < n) x[G * u] = b[0][u];
    double error = 0, norm_a = 0;
    if constexpr (Judged) {
      T right[R];
#pragma unroll
      for (int u = 0; u < R; ++u) {
        if constexpr (rhs_stays)
          right[u] = memory.rhs[group() * Memory::rhs_pitch + G * u + lane()];
        else
          right[u] =
              G * (u + 1) <= least_n || G * u + lane() < n ? args.b[system * args.b_step + G * u + lane()] : T(0);
      }
      error = judge_stored_rows < T, L, late, gap,
      everything ? 2
                 : 4 > (n, lane(), own_rows(), memory.rhs + group() * Memory::rhs_pitch + Memory::triangle,
                        memory.x[group()], b[0], right, norm_a);
    }
    if constexpr (everything) {
      using Kept = KeptFactors<T, L>;
      T* const factors = stored_matrices<T>() + group() * Kept::pitch;
      T* const reciprocals = memory.column[0] + group() * L::column_pitch;
      __syncwarp();  // the matrices and answers have been read, whose places factors and reciprocals take
      Kept::store(factors, lane(), a);
#pragma unroll
      for (int u = 0; u < R; ++u)
        if (has_row<L>(lane(), u)) reciprocals[G * u + lane()] = inverse[u];
      __syncwarp();  // they are complete
      const double norm_inverse = norm_of_kept<T, L>(n, lane(), factors, reciprocals, nullptr);
      if (lane() == 0) args.to.rcond[system] = rcond_of_norms<T>(n, norm_a, 0, norm_inverse, 0);
    }
    if (lane() != 0) continue;
    if (Judged && (!everything || args.to.backward_error != nullptr))
      args.to.backward_error[system] = static_cast<T>(error);
    args.to.info[system] = 0;
    args.marks[system] = plain ? Mark::settled : Mark::unsettled;
  }
}

template <class T>
struct StoredXKernel {
  int systems, lanes, late, place, gap;
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

/// The kernel of the first of the sizes N, which ascend, that is large enough; none of sizes that others are better at.
template <class T, Asked What, Rows Kind, int... N>
StoredXKernel<T> x_as_stored_kernel_of(int n) {
  constexpr bool pieces = Kind == Rows::pieces;
  StoredXKernel<T> chosen{};
  const auto choose = [&]<int size>() {
    using Plan = AsStoredPlan<T, size, What, pieces>;
    if (n >= Plan::least_n)
      chosen = {Plan::L::systems, Plan::L::lanes,
                Plan::late,       Plan::place,
                Plan::gap,        kept_numbers<T, typename Plan::L, What>(),
                pieces,           x_as_stored_kernel<T, size, What, Kind>};
  };
  (void)((n <= N && (choose.template operator()<N>(), true)) || ...);
  return chosen;
}
template <class T, bool Judged>
StoredXKernel<T> x_as_stored_kernel_for(const SpdBatch<T>& batch) {
  const int n = batch.shape.n;
  if constexpr (Judged && sizeof(T) == sizeof(float))
    return x_as_stored_kernel_of<T, Asked::error, Rows::as_stored, 20, 24, 28, 32, 36, 40, 48, 56, 64>(n);
  else if constexpr (Judged)
    return x_as_stored_kernel_of<T, Asked::error, Rows::as_stored, 16, 20, 24, 28, 32>(n);
  else if constexpr (sizeof(T) == sizeof(double))
    return x_as_stored_kernel_of<T, Asked::x, Rows::as_stored, 16, 20, 24, 28, 32>(n);
  else if (rows_are_pieces(batch) && (n == 40 || n == 48 || n == 56))
    return x_as_stored_kernel_of<T, Asked::x, Rows::pieces, 40, 48, 56>(n);
  else
    return x_as_stored_kernel_of<T, Asked::x, Rows::as_stored, 20, 24, 28, 32, 36, 40, 48, 56, 64>(n);
}

template <class T>
cudaError_t launch_as_stored(const StoredXKernel<T>& chosen, const SpdBatch<T>& batch, const SpdSolution<T>& solution,
                             Mark* marks, cudaStream_t stream, unsigned max_blocks) {
  const int n = batch.shape.n;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  if (chosen.pieces) {
    arguments.kept_step = apart_step<T>(n, std::max(n - chosen.late, chosen.place), chosen.lanes);
  } else {
    const int numbers =
        std::max({(n - chosen.late) * n, chosen.late > 0 ? chosen.place * n + chosen.gap : 0, chosen.factors});
    arguments.kept_step = stored_step(batch, chosen.lanes, numbers);
  }
  // Rows are read as far as the kernel's lanes have some.
  const std::size_t numbers = chosen.systems * arguments.kept_step + 16;
  return launch(chosen.kernel, chosen.systems, arguments, stream, max_blocks, (numbers * sizeof(T) + 15) / 16 * 16);
}

}  // namespace

template <class T, bool Judged>
bool x_as_stored_takes(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
  const SpdShape& shape = batch.shape;
  if (shape.nrhs != 1 || batch.sizes != nullptr || shape.storage == Storage::packed_lower ||
      reinterpret_cast<std::uintptr_t>(batch.a) % 16 != 0 || Judged != (solution.backward_error != nullptr) ||
      (Judged && shape.storage != Storage::dense) || solution.rcond != nullptr ||
      arguments_of(batch, solution).pivot_numbers)
    return false;
  const StoredXKernel<T> chosen = x_as_stored_kernel_for<T, Judged>(batch);
  return chosen.kernel != nullptr && batch.count >= chosen.systems;
}

template <class T, bool Judged>
cudaError_t launch_x_as_stored(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                               cudaStream_t stream) {
  return launch_as_stored(x_as_stored_kernel_for<T, Judged>(batch), batch, solution, marks, stream, 1 << 15);
}

}  // namespace smallbatch
