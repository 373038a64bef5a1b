// The CPU's inner loops of correlation (physics/correlation.hpp): the visibilities of some inputs i with some inputs j
// in one integration. SIMD lanes hold inputs j. There is one implementation per instruction set (rank_update_*.cpp, all
// from the body in rank_update_body.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Maximum number of inputs i, and of inputs j, per call.
inline constexpr std::int64_t inputs_per_call = 128;
/// Number of times that are summed in single precision or in 32-bit integers. These sums are then added in double
/// precision.
inline constexpr std::int64_t times_per_float_sum = 128, times_per_integer_sum = 256;

/// A part of one channel in one integration: the inputs from first_i on with the inputs from first_j on. The numbers
/// first_i and first_j are multiples of inputs_per_call, and first_j <= first_i. A part has up to inputs_per_call
/// inputs i and up to inputs_per_call inputs j.
struct RankUpdate {
  SampleType type = SampleType::complex_float32;
  std::int64_t inputs = 0, times = 0;
  const void* signal = nullptr;        ///< (times, inputs)
  const std::uint8_t* flag = nullptr;  ///< (times, inputs); null: no sample is flagged
  std::int64_t first_i = 0, first_j = 0;
  SumType sum = SumType::complex_float32;
  void* visibility = nullptr;      ///< (baselines)
  std::int32_t* weight = nullptr;  ///< (baselines); null: not wanted
};

/// Working memory of a call. Most of it stays in the second-level cache.
struct RankUpdateMemory {
  AlignedVector<std::byte> samples[2] = {AlignedVector<std::byte>(inputs_per_call * times_per_integer_sum * 8),
                                         AlignedVector<std::byte>(inputs_per_call* times_per_integer_sum * 8)};
  AlignedVector<double> totals{AlignedVector<double>(2 * inputs_per_call * inputs_per_call)};
};

/// Loops of one instruction set.
struct RankUpdateKernels {
  const char* name;  ///< "avx2"
  /// Computes the visibilities of a call. Returns whether all of them are finite.
  bool (*update)(const RankUpdate& call, RankUpdateMemory& memory);
};

extern const RankUpdateKernels rank_update_baseline;  ///< runs everywhere
extern const RankUpdateKernels rank_update_avx2;      ///< x86-64 only
extern const RankUpdateKernels rank_update_avx512;    ///< x86-64 only

/// The loops that this processor can run, best first. The baseline is always last.
std::vector<RankUpdateKernels> usable_rank_update_kernels();

}  // namespace smallbatch
