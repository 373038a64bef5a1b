// Solves plain systems with several right-hand sides by L D L^T with factors that stay in registers. It stores x and
// the status. For 32 rows in single precision, it can also store the backward error. While the matrices are eliminated
// in registers, right-hand sides are copied into the shared memory that the matrices have left. Answers replace them
// there and are then stored. Device memory is thus read and written in whole runs.
//
// The kernels take whole matrices of 32 rows, and of 16 rows in double precision. The matrices begin at multiples of 16
// bytes. Systems that are not plain are marked for the general kernel (solve/general.cu). This is one file, because all
// steps share the layout of right-hand sides.
//
// In shared memory, right-hand sides lie in strips that are 16 bytes wide, with one piece per row. The position of a
// piece in its strip is its row, exclusive-or a key of the strip and a key of the system. Lanes that read their rows,
// or the same row of all systems, meet every bank once.
#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/status.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/pieces_judged_packed.cuh"
#include "solvers/cuda/solve/plan.cuh"

namespace smallbatch {

namespace {

/// Plan of a kernel. Judged: the lower triangles stay beside the right-hand sides, so fewer right-hand sides fit.
template <class T, int Rows, bool Judged>
struct ColumnsPlan : RowPlan<T, Family::columns, Rows, Judged ? Asked::error : Asked::x> {
  static constexpr int N = Rows;
  static constexpr bool single = sizeof(T) == sizeof(float);
  using L = Tile<T, N, ColumnsPlan::RowPlan::row.lanes, true>;
  static_assert(!Judged || (single && N == judged_rows));
  static constexpr bool judged = Judged;
  static constexpr int strip = L::piece;                   // columns in a strip
  static constexpr int most = Judged || N == 16 ? 8 : 16;  // columns in shared memory at a time, a power of two
  static constexpr int strips = most / strip;
  static_assert((most & (most - 1)) == 0 && N * most <= L::staged_numbers);
  // Columns that are substituted at a time. In double precision, two columns in both substitutions would need too many
  // registers.
  static constexpr int forward = single ? strip : 1, back = strip;

