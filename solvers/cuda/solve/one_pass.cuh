// Solves plain systems by L D L^T with all wanted numbers, in one pass over the matrices. The matrices stay in shared
// memory, where they were copied to, until the answers are judged. Private to solvers/cuda.
//
// The kernels take any n up to N, any number of right-hand sides or none, and systems of different sizes. Systems that
// are not plain are marked for the general kernel (solve/general.cu). They are not symmetric to the bit, have numbers
// far from 1, or fail. The answers have the same bits as in solve/pieces.cu, because the order of operations is the
// same.
#pragma once

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/plain_systems.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/norm_estimate.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

template <class T, class L>
struct alignas(16) OnePassMemory {
  T matrix[L::numbers];  // holds rows of the identity for systems kept as they are stored
  T rhs[L::systems * L::column_pitch];
  // Pivot columns of the current and of the next step. Lanes also store elements of finished rows. These elements
  // are not used, but they may lie in front of a column, hence L::lanes additional numbers.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][L::size + 2];  // solutions to be judged
  };
  T pivots[L::systems][L::column_pitch];
  int sizes[L::systems];
  int begins[L::systems];         // offsets of the systems' first numbers, if systems are kept as they are stored
  unsigned char odd[L::systems];  // 1: the system is not plain
};

/// State of a warp for one task; most steps are member functions. With AsStored, systems are kept as they are stored,
/// and their first numbers may have any alignment. Otherwise rows are whole 16-byte pieces, placed to avoid bank
/// conflicts.
template <class T, int N, bool AsStored>
struct OnePassWork {
  using Plan = OnePassPlan<T, N, AsStored>;
  using L = typename Plan::L;
  using Memory = OnePassMemory<T, L>;
  static constexpr int G = L::lanes, R = L::rows;
  /// Whether a single answer stays in registers. Otherwise it is read again before the judgement.
  static constexpr bool answer_stays = registers_suffice();

  const Arguments<T>& args;
  Memory& memory;
  const unsigned& task;

  static __device__ __forceinline__ int lane() { return own_lane<L>(); }
  static __device__ __forceinline__ int group() { return own_group<L>(); }
  __device__ __forceinline__ std::int64_t system_of(int g) const { return system_of_task<L::systems>(args, task, g); }
  __device__ __forceinline__ std::int64_t system() const { return system_of(group()); }
  __device__ __forceinline__ const T* source(int s) const { return args.a + system_of(s) * args.a_step; }
  __device__ __forceinline__ T* own_matrix() const {
    if constexpr (AsStored)
      return stored_matrices<T>() + memory.begins[group()];
    else
      return memory.matrix + L::begin(group());
  }
  __device__ __forceinline__ StoredRows<T> own_rows() const {
    return {own_matrix(), args.storage == Storage::packed_lower ? 0 : args.n};
  }
  __device__ __forceinline__ T* own_rhs() const { return memory.rhs + group() * L::column_pitch; }
  __device__ __forceinline__ int rows() const { return memory.sizes[group()]; }
  __device__ __forceinline__ bool is_dense() const { return args.storage == Storage::dense; }
  __device__ __forceinline__ bool is_judged() const {
    return args.to.backward_error != nullptr || args.to.rcond != nullptr;
  }
  __device__ __forceinline__ bool is_whole() const { return !AsStored && args.n == N && args.sizes == nullptr; }
  __device__ __forceinline__ void mark_odd() const { memory.odd[group()] = 1; }

  /// Copies sizes, matrices and a single right-hand side to shared memory.
  __device__ __forceinline__ void fetch() const {
    __syncwarp();  // the previous systems are done
    if (const int s = fresh(threadIdx.x); s < L::systems) {
      const int size = rows_of(args, system_of(s));
      memory.sizes[s] = max(size, 0);
      memory.odd[s] = size <= 0 ? 1 : 0;
      if (AsStored) memory.begins[s] = s * args.kept_step + beyond_piece(source(s));
    }
    const bool whole = is_whole();
    if (!whole) __syncwarp();  // the sizes are known
    const auto from_system = [&](int s) { return source(s); };
    const auto size = [&](int s) { return memory.sizes[s]; };
    if constexpr (AsStored)
      copy_as_stored<T, L>(args, from_system, size, stored_matrices<T>());
    else if (whole)
      copy_pieces<T, L>(from_system, memory.matrix);
    else
      copy_row_pieces<T, L>(args, from_system, size, memory.matrix);
    if (args.nrhs == 1) {
      if (whole) __syncwarp();  // the sizes are known
      const T* const from = args.b + system() * args.b_step + lane();
      T* const to = own_rhs() + lane();
#pragma unroll
      for (int u = 0; u < R; ++u) {
        const bool copied = G * u + lane() < rows();
        copy_async_or_zero(to + G * u, from + (copied ? G * u : 0), copied);
      }
    }
    wait_for_copies();
  }

