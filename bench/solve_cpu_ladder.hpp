// The host's ladder (bench/ladder.hpp) of solves. Row 0 is a library that a user could call instead. The other rows are
// the cpu backend by instruction set, method and number of threads. All rows solve one set of systems in host memory.
#pragma once

#include <cstdint>

namespace smallbatch {

/// Computes x = A^-1 b by Eigen's LLT for dense systems with n = 32 and one right-hand side, on one thread, without
/// inspection. The file bench/eigen_llt_baseline.cpp is compiled for the machine it is built on.
void solve_by_eigen_llt(std::int64_t count, const float* a, const float* b, float* x);
void solve_by_eigen_llt(std::int64_t count, const double* a, const double* b, double* x);

/// Prints the ladder's tables in Markdown, in both precisions. Returns false if a row is wrong.
bool print_solve_cpu_ladder();

}  // namespace smallbatch
