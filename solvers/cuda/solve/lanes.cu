// Solves plain systems of few rows by L D L^T, one system per lane, with all wanted numbers; ||A^-1||_1 is exact.
// Systems that are not plain are marked for the general kernel (solve/general.cu). The results have the same bits as
// those of the general kernel: sums are in the order of four lanes that share a system.
//
// A warp's matrices lie in shared memory as they are stored. The distance from one matrix to the next is an odd number
// of 16-byte pieces or an odd number of elements (LanesPlan). Lanes that read the same element of their matrices, or
// the same piece, meet every bank once.
#include "solvers/cuda/common/pivot_numbers.cuh"
#include "solvers/cuda/common/tile.cuh"
#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/solve/norm_estimate.cuh"
#include "solvers/cuda/solve/table.hpp"

namespace smallbatch {

namespace {

/// Largest number of rows if there are several right-hand sides. With more rows, the factors would have to stay in
/// registers during a judgement, and the registers do not suffice for both.
constexpr int most_rows_of_many_rhs = 8;

template <class T, int N, bool Packed>
struct LanesPlan {
  static constexpr int piece = 16 / sizeof(T);
  static constexpr int numbers = Packed ? N * (N + 1) / 2 : N * N;
  // Whether a matrix is a whole number of pieces. If so, the distance between matrices is an odd number of pieces.
  // Otherwise it is an odd number of elements.
  static constexpr bool in_pieces = numbers % piece == 0;
  static constexpr int pitch = in_pieces ? (numbers / piece | 1) * piece : numbers | 1;
  static constexpr int rhs_pitch = N | 1;
  static constexpr bool single = sizeof(T) == sizeof(float);
  static constexpr int warps = row_of(scalar_type_of<T>, Family::lanes, N, Asked::x, Arrival::anywhere).warps.here;
  static constexpr int place(int row, int column) { return Packed ? row * (row + 1) / 2 + column : row * N + column; }
};

template <class T, int N, bool Packed>
struct alignas(16) LanesMemory {
  using Plan = LanesPlan<T, N, Packed>;
  T matrix[(warp_lanes * Plan::pitch + Plan::piece - 1) / Plan::piece * Plan::piece];
  T rhs[warp_lanes * Plan::rhs_pitch];
};

/// Returns the sum of v[0] .. v[N - 1] in the order of four lanes that each have every fourth number.
template <int N, class V>
__device__ __forceinline__ V sum_of_four(const V (&v)[N]) {
  V of_lane[4]{};
#pragma unroll
  for (int i = 0; i < N; ++i) of_lane[i % 4] = i < 4 ? v[i] : of_lane[i % 4] + v[i];
  return (of_lane[0] + of_lane[2]) + (of_lane[1] + of_lane[3]);
}

/// Visits column c of the right-hand sides of the warp's systems: visit(offset in shared memory, offset in b or x).
template <int N, int Pitch, class Visit>
__device__ __forceinline__ void visit_column(std::int64_t first, std::int64_t count, std::int64_t step, int nrhs, int c,
                                             Visit&& visit) {
  const int thread = fresh(threadIdx.x);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int e = warp_lanes * i + thread, system = e / N, row = e % N;
    if (first + system < count)
      visit(system * Pitch + row, (first + system) * step + static_cast<std::int64_t>(row) * nrhs + c);
  }
}

/// Starts to copy the warp's matrices. Beyond the end of the batch, the last matrix is repeated.
template <class T, int N, bool Packed>
__device__ __forceinline__ void copy_matrices(const Arguments<T>& args, std::int64_t first, T* memory) {
  using Plan = LanesPlan<T, N, Packed>;
  constexpr int P = Plan::piece, numbers = Plan::numbers;
  const int thread = fresh(threadIdx.x);
  if constexpr (Plan::in_pieces || Plan::pitch == numbers) {
    if (args.vectors && first + warp_lanes <= args.count) {
      const T* const from = args.a + first * numbers;
      constexpr int pieces = warp_lanes * numbers / P;
#pragma unroll
      for (int i = 0; i < pieces; i += warp_lanes) {
        const int e = i + thread;
        if (pieces % warp_lanes != 0 && e >= pieces) break;
        const int place = Plan::in_pieces ? e * P / numbers * Plan::pitch + e * P % numbers : e * P;
        copy_async<P>(memory + place, from + e * P);
      }
      return;
    }
  }
#pragma unroll 4
  for (int e = thread; e < warp_lanes * numbers; e += warp_lanes) {
    const int system = e / numbers;
    copy_async<1>(memory + system * Plan::pitch + e % numbers,
                  args.a + min(first + system, args.count - 1) * args.a_step + e % numbers);
  }
}

/// Loads the lower triangle of the lane's matrix. If `Whole`, `odd` gets the bits in which the triangles differ.
template <class T, int N, bool Packed, bool Whole>
__device__ __forceinline__ void load_triangle(const T* matrix, T (&a)[N][N], unsigned& odd) {
  using Plan = LanesPlan<T, N, Packed>;
  T all[Plan::numbers];
  if constexpr (Plan::in_pieces) {
#pragma unroll
    for (int p = 0; p < Plan::numbers; p += Plan::piece) {
      const auto in = *reinterpret_cast<const Vector<T, Plan::piece>*>(matrix + p);
#pragma unroll
      for (int c = 0; c < Plan::piece; ++c) all[p + c] = in.value[c];
    }
  } else {
#pragma unroll
    for (int e = 0; e < Plan::numbers; ++e) all[e] = matrix[e];
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      a[i][j] = all[Plan::place(i, j)];
      if constexpr (Whole) odd |= differing_bits(a[i][j], all[Plan::place(j, i)]);
    }
}

/// Replaces y = D^-1 L^-1 b by x, four rows at a time from the last. `l` is L below the diagonal.
template <class T, int N>
__device__ __forceinline__ void substitute_back(const T (&l)[N][N], T (&y)[N]) {
#pragma unroll
  for (int first = (N - 1) / 4 * 4; first >= 0; first -= 4) {
    const int end = first + 4 < N ? first + 4 : N;
    if (end < N) {
#pragma unroll
      for (int j = first; j < end; ++j) {
        T p[4]{};
#pragma unroll
        for (int i = (N - 1) / 4 * 4; i >= end; i -= 4)
#pragma unroll
          for (int lane = 0; lane < 4; ++lane)
            if (i + lane < N)
              p[lane] = i + lane + 4 < N ? fma(l[i + lane][j], y[i + lane], p[lane]) : l[i + lane][j] * y[i + lane];
        y[j] -= sum_of_four(p);
      }
    }
#pragma unroll
    for (int i = end - 1; i > first; --i)
#pragma unroll
      for (int j = first; j < i; ++j) y[j] = fma(-l[i][j], y[i], y[j]);
  }
}

/// Returns ||A^-1||_1, computed column by column.
template <class T, int N>
__device__ __forceinline__ double inverse_norm(const T (&l)[N][N], const T (&inverse)[N]) {
  double norm = 0;
#pragma unroll 1
  for (int column = 0; column < N; ++column) {
    T y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = static_cast<T>(i == column);
#pragma unroll
    for (int k = 0; k < N; ++k)
#pragma unroll
      for (int i = k + 1; i < N; ++i) y[i] = fma(-l[i][k], y[k], y[i]);
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] *= inverse[i];
    substitute_back(l, y);
    double sizes[N];
#pragma unroll
    for (int i = 0; i < N; ++i) sizes[i] = abs(static_cast<double>(y[i]));
    const double sum = sum_of_four(sizes);
    if (norm == norm && !(sum <= norm)) norm = sum;
  }
  return norm;
}

