// Makers of the backends, and the check of arguments that all of them use. Private to this room and its tests.
#pragma once

#include <cstdint>
#include <memory>

#include "solvers/cpu/kernels.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

std::unique_ptr<SpdSolver> make_cuda_spd_solver(int device, const SpdOptions& options);
std::unique_ptr<SpdSolver> make_cpu_spd_solver(unsigned threads, const LdltKernels& kernels, const SpdOptions& options);
std::unique_ptr<SpdSolver> make_reference_spd_solver(unsigned threads, const SpdOptions& options);

/// Throws Error (bad_input) if SpdSolver::solve would throw because of `shape` or `count`.
void check_spd_shape(const SpdShape& shape, std::int64_t count);
/// Throws Error (bad_input) if SpdSolver::solve would throw because of any argument.
template <class T>
void check_spd_batch(const SpdBatch<T>& batch, const SpdSolution<T>& solution);
/// Throws Error (bad_input) if SpdSolver::factor would throw.
template <class T>
void check_spd_factors(const SpdBatch<T>& batch, const SpdFactors<T>& factors);
/// Throws Error (bad_input) if SpdSolver::solve_factored would throw.
template <class T>
void check_spd_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution);

/// Returns a solution that has the pointers of `factors` to info, smallest_pivot and log_determinant, and no x.
template <class T>
SpdSolution<T> of_pivots(const SpdFactors<T>& factors) {
  SpdSolution<T> solution;
  solution.info = factors.info;
  solution.smallest_pivot = factors.smallest_pivot;
  solution.log_determinant = factors.log_determinant;
  return solution;
}

}  // namespace smallbatch
