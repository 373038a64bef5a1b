// Solutions of plain systems by L D L^T for 32 < n <= 64 in single precision, x and the status alone or the backward
// error too, of dense matrices with one right-hand side: panels of 8 columns from shared memory. What is not plain it
// marks for the general kernel (ldlt_general.cu).
//
// Eight lanes share a system, lane l has row l of each block of 8 x 8 numbers. The lower triangle of blocks is in shared
// memory: of columns that are done V = L D, behind them A. A panel comes into registers, block by block from its diagonal
// down, and all that the panels before it subtract, V of its own rows by broadcasts that feed as many multiply-adds as
// there are blocks: a_ji -= l_jk v_ik, k in ascending order as in the other kernels. The lanes of a system then factor
// its diagonal block, each for itself, without a barrier between columns. As a panel is a loop's turn and its blocks lie at
// the same places of it, all of the elimination is a few kilobytes of code, where one that has the triangle in registers
// fetches more instructions than their caches hold.
#include <nv/target>

#include "solvers/cuda/kernels.cuh"
#include "solvers/cuda/ldlt_plan.cuh"
#include "solvers/cuda/tile_judgement.cuh"

namespace smallbatch {

namespace {

constexpr int panel = 8;  // columns, and rows of a block

/// Of systems of up to 8 B rows.
template <class T, int B>
struct PanelsPlan {
  // Their sums are in the order of 16 lanes, as other kernels have them.
  using L = StoredLayout<T, panel * B, panel, 2>;
  static constexpr int warps = B == 8 ? 5 : B == 7 ? 7 : 12;
  static constexpr int blocks = B * (B + 1) / 2;
  static constexpr int step = blocks * panel * panel + panel;  // numbers from system to system, for the banks' sake
  static constexpr int vector_step = panel * B + panel;
};

template <class T, int B>
struct alignas(16) PanelsMemory {
  using Plan = PanelsPlan<T, B>;
  using L = typename Plan::L;
  // Blocks by columns. In a row of a block the two pieces of 16 bytes change places in the rows 4 .. 7.
  union {
    T block[L::systems * Plan::step];
    typename Residual<T>::Factor x[L::systems][L::size + 2];  // answers to be judged
  };
  T inverse[L::systems * Plan::vector_step];  // 1 / d
  T rhs[L::systems * Plan::vector_step];      // becomes z = L^-1 b, and x
};

/// How many blocks lie before those of column K.
template <int B>
__device__ __forceinline__ int blocks_before(int K) {
  return K * B - K * (K - 1) / 2;
}
/// Where piece h of row `row` is in a block.
__device__ __forceinline__ constexpr int place_of_piece(int row, int h) { return row * panel + (h ^ row >> 2) * 4; }

/// Starts to copy the lower triangle of blocks of the warp's systems, with zeros beyond row n - 1. Pieces: rows are whole
/// pieces of 16 bytes.
template <class T, int B, bool Pieces, class Source>
__device__ __forceinline__ void stage_blocks(int n, Source&& source, T* memory) {
  using Plan = PanelsPlan<T, B>;
  const int thread = fresh(threadIdx.x);
#pragma unroll 1
  for (int s = 0; s < Plan::L::systems; ++s) {
    T* const to = memory + s * Plan::step;
    if constexpr (Pieces) {
      // Two blocks of a row at a time.
      const int h = thread % 2, row = thread / 2 % panel, next = thread / 16;
      const T* const from = source(s) + row * n + next * panel + 4 * h;
      unrolled<B>([&](auto index) __attribute__((always_inline)) {
        constexpr int I = index;
        const bool inside = I + 1 < B || panel * I + row < n;
#pragma unroll
        for (int K = 0; K <= I; K += 2) {
          const int own = K + next;
          const bool copied = inside && (own + 1 < B || panel * own + 4 * h < n);
          if (own > I) continue;
          // Both of the places are known, whichever of the blocks is the lane's.
          const int first = K * B - K * (K - 1) / 2 + I - K, second = (K + 1) * B - (K + 1) * K / 2 + I - K - 1;
          T* const place = to + (next == 0 ? first : second) * panel * panel + place_of_piece(row, h);
          if (I + 1 < B)
            copy_async<4>(place, from + panel * I * n + panel * K);
          else
            copy_async_or_zeros(place, copied ? from + panel * I * n + panel * K : source(s), copied ? 4 : 0);
        }
      });
    } else {
      const int c = thread % panel, first_row = thread / panel;
      const T* from = source(s);
#pragma unroll 1
      for (int I = 0; I < B; ++I) {
#pragma unroll 1
        for (int K = 0; K <= I; ++K) {
          T* const block = to + (blocks_before<B>(K) + I - K) * panel * panel;
#pragma unroll
          for (int i = 0; i < panel; i += 4) {
            const int row = first_row + i;
            const bool copied = panel * I + row < n && panel * K + c < n;
            copy_async_or_zero(block + place_of_piece(row, c / 4) + c % 4,
                               copied ? from + (panel * I + row) * n + panel * K + c : from, copied);
          }
        }
      }
    }
  }
}

/// Starts to bring a matrix into the second-level cache. The lanes of its system call.
template <class T>
__device__ __forceinline__ void fetch_ahead(const T* from, int count, int lane) {
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (if (lane == 0) {
                      const auto begin = reinterpret_cast<std::uintptr_t>(from) / 16 * 16;
                      const auto size = static_cast<unsigned>((reinterpret_cast<std::uintptr_t>(from + count) - begin) / 16 * 16);
                      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin), "r"(size));
                    }),
                    (for (int i = 32 * lane; i < count; i += 32 * panel)
                         asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));))
}

