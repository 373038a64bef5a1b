// Solves plain systems of 32 rows by L D L^T with their backward errors, in one pass over the matrix. It takes whole
// matrices that begin at multiples of 16 bytes, with one right-hand side. Private to solvers/cuda.
//
// The first 24 rows stay in shared memory until the answers are judged. By symmetry, they contain everything but the
// last block of 8 x 8 on the diagonal. The lower triangle of this block takes the place of the right-hand sides. The
// number of warps that fit is therefore the same as for x alone. Rows are copied in the order of solve/pieces.cu; the
// first rows take the place of the last. Systems that are not plain are marked for the general kernel
// (solve/general.cu).
#pragma once

#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

/// Computes the backward error from the first `kept` rows, which have all their columns, and from `last`, the lower
/// triangle of the last diagonal block. Only the loop over the last columns is unrolled, because the elimination alone
/// fills the instruction cache.
template <class T, class L>
struct JudgedRows {
  using Factor = typename Residual<T>::Factor;
  static constexpr int G = L::lanes, P = L::piece, N = L::size, R = L::rows, quarter = L::quarter, kept = 3 * quarter;
  static constexpr int at_once = 4, together = 16 / sizeof(Factor);  // columns at a time; columns in one access
  static constexpr int last_columns = N - kept;
  static_assert(L::pieces_per_row >= 8 && quarter % 8 == 0 && at_once % P == 0);

  /// Loads `Columns` columns from `first` on, in the lane's rows among the first `kept` rows.
  template <int Columns>
  static __device__ __forceinline__ void take_rows(int group, int lane, const T* matrix, int first,
                                                   T (&part)[R][Columns]) {
    const T* const first_line = matrix + (L::line(lane, 0) + L::line(0, first / P)) * 8 * P;
    const int key = L::key(lane, 0) ^ L::system_key(group) ^ L::key(0, first / P);
#pragma unroll
    for (int u = 0; u < kept / G; ++u)
#pragma unroll
      for (int c = 0; c < Columns; c += P) {
        const int place = L::place(G * u);
        const auto in = *reinterpret_cast<const Vector<T, P>*>(first_line + (key ^ L::key(place, c / P)) * P +
                                                               L::line(place, c / P) * 8 * P);
#pragma unroll
        for (int e = 0; e < P; ++e) part[u][c + e] = in.value[e];
      }
  }

  template <int Columns>
  static __device__ __forceinline__ void add(Judgement<T, L, true>& judgement, const Factor* places, int first,
                                             const T (&part)[R][Columns]) {
#pragma unroll
    for (int c = 0; c < Columns; c += together) {
      const auto known = *reinterpret_cast<const Vector<Factor, together>*>(places + first + c);
#pragma unroll
      for (int e = 0; e < together; ++e)
#pragma unroll
        for (int u = 0; u < R; ++u) judgement.add(u, part[u][c + e], known.value[e]);
    }
  }

  /// Adds all columns except the last, which are loaded into `rest`. Afterwards the matrix is not needed any more.
  static __device__ __forceinline__ void add_first(Judgement<T, L, true>& judgement, int group, int lane,
                                                   const T* matrix, const T* last, const Factor* places,
                                                   T (&rest)[R][last_columns]) {
#pragma unroll 1
    for (int first = 0; first < kept; first += at_once) {
      T part[R][at_once];
      take_rows(group, lane, matrix, first, part);
      // Loads the same columns in the lane's other rows. These are not in shared memory, so their mirror images are
      // read: rows from `first` on, in the lane's columns.
      const int place = first < quarter ? first + 2 * quarter : first - quarter;
      const T* const line = matrix + place * N + L::line(0, lane / P) * 8 * P + lane % P;
      const int key = L::key(0, lane / P) ^ L::system_key(group) ^ (place & 4);
#pragma unroll
      for (int u = kept / G; u < R; ++u)
#pragma unroll
        for (int c = 0; c < at_once; ++c)
          part[u][c] = line[(key ^ L::key(c, G * u / P)) * P + L::line(c, G * u / P) * 8 * P];
      add(judgement, places, first, part);
    }
    take_rows(group, lane, matrix, kept, rest);
    unrolled<quarter / G>([&](auto slot) __attribute__((always_inline)) {
      constexpr int u = slot;
#pragma unroll
      for (int c = 0; c < last_columns; ++c) rest[kept / G + u][c] = packed_element<G, u>(last, lane, c);
    });
  }
};

