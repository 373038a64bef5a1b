// Correlations, over the three implementations and all types of samples. Truths: sums by hand, known phases, and direct
// sums in long double, which are exact for integers.
#include "physics/correlation.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <string>

#include "core/error.hpp"
#include "tests/physics/correlation_fixture.hpp"

namespace smallbatch::testing {
namespace {

class CorrelationTest : public CorrelationBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, CorrelationTest, all_backends, backend_test_name);

constexpr float largest = std::numeric_limits<float>::max();

TEST_P(CorrelationTest, TwoInputsByHand) {
  for (const SampleType type : all_sample_types) {
    Signal signal(type, 1, 2, 2);
    signal.set(0, 0, 0, 1, 2);
    signal.set(0, 1, 0, 3, -1);
    signal.set(0, 0, 1, 2, -1);
    signal.set(0, 1, 1, -1, 1);
    const Visibilities v = correlate(*correlator_, signal);
    EXPECT_EQ(v.at(0, 0, 0, 0), std::complex<double>(15, 0));
    EXPECT_EQ(v.at(0, 0, 1, 0), std::complex<double>(-4, -3));  // (2-i)(1-2i) + (-1+i)(3+i)
    EXPECT_EQ(v.at(0, 0, 1, 1), std::complex<double>(7, 0));
    EXPECT_EQ(v.weight, std::vector<std::int32_t>(3, 2));
    EXPECT_EQ(v.info[0], 0);
  }
}

TEST_P(CorrelationTest, AnyNumberOfInputsAndTimes) {
  for (const SampleType type : all_sample_types)
    for (const std::int64_t inputs : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129})
      for (const std::int64_t times : {1, 2, 3, 64, 131}) {
        if (inputs > 33 && times > 3 && times < 131) continue;
        Signal signal(type, 2, times, inputs);
        fill_at_random(signal, static_cast<unsigned>(inputs + times));
        const Comparison found = compare_with_truth(correlate(*correlator_, signal), signal);
        EXPECT_TRUE(found.agree()) << inputs << " inputs, " << times << " times: " << found.worst;
      }
}

