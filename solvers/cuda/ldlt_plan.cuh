// How systems lie in the lanes of the kernels of L D L^T; measured to be best. Private to solvers/cuda.
#pragma once

#include "core/gpu_plans.cuh"
#include "solvers/cuda/stored_systems.cuh"

namespace smallbatch {

namespace {

/// Of the kernels that take all systems. The same lanes as those for plain systems: the order of their sums decides the
/// last bits.
template <class T, int N>
struct LdltPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  static constexpr int lanes = N <= 16 ? 4 : N <= 32 ? (single ? 4 : 8) : (single ? 16 : 32);
  using General = Tile<T, N, lanes, false>;
  static constexpr int general_warps = 8;
};

/// Of the kernel for x alone, which there is for all but n > 32 in double precision: such rows take all registers.
template <class T, int N>
struct QuickPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  static_assert(N <= 32 || single);
  using L = Tile<T, N, LdltPlan<T, N>::lanes, (N >= 32)>;
  // Slots whose steps are a loop; where registers do not suffice, no steps are one, and some are kept apart.
  static constexpr bool turns = N == 32 && single;
  static constexpr int turning = turns && registers_suffice() ? 4 : 0;
  static constexpr bool apart = N == 64 || (N >= 16 && !single);
  // One step in so many is kept apart.
  static constexpr int steps_apart = turns && !registers_suffice() ? 8 : apart;
  // Of x alone: as few as the compiler does not spill registers for.
  static constexpr int factor_apart = N == 64              ? (registers_suffice() ? 8 : 4)
                                      : N == 32 && !single ? (registers_suffice() ? 2 : 1)
                                                           : steps_apart;
  static constexpr bool back_apart = apart && N < 32;
  static constexpr bool early = N == 32 && !single;
  static constexpr bool signs = N == 32 && !single;  // of pivots are kept, and not their reciprocals
  static constexpr int warps = N == 8 ? 16 : N == 16 ? (single ? 16 : 12) : 8;
  static constexpr int warps_elsewhere = N == 16 && single ? 12 : warps;  // resident_blocks()
};

/// Of the kernels of one pass, N a multiple of 4.
template <class T, int N>
struct OnePassPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  // Where triangles find room in the registers of half as many lanes, these do the work of twice as many.
  static constexpr int shares(bool as_stored) {
    return (single ? N == 36 || N == 40 : N == 20 || (N == 24 && as_stored)) ? 2 : 1;
  }
  static constexpr int lanes(bool as_stored) { return LdltPlan<T, N>::lanes / shares(as_stored); }
  using L = PlainLayout<T, N, lanes(false), shares(false)>;
  using Stored = StoredLayout<T, N, lanes(true), shares(true)>;
  /// Slots whose steps are a loop.
  static constexpr int turning(bool as_stored) {
    return N >= 20 && N <= (as_stored || !registers_suffice() ? 28 : 32) && single ? 2 : 0;
  }
  static constexpr bool apart = N > 32 || (N >= 16 && !single);
  // One step in so many is kept apart.
  static constexpr int factor_apart = N == 32 && single && !registers_suffice() ? 8 : apart;
  static constexpr int warps = single ? (N <= 12 ? 16 : N <= 20 ? 12 : 8) : N <= 8 ? 12 : 8;
};

/// What is asked for: x and the status, the backward error too, or rcond and what pivots say as well.
enum class Asked { x, error, everything };