/// Solves what is plain, and marks all others: systems that are not symmetric to the bit, whose numbers lie far from 1
/// or that fail. The last task begins where it ends with the batch: some systems are solved twice, alike.
template <class T, int B, bool Judged, bool Pieces>
__global__ void __launch_bounds__(warp_lanes, PanelsPlan<T, B>::warps) ldlt_panels_kernel(Arguments<T> args) {
  using Plan = PanelsPlan<T, B>;
  using L = typename Plan::L;
  using Piece = Vector<T, 4>;
  constexpr int G = panel, numbers = panel * panel;
  __shared__ PanelsMemory<T, B> memory;
  const int n = args.n, lane = threadIdx.x % G, group = threadIdx.x / G;
  const bool dense = args.storage == Storage::dense;
  T* const blocks = memory.block + group * Plan::step;
  T* const rhs = memory.rhs + group * Plan::vector_step;
  T* const inverses = memory.inverse + group * Plan::vector_step;
  const int own_place[2] = {place_of_piece(lane, 0), place_of_piece(lane, 1)};
  // Element (row, lane) of a block.
  const auto column_of = [&](const T* block, int row) __attribute__((always_inline)) {
    return block[row * G + (lane ^ (row >> 2) * 4)];
  };
  const auto begin_of = [&](unsigned task) { return min(std::int64_t{task} * L::systems, args.count - L::systems); };
#pragma unroll 1
  for (unsigned task = blockIdx.x; task < args.tasks; task += gridDim.x) {
    const std::int64_t system = begin_of(task) + group;
    const T* const matrix = args.a + system * args.a_step;
    stage_blocks<T, B, Pieces>(
        n, [&](int s) { return args.a + (begin_of(task) + s) * args.a_step; }, memory.block);
#pragma unroll
    for (int u = 0; u < B; ++u) {
      const bool copied = u + 1 < B || G * u + lane < n;
      copy_async_or_zero(rhs + G * u + lane, args.b + system * args.b_step + (copied ? G * u + lane : 0), copied);
    }
    unsigned odd = 0;  // not zero: the system is not plain
    wait_for_copies();
    if (G * (B - 1) + lane >= n) {  // a row of the identity
      const int row = fresh(lane);
      blocks[(Plan::blocks - 1) * numbers + place_of_piece(row, row / 4) + row % 4] = 1;
    }
#pragma unroll
    for (int u = 0; u < B; ++u)
      odd |= static_cast<unsigned>(is_far(rhs[G * u + lane], Traits<T>::rhs_window));
    __syncwarp();  // the padding is complete

#pragma unroll 1
    for (int J = 0; J < B; ++J) {
      const int rows = B - J;  // blocks of the panel
      T* const own_panel = blocks + blocks_before<B>(J) * numbers;
      T c[B][G];
      const auto visit = [&](auto&& body) __attribute__((always_inline)) {
        unrolled<B>([&](auto index) __attribute__((always_inline)) {
          constexpr int i = index;
          if (i == 0 || i < rows) body(index);
        });
      };
      // The panel, and whether it is what lies above the diagonal.
      unrolled<B>([&](auto index) __attribute__((always_inline)) {
        constexpr int i = index;
        if (i == 0 || i < rows)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const auto in = *reinterpret_cast<const Piece*>(own_panel + i * numbers + own_place[h]);
#pragma unroll
            for (int p = 0; p < 4; ++p) c[i][4 * h + p] = in.value[p];
          }
      });
      if (dense) {
        const T* const mirrored = matrix + G * J * n + G * J + lane;
#pragma unroll
        for (int k = 0; k < G; ++k) odd |= differing_bits(c[0][k], column_of(own_panel, k));
        unrolled<B - 1>([&](auto index) __attribute__((always_inline)) {
          constexpr int i = 1 + index;
          if (i < rows && G * (J + i) + lane < n) {
#pragma unroll
            for (int k = 0; k < G; ++k) odd |= differing_bits(c[i][k], mirrored[k * n + G * i]);
          }
        });
      }
      odd |= far_bits(own_panel[place_of_piece(lane, lane / 4) + lane % 4]);

      // What the panels before it subtract.
      const T* before = blocks + J * numbers;  // the panel's blocks of column K
      const T* inverse_of = inverses;
#pragma unroll 1
      for (int K = 0; K < J; ++K) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const auto inverse = *reinterpret_cast<const Piece*>(inverse_of + 4 * h);
          Piece v[G], own[B];
#pragma unroll
          for (int i = 0; i < B; ++i)
            if (i == 0 || i < rows) own[i] = *reinterpret_cast<const Piece*>(before + i * numbers + own_place[h]);
#pragma unroll
          for (int r = 0; r < G; ++r) v[r] = *reinterpret_cast<const Piece*>(before + place_of_piece(r, h));
          visit([&](auto index) __attribute__((always_inline)) {
            constexpr int i = index;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
              const T l = own[i].value[k] * inverse.value[k];
#pragma unroll
              for (int r = 0; r < G; ++r) c[i][r] = fma(-l, v[r].value[k], c[i][r]);
            }
          });
        }
        before += (B - 1 - K) * numbers;
        inverse_of += G;
      }

      // The diagonal block, which all lanes factor alike.
      __syncwarp();  // it has been read, and what lies above it
