// The CPU's inner loops of correlation (physics/correlation.hpp): the visibilities of some inputs with some others in
// one integration, one implementation per instruction set (rank_update_*.cpp, all from the one body in
// rank_update_body.hpp). SIMD lanes hold inputs j.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Inputs i, and inputs j, of a call.
inline constexpr std::int64_t inputs_per_call = 128;
/// Times that are summed in single precision, or in 32-bit integers, and then in double.
inline constexpr std::int64_t times_per_float_sum = 128, times_per_integer_sum = 256;

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
  AlignedVector<std::byte> samples[2] = {AlignedVector<std::byte>(inputs_per_call * times_per_integer_sum * 8),
                                         AlignedVector<std::byte>(inputs_per_call* times_per_integer_sum * 8)};
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
