#include "physics/correlations/signal_model.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "physics/hashed_numbers.hpp"

namespace smallbatch {

namespace {

/// Returns the sum of four uniform numbers of 16 bits, scaled: mean 0, mean square 1/2, and bell-shaped.
double bell_shaped(std::uint64_t bits) {
  double sum = -2 * 65535.0;
  for (int shift = 0; shift < 64; shift += 16) sum += static_cast<double>((bits >> shift) & 0xffffU);
  return sum * (1.2247448713915890 / 65536);  // sqrt(3/2)
}

std::complex<double> number_at(const HashedStream& stream, std::int64_t index) {
  return {bell_shaped(stream.bits(2 * index)), bell_shaped(stream.bits(2 * index + 1))};
}

int rounded(double value, int most) {
  return static_cast<int>(std::lround(std::clamp(value, -1.0 * most, 1.0 * most)));
}

void set(SampleType type, std::byte* signal, std::int64_t sample, std::complex<double> x) {
  std::byte* const to = signal + sample * bytes_of(type);
  if (type == SampleType::complex_float32) {
    const float parts[] = {static_cast<float>(x.real()), static_cast<float>(x.imag())};
    std::memcpy(to, parts, sizeof(parts));
  } else if (type == SampleType::complex_int8) {
    to[0] = static_cast<std::byte>(rounded(x.real(), 127));
    to[1] = static_cast<std::byte>(rounded(x.imag(), 127));
  } else {
    to[0] = static_cast<std::byte>((rounded(x.real(), 7) * 16) | (rounded(x.imag(), 7) & 15));
  }
}

}  // namespace

void make_signal(const SignalModel& model, SignalBlock& block) {
  const std::size_t sources = model.sources.size(), inputs = static_cast<std::size_t>(block.inputs);
  std::vector<std::complex<double>> response(sources * inputs), x(inputs);
  for (std::int64_t c = 0; c < block.channels; ++c) {
    const std::int64_t channel = block.first + c;
    const double frequency = model.first_frequency + static_cast<double>(channel) * model.channel_width;
    for (std::size_t s = 0; s < sources; ++s)
      for (std::size_t i = 0; i < inputs; ++i) {
        const double turns = frequency * model.sources[s].delay * static_cast<double>(i);
        response[s * inputs + i] =
            std::polar(model.scale * model.sources[s].amplitude, 2 * std::numbers::pi * (turns - std::round(turns)));
      }
    const HashedStream noise(model.seed, channel, 0);
    for (std::int64_t t = 0; t < block.times; ++t) {
      const std::int64_t time = block.first_time + t;
      for (std::size_t i = 0; i < inputs; ++i)
        x[i] = model.scale * model.noise * number_at(noise, time * max_inputs + static_cast<std::int64_t>(i));
      for (std::size_t s = 0; s < sources; ++s) {
        const std::complex<double> sent = number_at(HashedStream(model.seed, channel, s + 1), time);
        for (std::size_t i = 0; i < inputs; ++i) x[i] += sent * response[s * inputs + i];
      }
      for (std::size_t i = 0; i < inputs; ++i)
        set(block.type, block.signal.data(), (c * block.times + t) * block.inputs + static_cast<std::int64_t>(i), x[i]);
    }
  }
}

}  // namespace smallbatch