  /// Keys that place pieces: in its strip, the piece of a row is number row ^ strip_key(strip) ^ system_key(system).
  static __device__ __forceinline__ constexpr int strip_key(int strip) { return (strip & 1) << 2 | (strip & 2); }
  static __device__ __forceinline__ constexpr int system_key(int system) { return (system & 1) << 2 | system >> 1; }
};

template <class Plan, class T>
struct alignas(16) ColumnsMemory {
  using L = typename Plan::L;
  union {
    T matrix[L::systems][L::staged_numbers];
    struct {
      T strips[L::systems][Plan::strips * Plan::N * Plan::strip];
      T triangle[Plan::judged ? L::systems : 1][Plan::judged ? packed_pitch<L> : L::piece];
    } rhs;
  };
  // Pivot columns of the current and of the next step. Lanes also store elements of finished rows. These elements
  // are not used, but they may lie in front of a column, hence L::lanes additional numbers.
  T column[2][L::lanes + L::systems * L::column_pitch];
};

/// Visits the parts that the thread copies in each system: pieces, or single numbers if right-hand sides do not lie in
/// pieces. It calls visit(piece in a system's strips, number in the piece, offset in a system's right-hand sides). The
/// arguments `first` and `columns` say which columns are copied.
template <class Plan, class T, class Visit>
__device__ __forceinline__ void visit_rhs(const Arguments<T>& args, int first, int columns, Visit&& visit) {
  constexpr int P = Plan::strip, N = Plan::N;
  const auto visit_parts = [&]<int count>() __attribute__((always_inline)) {
    const unsigned parts = columns / count;  // of a row
#pragma unroll 1
    for (unsigned e = fresh(threadIdx.x); e < N * parts; e += warp_lanes) {
      const unsigned row = e / parts, column = e % parts * count, strip = column / P;
      visit.template operator()<count>(static_cast<int>(strip * N + (row ^ Plan::strip_key(strip))),
                                       static_cast<int>(column % P),
                                       static_cast<int>(row * args.nrhs + first + column));
    }
  };
  if (args.vectors)
    visit_parts.template operator()<P>();
  else
    visit_parts.template operator()<1>();
}

/// Calls take(part) for all of y, `Columns` columns at a time.
template <int Columns, class T, int All, int Rows, class Take>
__device__ __forceinline__ void in_parts(T (&y)[All][Rows], Take&& take) {
  static_assert(All % Columns == 0);
  unrolled<All / Columns>([&](auto index) __attribute__((always_inline)) {
    constexpr int first = Columns * index;
    T part[Columns][Rows];
#pragma unroll
    for (int c = 0; c < Columns; ++c)
#pragma unroll
      for (int u = 0; u < Rows; ++u) part[c][u] = y[first + c][u];
    take(part);
#pragma unroll
    for (int c = 0; c < Columns; ++c)
#pragma unroll
      for (int u = 0; u < Rows; ++u) y[first + c][u] = part[c][u];
  });
}

/// Stores the lower triangle as a packed triangle.
template <class L, class T>
__device__ __forceinline__ void keep_triangle(T* triangle, int lane, const T (&a)[L::rows][L::size]) {
  constexpr int G = L::lanes;
  unrolled<L::rows>([&](auto slot) __attribute__((always_inline)) {
    constexpr int u = slot;
    T* const row = triangle + packed_begin(G * u + lane);
#pragma unroll
    for (int i = 0; i < G * (u + 1); ++i)
      if (i <= G * u || i - G * u <= lane) row[i] = a[u][i];
  });
}

/// Returns the largest backward error of the columns in `Strips` strips of answers. The result has the same bits as in
/// common/tile_judgement.cuh. The function computes residuals of several columns at a time, so that an element of A is
/// converted once for all of them. The loop is not unrolled, to keep the code small. `strips` are the strips of the
/// lane's system. `b` points to the right-hand side of the first judged column.
template <int Strips, class L>
__device__ __forceinline__ double judge_strips(const Arguments<float>& args, int lane, int key, const float* triangle,
                                               const float* b, int columns, const float* strips) {
  using T = float;
  using Plan = ColumnsPlan<T, L::size, true>;
  using Pieces = Vector<T, L::piece>;
  constexpr int G = L::lanes, P = L::piece, N = L::size, R = L::rows, C = Strips * P;
  const auto answers = [&](int strip, int row) __attribute__((always_inline)) {
    return *reinterpret_cast<const Pieces*>(strips + (strip * N + (row ^ key ^ Plan::strip_key(strip))) * P);
  };
  double residual[C][R], row_sum[R], norm_x[C]{};
#pragma unroll
  for (int u = 0; u < R; ++u) {
    row_sum[u] = 0;
    const float* const from = b + static_cast<std::int64_t>(G * u + lane) * args.nrhs;
#pragma unroll
    for (int j = 0; j < Strips; ++j) {
      Pieces in;
      if (args.vectors) {
        in = *reinterpret_cast<const Pieces*>(from + j * P);
      } else {
#pragma unroll
        for (int c = 0; c < P; ++c) in.value[c] = j * P + c < columns ? from[j * P + c] : T(0);
      }
      const Pieces x = answers(j, G * u + lane);
#pragma unroll
      for (int c = 0; c < P; ++c) {
        residual[j * P + c][u] = static_cast<double>(in.value[c]);
        norm_x[j * P + c] += abs(static_cast<double>(x.value[c]));
      }
    }
  }
#pragma unroll 1
  for (int column = 0; column < N; ++column) {
    double factor[C];
#pragma unroll
    for (int j = 0; j < Strips; ++j) {
      const Pieces x = answers(j, column);
#pragma unroll
      for (int c = 0; c < P; ++c) factor[j * P + c] = static_cast<double>(x.value[c]);
    }
#pragma unroll
    for (int u = 0; u < R; ++u) {
      const int row = G * u + lane;
      const T* const place =
          row >= column ? triangle + packed_begin(row) + column : triangle + packed_begin(column) + row;
      const auto element = static_cast<double>(*place);
      row_sum[u] += abs(element);
#pragma unroll
      for (int c = 0; c < C; ++c) residual[c][u] = fma(-element, factor[c], residual[c][u]);
    }
  }
  double norm = 0, worst = 0;
#pragma unroll
  for (int u = 0; u < R; ++u) norm = max(norm, row_sum[u]);
  norm = max_of_group<G>(norm);
  // Each lane takes one column.
  static_assert(P == G);
#pragma unroll
  for (int j = 0; j < Strips; ++j) {
    double sums[P], of_x[P];
#pragma unroll
    for (int c = 0; c < P; ++c) {
      sums[c] = 0;
      of_x[c] = norm_x[j * P + c];
#pragma unroll
      for (int u = 0; u < R; ++u) sums[c] += abs(residual[j * P + c][u]);
    }
    const double sum = sum_for_each<G, P>(lane, sums), x = sum_for_each<G, P>(lane, of_x);
    if (j * P + lane < columns) worst = max(worst, sum == 0 ? 0 : sum / (norm * x));
  }
  return max_of_group<G>(worst);
}

/// State of a warp for one task; most steps are member functions.
template <class T, int N, bool Judged>
struct ColumnsWork {
  using Plan = ColumnsPlan<T, N, Judged>;
  using L = typename Plan::L;
  using Memory = ColumnsMemory<Plan, T>;
  using Piece = Vector<T, L::piece>;
  static constexpr int G = L::lanes, R = L::rows, P = L::piece, quarter = L::quarter;

