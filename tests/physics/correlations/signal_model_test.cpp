// Generated signals follow the formula. The test correlates them in double precision.
#include "physics/correlations/signal_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

namespace smallbatch {
namespace {

SignalBlock block_of(const SignalModel& model, SampleType type, std::int64_t first, std::int64_t channels,
                     std::int64_t first_time, std::int64_t times, std::int64_t inputs) {
  SignalBlock block;
  block.type = type;
  block.first = first;
  block.channels = channels;
  block.first_time = first_time;
  block.times = times;
  block.inputs = inputs;
  block.resize_signal(false);
  make_signal(model, block);
  return block;
}

std::complex<double> sample_of(const SignalBlock& block, std::int64_t sample) {
  if (block.type == SampleType::complex_float32) {
    float parts[2];
    std::memcpy(parts, &block.signal[8 * sample], 8);
    return {parts[0], parts[1]};
  }
  if (block.type == SampleType::complex_int8)
    return {static_cast<double>(static_cast<std::int8_t>(block.signal[2 * sample])),
            static_cast<double>(static_cast<std::int8_t>(block.signal[2 * sample + 1]))};
  const int both = std::to_integer<int>(block.signal[sample]);
  return {static_cast<double>(((both >> 4) ^ 8) - 8), static_cast<double>(((both & 15) ^ 8) - 8)};
}

/// Correlates one channel.
std::complex<double> mean_visibility(const SignalBlock& block, std::int64_t i, std::int64_t j) {
  std::complex<double> sum;
  for (std::int64_t t = 0; t < block.times; ++t)
    sum += sample_of(block, t * block.inputs + i) * std::conj(sample_of(block, t * block.inputs + j));
  return sum / static_cast<double>(block.times);
}

std::complex<double> turned(double turns) { return std::polar(1.0, 2 * std::numbers::pi * turns); }

TEST(SignalModel, VisibilitiesTendToThoseOfItsSources) {
  const SignalModel model{{{2, 0.011}, {1, -0.04}}, 0.5, 100, 3, 1, 5};
  for (const std::int64_t channel : {0, 7}) {
    const SignalBlock block = block_of(model, SampleType::complex_float32, channel, 1, 0, 20000, 6);
    const double frequency = 100 + 3 * static_cast<double>(channel);
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const auto apart = static_cast<double>(i - j);
        const std::complex<double> expected =
            4.0 * turned(frequency * 0.011 * apart) + turned(-frequency * 0.04 * apart) + (i == j ? 0.25 : 0);
        // The mean of 20000 samples of power 5.25 has an error of about 5.25 / sqrt(20000).
        EXPECT_LT(std::abs(mean_visibility(block, i, j) - expected), 0.2) << i << ' ' << j;
      }
  }
}

TEST(SignalModel, AnySplitGivesTheSameSamples) {
  const SignalModel model{{{1, 0.3}}, 1, 1, 0.1, 20, 9};
  for (const SampleType type : {SampleType::complex_float32, SampleType::complex_int8, SampleType::complex_int4}) {
    const SignalBlock all = block_of(model, type, 0, 5, 0, 40, 3);
    const SignalBlock part = block_of(model, type, 2, 2, 11, 20, 3);
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t t = 0; t < 20; ++t)
        for (std::int64_t i = 0; i < 3; ++i)
          EXPECT_EQ(sample_of(part, (c * 20 + t) * 3 + i), sample_of(all, ((c + 2) * 40 + t + 11) * 3 + i));
    SignalModel other = model;
    other.seed = 10;
    EXPECT_NE(block_of(other, type, 0, 5, 0, 40, 3).signal, all.signal);
  }
}

TEST(SignalModel, IntegersAreScaledRoundedAndKeptInRange) {
  for (const auto& [type, most] : {std::pair{SampleType::complex_int8, 127.0}, {SampleType::complex_int4, 7.0}}) {
    SignalModel model{{{1, 0.3}}, 1, 1, 1, most / 4, 3};
    const SignalBlock exact = block_of(model, SampleType::complex_float32, 4, 1, 0, 500, 2);
    const SignalBlock block = block_of(model, type, 4, 1, 0, 500, 2);
    for (std::int64_t sample = 0; sample < 1000; ++sample) {
      const std::complex<double> wanted = sample_of(exact, sample), got = sample_of(block, sample);
      EXPECT_LE(std::abs(got.real() - std::clamp(wanted.real(), -most, most)), 0.5001);
      EXPECT_LE(std::abs(got.imag() - std::clamp(wanted.imag(), -most, most)), 0.5001);
    }
    model.scale = 1e9;
    const SignalBlock loud = block_of(model, type, 4, 1, 0, 500, 2);
    for (std::int64_t sample = 0; sample < 1000; ++sample) EXPECT_EQ(std::abs(sample_of(loud, sample).real()), most);
  }
}

}  // namespace
}  // namespace smallbatch
