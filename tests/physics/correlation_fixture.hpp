// Signals, their visibilities, and true visibilities in long double, for tests over all implementations of Correlator.
#pragma once

#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/compare.hpp"
#include "physics/correlation.hpp"
#include "tests/backends.hpp"

namespace smallbatch::testing {

inline constexpr SampleType all_sample_types[] = {SampleType::complex_float32, SampleType::complex_int8,
                                                  SampleType::complex_int4};

/// A signal with samples that are set one by one.
struct Signal {
  SampleType type;
  std::int64_t channels, times, inputs, integrate;
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> flag;  // empty: no flags

  Signal(SampleType of, std::int64_t channel_count, std::int64_t time_count, std::int64_t input_count,
         std::int64_t together = 1 << 30)
      : type(of),
        channels(channel_count),
        times(time_count),
        inputs(input_count),
        integrate(together),
        bytes(static_cast<std::size_t>(channels * times * inputs * bytes_of(type))) {}

  [[nodiscard]] std::int64_t place(std::int64_t channel, std::int64_t time, std::int64_t input) const {
    return (channel * times + time) * inputs + input;
  }
  void set(std::int64_t channel, std::int64_t time, std::int64_t input, double re, double im) {
    const std::int64_t sample = place(channel, time, input);
    if (type == SampleType::complex_float32) {
      const float parts[2] = {static_cast<float>(re), static_cast<float>(im)};
      std::memcpy(&bytes[8 * sample], parts, 8);
    } else if (type == SampleType::complex_int8) {
      bytes[2 * sample] = static_cast<std::byte>(static_cast<int>(re) & 255);
      bytes[2 * sample + 1] = static_cast<std::byte>(static_cast<int>(im) & 255);
    } else {
      bytes[sample] = static_cast<std::byte>(((static_cast<int>(re) & 15) << 4) | (static_cast<int>(im) & 15));
    }
  }
  [[nodiscard]] std::complex<double> at(std::int64_t channel, std::int64_t time, std::int64_t input) const {
    const std::int64_t sample = place(channel, time, input);
    if (type == SampleType::complex_float32) {
      float parts[2];
      std::memcpy(parts, &bytes[8 * sample], 8);
      return {parts[0], parts[1]};
    }
    const auto signed_of = [](int bits, int range) { return bits >= range / 2 ? bits - range : bits; };
    if (type == SampleType::complex_int8)
      return {static_cast<double>(signed_of(std::to_integer<int>(bytes[2 * sample]), 256)),
              static_cast<double>(signed_of(std::to_integer<int>(bytes[2 * sample + 1]), 256))};
    const int both = std::to_integer<int>(bytes[sample]);
    return {static_cast<double>(signed_of(both >> 4, 16)), static_cast<double>(signed_of(both & 15, 16))};
  }
  void set_flag(std::int64_t channel, std::int64_t time, std::int64_t input, std::uint8_t value = 1) {
    flag.resize(static_cast<std::size_t>(channels * times * inputs));
    flag[place(channel, time, input)] = value;
  }
  [[nodiscard]] bool is_flagged(std::int64_t channel, std::int64_t time, std::int64_t input) const {
    return !flag.empty() && flag[place(channel, time, input)] != 0;
  }

  [[nodiscard]] SignalBatch batch() const {
    return {type, channels, times, inputs, integrate, bytes.data(), flag.empty() ? nullptr : flag.data()};
  }
};

/// Random samples over the whole range of the type; float32 in (-1, 1).
inline void fill_at_random(Signal& signal, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  const int most = signal.type == SampleType::complex_int8 ? 128 : 8;
  std::uniform_int_distribution<int> integer(-most, most - 1);
  for (std::int64_t channel = 0; channel < signal.channels; ++channel)
    for (std::int64_t time = 0; time < signal.times; ++time)
      for (std::int64_t input = 0; input < signal.inputs; ++input) {
        const bool is_float = signal.type == SampleType::complex_float32;
        const double re = is_float ? real(random) : integer(random), im = is_float ? real(random) : integer(random);
        signal.set(channel, time, input, re, im);
      }
}

/// Results of a correlator for a signal.
struct Visibilities {
  std::int64_t channels, inputs;
  SumType type;
  std::vector<std::byte> bytes;
  std::vector<std::int32_t> weight, info;

