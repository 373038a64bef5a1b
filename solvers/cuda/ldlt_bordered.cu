// Plain systems of 33 and 34 rows in double precision, with one right-hand side, by L D L^T of 32 rows in the lanes'
// registers, as all kernels of 32 rows have them, and one or two border rows below:
//     A = [A11 . ; A21 A22],  Z = L11^-1 A21^T,  L21 = Z^T D1^-1,  A22 - Z^T D1^-1 Z = L22 D2 L22^T
// Border rows are columns that are substituted when L11 is there, so they take no register while it is made. Four
// systems share a warp, eight lanes each, where blocks of 8 x 8 (ldlt_blocks.cu) would be five times five of them.
//
// One file, because its steps share what lies where in shared memory.
//
// Dense matrices come in two runs, as they are stored. Rows 16 .. come first; rows 0 .. 15 take their place when they
// have been read, but for the border rows, which stay, and of rows 16 .. 31 the triangle is kept behind these: that is
// all of A by symmetry, from which it is judged. Packed triangles come at once, and stay. With rcond L21 and the
// border's own factors are kept as well. What is not plain is marked for the general kernel (ldlt_general.cu).
#include "core/gpu_plans.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_elimination.cuh"
#include "solvers/cuda/norm_estimate.cuh"
#include "solvers/cuda/stored_systems.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

constexpr int inner = 32;  // rows that are eliminated in registers
constexpr int whole = 16;  // the first rows of dense matrices, which stay as they are stored
constexpr int gap = 2;     // numbers in front of what comes first, into which the last piece of these rows may reach
constexpr int bordered_warps = 8;

template <class T>
using InnerLayout = StoredLayout<T, inner, 8>;

template <class T, int N>
struct alignas(16) BorderedMemory {
  using L = InnerLayout<T>;
  using All = StoredLayout<T, N, L::lanes>;
  T rhs[L::systems * All::width];
  // Pivot columns of the step under way and of the next. In front of a column come places for rows that are done with.
  union {
    T column[2][L::lanes + L::systems * L::column_pitch];
    typename Residual<T>::Factor x[L::systems][N + 2];  // answers to be judged
  };
  std::uint64_t arrivals;  // of bulk copies
};

/// Numbers of a matrix in shared memory.
constexpr int bordered_numbers(int n, bool packed) {
  return packed ? packed_begin(n) : gap + (n - whole) * n + packed_begin(inner - whole);
}

/// What is kept of a system's factors in shared memory, from which place on.
template <class T, int N>
struct KeptBorder {
  static constexpr int C = N - inner, width = StoredLayout<T, N, 8>::width;
  static constexpr int own = inner * C;                      // behind the rows of L21 those of L22, below its diagonal
  static constexpr int reciprocals = own + C * (C - 1) / 2;  // of all pivots
  static constexpr int vectors = reciprocals + width;        // two, to be solved with
  static constexpr int pitch = (vectors + 2 * width) | 1;
};

