// The loops for AVX-512: 16 of 32 registers hold a tile. Integers use VNNI if the processor has it.
#include <immintrin.h>

#include <type_traits>

#include "core/usable_kernels.hpp"
#include "physics/correlations/cpu/rank_update.hpp"

#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#include "physics/correlations/cpu/rank_update_floats.hpp"
#pragma GCC push_options
#pragma GCC target("avx512bw,avx512vnni")
#include "physics/correlations/cpu/rank_update_quads.hpp"
#pragma GCC pop_options

namespace smallbatch {

namespace {
struct Avx512Lanes {
  typedef float Float __attribute__((vector_size(64)));
  static constexpr int rows = 8;
};

bool update_any(const RankUpdate& call, RankUpdateMemory& memory) {
  const bool of_integers = call.type != SampleType::complex_float32;
  if (of_integers && processor_has_avx512_vnni() && !is_folded<Avx512Lanes>(call))
    return update<QuadPanels>(call, memory);
  return update_by_floats<Avx512Lanes>(call, memory);
}
}  // namespace

constinit const RankUpdateKernels rank_update_avx512 = {"avx512", &update_any};

}  // namespace smallbatch
