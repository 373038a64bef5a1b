// What launch.cpp puts together: one function per kernel family. Private to this room; spd_solver.cuh is for callers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cuda/solve/table.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

/// What one kernel leaves to the next to do with a system. Marks lie in the workspace.
enum class Mark : std::uint8_t {
  settled,    ///< nothing
  unsettled,  ///< solve it again, by the general kernel of the method
  as_stored   ///< judge it by every element of A as it is stored: its triangles differ
};

/// Whether numbers are asked for that the pivots give.
template <class T>
bool wants_pivot_numbers(SpdSolution<T> solution) {
  solution.backward_error = solution.rcond = nullptr;
  bool wanted = false;
  for_each_spd_number<T>([&](const auto& number) { wanted |= solution.*number.in_solution != nullptr; });
  return wanted;
}

/// Whether launch_spd_solve() takes batches with sizes of that shape; others are gathered by size on the host.
bool takes_sizes(const SpdShape& shape, const SpdOptions& options);

/// Whether launch_gauss_jordan_x() takes the batch and gives all that is asked for.
template <class T>
bool gauss_jordan_x_takes(const SpdBatch<T>& batch, const SpdSolution<T>& solution);

/// x and info of plain systems by Gauss-Jordan elimination. Marks all systems: settled, or else left to
/// launch_general_gauss_jordan().
template <class T>
cudaError_t launch_gauss_jordan_x(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                  cudaStream_t stream);

/// The same with all numbers that are asked for but rcond.
template <class T>
cudaError_t launch_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                cudaStream_t stream);

/// The same for those that are marked unsettled, whatever they are.
template <class T>
cudaError_t launch_general_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        cudaStream_t stream);

/// Of rcond that L D L^T has found: NaN where the system is not solved, and 0 where it is although L D L^T met a bad
/// pivot: A is singular to working precision.
template <class T>
cudaError_t launch_agree_on_rcond(std::int64_t count, const SpdSolution<T>& solution, cudaStream_t stream);

/// Which systems a launch works on.
enum class SystemsToDo { all, unsettled };

/// The kernels of a row of the table (solve/table.hpp), which the batch fits: systems that are plain, with all that is
/// asked for. They mark all systems: settled, or else left to launch_general_ldlt(), with the status 0 meanwhile.
template <class T>
cudaError_t launch_pieces(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                          cudaStream_t stream);
template <class T>
cudaError_t launch_columns(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                           cudaStream_t stream);
template <class T>
cudaError_t launch_lanes(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                         cudaStream_t stream);
template <class T>
cudaError_t launch_as_stored(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                             cudaStream_t stream);
template <class T>
cudaError_t launch_one_pass(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                            cudaStream_t stream);
/// T = double.
template <class T>
cudaError_t launch_blocks(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                          cudaStream_t stream);

/// Any systems by L D L^T, with all numbers that are asked for.
template <class T>
cudaError_t launch_general_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                SystemsToDo which, cudaStream_t stream);

/// The factors, and what their pivots say.
template <class T>
cudaError_t launch_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, cudaStream_t stream);

/// Solves by factors.
template <class T>
cudaError_t launch_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                  cudaStream_t stream);

/// Whether systems of n rows are left to one kernel family, which needs no marks and knows sizes: solutions, inverses,
/// determinants and all numbers by L D L^T, whatever the method is.
constexpr bool is_wide(int n) { return n > 64; }
template <class T>
cudaError_t launch_wide_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream);
template <class T>
cudaError_t launch_wide_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, cudaStream_t stream);
template <class T>
cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                       cudaStream_t stream);

/// Inverts by L D L^T.
template <class T>
cudaError_t launch_ldlt_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                SystemsToDo which, cudaStream_t stream);

/// Inverts by the symmetric sweep, and judges the inverses where that is asked for: their backward errors and
/// reciprocal condition numbers if those are not null. If either is not, or `resolve_above` is not negative, the marks
/// say afterwards `unsettled` of those with a larger backward error than that or a bad pivot, `as_stored` of those
/// whose triangles differ, and `settled` of all others.
template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks, double resolve_above,
                         cudaStream_t stream);

/// The same by tiles of 8 x 8, which launch_sweep() takes for these n; and for 24 < n <= 32 in double precision, where
/// its errors, which grow faster with the condition than those of Gauss-Jordan, are looked at (`resolve_above`).
template <class T>
constexpr bool is_swept_in_tiles(int n) {
  return n > 32 || (sizeof(T) == sizeof(double) && n > 16 && n <= 24);
}
template <class T>
cudaError_t launch_block_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                               double resolve_above, cudaStream_t stream);

/// The same, a system for each lane, which launch_sweep() takes up to 8 rows.
cudaError_t launch_lane_sweep(const SpdBatch<float>& batch, const SpdSolution<float>& solution, Mark* marks,
                              double resolve_above, cudaStream_t stream);

/// The backward errors of inverses that are marked `as_stored`, from whose marks it is left what launch_sweep() says of
/// all others.
template <class T>
cudaError_t launch_judge_stored_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        double resolve_above, cudaStream_t stream);

/// Backward errors and reciprocal condition numbers, if they are not null, of inverses whose info is 0; NaN of all
/// others. The marks are settled afterwards.
template <class T>
cudaError_t launch_judge_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                 SystemsToDo which, cudaStream_t stream);

/// Takes what the others have left, and puts the answers of nearby matrices in place of those whose pivots lie below
/// the floor, which is not 0. `workspace`: of pivot_repair_bytes(), or null, where the matrices find room in shared
/// memory.
template <class T>
cudaError_t launch_pivot_repair(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                                std::byte* workspace, cudaStream_t stream);
std::size_t pivot_repair_bytes(int n, std::int64_t count);
/// Whether they find none on the current device.
bool pivot_repair_needs_workspace(int n);

}  // namespace smallbatch