/// Everything: all numbers that are asked for; else x, the status and, if asked for, the backward error.
template <class T, int N, bool Everything>
__global__ void __launch_bounds__(warp_lanes, bordered_warps) bordered_kernel(Arguments<T> args) {
  using L = InnerLayout<T>;
  using Memory = BorderedMemory<T, N>;
  using All = typename Memory::All;
  using Kept = KeptBorder<T, N>;
  constexpr int G = L::lanes, R = L::rows, C = N - inner, whole_slots = whole / G;
  static_assert(All::rows == R + 1 && C <= G);
  __shared__ Memory memory;
  if constexpr (has_bulk_copies())
    if (threadIdx.x == 0) expect_bulk_copies<L::systems>(memory.arrivals);
  __syncwarp();       // what counts bulk copies is there
  unsigned turn = 0;  // of copies, 0 and 1
  const bool packed = args.storage == Storage::packed_lower, dense = args.storage == Storage::dense;
  const bool bulk = has_bulk_copies() && args.vectors;
  const auto lane = []() __attribute__((always_inline)) { return fresh(threadIdx.x) % G; };
  const auto group = []() __attribute__((always_inline)) { return fresh(threadIdx.x) / G; };
  // Behind the last system it is taken again, alike.
  const auto system_of = [&](unsigned task, int s) __attribute__((always_inline)) {
    return min(std::int64_t{static_cast<unsigned>(fresh(static_cast<int>(task)))} * L::systems + s, args.count - 1);
  };
  const auto source = [&](unsigned task) {
    return [&args, &system_of, task](int s) { return args.a + system_of(task, s) * args.a_step; };
  };
  const auto copy_numbers = [&](unsigned task, int first, int end, int to) __attribute__((always_inline)) {
    if constexpr (has_bulk_copies()) {
      if (bulk) {
        copy_run_in_bulk<T, L>(args, source(task), first, end, to, stored_matrices<T>(), memory.arrivals);
        return;
      }
    }
#pragma unroll 1
    for (int s = 0; s < L::systems; ++s) {
      const T* const from = source(task)(s);
      T* const place = stored_matrices<T>() + s * args.kept_step + beyond_piece(from) + to - first;
#pragma unroll 4
      for (int e = first + fresh(threadIdx.x); e < end; e += warp_lanes) copy_async<1>(place + e, from + e);
    }
  };
  const auto wait = [&]() __attribute__((always_inline)) {
    if (bulk) wait_for_bulk_copies(memory.arrivals, turn);
    turn ^= 1;
    wait_for_copies();
  };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const auto system = [&]() __attribute__((always_inline)) { return system_of(task, group()); };
    const auto size_of = [&]() __attribute__((always_inline)) {
      return args.sizes == nullptr ? N : max(0, min(N, args.sizes[system()]));
    };
    const auto own = [&]() __attribute__((always_inline)) {
      return stored_matrices<T>() + group() * args.kept_step + beyond_piece(source(task)(group()));
    };
    // Border row c, and the triangle of the inner rows from `cut` on.
    const auto border_of = [&](T * matrix, int c) __attribute__((always_inline)) {
      return matrix + (packed ? packed_begin(inner + c) : whole * N + gap + c * N);
    };
    const auto triangle_of = [&](T * matrix) __attribute__((always_inline)) {
      return packed ? matrix : matrix + gap + (N - whole) * N;
    };
    const int cut = packed ? 0 : whole;
    const T* const own_rhs = memory.rhs + group() * All::width;
    copy_numbers(task, packed ? 0 : whole * N, packed ? packed_begin(N) : N * N, packed ? 0 : gap);
    {
      const T* const from = args.b + system() * args.b_step + lane();
      T* const to = memory.rhs + group() * All::width + lane();
      const int size = size_of();
#pragma unroll
      for (int u = 0; u < All::rows; ++u) {
        const bool copied = G * u + lane() < size;
        copy_async_or_zero(to + G * u, from + (copied ? G * u : 0), copied);
      }
    }
    T a[R][inner], b[1][R], inverse[R];
    unsigned odd = 0;  // not zero: the system is not plain
    {
      T* const matrix = own();
      const auto begin_of = [&](int row) __attribute__((always_inline)) {
        return packed ? packed_begin(row) : row * N;
      };
      // Beyond the size of a system, rows of the identity.
      const auto complete = [&](T * rows, int first, int end) __attribute__((always_inline)) {
        if (args.sizes == nullptr) return;
        const int size = size_of();
#pragma unroll 1
        for (int row = first; row < end; ++row)
#pragma unroll 1
          for (int c = lane(); c < (packed ? row + 1 : N); c += G)
            if (row >= size || c >= size) rows[begin_of(row) + c] = static_cast<T>(c == row);
        __syncwarp();  // they are complete
      };
      const auto take_slot = [&]<int u>(const T* rows) __attribute__((always_inline)) {
        const T* const from = rows + begin_of(G * u + lane());
#pragma unroll
        for (int c = 0; c < L::columns(u); ++c) a[u][c] = from[c];
        if (!dense) return;
        // Rows of this slot, right of the diagonal and on it.
        const T* const mirrored = rows + lane();
#pragma unroll
        for (int c = G * u; c < L::columns(u); ++c)
#pragma unroll
          for (int v = u; v < R; ++v) odd |= differing_bits(a[v][c], mirrored[c * N + G * v]);
      };
      // What the rows first .. end - 1 have in the border's columns, and the border's rows.
      const auto compare_border = [&](const T* rows, int first, int end) __attribute__((always_inline)) {
#pragma unroll 1
        for (int row = first + lane(); row < end; row += G)
#pragma unroll
          for (int c = 0; c < C; ++c) odd |= differing_bits(border_of(matrix, c)[row], rows[row * N + inner + c]);
      };
      int once = args.once;
      wait();
      T* const rows = packed ? matrix : matrix + gap - whole * N;  // where row 0 would lie
      complete(rows, packed ? 0 : whole, N);
      unrolled<R - whole_slots>([&](auto index) __attribute__((always_inline)) {
        constexpr int u = R - 1 - index;
        apart(
            once, [&]() __attribute__((always_inline)) { take_slot.template operator()<u>(rows); });
      });
      if (dense) compare_border(rows, whole, N);
      if (!packed) {
        leave_to_bulk_copies();
        __syncwarp();  // the rows have been read, whose place the first ones take
        copy_numbers(task, 0, whole * N, 0);
        T* const triangle = triangle_of(matrix);
#pragma unroll
        for (int v = whole_slots; v < R; ++v)
#pragma unroll
          for (int c = whole; c < G * (v + 1); ++c) {
            const int row = G * v + lane();
            if (c <= row) triangle[packed_begin(row - whole) + c - whole] = a[v][c];
          }
        wait();
        complete(matrix, 0, whole);
      }
      unrolled<whole_slots>([&](auto index) __attribute__((always_inline)) {
        constexpr int u = whole_slots - 1 - index;
        apart(
            once, [&]() __attribute__((always_inline)) { take_slot.template operator()<u>(matrix); });
      });
      if (dense) {
        compare_border(matrix, 0, whole);
      } else if (!packed) {
        __syncwarp();  // the first rows have been read: what lies above their diagonal becomes what lies below
#pragma unroll
        for (int v = 0; v < R; ++v)
#pragma unroll
          for (int c = 0; c < (G * (v + 1) < whole ? G * (v + 1) : whole); ++c)
            if (G * v + lane() > c) matrix[c * N + G * v + lane()] = a[v][c];
      }
      __syncwarp();  // what stays is complete
      if (lane() < C) odd |= far_bits(border_of(matrix, lane())[inner + lane()]);
      if (args.sizes != nullptr) {
        const int given = args.sizes[system()];
        odd |= static_cast<unsigned>(given <= 0 || given > N);
      }
    }
#pragma unroll
    for (int u = 0; u < R; ++u) {
      odd |= far_bits(diagonal<T, L>(lane(), u, a));
      b[0][u] = own_rhs[G * u + lane()];
      odd |= static_cast<unsigned>(is_far(b[0][u], Traits<T>::rhs_window));
      inverse[u] = 1;
    }
    odd |= static_cast<unsigned>(is_far(own_rhs[inner + lane()], Traits<T>::rhs_window));
    if (odd != 0) b[0][0] = not_a_number<T>();  // which says so at the end
    factor<L, 0, 1, false, true>(group(), lane(), memory, a, b[0], ReciprocalsInRegisters<T, L>{inverse}, inner,
                                 args.once);
    const auto kept = [&]() __attribute__((always_inline)) {
      return stored_matrices<T>() + L::systems * args.kept_step + 16 + group() * Kept::pitch;
    };
    if constexpr (Everything) {
#pragma unroll
      for (int u = 0; u < R; ++u) kept()[Kept::reciprocals + G * u + lane()] = inverse[u];
    }
    // They are read again where they are wanted: there are no registers to keep them in.
    const auto take_reciprocals = [&]() __attribute__((always_inline)) {
      if constexpr (Everything) {
        __syncwarp();  // for the compiler, which would keep them
#pragma unroll
        for (int u = 0; u < R; ++u) inverse[u] = kept()[Kept::reciprocals + G * u + lane()];
      }
    };
    T x_border[C];
    bool good = true;  // the border's pivots and answers
    {
      T z[C][R], s[C][C], t[C], reciprocals[C];  // columns of Z, then of L21; L22; the border's b, then L22^-1 of it
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int u = 0; u < R; ++u) z[c][u] = border_of(own(), c)[G * u + lane()];
      substitute_forward<L, false>(lane(), a, z, args.once);
      take_reciprocals();
#pragma unroll
      for (int c = 0; c < C; ++c) {
        T l[R], sum = 0;
#pragma unroll
        for (int u = 0; u < R; ++u) {
          l[u] = z[c][u] * inverse[u];
          sum = fma(l[u], b[0][u], sum);
        }
        t[c] = own_rhs[inner + c] - sum_of_group<G>(sum);
#pragma unroll
        for (int d = c; d < C; ++d) {
          T product = 0;
#pragma unroll
          for (int u = 0; u < R; ++u) product = fma(l[u], z[d][u], product);
          s[d][c] = border_of(own(), d)[inner + c] - sum_of_group<G>(product);
        }
#pragma unroll
        for (int u = 0; u < R; ++u) z[c][u] = l[u];
      }
#pragma unroll
      for (int c = 0; c < C; ++c) {
        reciprocals[c] = reciprocal(s[c][c]);
#pragma unroll
        for (int i = c + 1; i < C; ++i) {
          const T l = s[i][c] * reciprocals[c];
          t[i] = fma(-l, t[c], t[i]);
#pragma unroll
          for (int j = c + 1; j <= i; ++j) s[i][j] = fma(-l, s[j][c], s[i][j]);
        }
#pragma unroll
        for (int i = c + 1; i < C; ++i) s[i][c] *= reciprocals[c];
      }
      if constexpr (Everything) {
#pragma unroll
        for (int c = 0; c < C; ++c) {
#pragma unroll
          for (int u = 0; u < R; ++u) kept()[inner * c + G * u + lane()] = z[c][u];
          if (lane() == 0) {
            kept()[Kept::reciprocals + inner + c] = reciprocals[c];
#pragma unroll
            for (int d = 0; d < c; ++d) kept()[Kept::own + c * (c - 1) / 2 + d] = s[c][d];
          }
        }
      }
#pragma unroll
      for (int c = C - 1; c >= 0; --c) {
        x_border[c] = t[c] * reciprocals[c];
#pragma unroll
        for (int i = c + 1; i < C; ++i) x_border[c] = fma(-s[i][c], x_border[i], x_border[c]);
        good &= reciprocals[c] > 0 && !not_finite(reciprocals[c]) && !not_finite(x_border[c]);
      }
#pragma unroll
      for (int u = 0; u < R; ++u) {
        b[0][u] *= inverse[u];
#pragma unroll
        for (int c = 0; c < C; ++c) b[0][u] = fma(-z[c][u], x_border[c], b[0][u]);
        now(b[0][u]);
      }
    }
    substitute_back<L, true, false>(group(), lane(), memory, a, b, args.once);
    take_reciprocals();
    const bool plain = !any_of_group<G>(!are_answers(b[0], inverse) || !good);
    const auto own_x = [&]() __attribute__((always_inline)) {
      return args.to.x + system() * args.to.x_stride + lane();
    };
    T x[All::rows];
