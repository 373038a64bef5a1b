// Plain systems by L D L^T with all that may be asked about the answers, in one pass over A: the matrices stay in
// shared memory, where the copies have put them, until the answers are judged. Private to solvers/cuda.
//
// Takes any n up to its N, any number of right-hand sides or none, sizes that differ. What is not plain it marks for
// the general kernel (solve/general.cu): systems that are not symmetric to the bit, whose numbers lie far from 1, or
// that fail. The arithmetic of x is that of solve/pieces.cu, and its bits are the same.
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
  T matrix[L::numbers];  // of systems as they are stored: rows of the identity
  T rhs[L::systems * L::column_pitch];
  // Pivot columns of the step under way and of the next. In front of a column come places for rows that are done with.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][L::size + 2];  // answers to be judged
  };
  T pivots[L::systems][L::column_pitch];
  int sizes[L::systems];
  int begins[L::systems];         // of systems as they are stored: where the first number lies
  unsigned char odd[L::systems];  // 1: the system is not plain
};

/// AsStored: systems are kept as they are stored, and their first numbers lie at multiples of 16 bytes or anywhere;
/// else rows are whole pieces of 16 bytes, which are put where they suit the banks.
template <class T, int N, bool AsStored>
__global__ void __launch_bounds__(warp_lanes, OnePassPlan<T, N, AsStored>::warps)
    one_pass_ldlt_kernel(Arguments<T> args) {
  using Plan = OnePassPlan<T, N, AsStored>;
  using L = typename Plan::L;
  constexpr int G = L::lanes, R = L::rows;
  __shared__ OnePassMemory<T, L> memory;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  if constexpr (AsStored) make_identity<T, L>(memory.matrix);
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    // Beyond the end, the last system once more.
    const auto system_of = [&](int g) __attribute__((always_inline)) {
      return min(std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(task)))} * L::systems + g, args.count - 1);
    };
    const auto system = [&]() __attribute__((always_inline)) { return system_of(group()); };
    const auto source = [&](int s) { return args.a + system_of(s) * args.a_step; };
    const auto own_matrix = [&]() __attribute__((always_inline)) {
      if constexpr (AsStored)
        return stored_matrices<T>() + memory.begins[group()];
      else
        return memory.matrix + L::begin(group());
    };
    const auto own_rows = [&]() __attribute__((always_inline)) {
      return StoredRows<T>{own_matrix(), args.storage == Storage::packed_lower ? 0 : args.n};
    };
    __syncwarp();  // the last systems are done with
    if (const int s = fresh(threadIdx.x); s < L::systems) {
      const int size = rows_of(args, system_of(s));
      memory.sizes[s] = max(size, 0);
      memory.odd[s] = size <= 0 ? 1 : 0;
      if (AsStored) memory.begins[s] = s * args.kept_step + beyond_piece(source(s));
    }
    const bool whole = !AsStored && args.n == N && args.sizes == nullptr;
    if (!whole) __syncwarp();  // the sizes are known
    const auto size = [&](int s) { return memory.sizes[s]; };
    if constexpr (AsStored)
      copy_as_stored<T, L>(args, source, size, stored_matrices<T>());
    else if (whole)
      copy_pieces<T, L>(source, memory.matrix);
    else
      copy_row_pieces<T, L>(args, source, size, memory.matrix);
    const auto rows = [&]() __attribute__((always_inline)) { return memory.sizes[group()]; };
    if (args.nrhs == 1) {
      if (whole) __syncwarp();  // the sizes are known
      const T* const from = args.b + system() * args.b_step + lane();
      T* const to = memory.rhs + group() * L::column_pitch + lane();
#pragma unroll
      for (int u = 0; u < R; ++u) {
        const bool copied = G * u + lane() < rows();
        copy_async_or_zero(to + G * u, from + (copied ? G * u : 0), copied);
      }
    }
    wait_for_copies();
    T a[R][N], first_b[R];
    unsigned odd = 0;
    const auto is_dense = [&]() __attribute__((always_inline)) { return args.storage == Storage::dense; };
    if constexpr (AsStored) {
      load_stored<T, L>(own_rows(), rows(), memory.matrix, lane(), a);
      if (is_dense()) odd = stored_difference<T, L>(own_rows(), rows(), lane(), a);
    } else {
      if (!whole) {
#pragma unroll 1
        for (int row = rows() + lane(); row < N; row += G) kept<L>(own_matrix(), group(), row, row) = 1;
        __syncwarp();  // the padding is complete
      }
      load_kept<T, L>(own_matrix(), group(), lane(), a);
      if (is_dense())
        odd = kept_difference<T, L>(own_matrix(), group(), lane(), a);
      else if (args.to.backward_error != nullptr || args.to.rcond != nullptr)
        mirror_kept<T, L>(own_matrix(), group(), lane(), a);
    }
#pragma unroll
    for (int u = 0; u < R; ++u)
      if (has_row<L>(lane(), u)) odd |= far_bits(diagonal<T, L>(lane(), u, a));