/// Returns ||b - A x||_1 / (||A||_1 ||x||_1), with the residual in twice the precision of T, and stores ||A||_1 in
/// `norm_a`.
template <class T, int N>
__device__ __forceinline__ double judge(const T (&a)[N][N], const T (&x)[N], const T (&b)[N], double& norm_a) {
  double a_factor = 1, x_factor = 1;  // powers of two, which cancel in the result
  if (sizeof(T) == sizeof(double)) {
    T largest_a = 0, largest_x = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      largest_a = max(largest_a, abs(a[i][i]));
      largest_x = max(largest_x, abs(x[i]));
    }
    a_factor = power_of_two<double>(normalizing_exponent(largest_a));
    x_factor = power_of_two<double>(normalizing_exponent(largest_x));
  }
  typename Residual<T>::Factor factors[N];
  double sizes[N], norm = 0;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const double value = static_cast<double>(x[j]) * x_factor;
    factors[j] = Residual<T>::factor(value);
    sizes[j] = abs(value);
  }
  const double norm_x = sum_of_four(sizes);
  Residual<T> residual[N];
  double row_sum[N]{};
#pragma unroll
  for (int i = 0; i < N; ++i) residual[i] = Residual<T>(with_factors(static_cast<double>(b[i]), a_factor, x_factor));
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      const double value = static_cast<double>(a[i][j]) * a_factor;
      row_sum[i] += abs(value);
      residual[i].subtract(value, factors[j]);
      if (i == j) continue;
      row_sum[j] += abs(value);
      residual[j].subtract(value, factors[i]);
    }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    norm = max(norm, row_sum[i]);
    sizes[i] = abs(residual[i].value());
  }
  const double sum = sum_of_four(sizes);
  norm_a = norm / a_factor;
  return sum == 0 ? 0 : sum / (norm * norm_x);
}