#pragma unroll
    for (int u = 0; u < R; ++u) own_x()[G * u] = x[u] = b[0][u];
    x[R] = 0;
#pragma unroll
    for (int c = 0; c < C; ++c)
      if (lane() == c) own_x()[inner] = x[R] = x_border[c];
    if (lane() == 0) {
      args.to.info[system()] = 0;
      args.marks[system()] = plain ? Mark::settled : Mark::unsettled;
    }
    double norm_inverse = 0;
    if constexpr (Everything) {
      NormEstimate<T, All> estimate;
      if (args.to.rcond != nullptr) {
        __syncwarp();  // L21 and the border's own factors are complete
        T all[All::rows];
#pragma unroll
        for (int u = 0; u < R; ++u) all[u] = inverse[u];
        all[R] = lane() < C ? kept()[Kept::reciprocals + inner + lane()] : T(0);
        estimate.begin(size_of(), lane(), all);
      }
      T vectors[2][All::rows];
#pragma unroll 1
      for (int turns = 0; turns < (args.to.rcond != nullptr ? estimate.turns : 0); ++turns) {
        estimate.prepare(turns, size_of(), lane(), vectors);
        // One after the other, from and to shared memory: there are no registers for both.
#pragma unroll
        for (int v = 0; v < 2; ++v)
#pragma unroll
          for (int u = 0; u < All::rows; ++u) kept()[Kept::vectors + All::width * v + G * u + lane()] = vectors[v][u];
        __syncwarp();  // they are there
#pragma unroll 1
        for (int v = 0; v < 2; ++v) {
          T* const rows = kept();
          T* const vector = rows + Kept::vectors + All::width * v;
          T y[1][R], t[C];
#pragma unroll
          for (int u = 0; u < R; ++u) y[0][u] = vector[G * u + lane()];
          substitute_forward<L, false>(lane(), a, y, args.once);
#pragma unroll
          for (int c = 0; c < C; ++c) {
            T sum = 0;
#pragma unroll
            for (int u = 0; u < R; ++u) sum = fma(rows[inner * c + G * u + lane()], y[0][u], sum);
            t[c] = vector[inner + c] - sum_of_group<G>(sum);
#pragma unroll
            for (int d = 0; d < c; ++d) t[c] = fma(-rows[Kept::own + c * (c - 1) / 2 + d], t[d], t[c]);
          }
#pragma unroll
          for (int c = C - 1; c >= 0; --c) {
            t[c] *= rows[Kept::reciprocals + inner + c];
#pragma unroll
            for (int i = c + 1; i < C; ++i) t[c] = fma(-rows[Kept::own + i * (i - 1) / 2 + c], t[i], t[c]);
          }
#pragma unroll
          for (int u = 0; u < R; ++u) {
            y[0][u] *= rows[Kept::reciprocals + G * u + lane()];
#pragma unroll
            for (int c = 0; c < C; ++c) y[0][u] = fma(-rows[inner * c + G * u + lane()], t[c], y[0][u]);
          }
          substitute_back<L, true, false>(group(), lane(), memory, a, y, args.once);
#pragma unroll
          for (int u = 0; u < R; ++u) vector[G * u + lane()] = y[0][u];
          if (lane() == 0)
#pragma unroll
            for (int c = 0; c < C; ++c) vector[inner + c] = t[c];
        }
        __syncwarp();  // both are complete
#pragma unroll
        for (int v = 0; v < 2; ++v)
#pragma unroll
          for (int u = 0; u < All::rows; ++u) vectors[v][u] = kept()[Kept::vectors + All::width * v + G * u + lane()];
        if (!estimate.take(turns, size_of(), lane(), vectors)) break;
      }
      norm_inverse = estimate.norm;
    }
    double norm_a = 0;
    if (args.to.backward_error != nullptr || (Everything && args.to.rcond != nullptr)) {
      T* const matrix = own();
      const T* const triangle = triangle_of(matrix);
      T right[All::rows];
#pragma unroll
      for (int u = 0; u < All::rows; ++u) right[u] = own_rhs[G * u + lane()];
      if constexpr (Everything) {  // there were no registers to keep x in
#pragma unroll
        for (int u = 0; u < R; ++u) x[u] = own_x()[G * u];
        x[R] = lane() < C ? own_x()[inner] : T(0);
      }
      auto* const places = memory.x[group()];
      Judgement<T, All, true> judgement(
          size_of(), lane(),
          [&](int row) {
            return row >= inner ? border_of(matrix, row - inner)[row]
                   : row < cut  ? matrix[row * N + row]
                                : triangle[packed_begin(row - cut) + row - cut];
          },
          places, x, right);
      const T* const own_border = border_of(matrix, min(lane(), C - 1));  // of other lanes anything
      int column = 0;
#pragma unroll 1
      for (; column < cut; column += 4) {
        T part[4][All::rows];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
#pragma unroll
          for (int u = 0; u < R; ++u) part[e][u] = matrix[(column + e) * N + G * u + lane()];
          part[e][R] = own_border[column + e];
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const auto known = places[column + e];
#pragma unroll
          for (int u = 0; u < All::rows; ++u) judgement.add(u, part[e][u], known);
        }
      }