  const Arguments<T>& args;
  Memory& memory;
  const unsigned& task;

  static __device__ __forceinline__ int lane() { return fresh(threadIdx.x) % G; }
  static __device__ __forceinline__ int group() { return fresh(threadIdx.x) / G; }
  __device__ __forceinline__ std::int64_t begin() const { return first_of_task<L::systems>(args, task); }

  /// Loads rows that were copied. `odd` becomes nonzero if the triangles differ.
  template <int first, int end>
  __device__ __forceinline__ void take_rows(T (&a)[R][N], unsigned& odd) const {
    load_rows<first, end, T, L>(memory.matrix[group()], group(), lane(), a);
    if (args.storage == Storage::dense)
      visit_columns<first, end, T, L>(memory.matrix[group()], group(), lane(),
                                      [&](int u, int row, const T& value) { odd |= differing_bits(a[u][row], value); });
  }
  /// Loads the matrices into registers and, if answers are judged, copies the triangles to shared memory.
  __device__ __forceinline__ void take_matrix(T (&a)[R][N], unsigned& odd) const {
    const auto source = [&](int s) { return args.a + (begin() + s) * args.a_step; };
    __syncwarp();  // the previous answers are stored
    stage_matrix<quarter, N, T, L>(source, memory.matrix);
    wait_for_copies();
    take_rows<3 * quarter, N>(a, odd);
    __syncwarp();  // the last quarter has been read: the first takes its place
    stage_matrix<0, quarter, T, L>(source, memory.matrix);
    take_rows<2 * quarter, 3 * quarter>(a, odd);
    take_rows<quarter, 2 * quarter>(a, odd);
    wait_for_copies();
    take_rows<0, quarter>(a, odd);
    odd |= diagonal_far_bits<T, L>(lane(), a);
    __syncwarp();  // the matrices have been read: right-hand sides take their place
    if constexpr (Judged) keep_triangle<L>(memory.rhs.triangle[group()], lane(), a);
  }

