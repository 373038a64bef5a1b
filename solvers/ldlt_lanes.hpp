// The cpu kernels as named objects: one table per instruction set, all compiled into every binary of a processor family
// and chosen at run time. The files that fill the tables share one body, ldlt_lanes_body.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smallbatch {

/// Systems to solve and where the results go; arrays as in SpdBatch and SpdSolution.
template <class T>
struct LdltTask {
  int n;
  int nrhs;  ///< 0 asks for the inverse
  bool packed;
  std::int64_t count;
  const T* a;
  const T* b;
  T* x;
  std::int32_t* info;
  T* backward_error;
  T* workspace;  ///< ldlt_workspace_size(...) numbers, aligned to ldlt_alignment bytes
};

template <class T>
struct LdltKernel {
  int lanes;  ///< systems that are solved together, one per SIMD lane
  void (*solve)(const LdltTask<T>& task);
};

struct LdltKernels {
  const char* name;  ///< "avx512", "avx2", "baseline"
  LdltKernel<float> float32;
  LdltKernel<double> float64;
};

inline constexpr std::size_t ldlt_alignment = 64;

/// Numbers of workspace that one thread needs.
std::size_t ldlt_workspace_size(int n, int nrhs, bool packed, int lanes);

/// What this processor can run, best first; baseline is always the last.
std::vector<LdltKernels> usable_ldlt_kernels();

extern const LdltKernels ldlt_baseline;
extern const LdltKernels ldlt_avx2;    ///< x86-64 only
extern const LdltKernels ldlt_avx512;  ///< x86-64 only

}  // namespace smallbatch
