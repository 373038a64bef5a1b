// Rows of the table (solve/table.hpp) in the form that kernels use. Private to solvers/cuda/solve.
#pragma once

#include "core/gpu_plans.cuh"
#include "solvers/cuda/common/ldlt_plan.cuh"
#include "solvers/cuda/common/stored_systems.cuh"
#include "solvers/cuda/solve/table.hpp"

namespace smallbatch {

namespace {

template <class T, Family family, int N, Asked What, Arrival arrival = Arrival::pieces>
struct RowPlan {
  static constexpr SolveRow row = row_of(scalar_type_of<T>, family, N, What, arrival);
  static constexpr int warps = row.warps.here, warps_elsewhere = row.warps.elsewhere;  // arguments of resident_blocks()
  static constexpr int turning = registers_suffice() ? row.schedule.turning.here : row.schedule.turning.elsewhere;
  static constexpr int factor_apart = registers_suffice() ? row.schedule.apart.here : row.schedule.apart.elsewhere;
  static constexpr bool back_apart =
      registers_suffice() ? row.schedule.back_apart.here : row.schedule.back_apart.elsewhere;
  static constexpr bool early = row.schedule.early, signs = row.schedule.signs;
};

/// The number of rows with special kernels: for backward errors, and for systems of different sizes.
constexpr int judged_rows = 32;

template <class T, int N, Asked What>
struct PiecesPlan : RowPlan<T, Family::pieces, N, What> {
  using L = Tile<T, N, RowPlan<T, Family::pieces, N, What>::row.lanes, (N >= 32)>;
};

template <class T, int N, Asked What, bool Pieces>
struct AsStoredPlan : RowPlan<T, Family::as_stored, N, What, Pieces ? Arrival::pieces : Arrival::aligned> {
  using AsStoredPlan::RowPlan::row;
  using L = StoredLayout<T, N, row.lanes, row.shares>;
  static constexpr int least_n = row.first, late = row.schedule.late, place = row.schedule.first_replaced;
  /// Numbers left free in front of the late rows. A bulk copy of these rows also copies the numbers before them in the
  /// same 16-byte piece.
  static constexpr int gap = late > 0 && place > late && !Pieces ? L::piece : 0;
};

template <class T, int N, bool AsStored>
struct OnePassPlan : RowPlan<T, Family::one_pass, N, Asked::pivots, AsStored ? Arrival::anywhere : Arrival::pieces> {
  using OnePassPlan::RowPlan::row;
  using L =
      std::conditional_t<AsStored, StoredLayout<T, N, row.lanes, row.shares>, PlainLayout<T, N, row.lanes, row.shares>>;
};

}  // namespace

}  // namespace smallbatch
