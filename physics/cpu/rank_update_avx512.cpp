// AVX-512: 16 of 32 registers hold a tile.
#include <type_traits>

#include "physics/cpu/rank_update.hpp"

#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#include "physics/cpu/rank_update_body.hpp"

namespace smallbatch {

namespace {
struct Avx512Lanes {
  typedef float Float __attribute__((vector_size(64)));
  static constexpr int rows = 8;
};
}  // namespace

constinit const RankUpdateKernels rank_update_avx512 = {"avx512", &update<Avx512Lanes>};

}  // namespace smallbatch
