// Shared parts of the general kernels of L D L^T. They choose a warp's systems, load them into registers, factor them,
// and find their statuses.
//
// Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/ldlt_elimination.cuh"
#include "solvers/cuda/common/ldlt_plan.cuh"
#include "solvers/cuda/common/marked_systems.cuh"
#include "solvers/cuda/common/status.cuh"
#include "solvers/cuda/common/tile_judgement.cuh"

namespace smallbatch {

namespace {

/// Scales the right-hand side of the lane's system in registers to 2^t D b; D is the identity unless the system is
/// `far`. Returns t, which is 0 unless D b is far from 1. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ int scale_rhs(const Arguments<T>& args, std::int64_t system, int lane, bool far,
                                         T (&b)[L::rows]) {
  constexpr int lowest = -4 * Traits<T>::exponent_bias;
  int top = lowest;
#pragma unroll
  for (int u = 0; u < L::rows; ++u) now(b[u]);  // so that the compiler computes nothing from b ahead
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    if (b[u] != 0) top = max(top, exponent_of(b[u]) + scaling_exponent(args, system, L::lanes * u + lane, far));
  top = max_of_group<L::lanes>(top);
  const int shift = top != lowest && abs(top) > Traits<T>::rhs_window ? -top : 0;
#pragma unroll
  for (int u = 0; u < L::rows; ++u)
    b[u] = scale(b[u], scaling_exponent(args, system, L::lanes * u + lane, far) + shift);
  return shift;
}

/// Returns the arguments of a launch for marked systems only.
template <class T>
Arguments<T> of_marked(Arguments<T> arguments) {
  arguments.marked = true;
  return in_spans(arguments);
}

/// The shared memory of a warp in the general kernels. It also holds the data about the warp's systems, because the
/// matrices occupy the registers.
template <class T, class L>
struct GeneralMemory {
  TileMemory<T, L> tile;
  int count, next;  ///< number of systems of the span to be solved, and index of the first that is not yet solved
  std::uint16_t found[longest_span];  ///< indices in the span of the systems to be solved, if args.marked
  std::int64_t systems[L::systems];   ///< the current systems, one for each group of lanes
  int rows[L::systems];               ///< row counts of the current systems
  int used;  ///< number of groups with different systems; the groups after them repeat the last system
  std::int32_t states[L::systems];  ///< statuses of the current systems, if already known
  bool far[L::systems];         ///< whether the current systems are scaled; here, because matrices occupy the registers
  bool underflows[L::systems];  ///< whether a solution has underflowed
};

/// Returns false if the lane's group only repeats the last system (GeneralMemory::used).
template <class T, class L>
__device__ __forceinline__ bool is_own(const GeneralMemory<T, L>& memory) {
  return own_group<L>() < memory.used;
}
template <class T, class L>
__device__ __forceinline__ std::int64_t own_system(const GeneralMemory<T, L>& memory) {
  return memory.systems[own_group<L>()];
}
template <class T, class L>
__device__ __forceinline__ bool own_far(const GeneralMemory<T, L>& memory) {
  return memory.far[own_group<L>()];
}
template <class T, class L>
__device__ __forceinline__ int own_rows(const GeneralMemory<T, L>& memory) {
  return memory.rows[own_group<L>()];
}

/// Finds the systems of a span that are to be solved: all, or those that are marked. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void find_systems(const Arguments<T>& args, unsigned task, GeneralMemory<T, L>& memory) {
  const std::int64_t first = std::int64_t{task} * args.span;
  int count = 0;
  if (args.marked) {
    unsigned wanted = 0;  // bit i: system first + warp_lanes i + lane
#pragma unroll
    for (int i = 0; i < longest_span / warp_lanes; ++i) {
      const std::int64_t system = first + warp_lanes * i + threadIdx.x;
      if (warp_lanes * i < args.span && system < args.count)
        wanted |= static_cast<unsigned>(args.marks[system] == Mark::unsettled) << i;
    }
    const int looks = __any_sync(whole_warp, wanted != 0) ? longest_span / warp_lanes : 0;
#pragma unroll 1
    for (int i = 0; i < looks; ++i) {
      const bool own = (wanted >> i & 1) != 0;
      const unsigned lanes = __ballot_sync(whole_warp, own);
      const int place = count + __popc(lanes & ((1U << threadIdx.x) - 1));
      if (own) memory.found[place] = static_cast<std::uint16_t>(warp_lanes * i + threadIdx.x);
      count += __popc(lanes);
    }
  } else {
    count = static_cast<int>(min(std::int64_t{args.span}, args.count - first));
  }
  if (threadIdx.x == 0) {
    memory.count = count;
    memory.next = 0;
  }
}