#pragma unroll
    for (int u = 0; u < R; ++u) {
      first_b[u] =
          args.nrhs == 1 && has_row<L>(lane(), u) ? memory.rhs[group() * L::column_pitch + G * u + lane()] : T(0);
      odd |= static_cast<unsigned>(is_far(first_b[u], Traits<T>::rhs_window));
    }
    if (odd != 0) memory.odd[group()] = 1;
    factor<L, Plan::turning, Plan::factor_apart, false>(group(), lane(), memory, a, first_b,
                                                        PivotsInMemory<T, L>{memory.pivots[group()]}, N, args.once);
    __syncwarp();  // the pivots are there
    if (args.pivot_numbers) {
      PivotNumbers<T> numbers[L::shares];
#pragma unroll
      for (int u = 0; u < R; ++u)
        if (G * u + lane() < rows()) numbers[u % L::shares].add(memory.pivots[group()][G * u + lane()], 0);
      if constexpr (L::shares == 2) numbers[0].add(numbers[1]);
      numbers[0].template combine<G>();
      if (lane() == 0) numbers[0].store(args, system());
    }
    T inverse[R], zero_pivots = 0, least = 1;  // zero_pivots becomes NaN where one is not finite
#pragma unroll
    for (int u = 0; u < R; ++u) {
      inverse[u] = has_row<L>(lane(), u) ? reciprocal(memory.pivots[group()][G * u + lane()]) : T(1);
      zero_pivots = fma(inverse[u], T(0), zero_pivots);
      least = min(least, inverse[u]);
    }
    if (!(zero_pivots == 0 && least > 0)) memory.odd[group()] = 1;

    // To a single right-hand side; or, when it is judged, it and that side are read again.
    constexpr bool answer_stays = registers_suffice();
    T answer[R];
    if (args.nrhs == 1) {
      T y[1][R];
#pragma unroll
      for (int u = 0; u < R; ++u) {
        y[0][u] = first_b[u] * inverse[u];
        now(y[0][u]);  // rounded; the same in all kernels
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
      if (!(zero == 0)) memory.odd[group()] = 1;
    }

    // Two right-hand sides at a time, and then the vectors that the norm of A^-1 is estimated from.
    const int pairs = args.nrhs > 1 ? (args.nrhs + 1) / 2 : 0;
    NormEstimate<T, L> estimate;
    T y[2][R];
#pragma unroll 1
    for (int turn = 0, end = pairs + (args.to.rcond != nullptr ? estimate.turns : 0); turn < end; ++turn) {
      if (turn < pairs) {
        const T* const b = args.b + system() * args.b_step + 2 * turn;
        bool odd = false;
#pragma unroll
        for (int c = 0; c < 2; ++c)
#pragma unroll
          for (int u = 0; u < R; ++u) {
            const int row = G * u + lane();
            y[c][u] =
                row < rows() && 2 * turn + c < args.nrhs ? b[static_cast<std::int64_t>(row) * args.nrhs + c] : T(0);
            odd |= is_far(y[c][u], Traits<T>::rhs_window);
          }
        if (odd) memory.odd[group()] = 1;
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
      if (turn < pairs) {
        T* const x = args.to.x + system() * args.to.x_stride + 2 * turn;
        T zero = 0;
#pragma unroll
        for (int c = 0; c < 2; ++c)
#pragma unroll
          for (int u = 0; u < R; ++u) {
            const int row = G * u + lane();
            zero = fma(y[c][u], T(0), zero);
            if (row < args.n && 2 * turn + c < args.nrhs) x[static_cast<std::int64_t>(row) * args.nrhs + c] = y[c][u];
          }
        if (!(zero == 0)) memory.odd[group()] = 1;
      } else if (!estimate.take(turn - pairs, rows(), lane(), y)) {
        break;
      }
    }
    double worst = 0, norm_a = 0;
    if (args.to.backward_error != nullptr || args.to.rcond != nullptr) {
#pragma unroll 1
      for (int column = 0; column < max(args.nrhs, 1); ++column) {
        T b[R];
#pragma unroll
        for (int u = 0; u < R; ++u) {
          const int row = G * u + lane();
          if (answer_stays && args.nrhs == 1) {
            b[u] = has_row<L>(lane(), u) ? memory.rhs[group() * L::column_pitch + row] : T(0);
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
    }
    __syncwarp();  // all know what is odd
    if (lane() == 0) {
      if (args.to.backward_error != nullptr) args.to.backward_error[system()] = static_cast<T>(worst);
      if (args.to.rcond != nullptr) args.to.rcond[system()] = rcond_of_norms<T>(rows(), norm_a, 0, estimate.norm, 0);
      args.to.info[system()] = 0;
      args.marks[system()] = memory.odd[group()] == 0 ? Mark::settled : Mark::unsettled;
    }
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
  std::size_t numbers = 0;  // of matrices as they are stored
  if (row.arrival != Arrival::pieces) {
    arguments.vectors = reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
    arguments.kept_step = stored_step(batch, row.lanes, static_cast<int>(batch.shape.matrix_size()));
    const int rows_of_lane = (row.padded + row.lanes - 1) / row.lanes;
    numbers = row.systems() * arguments.kept_step + row.lanes * rows_of_lane;
  }
  return launch(kernel, row.systems(), arguments, stream, 1 << 15, (numbers * sizeof(T) + 15) / 16 * 16);
}

}  // namespace smallbatch