  /// Starts to copy the columns from `first` on, as many as fit.
  __device__ __forceinline__ void fetch(const T* from, std::int64_t step, int first) const {
    const T* const of_task = from + begin() * step;
    visit_rhs<Plan>(
        args, first, min(args.nrhs - first, Plan::most),
        [&]<int count>(int piece, int number, int e) __attribute__((always_inline)) {
#pragma unroll
          for (int s = 0; s < L::systems; ++s)
            copy_async<count>(memory.rhs.strips[s] + (piece ^ Plan::system_key(s)) * P + number,
                              of_task + s * step + e);
        });
  }
  /// Stores columns first .. end - 1 of the answers.
  __device__ __forceinline__ void store(int first, int end) const {
    T* const x = args.to.x + begin() * args.to.x_stride;
    visit_rhs<Plan>(
        args, first,
        min(end, args.nrhs) - first, [&]<int count>(int piece, int number, int e) __attribute__((always_inline)) {
#pragma unroll
          for (int s = 0; s < L::systems; ++s)
            *reinterpret_cast<Vector<T, count>*>(x + s * args.to.x_stride + e) =
                *reinterpret_cast<const Vector<T, count>*>(memory.rhs.strips[s] + (piece ^ Plan::system_key(s)) * P +
                                                           number);
        });
  }

  /// Calls visit(u, the piece of row G u + lane) for the strip that begins with `column`.
  template <class Visit>
  __device__ __forceinline__ void visit_pieces(int column, Visit&& visit) const {
    static_assert(G == 4 || G % 8 == 0);
    const int strip = column % Plan::most / P, at = lane() ^ Plan::system_key(group()) ^ Plan::strip_key(strip);
    T* const at_even = memory.rhs.strips[group()] + (strip * N + at) * P;
    T* const at_odd = memory.rhs.strips[group()] + (strip * N + (at ^ G % 8)) * P;
#pragma unroll
    for (int u = 0; u < R; ++u)
      visit(u, reinterpret_cast<Piece*>((G * u % 8 == 0 ? at_even : at_odd) + G * u / 8 * 8 * P));
  }
  /// Solves the strip that begins with `column` in place. Sets inverse[0] to NaN if an answer is unusable.
  __device__ __forceinline__ void solve_strip(int column, const T (&a)[R][N], T (&inverse)[R]) const {
    T y[P][R];
    bool far = false;
    visit_pieces(
        column, [&](int u, const Piece* from) __attribute__((always_inline)) {
          const Piece in = *from;
#pragma unroll
          for (int c = 0; c < P; ++c) {
            y[c][u] = c == 0 || column + c < args.nrhs ? in.value[c] : T(0);
            far |= is_far(y[c][u], Traits<T>::rhs_window);
          }
        });
    if (far) inverse[0] = not_a_number<T>();
    in_parts<Plan::forward>(
        y, [&](auto& part)
               __attribute__((always_inline)) { substitute_forward<L, false>(lane(), a, part, args.once); });
#pragma unroll
    for (int c = 0; c < P; ++c)
#pragma unroll
      for (int u = 0; u < R; ++u) {
        y[c][u] *= inverse[u];
        now(y[c][u]);  // rounded here, as in all kernels
      }
    in_parts<Plan::back>(
        y, [&](auto& part) __attribute__((always_inline)) {
          substitute_back<L, Plan::back_apart, false>(group(), lane(), memory, a, part, args.once);
        });
    T zero = 0;  // becomes NaN if a number is not finite
    visit_pieces(
        column, [&](int u, Piece* to) __attribute__((always_inline)) {
          Piece out;
#pragma unroll
          for (int c = 0; c < P; ++c) {
            zero = fma(y[c][u], T(0), zero);
            out.value[c] = y[c][u];
          }
          *to = out;
        });
    if (!(zero == 0)) inverse[0] = not_a_number<T>();
  }