/// State of a warp for its tasks; most steps are member functions. With `Dense`, a system is plain only if the
/// triangles are equal. With `Sized`, each system has its own size.
template <class T, bool Dense, bool Sized>
struct JudgedWork {
  using Plan = PiecesPlan<T, judged_rows, Asked::error>;
  using L = typename Plan::L;
  using Memory = TileMemory<T, L>;
  using Judged = JudgedRows<T, L>;
  static constexpr int G = L::lanes, N = L::size, R = L::rows, quarter = L::quarter, kept = 3 * quarter;
  static_assert(L::split && L::column_pitch >= packed_begin(quarter));
  static_assert(sizeof(Memory::x) + L::systems * sizeof(std::int32_t) <= sizeof(Memory::column));
  /// Whether the next systems are copied while the last columns are judged. In single precision, the code for that
  /// costs more than the wait.
  static constexpr bool ahead = sizeof(T) == sizeof(double);

  const Arguments<T>& args;
  Memory& memory;

  static __device__ __forceinline__ int lane() { return own_lane<L>(); }
  static __device__ __forceinline__ int group() { return own_group<L>(); }
  __device__ __forceinline__ std::int64_t first_of(unsigned task) const {
    return first_of_task<L::systems>(args, task);
  }
  __device__ __forceinline__ std::int64_t system_of(unsigned task) const { return first_of(task) + group(); }
  __device__ __forceinline__ T* own_matrix() const { return memory.matrix[group()]; }
  __device__ __forceinline__ T* own_rhs() const { return memory.rhs + group() * L::column_pitch; }
  /// Returns the sizes, which lie behind `x` in shared memory. The elimination overwrites them.
  __device__ __forceinline__ std::int32_t* sizes() const {
    return reinterpret_cast<std::int32_t*>(memory.x + L::systems);
  }

  __device__ __forceinline__ void stage_sizes(unsigned task) const {
    if (const int s = fresh(threadIdx.x); Sized && s < L::systems && task < args.tasks)
      copy_async<1>(sizes() + s, args.sizes + first_of(task) + s);
  }
  template <int first, int end>
  __device__ __forceinline__ void stage_rows(unsigned task) const {
    const Strided<T> source{args.a + first_of(task) * args.a_step, args.a_step};
    if constexpr (Sized)
      stage_pieces<first, end>(source, memory, [&](int s) { return sizes()[s]; });
    else
      stage_pieces<first, end>(source, memory);
    end_group_of_copies();
  }
  /// Starts to copy the systems of a task, except for the first quarter of their rows.
  __device__ __forceinline__ void stage(unsigned task) const {
    __syncwarp();                            // the previous systems are done
    if constexpr (Sized) wait_for_copies();  // the sizes are known
    const T* const from = args.b + system_of(task) * args.b_step;
    if constexpr (Sized)
      stage_rhs_below(sizes()[group()], from, group(), lane(), memory);
    else
      stage_rhs(from, group(), lane(), memory);
    stage_rows<kept, N>(task);
    stage_rows<quarter, kept>(task);
  }

  /// Loads rows that were copied. `odd` becomes nonzero if the triangles differ.
  template <int first, int end>
  __device__ __forceinline__ void take_rows(T (&a)[R][N], unsigned& odd) const {
    T* const matrix = own_matrix();
    load_rows<first, end, T, L>(matrix, group(), lane(), a);
    if (Dense) {
      visit_columns<first, end, T, L>(matrix, group(), lane(),
                                      [&](int u, int row, const T& value) { odd |= differing_bits(a[u][row], value); });
    } else if (first < kept) {
      __syncwarp();  // these rows have been read, including their elements above the diagonal
      visit_columns<first, end, T, L>(matrix, group(), lane(), [&](int u, int row, T& value) {
        if (u > row / G || lane() > row % G) value = a[u][row];
      });
    }
  }
  template <int first, int end>
  __device__ __forceinline__ void complete() const {
    if constexpr (Sized) complete_rows<first, end, T, L>(sizes()[group()], group(), lane(), own_matrix());
  }
  /// Stores the triangle of the last rows in place of the right-hand side.
  __device__ __forceinline__ void keep_last(const T (&a)[R][N]) const {
    T* const last = own_rhs();
#pragma unroll
    for (int u = kept / G; u < R; ++u)
#pragma unroll
      for (int c = 0; c < G * (u + 1) - kept; ++c) {
        const int row = G * u - kept + lane();
        if (c <= row) last[packed_begin(row) + c] = a[u][kept + c];
      }
  }
  /// Loads the matrix and right-hand side into registers. `b` becomes NaN if the system is not plain.
  __device__ __forceinline__ void take(unsigned task, T (&a)[R][N], T (&b)[R]) const {
    unsigned odd = 0;
    if constexpr (Sized) odd |= static_cast<unsigned>(sizes()[group()] <= 0 || sizes()[group()] > N);
    wait_for_groups_but<1>();
    complete<kept, N>();
    take_rows<kept, N>(a, odd);
#pragma unroll
    for (int u = 0; u < R; ++u) b[u] = own_rhs()[G * u + lane()];
    __syncwarp();  // the last quarter and the right-hand sides have been read: the first quarter takes the place of the
                   // last
    stage_rows<0, quarter>(task);
    keep_last(a);
    wait_for_groups_but<1>();
    complete<quarter, kept>();
    take_rows<2 * quarter, kept>(a, odd);
    take_rows<quarter, 2 * quarter>(a, odd);
    wait_for_copies();
    complete<0, quarter>();
    take_rows<0, quarter>(a, odd);
    odd |= diagonal_far_bits<T, L>(lane(), a);
#pragma unroll
    for (int u = 0; u < R; ++u) odd |= static_cast<unsigned>(is_far(b[u], Traits<T>::rhs_window));
    if (odd != 0) b[0] = not_a_number<T>();  // x becomes NaN, so the system is marked
  }
};

