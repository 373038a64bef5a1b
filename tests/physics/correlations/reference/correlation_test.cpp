// The referee of correlations accepts right answers, computed in long double, and rejects wrong answers.
#include "physics/correlations/referee.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "tests/physics/correlation_fixture.hpp"

namespace smallbatch::testing {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t inputs = 6, baselines = baselines_of(inputs), times = 700;

/// A right answer for channel 1 and integration 0, which tests may spoil. It has the weights of all baselines, and the
/// real and imaginary parts of their visibilities.
struct CorrelationAnswer {
  SumType type;
  bool are_means;
  std::vector<double> part;
  std::vector<std::int32_t> weight;

  CorrelationAnswer(const Signal& signal, bool means) : type(sum_type_of(signal)), are_means(means) {
    for (std::int64_t i = 0; i < inputs; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const VisibilityTruth sum = truth(signal, 0, 1, i, j);
        const long double over = means ? sum.weight : 1;
        part.push_back(static_cast<double>(sum.re / over));
        part.push_back(static_cast<double>(sum.im / over));
        weight.push_back(sum.weight);
      }
  }

  Comparison judged_by(const CorrelationReferee& referee) const {
    const auto compare = [&](auto zero) {
      std::vector<decltype(zero)> stored;
      for (const double number : part) stored.push_back(static_cast<decltype(zero)>(number));
      return referee.compare({type, stored.data(), weight.data(), are_means});
    };
    if (type == SumType::complex_float32 || are_means) return compare(float{});
    return type == SumType::complex_int32 ? compare(std::int32_t{}) : compare(std::int64_t{});
  }
};

Signal flagged_signal(SampleType type) {
  Signal signal(type, 2, times, inputs);
  fill_at_random(signal, 21);
  for (std::int64_t t = 0; t < times; ++t) {
    if (t % 3 == 1) signal.set_flag(1, t, 2);
    if (t % 5 != 1) signal.set_flag(1, t, 4, 7);
    signal.set_flag(1, t, 5);
  }
  return signal;
}

CorrelationReferee referee_of(const Signal& signal, std::vector<std::int64_t> listed = {}) {
  CorrelationReferee referee(signal.type, inputs, std::move(listed));
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 300}, {301, 0}, {301, 399}})
    referee.add(signal.batch(), 1, first, count);
  return referee;
}

TEST(CorrelationReferee, AcceptsRightAnswersInPiecesOfTime) {
  for (const SampleType type : all_sample_types)
    for (const bool means : {false, true}) {
      const Signal signal = flagged_signal(type);
      const CorrelationAnswer right(signal, means);
      const Comparison all = right.judged_by(referee_of(signal));
      EXPECT_EQ(all.compared, baselines);
      EXPECT_TRUE(all.agree()) << all.worst << " at " << all.worst_index;
      EXPECT_FALSE(referee_of(signal).has_bad_sample());
      const Comparison some = right.judged_by(referee_of(signal, {0, 4, 7, 20}));
      EXPECT_EQ(some.compared, 4);
      EXPECT_TRUE(some.agree()) << some.worst << " at " << some.worst_index;
    }
}

TEST(CorrelationReferee, PutsTimesThatSeveralWereToldTogether) {
  for (const SampleType type : all_sample_types)
    for (const std::vector<std::int64_t>& listed : {std::vector<std::int64_t>{}, {0, 4, 7, 20}}) {
      Signal signal = flagged_signal(type);
      const auto told = [&](std::int64_t first, std::int64_t count) {
        CorrelationReferee referee(signal.type, inputs, listed);
        referee.add(signal.batch(), 1, first, count);
        return referee;
      };
      CorrelationReferee referee = told(0, 123);
      referee.merge(told(500, 200));
      EXPECT_FALSE(CorrelationAnswer(signal, false).judged_by(referee).agree());
      referee.merge(told(123, 377));
      referee.merge(told(700, 0));
      EXPECT_TRUE(CorrelationAnswer(signal, false).judged_by(referee).agree());
      if (type != SampleType::complex_float32) continue;
      signal.set(1, 600, 0, NAN, 0);
      CorrelationReferee spoilt = told(0, 500);
      EXPECT_FALSE(spoilt.has_bad_sample());
      spoilt.merge(told(500, 200));
      EXPECT_TRUE(spoilt.has_bad_sample());
    }
}

