// The launches that launch.cpp combines: one function per kernel family. Private to this room; callers use
// spd_solver.cuh.
//
// A system is plain if its triangles agree to the bit, its numbers are near 1, its pivots are positive and its answer
// is finite. Kernels for plain systems mark all others, which the general kernels then solve.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cuda/solve/table.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

/// The work that one kernel leaves to the next for a system. Marks lie in the workspace.
enum class Mark : std::uint8_t {
  settled,    ///< nothing is left to do
  unsettled,  ///< solve it again, with the general kernel of the method
  as_stored   ///< judge it by every element of A as stored, because its triangles differ
};

/// Returns whether a number that is computed from the pivots is wanted.
template <class T>
bool wants_pivot_numbers(SpdSolution<T> solution) {
  solution.backward_error = solution.rcond = nullptr;
  bool wanted = false;
  for_each_spd_number<T>([&](const auto& number) { wanted |= solution.*number.in_solution != nullptr; });
  return wanted;
}

/// Returns whether launch_spd_solve() takes batches of this shape in which each system has its own size. In all other
/// batches with sizes, the host gathers systems of equal size.
bool takes_sizes(const SpdShape& shape, const SpdOptions& options);

/// Returns whether launch_gauss_jordan_x() takes the batch and computes all numbers that are wanted.
template <class T>
bool gauss_jordan_x_takes(const SpdBatch<T>& batch, const SpdSolution<T>& solution);

/// Solves plain systems by Gauss-Jordan elimination, for x and info. Marks every system: settled, or unsettled for
/// launch_general_gauss_jordan().
template <class T>
cudaError_t launch_gauss_jordan_x(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                  cudaStream_t stream);

/// Solves plain systems by Gauss-Jordan elimination, with all wanted numbers except rcond. Marks every system: settled,
/// or unsettled for launch_general_gauss_jordan().
template <class T>
cudaError_t launch_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                cudaStream_t stream);

/// Solves systems of any kind that are marked unsettled by Gauss-Jordan elimination, with all wanted numbers except
/// rcond.
template <class T>
cudaError_t launch_general_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        cudaStream_t stream);

/// Corrects the rcond that L D L^T has found. It becomes NaN if the system is not solved. It becomes 0 if the system is
/// solved but L D L^T met a bad pivot: A is singular to working precision.
template <class T>
cudaError_t launch_agree_on_rcond(std::int64_t count, const SpdSolution<T>& solution, cudaStream_t stream);

/// The systems that a launch works on.
enum class SystemsToDo { all, unsettled };

/// Each of these functions launches the kernel of its family for `row`, a row of the table (solve/table.hpp) that fits
/// the batch. The kernel solves plain systems, with all wanted numbers. It marks every system: settled, or unsettled
/// for launch_general_ldlt(). The status of an unsettled system is 0 until then.
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
/// For T = double only.
template <class T>
cudaError_t launch_blocks(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                          cudaStream_t stream);

/// Solves systems of any kind by L D L^T, with all wanted numbers.
template <class T>
cudaError_t launch_general_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                SystemsToDo which, cudaStream_t stream);

/// Computes the factors, and the numbers that come from their pivots.
template <class T>
cudaError_t launch_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, cudaStream_t stream);

/// Solves with factors.
template <class T>
cudaError_t launch_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                  cudaStream_t stream);

/// Returns whether systems of n rows belong to the wide kernel family. This family computes solutions, inverses,
/// determinants and all numbers by L D L^T, whatever the method is. It needs no marks.
///
/// A block needs memory for the triangle. Where the current device gives a block less shared memory than that, the
/// launches need a workspace of global memory. Without it they return cudaErrorNotSupported. The byte counts are 0
/// where no workspace is needed.
constexpr bool is_wide(int n) { return n > 64; }
template <class T>
std::size_t wide_workspace_bytes(const SpdShape& shape, std::int64_t count);
template <class T>
cudaError_t launch_wide_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, void* workspace,
                             cudaStream_t stream);
template <class T>
std::size_t wide_factor_workspace_bytes(int n, std::int64_t count);
template <class T>
cudaError_t launch_wide_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, void* workspace,
                               cudaStream_t stream);
template <class T>
cudaError_t launch_wide_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                       void* workspace, cudaStream_t stream);

/// Inverts by L D L^T.
template <class T>
cudaError_t launch_ldlt_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                SystemsToDo which, cudaStream_t stream);

/// Inverts by the symmetric sweep. If `backward_error` or `rcond` is not null, it stores that number of each inverse.
/// If either is not null, or `resolve_above` is not negative, it also marks every system:
///
/// - unsettled: the backward error is above `resolve_above`, or a pivot is bad;
/// - as_stored: the triangles differ;
/// - settled: all others.
template <class T>
cudaError_t launch_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks, double resolve_above,
                         cudaStream_t stream);

/// Returns whether launch_sweep() always uses tiles of 8 x 8 for n rows. It also uses tiles for 24 < n <= 32 in double
/// precision, if errors are checked (`resolve_above`). The check is needed because the errors of tiles grow faster with
/// the condition number than those of Gauss-Jordan.
template <class T>
constexpr bool is_swept_in_tiles(int n) {
  return n > 32 || (sizeof(T) == sizeof(double) && n > 16 && n <= 24);
}
template <class T>
cudaError_t launch_block_sweep(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                               double resolve_above, cudaStream_t stream);

/// Sweeps with one lane per system; launch_sweep() uses it up to 8 rows.
cudaError_t launch_lane_sweep(const SpdBatch<float>& batch, const SpdSolution<float>& solution, Mark* marks,
                              double resolve_above, cudaStream_t stream);

/// Computes the backward errors of inverses that are marked `as_stored`. Afterwards they are marked settled or
/// unsettled, by the rule of launch_sweep().
template <class T>
cudaError_t launch_judge_stored_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                        double resolve_above, cudaStream_t stream);

/// Stores backward errors and reciprocal condition numbers of inverses, each if its pointer is not null. Inverses with
/// a status other than 0 get NaN. Afterwards the marks are settled.
template <class T>
cudaError_t launch_judge_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                 SystemsToDo which, cudaStream_t stream);

/// Replaces the answers of systems with pivots below the floor by the answers of nearby matrices. It is launched after
/// all other kernels. `pivot_floor` is not 0. `workspace` has pivot_repair_bytes() bytes; it is not used if the
/// matrices fit into shared memory.
template <class T>
cudaError_t launch_pivot_repair(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor,
                                std::byte* workspace, cudaStream_t stream);
std::size_t pivot_repair_bytes(int n, std::int64_t count);
/// Returns whether the matrices do not fit into the shared memory of the current device.
bool pivot_repair_needs_workspace(int n);

}  // namespace smallbatch