  [[nodiscard]] std::int64_t place(std::int64_t integration, std::int64_t channel, std::int64_t i,
                                   std::int64_t j) const {
    return (integration * channels + channel) * baselines_of(inputs) + baseline_of(i, j);
  }
  /// Returns V_ij. Doubles hold the integers of these tests exactly, because they are below 2^53.
  [[nodiscard]] std::complex<double> at(std::int64_t integration, std::int64_t channel, std::int64_t i,
                                        std::int64_t j) const {
    const std::int64_t baseline = place(integration, channel, i, j);
    const auto of = [&](auto zero) -> std::complex<double> {
      decltype(zero) parts[2];
      std::memcpy(parts, &bytes[baseline * sizeof(parts)], sizeof(parts));
      return {static_cast<double>(parts[0]), static_cast<double>(parts[1])};
    };
    if (type == SumType::complex_float32) return of(float{});
    return type == SumType::complex_int32 ? of(std::int32_t{}) : of(std::int64_t{});
  }
  [[nodiscard]] std::int32_t weight_at(std::int64_t integration, std::int64_t channel, std::int64_t i,
                                       std::int64_t j) const {
    return weight[place(integration, channel, i, j)];
  }
};

inline SumType sum_type_of(const Signal& signal) {
  return sum_type(signal.type, std::min(signal.integrate, signal.times));
}

inline Visibilities correlate(Correlator& correlator, const Signal& signal, SumType type) {
  const SignalBatch batch = signal.batch();
  const auto count = static_cast<std::size_t>(batch.visibilities());
  Visibilities out{signal.channels, signal.inputs, type, {}, {}, {}};
  out.bytes.assign(count * static_cast<std::size_t>(bytes_of(type)), std::byte{0xa5});
  out.weight.assign(count, -7);
  out.info.assign(static_cast<std::size_t>(signal.channels), 99);
  correlator.correlate(batch, {type, out.bytes.data(), out.weight.data(), out.info.data()});
  return out;
}
inline Visibilities correlate(Correlator& correlator, const Signal& signal) {
  return correlate(correlator, signal, sum_type_of(signal));
}

/// True sum, with the bound of physics/correlation.hpp. The sum is in long double, which holds sums of integers
/// exactly.
struct VisibilityTruth {
  long double re = 0, im = 0;
  std::int32_t weight = 0;
  double bound = 0;
};
inline VisibilityTruth truth(const Signal& signal, std::int64_t integration, std::int64_t channel, std::int64_t i,
                             std::int64_t j) {
  VisibilityTruth sum;
  long double power_i = 0, power_j = 0;
  const std::int64_t first = integration * signal.integrate, last = std::min(signal.times, first + signal.integrate);
  for (std::int64_t t = first; t < last; ++t) {
    const std::complex<long double> x = signal.at(channel, t, i), y = signal.at(channel, t, j);
    const bool is_off = signal.is_flagged(channel, t, i), other_is_off = signal.is_flagged(channel, t, j);
    if (!is_off) power_i += std::norm(x);
    if (!other_is_off) power_j += std::norm(y);
    if (is_off || other_is_off) continue;
    ++sum.weight;
    sum.re += x.real() * y.real() + x.imag() * y.imag();
    sum.im += x.imag() * y.real() - x.real() * y.imag();
  }
  sum.bound = static_cast<double>((std::min(sum.weight, 1024) + 32) * 0x1p-23L * std::sqrt(power_i * power_j) +
                                  sum.weight * 0x1p-124L);
  return sum;
}

/// Checks all results of a correlator. Integers and weights must be right to the bit, and float32 within its bound.
inline Comparison compare_with_truth(const Visibilities& got, const Signal& signal) {
  Comparison found;
  for (std::int64_t integration = 0; integration < signal.batch().integrations(); ++integration)
    for (std::int64_t channel = 0; channel < signal.channels; ++channel)
      for (std::int64_t i = 0; i < signal.inputs; ++i)
        for (std::int64_t j = 0; j <= i; ++j) {
          const VisibilityTruth expected = truth(signal, integration, channel, i, j);
          const std::complex<double> v = got.at(integration, channel, i, j);
          const double bound = signal.type == SampleType::complex_float32 ? expected.bound : 0;
          const std::int64_t place = got.place(integration, channel, i, j);
          found.add(error_over_bound(v.real(), static_cast<double>(expected.re), bound), place);
          found.add(i == j ? std::abs(v.imag()) / 0x1p-1000
                           : error_over_bound(v.imag(), static_cast<double>(expected.im), bound),
                    place);
          found.add(std::abs(got.weight_at(integration, channel, i, j) - expected.weight) * 2, place);
        }
  return found;
}

class CorrelationBackendTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!IsSkipped()) correlator_ = make_correlator(backend_);
  }
  std::unique_ptr<Correlator> correlator_;
};

}  // namespace smallbatch::testing