  /// Loads the matrix and a single right-hand side into registers, and marks systems that are not plain.
  __device__ __forceinline__ void take(T (&a)[R][N], T (&b)[R]) const {
    unsigned odd = 0;
    if constexpr (AsStored) {
      load_stored<T, L>(own_rows(), rows(), memory.matrix, lane(), a);
      if (is_dense()) odd = stored_difference<T, L>(own_rows(), rows(), lane(), a);
    } else {
      if (!is_whole()) {
#pragma unroll 1
        for (int row = rows() + lane(); row < N; row += G) kept<L>(own_matrix(), group(), row, row) = 1;
        __syncwarp();  // the padding is complete
      }
      load_kept<T, L>(own_matrix(), group(), lane(), a);
      if (is_dense())
        odd = kept_difference<T, L>(own_matrix(), group(), lane(), a);
      else if (is_judged())
        mirror_kept<T, L>(own_matrix(), group(), lane(), a);
    }
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (has_row<L>(lane(), u)) odd |= far_bits(diagonal<T, L>(lane(), u, a));
#pragma unroll
    for (int u = 0; u < R; ++u) {
      b[u] = args.nrhs == 1 && has_row<L>(lane(), u) ? own_rhs()[G * u + lane()] : T(0);
      odd |= static_cast<unsigned>(is_far(b[u], Traits<T>::rhs_window));
    }
    if (odd != 0) mark_odd();
  }

  /// Stores the numbers that are computed from the pivots, computes 1 / d, and marks systems with bad pivots.
  __device__ __forceinline__ void take_pivots(T (&inverse)[R]) const {
    const T* const pivots = memory.pivots[group()];
    if (args.pivot_numbers) {
      PivotNumbers<T> numbers[L::shares];
#pragma unroll
      for (int u = 0; u < R; ++u)
        if (G * u + lane() < rows()) numbers[u % L::shares].add(pivots[G * u + lane()], 0);
      if constexpr (L::shares == 2) numbers[0].add(numbers[1]);
      numbers[0].template combine<G>();
      if (lane() == 0) numbers[0].store(args, system());
    }
    T zero = 0, least = 1;  // zero becomes NaN if a pivot is not finite
#pragma unroll
    for (int u = 0; u < R; ++u) {
      inverse[u] = has_row<L>(lane(), u) ? reciprocal(pivots[G * u + lane()]) : T(1);
      zero = fma(inverse[u], T(0), zero);
      least = min(least, inverse[u]);
    }
    if (!(zero == 0 && least > 0)) mark_odd();
  }

  /// Computes the answer to a single right-hand side. `b` is L^-1 times this right-hand side.
  __device__ __forceinline__ void solve_one(const T (&a)[R][N], const T (&b)[R], const T (&inverse)[R],
                                            T (&answer)[R]) const {
    T y[1][R];
#pragma unroll
    for (int u = 0; u < R; ++u) {
      y[0][u] = b[u] * inverse[u];
      now(y[0][u]);  // rounded here, as in all kernels
    }
    substitute_back<L, Plan::back_apart, false>(group(), lane(), memory, a, y, args.once);
    T zero = 0;
    T* const x = args.to.x + system() * args.to.x_stride + lane();
#pragma unroll
    for (int u = 0; u < R; ++u) {
      zero = fma(y[0][u], T(0), zero);
      if (G * u + lane() < args.n) x[G * u] = y[0][u];
      if (answer_stays) answer[u] = y[0][u];
    }
    if (!(zero == 0)) mark_odd();
  }

  /// Loads the right-hand sides 2 pair and 2 pair + 1.
  __device__ __forceinline__ void load_pair(int pair, T (&y)[2][R]) const {
    const T* const b = args.b + system() * args.b_step + 2 * pair;
    bool odd = false;
#pragma unroll
    for (int c = 0; c < 2; ++c)
#pragma unroll
      for (int u = 0; u < R; ++u) {
        const int row = G * u + lane();
        y[c][u] = row < rows() && 2 * pair + c < args.nrhs ? b[static_cast<std::int64_t>(row) * args.nrhs + c] : T(0);
        odd |= is_far(y[c][u], Traits<T>::rhs_window);
      }
    if (odd) mark_odd();
  }
  __device__ __forceinline__ void store_pair(int pair, const T (&y)[2][R]) const {
    T* const x = args.to.x + system() * args.to.x_stride + 2 * pair;
    T zero = 0;
#pragma unroll
    for (int c = 0; c < 2; ++c)
#pragma unroll
      for (int u = 0; u < R; ++u) {
        const int row = G * u + lane();
        zero = fma(y[c][u], T(0), zero);
        if (row < args.n && 2 * pair + c < args.nrhs) x[static_cast<std::int64_t>(row) * args.nrhs + c] = y[c][u];
      }
    if (!(zero == 0)) mark_odd();
  }