/// Of the kernels for x alone, or with the backward error, of matrices as they are stored, of least_n to N rows.
/// Pieces: rows are whole pieces of 16 bytes, and lie apart.
template <class T, int N, bool Judged, bool Pieces>
struct StoredXPlan {
  static constexpr bool single = sizeof(T) == sizeof(float);
  // Where triangles find room in the registers of fewer lanes than the general kernel has.
  static constexpr int lanes = single && N == 36 ? 4 : single && N == 48 ? 8 : OnePassPlan<T, N>::lanes(true);
  using L = StoredLayout<T, N, lanes, LdltPlan<T, N>::lanes / lanes>;
  static constexpr int least_n = N > 40 ? N - 7 : N - 3;
  // Rows that are fetched last, where else fewer warps found room, and from which row on they take others' place. To be
  // judged, all rows before `place` stay.
  static constexpr int late_judged = N == 64 || N == 48 || N == 36                ? 16
                                     : N == 40 || N == 32 || (!single && N == 24) ? 8
                                                                                  : 0;
  static constexpr int late_alone = Pieces                            ? (N == 48 ? 24 : 16)
                                    : N == 56                         ? 0
                                    : N >= 36                         ? 16
                                    : N == 32 || (!single && N >= 24) ? 8
                                    : !single && N == 20              ? 4
                                                                      : 0;
  static constexpr int late = Judged ? late_judged : late_alone;
  // The sooner these are on their way the better, where that takes no more room.
  static constexpr int place = Judged               ? N - late
                               : Pieces             ? (N == 56 ? 48 : 24)
                               : N == 48 || N == 64 ? N - 16
                               : single             ? (N == 32 || N == 40 ? 24 : late)
                               : N == 24 || N == 32 ? 16
                               : N == 28            ? 24
                                                    : late;
  /// Numbers in front of them, where bulk copies put what precedes them in their first piece.
  static constexpr int gap = late > 0 && place > late && !Pieces ? L::piece : 0;
  static constexpr int turning = registers_suffice() || N == 20 ? OnePassPlan<T, N>::turning(true) : 0;
  // One step in so many is kept apart from the others, and whether those back are: what is quicker, of what the
  // compiler does not spill registers for.
  static constexpr int apart_here = !OnePassPlan<T, N>::apart || (N == 36 && !Judged) ? 0
                                    : Pieces && (N == 48 || (N == 40 && !Judged))     ? 0
                                    : N == 40 && Judged                               ? 16
                                    : single                                          ? 8
                                    : !Judged && N != 24                              ? 2
                                                                                      : 1;
  static constexpr int apart_elsewhere = !single ? 1 : N == 20 ? 0 : N < 36 ? 4 : 2;
  static constexpr int factor_apart = registers_suffice() ? apart_here : apart_elsewhere;
  static constexpr bool back_apart =
      (OnePassPlan<T, N>::apart && !single && Judged) || (single && N > 20 && !registers_suffice());
  static constexpr bool signs = !single && !Judged;  // of pivots are kept, and not their reciprocals
  static constexpr int of_floats = N <= 20 ? 16 : N == 24 ? 12 : (N == 36 || N == 48) && Judged ? 7 : 8;
  static constexpr int of_doubles = N == 16 || N == 20 ? 12 : 8;
  static constexpr int warps = single ? of_floats : of_doubles;
  static constexpr int warps_elsewhere = single && N <= 20 ? 12 : N == 20 ? 8 : warps;  // resident_blocks()
};

/// Of such kernels that tell all that may be asked: factors stay in registers while A is judged, beside which others'
/// lanes would have too few.
template <class T, int N>
struct StoredEverythingPlan : StoredXPlan<T, N, true, false> {
  using Base = StoredXPlan<T, N, true, false>;
  using Base::single;
  using L = std::conditional_t<!single && N == 24, StoredLayout<T, N, LdltPlan<T, N>::lanes>,
                               typename OnePassPlan<T, N>::Stored>;
  static constexpr int late = N == 36 ? 0 : Base::late, place = N - late;
  static constexpr int gap = late > 0 ? L::piece : 0;
  static constexpr int turning = OnePassPlan<T, N>::turning(true);
  static constexpr int factor_apart = (N == 28 || N == 32) && single ? (registers_suffice() ? 0 : 8)
                                      : !OnePassPlan<T, N>::apart    ? 0
                                      : N == 40                      ? 8
                                                                     : 1;
  static constexpr bool back_apart = OnePassPlan<T, N>::apart && N != 40;
  static constexpr int warps = (single ? N == 20 : N == 16) ? 12 : 8;
  static constexpr int warps_elsewhere = warps;
};
template <class T, int N, Asked What, bool Pieces>
using AsStoredPlan = std::conditional_t<What == Asked::everything, StoredEverythingPlan<T, N>,
                                        StoredXPlan<T, N, What != Asked::x, Pieces>>;

}  // namespace

}  // namespace smallbatch