#pragma unroll
      for (int h = 0; h < 2; ++h)
        *reinterpret_cast<Piece*>(own_panel + own_place[h]) = {{c[0][4 * h], c[0][4 * h + 1], c[0][4 * h + 2], c[0][4 * h + 3]}};
      __syncwarp();  // the diagonal block is complete
      T v[G][G], z[G], inverse[G];
#pragma unroll
      for (int r = 0; r < G; ++r)
#pragma unroll
        for (int h = 0; h <= r / 4; ++h) {
          const auto in = *reinterpret_cast<const Piece*>(own_panel + place_of_piece(r, h));
#pragma unroll
          for (int p = 0; p < 4; ++p) v[r][4 * h + p] = in.value[p];
        }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const auto in = *reinterpret_cast<const Piece*>(rhs + G * J + 4 * h);
#pragma unroll
        for (int p = 0; p < 4; ++p) z[4 * h + p] = in.value[p];
      }
#pragma unroll
      for (int k = 0; k < G; ++k) {
        inverse[k] = reciprocal(v[k][k]);
#pragma unroll
        for (int r = k + 1; r < G; ++r) {
          const T l = v[r][k] * inverse[k];
#pragma unroll
          for (int m = k + 1; m <= r; ++m) v[r][m] = fma(-l, v[m][k], v[r][m]);
          z[r] = fma(-l, z[k], z[r]);
        }
      }
      __syncwarp();  // the diagonal block has been read