TEST(CorrelationReferee, RefusesWrongAnswers) {
  const std::int64_t v_31 = baseline_of(3, 1), v_30 = baseline_of(3, 0), auto_3 = baseline_of(3, 3);
  const std::pair<const char*, std::function<void(CorrelationAnswer&)>> mistakes[] = {
      {"a NaN", [&](CorrelationAnswer& a) { a.part[2 * v_31] = NAN; }},
      {"an infinite", [&](CorrelationAnswer& a) { a.part[2 * v_31 + 1] = infinite; }},
      {"a flipped sign", [&](CorrelationAnswer& a) { a.part[2 * v_31] *= -1; }},
      {"its conjugate", [&](CorrelationAnswer& a) { a.part[2 * v_31 + 1] *= -1; }},
      {"two swapped baselines",
       [&](CorrelationAnswer& a) {
         for (int part = 0; part < 2; ++part) std::swap(a.part[2 * v_31 + part], a.part[2 * v_30 + part]);
       }},
      {"an auto that is not real", [&](CorrelationAnswer& a) { a.part[2 * auto_3 + 1] = 1e-6; }},
      {"a weight off by one", [&](CorrelationAnswer& a) { --a.weight[v_31]; }},
      {"twice the bound",
       [&](CorrelationAnswer& a) {
         const double bound = truth(flagged_signal(SampleType::complex_float32), 0, 1, 3, 1).bound;
         a.part[2 * v_31] += 2 * bound / (a.are_means ? times : 1);
       }},
      {"zero", [&](CorrelationAnswer& a) { a.part[2 * v_31] = a.part[2 * v_31 + 1] = 0; }}};
  const Signal signal = flagged_signal(SampleType::complex_float32);
  const CorrelationReferee of_all = referee_of(signal), of_some = referee_of(signal, {2, v_30, v_31, auto_3});
  for (const bool means : {false, true})
    for (const auto& [name, make] : mistakes) {
      CorrelationAnswer wrong(signal, means);
      make(wrong);
      EXPECT_FALSE(wrong.judged_by(of_all).agree()) << name << (means ? " of means" : "");
      EXPECT_FALSE(wrong.judged_by(of_some).agree()) << name << (means ? " of means" : "");
    }
}

TEST(CorrelationReferee, RefusesIntegersThatAreOffByOne) {
  for (const SampleType type : {SampleType::complex_int8, SampleType::complex_int4})
    for (const std::int64_t place : {std::int64_t{0}, 2 * baseline_of(3, 1), 2 * baseline_of(3, 1) + 1}) {
      const Signal signal = flagged_signal(type);
      CorrelationAnswer wrong(signal, false);
      wrong.part[place] += 1;
      const Comparison found = wrong.judged_by(referee_of(signal));
      EXPECT_EQ(found.disagreeing, 1);
      EXPECT_EQ(found.worst_index, place / 2);
      wrong.type = SumType::complex_int64;
      EXPECT_FALSE(wrong.judged_by(referee_of(signal)).agree());
      wrong.part[place] -= 1;
      EXPECT_TRUE(wrong.judged_by(referee_of(signal)).agree());

      CorrelationAnswer mean(signal, true);
      mean.part[place] = std::nextafterf(static_cast<float>(mean.part[place]), 1e9F);
      EXPECT_EQ(mean.judged_by(referee_of(signal)).disagreeing, 1);
    }
}

TEST(CorrelationReferee, WithoutSamplesASumIsZeroAndAMeanNone) {
  for (const SampleType type : all_sample_types) {
    const Signal signal = flagged_signal(type);  // input 5 is flagged throughout
    for (const bool means : {false, true}) {
      CorrelationAnswer wrong(signal, means);
      EXPECT_EQ(wrong.weight[baseline_of(5, 2)], 0);
      wrong.part[2 * baseline_of(5, 2)] = means ? 0 : 1;
      EXPECT_EQ(wrong.judged_by(referee_of(signal)).disagreeing, 1);
    }
  }
}