TEST_P(CorrelationTest, ManyInputs) {
  // x_i(t) = k_i m_t, so V_ij = k_i k_j sum m^2 exactly.
  constexpr std::int64_t inputs = 700, times = 5;
  Signal signal(SampleType::complex_int8, 1, times, inputs);
  const auto k = [](std::int64_t i) { return static_cast<double>(i % 23 - 11); };
  for (std::int64_t t = 0; t < times; ++t)
    for (std::int64_t i = 0; i < inputs; ++i) signal.set(0, t, i, 0, k(i) * static_cast<double>(t - 1));
  const Visibilities v = correlate(*correlator_, signal);
  for (std::int64_t i = 0; i < inputs; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      ASSERT_EQ(v.at(0, 0, i, j), std::complex<double>(k(i) * k(j) * 15)) << i << ' ' << j;
}

TEST_P(CorrelationTest, ALongIntegrationKeepsTheBound) {
  Signal signal(SampleType::complex_float32, 1, 20000, 3);
  fill_at_random(signal, 5);
  for (std::int64_t t = 0; t < signal.times; ++t)
    signal.set(0, t, 2, 1 + 1e-3 * static_cast<double>(t % 7), 2);  // the sums of this input grow steadily
  EXPECT_TRUE(compare_with_truth(correlate(*correlator_, signal), signal).agree());
}

TEST_P(CorrelationTest, PhasesAreThoseOfTheDelays) {
  // A source arrives at input i with phase p_i, so arg V_ij = p_i - p_j.
  constexpr std::int64_t inputs = 9, times = 50;
  const auto phase = [](std::int64_t i) { return 0.7 * static_cast<double>(i * i); };
  Signal signal(SampleType::complex_float32, 1, times, inputs);
  for (std::int64_t t = 0; t < times; ++t)
    for (std::int64_t i = 0; i < inputs; ++i) {
      const auto x = std::polar(2.0, 1.3 * static_cast<double>(t * t) + phase(i));
      signal.set(0, t, i, x.real(), x.imag());
    }
  const Visibilities v = correlate(*correlator_, signal);
  for (std::int64_t i = 0; i < inputs; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      EXPECT_LT(std::abs(v.at(0, 0, i, j) - std::polar(4.0 * times, phase(i) - phase(j))), 1e-3) << i << ' ' << j;
}

TEST_P(CorrelationTest, TheExtremesOfIntegers) {
  for (const SampleType type : {SampleType::complex_int8, SampleType::complex_int4}) {
    const int most = type == SampleType::complex_int8 ? 128 : 8;
    Signal signal(type, 1, 600, 5);
    for (std::int64_t t = 0; t < signal.times; ++t) {
      signal.set(0, t, 0, -most, -most);
      signal.set(0, t, 1, -most, most - 1);
      signal.set(0, t, 2, most - 1, -most);
      signal.set(0, t, 3, most - 1, most - 1);
      signal.set(0, t, 4, t % 2 == 0 ? -most : 0, t % 3 == 0 ? -most : most - 1);
    }
    EXPECT_TRUE(compare_with_truth(correlate(*correlator_, signal), signal).agree());
  }
}

TEST_P(CorrelationTest, SumsOfIntegersWidenBeforeTheyOverflow) {
  for (const std::int64_t times : {65535, 65536, 100001}) {
    Signal signal(SampleType::complex_int8, 1, times, 2);
    for (std::int64_t t = 0; t < times; ++t) {
      signal.set(0, t, 0, -128, -128);
      signal.set(0, t, 1, 0, -128);
    }
    EXPECT_EQ(sum_type_of(signal), times < 65536 ? SumType::complex_int32 : SumType::complex_int64);
    for (const SumType type : {sum_type_of(signal), SumType::complex_int64}) {
      const Visibilities v = correlate(*correlator_, signal, type);
      const auto n = static_cast<double>(times);
      EXPECT_EQ(v.at(0, 0, 0, 0), std::complex<double>(32768 * n, 0));
      EXPECT_EQ(v.at(0, 0, 1, 0), std::complex<double>(16384 * n, 16384 * n));
      EXPECT_EQ(v.weight[0], times);
    }
  }
}

TEST_P(CorrelationTest, BitsDoNotDependOnAShorterIntegrationThatFollows) {
  for (const std::int64_t inputs : {1, 2, 3, 4, 8, 70})
    for (const std::int64_t together : {24, 1000}) {
      Signal whole(SampleType::complex_float32, 2, 3 * together, inputs, together);
      Signal longer(SampleType::complex_float32, 2, 3 * together + 7, inputs, together);
      fill_at_random(longer, 5);
      for (std::int64_t c = 0; c < 2; ++c)
        for (std::int64_t t = 0; t < whole.times; ++t)
          for (std::int64_t i = 0; i < inputs; ++i) {
            const std::complex<double> x = longer.at(c, t, i);
            whole.set(c, t, i, x.real(), x.imag());
          }
      const Visibilities v = correlate(*correlator_, whole), w = correlate(*correlator_, longer);
      EXPECT_TRUE(compare_with_truth(w, longer).agree());
      for (std::int64_t k = 0; k < 3; ++k)
        for (std::int64_t c = 0; c < 2; ++c)
          for (std::int64_t i = 0; i < inputs; ++i)
            for (std::int64_t j = 0; j <= i; ++j) EXPECT_EQ(v.at(k, c, i, j), w.at(k, c, i, j)) << inputs << ' ' << i;
    }
}

TEST_P(CorrelationTest, IntegrationsOfWhichTheLastIsShorter) {
  for (const SampleType type : all_sample_types)
    for (const std::int64_t together : {1, 4, 130, 299, 300, 301}) {
      Signal signal(type, 3, 300, 6, together);
      fill_at_random(signal, static_cast<unsigned>(together));
      const Visibilities v = correlate(*correlator_, signal);
      EXPECT_TRUE(compare_with_truth(v, signal).agree()) << together;
      EXPECT_EQ(v.weight.back(), together >= 300 ? 300 : 300 % together == 0 ? together : 300 % together);
    }
}

TEST_P(CorrelationTest, FlaggedSamplesCountForNoBaselineOfTheirInput) {
  for (const SampleType type : all_sample_types)
    for (const std::int64_t inputs : {1, 5, 33, 140})
      for (const std::int64_t together : {7, 200}) {
        Signal signal(type, 2, 200, inputs, together);
        fill_at_random(signal, 3);
        std::mt19937 random(4);
        for (std::int64_t t = 0; t < signal.times; ++t)
          for (std::int64_t i = 0; i < inputs; ++i) {
            if (i % 5 == 1 || random() % 4 == 0)
              signal.set_flag(0, t, i, static_cast<std::uint8_t>(1 + random() % 255));
            // In channel 1, only input 2 is flagged, and only at the first 150 times.
            if (t < 150 && i == 2) signal.set_flag(1, t, i, 128);
          }
        const Comparison found = compare_with_truth(correlate(*correlator_, signal), signal);
        EXPECT_TRUE(found.agree()) << inputs << " inputs, " << together << " together: " << found.worst;
      }
}

TEST_P(CorrelationTest, WhereAllIsFlaggedSumsAndWeightsAreZero) {
  for (const SampleType type : all_sample_types) {
    Signal signal(type, 1, 300, 20);
    fill_at_random(signal, 3);
    for (std::int64_t t = 0; t < signal.times; ++t)
      for (std::int64_t i = 0; i < signal.inputs; ++i) signal.set_flag(0, t, i);
    const Visibilities v = correlate(*correlator_, signal);
    for (std::int64_t i = 0; i < signal.inputs; ++i)
      for (std::int64_t j = 0; j <= i; ++j) EXPECT_EQ(v.at(0, 0, i, j), std::complex<double>());
    EXPECT_EQ(v.weight, std::vector<std::int32_t>(210, 0));
    EXPECT_EQ(v.info[0], 0);
  }
}

TEST_P(CorrelationTest, ABadSampleThatIsFlaggedDoesNoHarm) {
  Signal signal(SampleType::complex_float32, 1, 140, 18);
  fill_at_random(signal, 8);
  Signal clean = signal;
  for (const auto& [t, i] : {std::pair{0, 3}, {130, 3}, {139, 17}}) {
    signal.set(0, t, i, t == 0 ? NAN : HUGE_VAL, t == 139 ? -HUGE_VAL : 1);
    signal.set_flag(0, t, i);
    clean.set_flag(0, t, i);
  }
  const Visibilities v = correlate(*correlator_, signal);
  EXPECT_EQ(v.info[0], 0);
  EXPECT_TRUE(compare_with_truth(v, clean).agree());
}

TEST_P(CorrelationTest, ABadSampleIsNamedAndHarmsItsInputAlone) {
  for (const double bad : {double{NAN}, HUGE_VAL, -HUGE_VAL})
    for (const bool in_the_imaginary_part : {false, true}) {
      Signal signal(SampleType::complex_float32, 3, 260, 19, 130);
      fill_at_random(signal, 8);
      signal.set(1, 150, 9, bad, bad);
      signal.set_flag(1, 150, 9);
      const Visibilities clean = correlate(*correlator_, signal);
      // A visibility is NaN even if the other input is 0 or flagged.
      signal.set(1, 140, 4, 0, 0);
      signal.set(1, 140, 17, in_the_imaginary_part ? 1 : bad, in_the_imaginary_part ? bad : 1);
      const Visibilities v = correlate(*correlator_, signal);
      EXPECT_EQ(v.info, (std::vector<std::int32_t>{0, info_signal_not_finite, 0}));
      EXPECT_EQ(v.weight, clean.weight);
      for (std::int64_t integration = 0; integration < 2; ++integration)
        for (std::int64_t channel = 0; channel < 3; ++channel)
          for (std::int64_t i = 0; i < 19; ++i)
            for (std::int64_t j = 0; j <= i; ++j) {
              const std::complex<double> got = v.at(integration, channel, i, j);
              if (integration == 1 && channel == 1 && (i == 17 || j == 17)) {
                EXPECT_TRUE(std::isnan(got.real()) && std::isnan(got.imag())) << i << ' ' << j;
              } else if (i != 4 && j != 4) {
                EXPECT_EQ(got, clean.at(integration, channel, i, j)) << i << ' ' << j;
              }
            }
    }
}

TEST_P(CorrelationTest, AVisibilityBeyondTheRangeIsNamed) {
  Signal signal(SampleType::complex_float32, 3, 10, 3);
  fill_at_random(signal, 8);
  for (std::int64_t t = 0; t < 10; ++t) signal.set(1, t, 2, 1e19, 1e19);
  signal.set(1, 3, 0, 1e19, 1e19);
  const Visibilities v = correlate(*correlator_, signal);
  EXPECT_EQ(v.info, (std::vector<std::int32_t>{0, info_visibility_out_of_range, 0}));
  EXPECT_FALSE(std::isfinite(v.at(0, 1, 2, 2).real()));
  EXPECT_TRUE(std::isfinite(v.at(0, 1, 1, 1).real()));
  // A bad sample takes precedence in the status.
  signal.set(1, 3, 1, NAN, 0);
  EXPECT_EQ(correlate(*correlator_, signal).info[1], info_signal_not_finite);
}

TEST_P(CorrelationTest, TheWholeRangeOfFloatsIsUsed) {
  Signal signal(SampleType::complex_float32, 2, 30, 4);
  for (std::int64_t t = 0; t < 30; ++t)
    for (std::int64_t i = 0; i < 4; ++i) {
      signal.set(0, t, i, 6e17 * static_cast<double>(i + 1 - t % 3), 1e17);  // nearly overflows
      signal.set(1, t, i, 3e-23 * static_cast<double>(i + 1),
                 -1e-23 * static_cast<double>(t % 5));  // products are below 2^-126
    }
  const Visibilities v = correlate(*correlator_, signal);
  EXPECT_TRUE(compare_with_truth(v, signal).agree());
  EXPECT_EQ(v.info, std::vector<std::int32_t>(2, 0));
  EXPECT_GT(v.at(0, 0, 3, 3).real(), 0.1 * largest);
}

TEST_P(CorrelationTest, NoTimesAndNoChannels) {
  for (const SampleType type : all_sample_types) {
    Signal no_times(type, 3, 0, 4, 10);
    EXPECT_EQ(correlate(*correlator_, no_times).info, std::vector<std::int32_t>(3, 0));
    Signal no_channels(type, 0, 10, 4, 10);
    EXPECT_TRUE(correlate(*correlator_, no_channels).info.empty());
  }
}

TEST_P(CorrelationTest, WeightsNeedNotBeWanted) {
  Signal signal(SampleType::complex_float32, 2, 20, 5);
  fill_at_random(signal, 1);
  signal.set_flag(0, 3, 3);
  const Visibilities all = correlate(*correlator_, signal);
  Visibilities v = all;
  std::fill(v.bytes.begin(), v.bytes.end(), std::byte{});
  correlator_->correlate(signal.batch(), {v.type, v.bytes.data(), nullptr, v.info.data()});
  EXPECT_EQ(v.bytes, all.bytes);
}

TEST_P(CorrelationTest, BitsOfAChannelDoNotDependOnItsNeighbours) {
  for (const SampleType type : all_sample_types)
    for (const std::int64_t inputs : {3, 20, 130}) {
      Signal signal(type, 5, 333, inputs, 150);
      fill_at_random(signal, 11);
      signal.set_flag(2, 7, 1);
      signal.set_flag(3, 8, 0);
      const Visibilities all = correlate(*correlator_, signal);
      for (const std::int64_t channel : {0, 2, 4}) {
        Signal alone(type, 1, 333, inputs, 150);
        const auto bytes = static_cast<std::int64_t>(alone.bytes.size());
        std::copy_n(signal.bytes.begin() + channel * bytes, bytes, alone.bytes.begin());
        alone.flag.assign(signal.flag.begin() + channel * 333 * inputs,
                          signal.flag.begin() + (channel + 1) * 333 * inputs);
        if (channel != 2) alone.flag.clear();  // equivalent to flags that are all 0
        const Visibilities one = correlate(*correlator_, alone);
        const std::int64_t size = baselines_of(inputs) * bytes_of(one.type);
        for (std::int64_t integration = 0; integration < 3; ++integration)
          EXPECT_EQ(std::memcmp(&one.bytes[integration * size], &all.bytes[(integration * 5 + channel) * size],
                                static_cast<std::size_t>(size)),
                    0)
              << channel << ' ' << integration;
      }
    }
}

TEST(CorrelationThreads, DoNotChangeBits) {
  for (const BackendKind kind : {BackendKind::cpu, BackendKind::reference}) {
    Signal signal(SampleType::complex_float32, 7, 300, 150, 110);
    fill_at_random(signal, 2);
    const Visibilities one = correlate(*make_correlator(backend_under_test(kind, 1)), signal);
    const Visibilities many = correlate(*make_correlator(backend_under_test(kind, 5)), signal);
    EXPECT_EQ(one.bytes, many.bytes);
    EXPECT_EQ(one.weight, many.weight);
  }
}

TEST_P(CorrelationTest, WrongCallsAreRefusedWithTheirNumbers) {
  const auto refused = [&](const Signal& signal, SumType type, const std::string& word) {
    Visibilities v{1, 1, type, std::vector<std::byte>(64), std::vector<std::int32_t>(8), std::vector<std::int32_t>(8)};
    try {
      correlator_->correlate(signal.batch(), {type, v.bytes.data(), v.weight.data(), v.info.data()});
      ADD_FAILURE() << "no exception for " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  using enum SampleType;
  refused(Signal(complex_float32, 1, 1, 0), SumType::complex_float32, "0");
  refused(Signal(complex_int8, 0, 1, 4097), SumType::complex_int32, "4097");
  refused(Signal(complex_int8, 1, 1, 1, 0), SumType::complex_int32, "too few samples");
  refused(Signal(complex_int8, 0, std::int64_t{1} << 31, 1, std::int64_t{1} << 40), SumType::complex_int64,
          "2147483648");
  refused(Signal(complex_int8, 1, 1, 1), SumType::complex_float32, "type of the sums");
  refused(Signal(complex_float32, 1, 1, 1), SumType::complex_int64, "type of the sums");
  refused(Signal(complex_int8, 0, 65536, 1), SumType::complex_int32, "65536 samples");
}

TEST(MeansOfSums, AreOverTheWeightsAndRoundedOnce) {
  const std::int32_t weight[] = {3, 0, 1};
  const float sums[] = {1, -2, 0, 0, 5, 0};
  float means[6];
  means_of(SumType::complex_float32, sums, weight, 3, means);
  EXPECT_EQ(means[0], static_cast<float>(1.0 / 3));
  EXPECT_EQ(means[1], static_cast<float>(-2.0 / 3));
  EXPECT_TRUE(std::isnan(means[2]) && std::isnan(means[3]));
  EXPECT_EQ(means[4], 5);

  const std::int32_t integers[] = {(1 << 24) + 1, 7, 0, 0, 2147450880, -2147450880};
  const std::int32_t weights[] = {1, 0, 65535};
  means_of(SumType::complex_int32, integers, weights, 3, means);
  EXPECT_EQ(means[0], 0x1p24F);
  EXPECT_EQ(means[1], 7);
  EXPECT_TRUE(std::isnan(means[2]));
  EXPECT_EQ(means[4], 32768);
  EXPECT_EQ(means[5], -32768);

  // Means may overwrite the sums.
  std::int64_t wide[] = {std::int64_t{1} << 40, 3, -(std::int64_t{1} << 41), 1};
  const std::int32_t wide_weights[] = {1 << 20, 2};
  means_of(SumType::complex_int64, wide, wide_weights, 2, reinterpret_cast<float*>(wide));
  std::memcpy(means, wide, 16);
  EXPECT_EQ(means[0], 0x1p20F);
  EXPECT_EQ(means[1], static_cast<float>(3 / 0x1p20));
  EXPECT_EQ(means[2], -0x1p40F);
  EXPECT_EQ(means[3], 0.5F);
}

}  // namespace
}  // namespace smallbatch::testing