  /// Returns the largest backward error. Judges the last columns first, because they are still in shared memory.
  __device__ __forceinline__ double judge() const {
    double error = 0;
    int first = (args.nrhs - 1) / Plan::most * Plan::most;
    const auto judge_columns = [&]<int Strips>() __attribute__((always_inline)) {
      error = max(error, judge_strips<Strips, L>(args, lane(), Plan::system_key(group()), memory.rhs.triangle[group()],
                                                 args.b + (begin() + group()) * args.b_step + first, args.nrhs - first,
                                                 memory.rhs.strips[group()]));
    };
#pragma unroll 1
    for (;; first -= Plan::most) {
      if (args.nrhs - first > P)
        judge_columns.template operator()<2>();
      else
        judge_columns.template operator()<1>();
      if (first == 0) return error;
      __syncwarp();  // these answers have been read
      fetch(args.to.x, args.to.x_stride, first - Plan::most);
      wait_for_copies();
    }
  }
};

/// Solves plain systems, and marks all others: systems that are not symmetric to the bit, have numbers far from 1, or
/// fail. The last task consists of the last systems of the batch. It may solve some of them a second time, with equal
/// results.
template <class T, int N, bool Judged>
__global__ void __launch_bounds__(warp_lanes, resident_blocks(ColumnsPlan<T, N, Judged>::warps,
                                                              ColumnsPlan<T, N, Judged>::warps_elsewhere))
    columns_kernel(Arguments<T> args) {
  using Work = ColumnsWork<T, N, Judged>;
  using Plan = typename Work::Plan;
  using L = typename Work::L;
  __shared__ typename Work::Memory memory;
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const Work work{args, memory, task};
    T a[L::rows][N], inverse[L::rows];
    unsigned odd = 0;  // not zero: the system is not plain
    work.take_matrix(a, odd);
    work.fetch(args.b, args.b_step, 0);
    NoRhs none;
    factor<L, Plan::turning, Plan::factor_apart, false>(work.group(), work.lane(), memory, a, none,
                                                        ReciprocalsInRegisters<T, L>{inverse}, N, args.once);
    T least = inverse[0];
#pragma unroll
    for (int u = 1; u < L::rows; ++u) least = min(least, inverse[u]);
    if (odd != 0 || !(least > 0)) inverse[0] = not_a_number<T>();  // so that the system is marked at the end
    wait_for_copies();
#pragma unroll 1
    for (int column = 0; column < args.nrhs; column += L::piece) {
      work.solve_strip(column, a, inverse);
      const int end = column + L::piece;
      if (end < args.nrhs && end % Plan::most != 0) continue;
      __syncwarp();  // the answers are complete
      work.store(column - column % Plan::most, end);
      if (end >= args.nrhs) break;
      __syncwarp();  // the answers are stored
      work.fetch(args.b, args.b_step, end);
      wait_for_copies();
    }
    const bool plain = !any_of_group<L::lanes>(not_finite(inverse[0]));
    const std::int64_t system = work.begin() + work.group();
    double error = 0;
    if constexpr (Judged) error = work.judge();
    if (work.lane() != 0) continue;
    if constexpr (Judged) args.to.backward_error[system] = static_cast<T>(error);
    args.to.info[system] = 0;
    args.marks[system] = plain ? Mark::settled : Mark::unsettled;
  }
}

}  // namespace

template <class T>
cudaError_t launch_columns(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                           cudaStream_t stream) {
  Kernel<Arguments<T>> kernel = nullptr;
  with_row<T, Family::columns>(row, [&]<std::size_t i>() {
    kernel = columns_kernel<T, solve_table[i].padded, solve_table[i].asked == bit_of(Asked::error)>;
  });
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  // In these kernels, `vectors` says whether right-hand sides may be copied in pieces.
  arguments.vectors = batch.shape.nrhs * sizeof(T) % 16 == 0 && lies_in_pieces(batch.b, batch.b_step()) &&
                      lies_in_pieces(solution.x, arguments.to.x_stride);
  return launch(kernel, row.systems(), arguments, stream);
}

template cudaError_t launch_columns(const SolveRow&, const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                    cudaStream_t);
template cudaError_t launch_columns(const SolveRow&, const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                    cudaStream_t);

}  // namespace smallbatch
