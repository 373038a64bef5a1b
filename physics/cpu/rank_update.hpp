// The CPU's inner loops of correlation (physics/correlation.hpp): the visibilities of some inputs with some others in
// one integration, one implementation per instruction set (rank_update_*.cpp, all from the one body in
// rank_update_body.hpp). SIMD lanes hold inputs j.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Inputs i, and inputs j, of a call.
inline constexpr std::int64_t inputs_per_call = 128;
/// Times that are summed in single precision, and then in double. No sum of so many products of int8 leaves the
/// integers that float has: 128 2^15 < 2^24.
inline constexpr std::int64_t times_per_sum = 128;

/// One channel in one integration: the inputs first_i .. with the inputs first_j .. (multiples of inputs_per_call,
/// first_j <= first_i), as many as there are up to inputs_per_call.
struct RankUpdate {
  SampleType type = SampleType::complex_float32;
  std::int64_t inputs = 0, times = 0;
  const void* signal = nullptr;        ///< (times, inputs)
  const std::uint8_t* flag = nullptr;  ///< (times, inputs); null: none is
  std::int64_t first_i = 0, first_j = 0;
  SumType sum = SumType::complex_float32;
  void* visibility = nullptr;      ///< (baselines)
  std::int32_t* weight = nullptr;  ///< (baselines); null: not wanted
};

/// What a call works in: most of it stays in the second cache.
struct RankUpdateMemory {
  AlignedVector<float> samples{AlignedVector<float>(2 * 2 * inputs_per_call * times_per_sum)};
  AlignedVector<double> totals{AlignedVector<double>(2 * inputs_per_call * inputs_per_call)};
};

/// One instruction set.
struct RankUpdateKernels {
  const char* name;  ///< "avx2"
  /// Says whether all that it computed is finite.
  bool (*update)(const RankUpdate& call, RankUpdateMemory& memory);
};

extern const RankUpdateKernels rank_update_baseline;  ///< runs everywhere
extern const RankUpdateKernels rank_update_avx2;      ///< x86-64 only
extern const RankUpdateKernels rank_update_avx512;    ///< x86-64 only

/// What this processor can run, best first; baseline is always the last.
std::vector<RankUpdateKernels> usable_rank_update_kernels();

}  // namespace smallbatch