#pragma unroll 2
      for (; column < inner; ++column) {
        const auto known = places[column];
        const T* const down = triangle + packed_begin(column - cut) + lane() - cut;
        T part[All::rows];
#pragma unroll
        for (int u = 0; u < R; ++u) {
          const int row = G * u + lane();
          const T* place = row >= column ? triangle + packed_begin(row - cut) + column - cut : down + G * u;
          if (row < cut) place = matrix + row * N + column;
          part[u] = *place;
        }
        part[R] = own_border[column];
#pragma unroll
        for (int u = 0; u < All::rows; ++u) judgement.add(u, part[u], known);
      }
#pragma unroll 1
      for (; column < N; ++column) {
        const auto known = places[column];
        const T* const from = border_of(matrix, column - inner);
#pragma unroll
        for (int u = 0; u < R; ++u) judgement.add(u, from[G * u + lane()], known);
        judgement.add(R, inner + lane() <= column ? from[inner + lane()] : own_border[column], known);
      }
      const double error = judgement.result(size_of(), lane(), norm_a);
      if (lane() == 0 && args.to.backward_error != nullptr) args.to.backward_error[system()] = static_cast<T>(error);
    }
    if constexpr (Everything) {
      if (args.pivot_numbers) {
        PivotNumbers<T> numbers;
#pragma unroll 1
        for (int row = lane(); row < size_of(); row += G) numbers.add(reciprocal(kept()[Kept::reciprocals + row]), 0);
        numbers.template combine<G>();
        if (lane() == 0) numbers.store(args, system());
      }
      if (args.to.rcond != nullptr && lane() == 0)
        args.to.rcond[system()] = rcond_of_norms<T>(size_of(), norm_a, 0, norm_inverse, 0);
    }
    leave_to_bulk_copies();
    __syncwarp();  // the systems have been read, whose place the next take
  }
}

