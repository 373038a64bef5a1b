// The loops for AVX2 and FMA: 8 of 16 registers hold a tile.
#include <type_traits>

#include "physics/correlations/cpu/rank_update.hpp"

#pragma GCC target("avx2,fma")
#include "physics/correlations/cpu/rank_update_floats.hpp"

namespace smallbatch {

namespace {
struct Avx2Lanes {
  typedef float Float __attribute__((vector_size(32)));
  static constexpr int rows = 4;
};
}  // namespace

constinit const RankUpdateKernels rank_update_avx2 = {"avx2", &update_by_floats<Avx2Lanes>};

}  // namespace smallbatch