template <class T, int N, bool Packed>
__global__ void __launch_bounds__(warp_lanes, LanesPlan<T, N, Packed>::warps) lanes_ldlt_kernel(Arguments<T> args) {
  using Plan = LanesPlan<T, N, Packed>;
  __shared__ LanesMemory<T, N, Packed> memory;
  const bool judged = args.to.backward_error != nullptr || args.to.rcond != nullptr;
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    // In double precision, fewer registers are needed if the compiler keeps the result.
    const auto first = [&]() __attribute__((always_inline)) {
      return std::int64_t{Plan::single ? static_cast<unsigned>(fresh(static_cast<int>(task))) : task} * warp_lanes;
    };
    const auto matrix = [&]() __attribute__((always_inline)) {
      return memory.matrix + fresh(threadIdx.x) * Plan::pitch;
    };
    const auto own_rhs = [&]() __attribute__((always_inline)) {
      return memory.rhs + fresh(threadIdx.x) * Plan::rhs_pitch;
    };
    __syncwarp();  // the previous systems are done
    copy_matrices<T, N, Packed>(args, first(), memory.matrix);
    const auto copy_rhs = [&](int column) {
      visit_column<N, Plan::rhs_pitch>(
          first(), args.count, args.b_step, args.nrhs, column,
          [&](int place, std::int64_t from) { copy_async<1>(memory.rhs + place, args.b + from); });
    };
    if (args.nrhs > 0) copy_rhs(0);
    wait_for_copies();
    T l[N][N], inverse[N];
    unsigned odd = 0;
    if (Packed || args.storage != Storage::dense)
      load_triangle<T, N, Packed, false>(matrix(), l, odd);
    else
      load_triangle<T, N, Packed, !Packed>(matrix(), l, odd);
    PivotNumbers<T> numbers[4];  // products are in the order of four lanes: numbers[i] has the pivots i, i + 4, ...
    T zero = 0, least = 1;       // zero becomes NaN if a number is not finite
#pragma unroll
    for (int k = 0; k < N; ++k) odd |= far_bits(l[k][k]);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      inverse[k] = reciprocal(l[k][k]);
      if (args.pivot_numbers) numbers[k % 4].add(l[k][k], 0);
      zero = fma(inverse[k], T(0), zero);
      least = min(least, inverse[k]);
      T column[N];
#pragma unroll
      for (int i = k + 1; i < N; ++i) column[i] = l[i][k];
#pragma unroll
      for (int i = k + 1; i < N; ++i) {
        l[i][k] *= inverse[k];
#pragma unroll
        for (int j = k + 1; j <= i; ++j) l[i][j] = fma(-l[i][k], column[j], l[i][j]);
      }
    }
    const auto system = [&]() __attribute__((always_inline)) { return first() + fresh(threadIdx.x); };
    if (args.pivot_numbers) {
      PivotNumbers<T> all = numbers[0];
      all.smallest = min(min(numbers[0].smallest, numbers[1].smallest), min(numbers[2].smallest, numbers[3].smallest));
      all.mantissas = (numbers[0].mantissas * numbers[2].mantissas) * (numbers[1].mantissas * numbers[3].mantissas);
      all.exponents = numbers[0].exponents + numbers[1].exponents + numbers[2].exponents + numbers[3].exponents;
      all.template combine<1>();
      if (system() < args.count) all.store(args, system());
    }
    const double norm_inverse = args.to.rcond != nullptr ? inverse_norm(l, inverse) : 0;
    double worst = 0, norm_a = 0;
