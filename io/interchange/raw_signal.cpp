#include "io/interchange/raw_signal.hpp"

#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

struct RawSignal::Bytes {
  explicit Bytes(const std::string& name) : path(name), file(name) {}

  void read(std::int64_t address, std::int64_t size, std::byte* into) {
    const Extent extent{static_cast<std::uint64_t>(address), static_cast<std::uint64_t>(size)};
    if (file.read(extent, into)) return;
    throw Error(file.kind(), "cannot use " + path, file.why(), file.remedy());
  }

  std::string path;
  InputBytes file;
};

RawSignal::RawSignal(const std::string& path, const RawSamples& samples)
    : bytes_(std::make_unique<Bytes>(path)), samples_(samples) {
  const auto size = static_cast<std::int64_t>(bytes_->file.size());
  const std::int64_t of_time = bytes_of(samples.type) * samples.channels * samples.inputs;
  times_ = size / of_time;
  if (size % of_time != 0) {
    throw Error(ErrorKind::bad_input, "cannot use " + path,
                "it has " + std::to_string(size) + " bytes, no multiple of the " + std::to_string(of_time) +
                    " bytes of one time of " + std::to_string(samples.channels) + " channels and " +
                    std::to_string(samples.inputs) + " inputs",
                "Correct the numbers of channels and inputs, or the type of samples.");
  }
}

RawSignal::~RawSignal() = default;

void RawSignal::read(std::int64_t first, std::int64_t count, SignalBlock& block) const {
  const std::int64_t of_inputs = bytes_of(samples_.type) * samples_.inputs;
  block.type = samples_.type;
  block.first = 0;
  block.channels = samples_.channels;
  block.first_time = first;
  block.times = count;
  block.inputs = samples_.inputs;
  block.resize_signal(false);
  std::byte* const signal = block.signal.data();
  if (samples_.channels_first) {
    for (std::int64_t c = 0; c < samples_.channels; ++c) {
      bytes_->read((c * times_ + first) * of_inputs, count * of_inputs, signal + c * count * of_inputs);
    }
  } else {
    std::vector<std::byte> rows(block.signal.size());
    bytes_->read(first * samples_.channels * of_inputs, static_cast<std::int64_t>(rows.size()), rows.data());
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t c = 0; c < samples_.channels; ++c) {
        std::memcpy(signal + (c * count + t) * of_inputs, rows.data() + (t * samples_.channels + c) * of_inputs,
                    static_cast<std::size_t>(of_inputs));
      }
    }
  }
  if (bytes_->file.check_unchanged()) return;
  throw Error(bytes_->file.kind(), "cannot use " + bytes_->path, bytes_->file.why(), bytes_->file.remedy());
}

}  // namespace smallbatch