/// Solves and judges plain systems, and marks all others: systems that are not symmetric to the bit, have numbers far
/// from 1, or fail. The last task consists of the last systems of the batch. It may solve some of them a second time,
/// with equal results.
template <class T, bool Dense, bool Sized>
__global__ void __launch_bounds__(warp_lanes, PiecesPlan<T, judged_rows, Asked::error>::warps)
    judged_rows_kernel(Arguments<T> args) {
  using Work = JudgedWork<T, Dense, Sized>;
  using Plan = typename Work::Plan;
  using L = typename Work::L;
  using Judged = typename Work::Judged;
  constexpr int G = L::lanes, N = L::size, kept = Work::kept;
  __shared__ typename Work::Memory memory;
  const Work work{args, memory};
  unsigned task = blockIdx.x;
  work.stage_sizes(task);
  if (Work::ahead && task < args.tasks) work.stage(task);
#pragma unroll 1
  for (; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return work.system_of(task); };
    if (!Work::ahead) work.stage(task);
    T a[L::rows][N], b[1][L::rows], inverse[L::rows];
    work.take(task, a, b[0]);
    if constexpr (Sized) {
#pragma unroll
      for (int u = 0; u < L::rows; ++u) inverse[u] = 1;  // so that the compiler does not keep earlier values
    }
    factor<L, Plan::turning, Plan::factor_apart, false, Plan::early>(
        work.group(), work.lane(), memory, a, b[0], ReciprocalsInRegisters<T, L>{inverse}, N, args.once);
#pragma unroll
    for (int u = 0; u < L::rows; ++u) {
      b[0][u] *= inverse[u];
      now(b[0][u]);  // rounded here, as in all kernels
    }
    substitute_back<L, Plan::back_apart, false>(work.group(), work.lane(), memory, a, b, args.once);
    const int n = Sized ? args.sizes[system()] : N;
    T right[L::rows];
    {
      const T* const from = args.b + system() * args.b_step + work.lane();
#pragma unroll
      for (int u = 0; u < L::rows; ++u) right[u] = !Sized || G * u + work.lane() < n ? from[G * u] : T(0);
    }
    const bool plain = !any_of_group<G>(!are_answers(b[0], inverse));
    T* const x = args.to.x + system() * args.to.x_stride + work.lane();
#pragma unroll
    for (int u = 0; u < L::rows; ++u) x[G * u] = b[0][u];
    if (work.lane() == 0) {
      args.to.info[system()] = 0;
      args.marks[system()] = plain ? Mark::settled : Mark::unsettled;
    }
    if constexpr (Sized) {
      __syncwarp();  // the memory for the next sizes has been read
      work.stage_sizes(static_cast<unsigned>(fresh(static_cast<int>(task))) + gridDim.x);
    }
    const T* const last = work.own_rhs();
    Judgement<T, L, true> judgement(
        n, work.lane(),
        [&](int row) {
          return row < kept ? staged<L>(work.own_matrix(), work.group(), row, row)
                            : last[packed_begin(row - kept) + row - kept];
        },
        memory.x[work.group()], b[0], right);
    T rest[L::rows][Judged::last_columns];
    Judged::add_first(judgement, work.group(), work.lane(), work.own_matrix(), last, memory.x[work.group()], rest);
    if constexpr (Work::ahead) {
      if (const auto next = static_cast<unsigned>(fresh(static_cast<int>(task + gridDim.x))); next < args.tasks)
        work.stage(next);
      now(rest);  // so that the copies start before `rest` is used
    }
    Judged::add(judgement, memory.x[work.group()], kept, rest);
    double norm_a;
    const double error = judgement.result(n, work.lane(), norm_a);
    if (work.lane() == 0) args.to.backward_error[system()] = static_cast<T>(error);
  }
}

}  // namespace

}  // namespace smallbatch