template <class T, int N>
cudaError_t launch_bordered_of(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                               cudaStream_t stream) {
  using L = InnerLayout<T>;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.vectors = reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
  arguments.kept_step = stored_step(batch, L::lanes, bordered_numbers(N, batch.shape.storage == Storage::packed_lower));
  const bool everything = arguments.pivot_numbers || solution.rcond != nullptr;
  const std::size_t numbers = L::systems * (arguments.kept_step + (everything ? KeptBorder<T, N>::pitch : 0)) + 16;
  return launch(everything ? bordered_kernel<T, N, true> : bordered_kernel<T, N, false>, L::systems, arguments, stream,
                1U << 15, (numbers * sizeof(T) + 15) / 16 * 16);
}

}  // namespace

template <class T>
bool bordered_takes(const SpdBatch<T>& batch) {
  return sizeof(T) == sizeof(double) && (batch.shape.n == 33 || batch.shape.n == 34) && batch.shape.nrhs == 1;
}

template <class T>
cudaError_t launch_ldlt_bordered(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                 cudaStream_t stream) {
  if constexpr (sizeof(T) == sizeof(double))
    return batch.shape.n == 33 ? launch_bordered_of<T, 33>(batch, solution, marks, stream)
                               : launch_bordered_of<T, 34>(batch, solution, marks, stream);
  else
    return cudaErrorNotSupported;
}

template bool bordered_takes(const SpdBatch<float>&);
template bool bordered_takes(const SpdBatch<double>&);
template cudaError_t launch_ldlt_bordered(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);
template cudaError_t launch_ldlt_bordered(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
