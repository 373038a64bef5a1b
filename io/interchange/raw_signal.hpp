// Samples one after the other, without a header, as recorders leave them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/signals.hpp"

namespace smallbatch {

/// What such a file does not say. A sample is {real, imaginary}, little-endian, or a byte as FORMAT.md has it (int4).
struct RawSamples {
  SampleType type = SampleType::complex_int8;
  std::int64_t channels = 1, inputs = 1;
  bool channels_first = false;  ///< (channel, time, input); false: (time, channel, input)
};

/// A file of whole times. Throws Error: missing_file where it cannot be read, bad_input where it has other bytes, or
/// changes while it is read.
class RawSignal {
 public:
  RawSignal(const std::string& path, const RawSamples& samples);
  ~RawSignal();

  [[nodiscard]] std::int64_t times() const { return times_; }
  /// Times [first, first + count) of all channels, as a block of no flags.
  void read(std::int64_t first, std::int64_t count, SignalBlock& block) const;

 private:
  struct Bytes;
  std::unique_ptr<Bytes> bytes_;
  RawSamples samples_;
  std::int64_t times_ = 0;
};

}  // namespace smallbatch
