// Reader of samples without a header, as recorders write them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/signals.hpp"

namespace smallbatch {

/// Layout that the file does not state. A sample is {real, imaginary}, little-endian, or one byte of int4 (FORMAT.md).
struct RawSamples {
  SampleType type = SampleType::complex_int8;
  std::int64_t channels = 1, inputs = 1;
  bool channels_first = false;  ///< (channel, time, input); false: (time, channel, input)
};

/// A file with samples for a whole number of times. Throws Error: missing_file if it cannot be read, bad_input if its
/// length does not fit or if it changes while it is read.
class RawSignal {
 public:
  RawSignal(const std::string& path, const RawSamples& samples);
  ~RawSignal();

  [[nodiscard]] std::int64_t times() const { return times_; }
  /// Reads times [first, first + count) of all channels, as a block without flags.
  void read(std::int64_t first, std::int64_t count, SignalBlock& block) const;

 private:
  struct Bytes;
  std::unique_ptr<Bytes> bytes_;
  RawSamples samples_;
  std::int64_t times_ = 0;
};

}  // namespace smallbatch
