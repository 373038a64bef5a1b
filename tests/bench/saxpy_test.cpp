// Tests the functors of a x + y as plain loops and on threads. ladder_test.cpp tests them as kernels.
#include "bench/saxpy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/whole_numbers.hpp"
#include "core/aligned_allocator.hpp"
#include "core/grid_stride.hpp"

namespace smallbatch {
namespace {

TEST(SaxpyOnTheHost, EveryLoopGivesTheSame) {
  for (const std::int64_t count : {0, 1, 3, 4, 5, 1003}) {
    const auto size = static_cast<std::size_t>(count);
    AlignedVector<float> x(size), y(size), expected(size);
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = static_cast<float>(i);
      expected[i] = 2.5F * x[i] - 7;
    }
    const Saxpy saxpy{2.5F, x.data(), y.data()};
    const auto after = [&](const auto& loop) {
      std::fill(y.begin(), y.end(), -7.0F);
      loop();
      return y;
    };
    EXPECT_EQ(after([&] { for_each_index(count, saxpy); }), expected);
    EXPECT_EQ(after([&] { for_each_index_on_threads(count, 10, 3, saxpy); }), expected);
    EXPECT_EQ(after([&] { for_each_index((count + 3) / 4, SaxpyOfFour{saxpy, count}); }), expected);
  }
}

TEST(WholeNumbers, SumsStayBelowTwoToThe24) {
  for (const std::int64_t count : {1'000, 1'000'003, 1 << 21, (1 << 21) - 1, 1 << 24}) {
    const WholeNumbers numbers(count);
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += numbers(i);
    EXPECT_LT(sum, 0x1p24) << count;
    EXPECT_GT(sum, static_cast<double>(std::min<std::int64_t>(count, 1 << 21))) << count;
  }
}

}  // namespace
}  // namespace smallbatch
