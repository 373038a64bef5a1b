// Every instruction set of this machine, through make_cpu_correlator().
#include "physics/correlations/cpu/rank_update.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "physics/correlations/backends.hpp"
#include "tests/physics/correlation_fixture.hpp"

namespace smallbatch::testing {
namespace {

TEST(RankUpdateKernels, BaselineIsLastAndNamesDiffer) {
  const auto usable = usable_rank_update_kernels();
  ASSERT_FALSE(usable.empty());
  EXPECT_STREQ(usable.back().name, "baseline");
  std::set<std::string> names;
  for (const RankUpdateKernels& kernels : usable) names.insert(kernels.name);
  EXPECT_EQ(names.size(), usable.size());
}

TEST(RankUpdateKernels, EachIsRightForAllNumbersOfInputs) {
  for (const RankUpdateKernels& kernels : usable_rank_update_kernels()) {
    const auto correlator = make_cpu_correlator(1, kernels);
    EXPECT_EQ(correlator->description(), std::string("cpu correlation ") + kernels.name);
    for (const SampleType type : all_sample_types)
      for (std::int64_t inputs = 1; inputs <= 40; ++inputs) {
        Signal signal(type, 1, times_per_integer_sum + 37, inputs, times_per_integer_sum + 3);
        fill_at_random(signal, static_cast<unsigned>(inputs));
        if (inputs % 3 == 0) signal.set_flag(0, 100, inputs / 2);
        const Comparison found = compare_with_truth(correlate(*correlator, signal), signal);
        EXPECT_TRUE(found.agree()) << kernels.name << ' ' << inputs << " inputs: " << found.worst;
      }
  }
}

TEST(RankUpdateKernels, NoSumOfIntegersIsTooLarge) {
  // As many times as a kernel adds up in one integer sum, with the largest products.
  for (const RankUpdateKernels& kernels : usable_rank_update_kernels())
    for (const std::int64_t inputs : {2, 20, 40}) {
      Signal signal(SampleType::complex_int8, 1, times_per_integer_sum, inputs);
      for (std::int64_t t = 0; t < signal.times; ++t)
        for (std::int64_t i = 0; i < inputs; ++i) signal.set(0, t, i, -128, i % 2 == 0 ? -128 : 127);
      EXPECT_TRUE(compare_with_truth(correlate(*make_cpu_correlator(1, kernels), signal), signal).agree())
          << kernels.name;
    }
}

}  // namespace
}  // namespace smallbatch::testing
