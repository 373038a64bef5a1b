// Correlation through the C interface, against sums of whole numbers that are written out here.
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/c/places.hpp"

namespace smallbatch::testing {

class Correlations : public PlaceTest {
 protected:
  static constexpr std::int64_t channels = 2, times = 7, inputs = 3, integrate = 3, integrations = 3, baselines = 6;
  static constexpr std::size_t samples = channels * times * inputs;

  /// Correlates `signal`, and compares the results with exact sums of `values`. Both hold the same small whole numbers.
  template <class Sample, class Sum>
  void check(smallbatch_sample_type type, const std::vector<Sample>& signal,
             const std::vector<std::complex<double>>& values, bool has_flags) {
    std::vector<std::uint8_t> flags(samples);
    for (std::size_t s = 0; s < samples; ++s) flags[s] = has_flags && s % 5 == 2;
    Array<Sample> signal_array = array(signal);
    Array<std::uint8_t> flag_array = array(flags);
    Array<Sum> visibility = array(std::vector<Sum>(2 * integrations * channels * baselines, -77));
    Array<std::int32_t> weight = array(std::vector<std::int32_t>(integrations * channels * baselines, -77));
    Array<std::int32_t> info = array<std::int32_t>({-99, -99});
    smallbatch_signals signals;
    smallbatch_signals_init(&signals, memory(), type, channels, times, inputs);
    signals.signal = signal_array.there();
    if (has_flags) signals.flag = flag_array.there();
    signals.integrate = integrate;
    smallbatch_visibilities visibilities;
    smallbatch_visibilities_init(&visibilities, &signals);
    visibilities.visibility = visibility.there();
    visibilities.weight = weight.there();
    visibilities.info = info.there();
    with_workspace(
        [&](std::size_t* bytes) { return smallbatch_correlate_workspace(handle_, &signals, &visibilities, bytes); },
        [&](void* workspace, std::size_t bytes) {
          return smallbatch_correlate(handle_, &signals, &visibilities, workspace, bytes);
        });
    if (HasFatalFailure()) return;
    EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 0}));
    for (std::int64_t m = 0; m < integrations; ++m)
      for (std::int64_t channel = 0; channel < channels; ++channel)
        for (std::int64_t i = 0; i < inputs; ++i)
          for (std::int64_t j = 0; j <= i; ++j) {
            std::complex<double> sum = 0;
            std::int32_t terms = 0;
            for (std::int64_t t = m * integrate; t < std::min(times, (m + 1) * integrate); ++t) {
              const std::int64_t row = (channel * times + t) * inputs;
              if (flags[row + i] != 0 || flags[row + j] != 0) continue;
              sum += values[row + i] * std::conj(values[row + j]);
              ++terms;
            }
            const std::int64_t place = (m * channels + channel) * baselines + i * (i + 1) / 2 + j;
            EXPECT_EQ(visibility.back()[2 * place], static_cast<Sum>(sum.real())) << place;
            EXPECT_EQ(visibility.back()[2 * place + 1], static_cast<Sum>(sum.imag())) << place;
            EXPECT_EQ(weight.back()[place], terms) << place;
          }
  }

  static std::vector<std::complex<double>> whole_numbers() {
    std::mt19937 random(6);
    std::vector<std::complex<double>> values;
    for (std::size_t s = 0; s < samples; ++s) {
      const auto part = [&random] { return static_cast<double>(static_cast<int>(random() % 15) - 7); };
      const double real = part(), imaginary = part();
      values.emplace_back(real, imaginary);
    }
    return values;
  }
};

TEST_P(Correlations, OfEveryTypeOfSamplesAreTheSums) {
  const std::vector<std::complex<double>> values = whole_numbers();
  std::vector<float> floats;
  std::vector<std::int8_t> bytes;
  std::vector<std::uint8_t> halves;
  for (const std::complex<double>& value : values) {
    floats.insert(floats.end(), {static_cast<float>(value.real()), static_cast<float>(value.imag())});
    bytes.insert(bytes.end(), {static_cast<std::int8_t>(value.real()), static_cast<std::int8_t>(value.imag())});
    halves.push_back(
        static_cast<std::uint8_t>((static_cast<int>(value.real()) & 15) << 4 | (static_cast<int>(value.imag()) & 15)));
  }
  for (const bool has_flags : {false, true}) {
    check<float, float>(SMALLBATCH_SAMPLE_FLOAT32, floats, values, has_flags);
    check<std::int8_t, std::int32_t>(SMALLBATCH_SAMPLE_INT8, bytes, values, has_flags);
    check<std::uint8_t, std::int32_t>(SMALLBATCH_SAMPLE_INT4, halves, values, has_flags);
  }
}

TEST(SumType, IsThatWhichHoldsTheSum) {
  EXPECT_EQ(smallbatch_sum_type_of(SMALLBATCH_SAMPLE_FLOAT32, 1 << 30), SMALLBATCH_SUM_FLOAT32);
  // The largest product is 2 * 128^2 = 2^15, and int32 ends at 2^31 - 1.
  EXPECT_EQ(smallbatch_sum_type_of(SMALLBATCH_SAMPLE_INT8, (1 << 16) - 1), SMALLBATCH_SUM_INT32);
  EXPECT_EQ(smallbatch_sum_type_of(SMALLBATCH_SAMPLE_INT8, 1 << 16), SMALLBATCH_SUM_INT64);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Correlations, all_places, place_test_name);

}  // namespace smallbatch::testing
