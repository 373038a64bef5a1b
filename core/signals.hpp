// Signals of many inputs, and the visibilities that a correlator computes from them. These plain structs flow from file
// to correlator to verification to file. They have no behaviour beyond their own sizes.
//
// A *batch* is a view: pointers to host or device memory; the function that takes the batch says which. A *block* owns
// some channels and times of a set on the host. The room `io` fills a block, a backend computes the results,
// verification judges them, and `io` writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/aligned_allocator.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// The largest number of inputs that can be correlated. Each polarisation of an antenna is one input.
inline constexpr std::int64_t max_inputs = 4096;

/// Type of one sample of one input, a complex number.
enum class SampleType {
  complex_float32,  ///< real, imaginary
  complex_int8,     ///< real, imaginary: int8 each
  complex_int4      ///< one byte: the high half real, the low half imaginary, two's complement
};
/// Bytes of one sample.
constexpr std::int64_t bytes_of(SampleType type) {
  return type == SampleType::complex_float32 ? 8 : type == SampleType::complex_int8 ? 2 : 1;
}

/// The type of a visibility's sums: a complex number, real part first.
enum class SumType { complex_float32, complex_int32, complex_int64 };
constexpr std::int64_t bytes_of(SumType type) { return type == SumType::complex_int64 ? 16 : 8; }

/// Returns the type in which samples are summed. Sums of integers are exact. Their type is int32 if a sum of
/// `samples_per_sum` samples cannot overflow, otherwise int64. One sample adds at most 2^15 (int8) or 2^7 (int4).
constexpr SumType sum_type(SampleType sample, std::int64_t samples_per_sum) {
  if (sample == SampleType::complex_float32) return SumType::complex_float32;
  const std::int64_t most = sample == SampleType::complex_int8 ? (1 << 16) - 1 : (1 << 24) - 1;
  return samples_per_sum <= most ? SumType::complex_int32 : SumType::complex_int64;
}

/// Returns the number of baselines: all pairs i >= j, autocorrelations included.
constexpr std::int64_t baselines_of(std::int64_t inputs) { return inputs * (inputs + 1) / 2; }
/// Returns the index of baseline (i, j), i >= j.
constexpr std::int64_t baseline_of(std::int64_t i, std::int64_t j) { return i * (i + 1) / 2 + j; }
/// Returns the number of integrations of `integrate` samples each; the last integration may be shorter.
constexpr std::int64_t integrations_of(std::int64_t times, std::int64_t integrate) {
  return times == 0 ? 0 : (times - 1) / integrate + 1;
}

/// Statuses of a channel. 0: correlated. Negative: the constants below; the first that applies is stored. The constant
/// info_signal_not_finite: an unflagged sample is a NaN or an infinity. In the integration of this sample, the
/// visibilities of its input are NaN; all others are right.
inline constexpr std::int32_t info_signal_not_finite = -1;
/// A visibility of finite samples is not finite, because sum_t |x_i(t)| |x_j(t)| leaves the range of float32.
inline constexpr std::int32_t info_visibility_out_of_range = -2;

/// Returns one line for people: "correlated", "a sample is a NaN or an infinity", ...
std::string describe_correlation_info(std::int32_t info);

/// Signals of `channels` channels: signal (channels, times, inputs) of `type`, without gaps. The times are either
/// complete integrations or a part of one integration. The last integration of a signal may have fewer than `integrate`
/// samples.
struct SignalBatch {
  SampleType type = SampleType::complex_float32;
  std::int64_t channels = 0, times = 0, inputs = 0;
  std::int64_t integrate = 1;          ///< samples per integration, at least 1
  const void* signal = nullptr;        ///< (channels, times, inputs)
  const std::uint8_t* flag = nullptr;  ///< (channels, times, inputs); a sample with a flag other than 0 counts for no
                                       ///< baseline; null: no sample is flagged

  [[nodiscard]] constexpr std::int64_t samples() const { return channels * times * inputs; }
  [[nodiscard]] constexpr std::int64_t integrations() const { return integrations_of(times, integrate); }
  [[nodiscard]] constexpr std::int64_t visibilities() const { return integrations() * channels * baselines_of(inputs); }
};

/// Output of a correlation: sums, never means. `weight` is the number of samples in each sum.
struct VisibilityBatch {
  SumType type = SumType::complex_float32;  ///< sum_type() of the batch; complex_int64 may replace complex_int32
  void* visibility = nullptr;               ///< (integrations, channels, baselines)
  std::int32_t* weight = nullptr;           ///< (integrations, channels, baselines); null: not wanted
  std::int32_t* info = nullptr;             ///< (channels)
};

/// Channels [first, first + channels) and times [first_time, first_time + times) of a set, with room for their sums.
/// The times are either complete integrations or a part of one integration.
struct SignalBlock {
  SampleType type = SampleType::complex_float32;  ///< of the signal
  std::int64_t first = 0, channels = 0, first_time = 0, times = 0, inputs = 0, integrate = 1;
  AlignedVector<std::byte> signal;         ///< (channels, times, inputs)
  AlignedVector<std::uint8_t> flag;        ///< empty if no sample is flagged
  SumType sum = SumType::complex_float32;  ///< of the visibilities
  AlignedVector<std::byte> visibility;     ///< (integrations, channels, baselines)
  AlignedVector<std::int32_t> weight;      ///< (integrations, channels, baselines)
  std::vector<std::int32_t> info;          ///< (channels)

  SignalBlock() = default;
  /// Allocates the larger arrays in `memory`, which must outlive the block.
  explicit SignalBlock(std::pmr::memory_resource* memory)
      : signal(memory), flag(memory), visibility(memory), weight(memory) {}

  /// Returns a view of the input.
  [[nodiscard]] SignalBatch batch() const {
    return {type, channels, times, inputs, integrate, signal.data(), flag.empty() ? nullptr : flag.data()};
  }
  /// Returns a view of the output.
  [[nodiscard]] VisibilityBatch sums() { return {sum, visibility.data(), weight.data(), info.data()}; }
  /// Sizes the signal, and the flags if they are wanted.
  void resize_signal(bool with_flags) {
    const auto samples = static_cast<std::size_t>(channels * times * inputs);
    signal.resize(samples * static_cast<std::size_t>(bytes_of(type)));
    flag.resize(with_flags ? samples : 0);
  }
  /// Sizes the result arrays.
  void resize_sums() {
    const auto sums = static_cast<std::size_t>(batch().visibilities());
    visibility.resize(sums * static_cast<std::size_t>(bytes_of(sum)));
    weight.resize(sums);
    info.resize(static_cast<std::size_t>(channels));
  }
};

}  // namespace smallbatch
#pragma GCC visibility pop