TEST(CorrelationReferee, VisibilitiesOfABadSampleAreNone) {
  for (const bool means : {false, true})
    for (const double bad : {double{NAN}, infinite}) {
      Signal signal = flagged_signal(SampleType::complex_float32);
      signal.set(1, 0, 5, NAN, 0);  // flagged
      EXPECT_FALSE(referee_of(signal).has_bad_sample());
      CorrelationAnswer answer(signal, means);
      signal.set(1, 600, 3, 1, bad);
      EXPECT_TRUE(referee_of(signal).has_bad_sample());
      EXPECT_TRUE(referee_of(signal, {0}).has_bad_sample()) << "also of inputs that are not listed";
      EXPECT_EQ(answer.judged_by(referee_of(signal)).disagreeing, means ? 5 : 6);  // (5, 3) has no samples
      for (std::int64_t other = 0; other < inputs; ++other) {
        const std::int64_t baseline = baseline_of(std::max<std::int64_t>(3, other), std::min<std::int64_t>(3, other));
        answer.part[2 * baseline] = answer.part[2 * baseline + 1] = NAN;
      }
      EXPECT_TRUE(answer.judged_by(referee_of(signal)).agree());
      answer.part[2 * baseline_of(4, 3) + 1] = infinite;
      EXPECT_FALSE(answer.judged_by(referee_of(signal)).agree());
    }
}

TEST(CorrelationReferee, AnInfinityIsRightWhereTheRangeEnds) {
  Signal signal(SampleType::complex_float32, 2, times, inputs);
  fill_at_random(signal, 2);
  signal.set(1, 9, 3, 3e19, 0);
  for (const double beyond : {infinite, -infinite, double{NAN}}) {
    CorrelationAnswer answer(signal, false);
    answer.part[2 * baseline_of(3, 3)] = beyond;
    EXPECT_TRUE(answer.judged_by(referee_of(signal)).agree());
    answer.part[2 * baseline_of(2, 2)] = beyond;
    EXPECT_EQ(answer.judged_by(referee_of(signal)).disagreeing, 1);
  }
  CorrelationAnswer answer(signal, false);
  answer.part[2 * baseline_of(3, 3)] = 1e38;
  EXPECT_FALSE(answer.judged_by(referee_of(signal)).agree()) << "9e38 is no number of float32's";
}

TEST(CorrelationReferee, SaysWhatAChannelsInfoIs) {
  EXPECT_EQ(correlation_info(false, false), 0);
  EXPECT_EQ(correlation_info(true, true), info_signal_not_finite);
  EXPECT_EQ(correlation_info(false, true), info_visibility_out_of_range);

  float visibility[] = {1, 0, NAN, NAN, 1, 0};
  const std::int32_t weight[] = {1, 0, 1}, all[] = {1, 1, 1};
  EXPECT_FALSE(are_beyond_range({SumType::complex_float32, visibility, weight, true}, 2)) << "a mean of none";
  EXPECT_TRUE(are_beyond_range({SumType::complex_float32, visibility, all, true}, 2));
  EXPECT_FALSE(are_beyond_range({SumType::complex_int32, visibility, all, true}, 2));
  visibility[5] = -HUGE_VALF;
  EXPECT_TRUE(are_beyond_range({SumType::complex_float32, visibility, weight, false}, 2));
}

TEST(CorrelationReferee, SaysItsCriterionWithTheNumbersThatItUses) {
  const std::string of_floats = correlation_criterion(SampleType::complex_float32, false);
  for (const char* const part : {"1024", "32", "2^-23", "2^-124"}) EXPECT_NE(of_floats.find(part), std::string::npos);
  EXPECT_NE(correlation_criterion(SampleType::complex_float32, true), of_floats);
  EXPECT_NE(correlation_criterion(SampleType::complex_int8, false).find("bit for bit"), std::string::npos);
}

}  // namespace
}  // namespace smallbatch::testing
