// The loops for vectors of 16 bytes (SSE2, NEON, or the compiler's substitute).
#include "physics/correlations/cpu/rank_update_floats.hpp"

namespace smallbatch {

namespace {
struct BaselineLanes {
  typedef float Float __attribute__((vector_size(16)));
  static constexpr int rows = 4;
};
}  // namespace

constinit const RankUpdateKernels rank_update_baseline = {"baseline", &update_by_floats<BaselineLanes>};

}  // namespace smallbatch
