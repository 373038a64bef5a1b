// AVX-512: 16 of 32 registers hold a tile. Integers take VNNI where the processor has it.
#include <immintrin.h>

#include <type_traits>

#include "physics/cpu/rank_update.hpp"

#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#include "physics/cpu/rank_update_body.hpp"
#pragma GCC push_options
#pragma GCC target("avx512bw,avx512vnni")
#include "physics/cpu/rank_update_quads.hpp"

namespace smallbatch {

namespace {
/// (An instance of update() has the options of its template.)
bool update_quads(const RankUpdate& call, RankUpdateMemory& memory) { return update<QuadPanels>(call, memory); }
}  // namespace

}  // namespace smallbatch
#pragma GCC pop_options

namespace smallbatch {

namespace {
struct Avx512Lanes {
  typedef float Float __attribute__((vector_size(64)));
  static constexpr int rows = 8;
};

bool update_any(const RankUpdate& call, RankUpdateMemory& memory) {
  const bool has_quads = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
  if (call.type != SampleType::complex_float32 && has_quads) return update_quads(call, memory);
  return update<FloatPanels<Avx512Lanes>>(call, memory);
}
}  // namespace

constinit const RankUpdateKernels rank_update_avx512 = {"avx512", &update_any};

}  // namespace smallbatch
