// The host's ladder: what a user would call instead of the cpu backend, then that backend by instruction set, method
// and number of threads, all on one set of systems in host memory.
#pragma once

#include <cstdint>

namespace smallbatch {

/// x = A^-1 b by Eigen's LLT for systems with n = 32 and one right-hand side, dense, on one thread. Nothing is
/// inspected. bench/eigen_llt_baseline.cpp, compiled for the machine that it is built on.
void solve_by_eigen_llt(std::int64_t count, const float* a, const float* b, float* x);
void solve_by_eigen_llt(std::int64_t count, const double* a, const double* b, double* x);

/// Prints the ladder's tables in Markdown, in both precisions; false where a row is wrong.
bool print_solve_cpu_ladder();

}  // namespace smallbatch