#pragma unroll
      for (int h = 0; h < 2 && lane == 0; ++h) {
        *reinterpret_cast<Piece*>(rhs + G * J + 4 * h) = {{z[4 * h], z[4 * h + 1], z[4 * h + 2], z[4 * h + 3]}};
        *reinterpret_cast<Piece*>(inverses + G * J + 4 * h) = {
            {inverse[4 * h], inverse[4 * h + 1], inverse[4 * h + 2], inverse[4 * h + 3]}};
      }
      visit([&](auto index) __attribute__((always_inline)) {
        constexpr int i = index;
        T own_b = i > 0 ? rhs[G * (J + i) + lane] : T(0);
#pragma unroll
        for (int k = 0; k < G; ++k) {
          const T l = c[i][k] * inverse[k];
#pragma unroll
          for (int m = k + 1; m < G; ++m) c[i][m] = fma(-l, v[m][k], c[i][m]);
          own_b = fma(-l, z[k], own_b);
        }
        if (i > 0) rhs[G * (J + i) + lane] = own_b;
#pragma unroll
        for (int h = 0; h < 2; ++h)
          *reinterpret_cast<Piece*>(own_panel + i * numbers + own_place[h]) = {
              {c[i][4 * h], c[i][4 * h + 1], c[i][4 * h + 2], c[i][4 * h + 3]}};
      });
      __syncwarp();  // the panel is complete
    }

#if AHEAD
    if (const unsigned next = task + gridDim.x; next < args.tasks) fetch_ahead(args.a + (begin_of(next) + group) * args.a_step, n * n, lane);
#endif
    // y = D^-1 z, and what the inverses say.
    T zero = 0, least = 1;  // zero becomes NaN where a number is not finite
#pragma unroll
    for (int u = 0; u < B; ++u) {
      T& place = rhs[G * u + lane];
      const T inverse = inverses[G * u + lane];
      T y = place * inverse;
      now(y);  // rounded; the same in all kernels
      place = y;
      zero = fma(inverse, T(0), zero);
      least = min(least, inverse);
    }
    // x = L^-T y, 16 rows at a time from the last.
#pragma unroll 1
    for (int q = (B - 1) / 2; q >= 0; --q) {
      T y[2];
      y[0] = rhs[G * 2 * q + lane];
      y[1] = 2 * q + 1 < B ? rhs[G * (2 * q + 1) + lane] : T(0);
      if (q < (B - 1) / 2) {
        Piece inverse[2][2];
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
          for (int h = 0; h < 2; ++h)
            inverse[s][h] = *reinterpret_cast<const Piece*>(inverses + G * (2 * q + s) + 4 * h);
        T sum[2][2][G];  // of column block s, and of the rows of every other block
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
          for (int i = 0; i < G; ++i) {
            sum[s][0][i] = -T(0);
            sum[s][1][i] = B % 2 == 0 ? -T(0) : T(0);
          }
        const auto take = [&]<int odd_row>(int u) __attribute__((always_inline)) {
          const T of_row = rhs[G * u + lane];
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            const T* const block = blocks + (blocks_before<B>(2 * q + s) + u - (2 * q + s)) * numbers;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              const auto in = *reinterpret_cast<const Piece*>(block + own_place[h]);
#pragma unroll
              for (int p = 0; p < 4; ++p) {
                T& of = sum[s][odd_row][4 * h + p];
                of = fma(in.value[p] * inverse[s][h].value[p], of_row, of);
              }
            }
          }
        };
        int u = B - 1;
        if constexpr (B % 2 != 0) take.template operator()<0>(u--);
#pragma unroll 1
        for (; u > 2 * q + 1; u -= 2) {
          take.template operator()<1>(u);
          take.template operator()<0>(u - 1);
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          T all = sum_for_each<G, G>(lane, sum[s][0]);
          all += sum_for_each<G, G>(lane, sum[s][1]);
          y[s] -= all;
        }
      }
      // Columns of the blocks on the diagonal, and of the one between them.
      const T own_inverse[2] = {inverses[G * 2 * q + lane], 2 * q + 1 < B ? inverses[G * (2 * q + 1) + lane] : T(1)};
      const T* const first = blocks + blocks_before<B>(2 * q) * numbers;
      if (2 * q + 1 < B) {
        const T* const second = blocks + blocks_before<B>(2 * q + 1) * numbers;
        T between[G], l[G], known[G];
#pragma unroll
        for (int i = 0; i < G; ++i) {
          between[i] = column_of(first + numbers, i) * own_inverse[0];
          l[i] = lane < i ? column_of(second, i) * own_inverse[1] : T(0);
        }
#pragma unroll
        for (int i = G - 1; i >= 0; --i) {
          known[i] = shuffle(y[1], i, G);
          if (i > 0) y[1] = fma(-l[i], known[i], y[1]);
        }
#pragma unroll
        for (int i = G - 1; i >= 0; --i) y[0] = fma(-between[i], known[i], y[0]);
        rhs[G * (2 * q + 1) + lane] = y[1];
      }
      T l[G];