#pragma unroll 1
    for (int column = 0; column < (N <= most_rows_of_many_rhs ? max(args.nrhs, 1) : 1); ++column) {
      T x[N]{}, b[N]{};
      if (args.nrhs > 0) {
        if (column > 0) {
          __syncwarp();  // the previous answers are stored
          copy_rhs(column);
          wait_for_copies();
        }
        T* const own = own_rhs();
#pragma unroll
        for (int i = 0; i < N; ++i) {
          b[i] = x[i] = own[i];
          odd |= static_cast<unsigned>(is_far(b[i], Traits<T>::rhs_window));
        }
#pragma unroll
        for (int k = 0; k < N; ++k)
#pragma unroll
          for (int i = k + 1; i < N; ++i) x[i] = fma(-l[i][k], x[k], x[i]);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] *= inverse[i];
        substitute_back(l, x);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          zero = fma(x[i], T(0), zero);
          own[i] = x[i];
        }
        __syncwarp();  // the answers are complete
        visit_column<N, Plan::rhs_pitch>(first(), args.count, args.to.x_stride, args.nrhs, column,
                                         [&](int place, std::int64_t to) { args.to.x[to] = memory.rhs[place]; });
      }
      if (!judged) continue;
      T a[N][N];
      unsigned ignored = 0;
      load_triangle<T, N, Packed, false>(matrix(), a, ignored);
      worst = max(worst, judge(a, x, b, norm_a));
    }
    if (system() >= args.count) continue;
    if (args.to.backward_error != nullptr) args.to.backward_error[system()] = static_cast<T>(worst);
    if (args.to.rcond != nullptr) args.to.rcond[system()] = rcond_of_norms<T>(N, norm_a, 0, norm_inverse, 0);
    args.to.info[system()] = 0;
    args.marks[system()] = odd == 0 && zero == 0 && least > 0 ? Mark::settled : Mark::unsettled;
  }
}

template <class T, bool Packed, int... N>
Kernel<Arguments<T>> lanes_kernel(int n, std::integer_sequence<int, N...> /*numbers from 0 on*/) {
  Kernel<Arguments<T>> chosen = nullptr;
  (void)((n == N + 1 && (chosen = lanes_ldlt_kernel<T, N + 1, Packed>, true)) || ...);
  return chosen;
}

}  // namespace

template <class T>
cudaError_t launch_lanes(const SolveRow& /*row*/, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                         cudaStream_t stream) {
  constexpr auto sizes = std::make_integer_sequence<int, rows_of_lanes<T>>{};
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.vectors =
      reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0 && batch.a_step() == batch.shape.matrix_size();
  return launch(batch.shape.storage == Storage::packed_lower ? lanes_kernel<T, true>(batch.shape.n, sizes)
                                                             : lanes_kernel<T, false>(batch.shape.n, sizes),
                warp_lanes, arguments, stream);
}

template cudaError_t launch_lanes(const SolveRow&, const SpdBatch<float>&, const SpdSolution<float>&, Mark*,
                                  cudaStream_t);
template cudaError_t launch_lanes(const SolveRow&, const SpdBatch<double>&, const SpdSolution<double>&, Mark*,
                                  cudaStream_t);

}  // namespace smallbatch
