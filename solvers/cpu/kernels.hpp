// The cpu kernels as named objects: one table per instruction set. Every binary for a processor family contains all
// tables; the choice is made at run time. The files that fill the tables share one body, kernels_body.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/systems.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

/// Systems to solve and arrays for the results, with all strides and the method resolved.
template <class T>
struct LdltTask {
  int n;
  int nrhs;
  bool inverse;  ///< A^-1 is the solution; nrhs is then 0, as for the determinant alone
  Storage storage;
  SpdMethod method;  ///< never automatic
  std::int64_t count;
  const T* a;
  const T* b;
  std::int64_t a_step, b_step;
  SpdSolution<T> solution;  ///< with its stride resolved
  void* workspace;          ///< workspace_size(task) bytes, aligned to ldlt_alignment
  T* factors = nullptr;     ///< packed factors of A as output; there is then no x
  std::int64_t factors_step = 0;
  const std::int32_t* factors_info = nullptr;  ///< statuses of factors as input; `a` then holds the factors
  std::int64_t factors_info_step = 0;
};

template <class T>
struct LdltKernel {
  int lanes;  ///< systems that are solved together, one per SIMD lane
  std::size_t (*workspace_size)(const LdltTask<T>& task);
  void (*solve)(const LdltTask<T>& task);
  void (*factor)(const LdltTask<T>& task);
  void (*solve_factored)(const LdltTask<T>& task);
};

struct LdltKernels {
  const char* name;  ///< "avx512", "avx2" or "baseline"
  LdltKernel<float> float32;
  LdltKernel<double> float64;
};

inline constexpr std::size_t ldlt_alignment = 64;

extern const LdltKernels ldlt_baseline;
extern const LdltKernels ldlt_avx2;    ///< x86-64 only
extern const LdltKernels ldlt_avx512;  ///< x86-64 only

/// Returns the tables that this processor can run, best first and baseline last.
std::vector<LdltKernels> usable_ldlt_kernels();

}  // namespace smallbatch