/// Gives each group of lanes one of the next found systems. Returns false if no found system is left. The whole warp
/// calls.
template <class T, class L>
__device__ __forceinline__ bool choose_systems(const Arguments<T>& args, unsigned task, GeneralMemory<T, L>& memory) {
  __syncwarp();  // the previous systems are done, and the found systems are known
  const int first = memory.next, count = memory.count;
  __syncwarp();  // first and count have been read
  if (first >= count) return false;
  if (const int group = static_cast<int>(threadIdx.x); group < L::systems) {
    const int k = min(first + group, count - 1);
    memory.systems[group] = std::int64_t{task} * args.span + (args.marked ? memory.found[k] : k);
    const int rows = rows_of(args, memory.systems[group]);
    memory.rows[group] = max(rows, 0);
    memory.states[group] = rows < 0 ? info_size_out_of_range : 0;
    memory.underflows[group] = false;
  }
  if (threadIdx.x == 0) {
    memory.used = min(L::systems, count - first);
    memory.next = first + L::systems;
  }
  __syncwarp();  // the chosen systems are stored
  return true;
}

/// Copies the matrices into shared memory, and pads smaller matrices with rows of the identity. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void stage_systems(const Arguments<T>& args, GeneralMemory<T, L>& memory) {
  using Plain = PlainLayout<T, L::size, L::lanes>;
  static_assert(Plain::begin(1) == L::staged_numbers && Plain::keyed);
  const auto source = [&](int s) { return args.a + memory.systems[s] * args.a_step; };
  if (args.vectors && args.sizes == nullptr) {
    stage_pieces<0, L::size>(source, memory.tile);
    wait_for_copies();
    return;
  }
  copy_rows<T, Plain>(
      args, source, [&](int s) { return memory.rows[s]; }, memory.tile.matrix[0]);
  wait_for_copies();
#pragma unroll 1
  for (int row = own_rows(memory) + own_lane<L>(); row < L::size; row += L::lanes)
    staged<L>(memory.tile.matrix[own_group<L>()], own_group<L>(), row, row) = 1;
  __syncwarp();  // the padding is complete
}

/// Copies right-hand side `column` into shared memory, or zeros if there is none. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ void stage_column(const Arguments<T>& args, GeneralMemory<T, L>& memory, int column) {
  __syncwarp();  // the previous right-hand side has been read
  const T* const from = args.b + own_system(memory) * args.b_step + column;
  T* const to = memory.tile.rhs + own_group<L>() * L::column_pitch + own_lane<L>();
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int row = L::lanes * u + own_lane<L>();
    const bool copied = row < own_rows(memory) && column < args.nrhs;
    copy_async_or_zero(to + L::lanes * u, from + (copied ? static_cast<std::int64_t>(row) * args.nrhs : 0), copied);
  }
  wait_for_copies();
}

/// Loads the lower triangle of D A D, and finds the status of the input. D is the identity unless the diagonal of A is
/// far from 1 (far_bits()). Returns whether it is far. With `whole_blocks`, the diagonal blocks of `a` get both
/// triangles. The whole warp calls.
template <class T, class L, bool whole_blocks = false>
__device__ __forceinline__ bool load_scaled(const Arguments<T>& args, GeneralMemory<T, L>& memory,
                                            T (&a)[L::rows][L::size]) {
  unsigned bits = 0;                      // bits in which the triangles differ
  const int thread = fresh(threadIdx.x);  // fresh, so that addresses in shared memory are not kept from one task to the
                                          // next
  const T* const matrix = memory.tile.matrix[thread / L::lanes];
  load_rows<0, L::size, T, L>(matrix, thread / L::lanes, thread % L::lanes, a);
  if (args.storage == Storage::dense)
    visit_columns<0, L::size, T, L>(matrix, thread / L::lanes, thread % L::lanes,
                                    [&](int u, int row, const T& value) { bits |= differing_bits(a[u][row], value); });
  const bool differs = any_of_group<L::lanes>(bits != 0);
  if (__any_sync(whole_warp, differs)) {
    const std::int32_t status = inspect<L::lanes>(args, own_system(memory), own_lane<L>());
    if (own_lane<L>() == 0 && differs) memory.states[own_group<L>()] = status;
  }
  if (whole_blocks) mirror_blocks<T, PlainLayout<T, L::size, L::lanes>>(matrix, own_group<L>(), own_lane<L>(), a);
  const bool far = any_of_group<L::lanes>(diagonal_far_bits<T, L>(own_lane<L>(), a) != 0);
  scale_rows<T, L>(args, own_system(memory), own_lane<L>(), far, a);
  return far;
}