#pragma unroll
      for (int i = 1; i < G; ++i) l[i] = lane < i ? column_of(first, i) * own_inverse[0] : T(0);
#pragma unroll
      for (int i = G - 1; i > 0; --i) y[0] = fma(-l[i], shuffle(y[0], i, G), y[0]);
      rhs[G * 2 * q + lane] = y[0];
    }
    T answer[B];
#pragma unroll
    for (int u = 0; u < B; ++u) {
      answer[u] = rhs[G * u + lane];
      zero = fma(answer[u], T(0), zero);
    }
    const T* const b = args.b + system * args.b_step;
    T* const x = args.to.x + system * args.to.x_stride + lane;
#pragma unroll
    for (int u = 0; u < B; ++u)
      if (u + 1 < B || G * u + lane < n) x[G * u] = answer[u];
    const bool plain = !any_of_group<G>(!(zero == 0 && least > 0) || odd != 0);
    double error = 0, norm_a = 0;
    if constexpr (Judged) {
      __syncwarp();  // the factors have been read, whose place the answers take
      error = judge_rows_again<T, L>(n, lane, matrix, b, memory.x[group], answer, norm_a);
    }
    __syncwarp();  // what this task has left in shared memory has been read
    if (lane != 0) continue;
    if constexpr (Judged) args.to.backward_error[system] = static_cast<T>(error);
    args.to.info[system] = 0;
    args.marks[system] = plain ? Mark::settled : Mark::unsettled;
  }
}

template <class T>
struct PanelsKernel {
  int systems, warps;
  Kernel<Arguments<T>> kernel;
};
template <class T, int B, bool Judged>
PanelsKernel<T> panels_kernel(bool pieces) {
  using Plan = PanelsPlan<T, B>;
  return {Plan::L::systems, Plan::warps,
          pieces ? ldlt_panels_kernel<T, B, Judged, true> : ldlt_panels_kernel<T, B, Judged, false>};
}
template <class T, bool Judged>
PanelsKernel<T> panels_kernel_of(int n, bool pieces) {
  return n <= 40   ? panels_kernel<T, 5, Judged>(pieces)
         : n <= 48 ? panels_kernel<T, 6, Judged>(pieces)
         : n <= 56 ? panels_kernel<T, 7, Judged>(pieces)
                   : panels_kernel<T, 8, Judged>(pieces);
}

}  // namespace

bool panels_take(const SpdBatch<float>& batch, const SpdSolution<float>& solution) {
  const SpdShape& shape = batch.shape;
  constexpr int systems = PanelsPlan<float, 8>::L::systems;
  return shape.n > 32 && shape.nrhs == 1 && batch.sizes == nullptr && shape.storage != Storage::packed_lower &&
         (solution.backward_error == nullptr || shape.storage == Storage::dense) && batch.count >= systems &&
         solution.rcond == nullptr && !arguments_of(batch, solution).pivot_numbers;
}

cudaError_t launch_panels(const SpdBatch<float>& batch, const SpdSolution<float>& solution, Mark* marks,
                          cudaStream_t stream) {
  const bool pieces = rows_are_pieces(batch);
  const PanelsKernel<float> chosen = solution.backward_error != nullptr
                                         ? panels_kernel_of<float, true>(batch.shape.n, pieces)
                                         : panels_kernel_of<float, false>(batch.shape.n, pieces);
#if AHEAD
  return launch(chosen.kernel, chosen.systems, arguments_of(batch, solution, marks), stream, 132 * chosen.warps);
#else
  return launch(chosen.kernel, chosen.systems, arguments_of(batch, solution, marks), stream);
#endif
}

}  // namespace smallbatch