  /// Solves several right-hand sides, two at a time, and then the vectors of the norm estimate of A^-1.
  __device__ __forceinline__ void solve_pairs(const T (&a)[R][N], const T (&inverse)[R],
                                              NormEstimate<T, L>& estimate) const {
    const int pairs = args.nrhs > 1 ? (args.nrhs + 1) / 2 : 0;
    T y[2][R];
#pragma unroll 1
    for (int turn = 0, end = pairs + (args.to.rcond != nullptr ? estimate.turns : 0); turn < end; ++turn) {
      if (turn < pairs) {
        load_pair(turn, y);
      } else {
        if (turn == pairs) estimate.begin(rows(), lane(), inverse);
        estimate.prepare(turn - pairs, rows(), lane(), y);
      }
      substitute_forward<L, false>(lane(), a, y, args.once);
#pragma unroll
      for (int c = 0; c < 2; ++c)
#pragma unroll
        for (int u = 0; u < R; ++u) {
          y[c][u] *= inverse[u];
          now(y[c][u]);
        }
      substitute_back<L, true, false>(group(), lane(), memory, a, y, args.once);
      if (turn < pairs)
        store_pair(turn, y);
      else if (!estimate.take(turn - pairs, rows(), lane(), y))
        break;
    }
  }

  /// Returns the largest backward error, and sets norm_a. Overwrites `answer`.
  __device__ __forceinline__ double judge(T (&answer)[R], double& norm_a) const {
    double worst = 0;
#pragma unroll 1
    for (int column = 0; column < max(args.nrhs, 1); ++column) {
      T b[R];
#pragma unroll
      for (int u = 0; u < R; ++u) {
        const int row = G * u + lane();
        if (answer_stays && args.nrhs == 1) {
          b[u] = has_row<L>(lane(), u) ? own_rhs()[row] : T(0);
        } else {
          const bool own = row < rows() && column < args.nrhs;
          const std::int64_t place = static_cast<std::int64_t>(row) * args.nrhs + column;
          answer[u] = own ? args.to.x[system() * args.to.x_stride + place] : T(0);
          b[u] = own ? args.b[system() * args.b_step + place] : T(0);
        }
      }
      double error = 0;
      if constexpr (AsStored)
        error = judge_stored<T, L>(rows(), args.n, is_dense(), lane(), own_rows(), memory.matrix, memory.x[group()],
                                   answer, b, norm_a);
      else
        error = judge_kept<T, L>(rows(), group(), lane(), own_matrix(), memory.x[group()], answer, b, norm_a);
      worst = max(worst, error);
    }
    return worst;
  }
};

template <class T, int N, bool AsStored>
__global__ void __launch_bounds__(warp_lanes, OnePassPlan<T, N, AsStored>::warps)
    one_pass_ldlt_kernel(Arguments<T> args) {
  using Work = OnePassWork<T, N, AsStored>;
  using Plan = typename Work::Plan;
  using L = typename Work::L;
  __shared__ typename Work::Memory memory;
  if constexpr (AsStored) make_identity<T, L>(memory.matrix);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const Work work{args, memory, task};
    work.fetch();
    T a[L::rows][N], b[L::rows], inverse[L::rows], answer[L::rows];
    work.take(a, b);
    factor<L, Plan::turning, Plan::factor_apart, false>(
        work.group(), work.lane(), memory, a, b, PivotsInMemory<T, L>{memory.pivots[work.group()]}, N, args.once);
    __syncwarp();  // the pivots are stored
    work.take_pivots(inverse);
    if (args.nrhs == 1) work.solve_one(a, b, inverse, answer);
    NormEstimate<T, L> estimate;
    work.solve_pairs(a, inverse, estimate);
    double error = 0, norm_a = 0;
    if (work.is_judged()) error = work.judge(answer, norm_a);
    __syncwarp();  // memory.odd is complete
    if (work.lane() != 0) continue;
    const std::int64_t system = work.system();
    if (args.to.backward_error != nullptr) args.to.backward_error[system] = static_cast<T>(error);
    if (args.to.rcond != nullptr) args.to.rcond[system] = rcond_of_norms<T>(work.rows(), norm_a, 0, estimate.norm, 0);
    args.to.info[system] = 0;
    args.marks[system] = memory.odd[work.group()] == 0 ? Mark::settled : Mark::unsettled;
  }
}

}  // namespace

template <class T>
cudaError_t launch_one_pass(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                            cudaStream_t stream) {
  Kernel<Arguments<T>> kernel = nullptr;
  with_row<T, Family::one_pass>(row, [&]<std::size_t i>() {
    kernel = one_pass_ldlt_kernel<T, solve_table[i].padded, solve_table[i].arrival != Arrival::pieces>;
  });
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  std::size_t numbers = 0;  // in dynamic shared memory, for matrices kept as they are stored
  if (row.arrival != Arrival::pieces) {
    arguments.vectors = reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
    arguments.kept_step = stored_step(batch, row.lanes, static_cast<int>(batch.shape.matrix_size()));
    const int rows_of_lane = (row.padded + row.lanes - 1) / row.lanes;
    numbers = row.systems() * arguments.kept_step + row.lanes * rows_of_lane;
  }
  return launch(kernel, row.systems(), arguments, stream, 1 << 15, (numbers * sizeof(T) + 15) / 16 * 16);
}

}  // namespace smallbatch