/// Loads the staged right-hand side. If any system of the warp needs scaling, all lanes of the warp scale their b to
/// 2^t D b. Returns whether they scale. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ bool take_rhs(const Arguments<T>& args, GeneralMemory<T, L>& memory, bool far,
                                         T (&b)[L::rows], int& t) {
  bool b_far = false;
  const T* const own = memory.tile.rhs + own_group<L>() * L::column_pitch + own_lane<L>();
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    b[u] = own[L::lanes * u];
    b_far |= is_far(b[u], Traits<T>::rhs_window);
  }
  t = 0;
  const bool scaled = __any_sync(whole_warp, far || b_far);
  if (scaled) t = scale_rhs<T, L>(args, own_system(memory), own_lane<L>(), far, b);
  return scaled;
}

/// Keeps d in the shared memory that is later used for right-hand sides. The address is computed again for each use.
template <class T, class L>
struct PivotsInPlaceOfRhs {
  GeneralMemory<T, L>& memory;
  [[nodiscard]] __device__ __forceinline__ T& of_row(int row) const {
    return memory.tile.rhs[own_group<L>() * L::column_pitch + row];
  }
  template <int slot>
  __device__ __forceinline__ void keep(int lane, int owner, T pivot, T) const {
    if (lane == owner) of_row(L::lanes * slot + owner) = pivot;
  }
};

/// Factors the matrix and stores the numbers that are computed from the pivots. Returns the first bad pivot. The whole
/// warp calls.
template <bool general, class T, class L>
__device__ __forceinline__ int factor_and_tell(Arguments<T>& args, GeneralMemory<T, L>& memory,
                                               T (&a)[L::rows][L::size], T (&inverse)[L::rows]) {
  const PivotsInPlaceOfRhs<T, L> kept{memory};
  NoRhs none;
  factor<L, 0, true, general>(own_group<L>(), own_lane<L>(), memory.tile, a, none, kept, args.n, args.once);
  __syncwarp();  // the pivots are complete
  T pivots[L::rows];
#pragma unroll
  for (int u = 0; u < L::rows; ++u) {
    const int row = L::lanes * u + own_lane<L>();
    pivots[u] = row < args.n ? kept.of_row(row) : T(1);
    inverse[u] = reciprocal(pivots[u]);  // computed again: the elimination has no registers to keep it
  }
  const int bad_pivot = first_bad_pivot<T, L>(own_lane<L>(), inverse);
  if (args.pivot_numbers)
    store_pivots<T, L>(args, own_system(memory), own_rows(memory), is_own(memory), own_lane<L>(), own_far(memory),
                       pivots);
  return bad_pivot;
}

/// Stores and returns the status. If it is not 0, x becomes NaN. `bad` means that a number of x or a pivot of the lane
/// is not usable. The whole warp calls.
template <class T, class L>
__device__ __forceinline__ std::int32_t settle(const Arguments<T>& args, GeneralMemory<T, L>& memory, bool bad,
                                               int bad_pivot) {
  __syncwarp();  // the data about the systems are complete
  std::int32_t status = memory.states[own_group<L>()];
  const bool tiny = memory.underflows[own_group<L>()];
  if (__any_sync(whole_warp, bad || tiny)) {
    const bool failed = any_of_group<L::lanes>(bad);
    const std::int32_t reason = explain_failure<L::lanes>(args, own_system(memory), bad_pivot, own_lane<L>(),
                                                          failed ? info_result_not_finite : info_result_underflowed);
    if ((failed || tiny) && status == 0) status = reason;
  }
  if (!is_own(memory)) return status;
  const std::int64_t system = own_system(memory);
  if (status != 0) {
    const std::int64_t columns = args.inverse ? args.n : args.nrhs;
    const std::int64_t numbers = (status == info_size_out_of_range ? args.n : own_rows(memory)) * columns;
#pragma unroll 1
    for (std::int64_t e = own_lane<L>(); args.to.x != nullptr && e < args.n * columns; e += L::lanes)
      args.to.x[system * args.to.x_stride + e] = e < numbers ? not_a_number<T>() : T(0);
  }
  if (own_lane<L>() != 0) return status;
  args.to.info[system] = status;
  if (status != 0) forget_pivots(args, system);
  if (status == 0 && own_rows(memory) == 0) store_no_pivots(args, system);
  return status;
}

}  // namespace

}  // namespace smallbatch
