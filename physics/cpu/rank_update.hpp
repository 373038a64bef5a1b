// The CPU's inner loop of correlation (physics/correlation.hpp), one implementation per instruction set
// (rank_update_*.cpp, all from the one body in rank_update_body.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace smallbatch {

/// One instruction set.
struct RankUpdateKernels {
  const char* name;  ///< "avx2"
};

extern const RankUpdateKernels rank_update_baseline;  ///< runs everywhere
extern const RankUpdateKernels rank_update_avx2;      ///< x86-64 only
extern const RankUpdateKernels rank_update_avx512;    ///< x86-64 only

/// What this processor can run, best first; baseline is always the last.
std::vector<RankUpdateKernels> usable_rank_update_kernels();

}  // namespace smallbatch
