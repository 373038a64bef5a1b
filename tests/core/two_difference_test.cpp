#include "core/two_difference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace smallbatch {
namespace {

static_assert(two_difference(1, 0x1p-70).high == 1 && two_difference(1, 0x1p-70).low == -0x1p-70);
static_assert(two_difference(0x1p-70, 1).high == -1 && two_difference(0x1p-70, 1).low == 0x1p-70);

TEST(TwoDifference, TheRoundedOneAndWhatRoundingTookAddUpToIntegersThatNoDoubleHolds) {
  std::mt19937_64 random(5);
  std::int64_t inexact = 0;
  for (int i = 0; i < 20000; ++i) {
    // Odd multiples of 2^0 .. 2^9 with at most 53 bits and either sign: their differences have up to 63 bits.
    const auto number = [&random] {
      const auto odd = static_cast<std::int64_t>(random() >> (11 + random() % 50)) | 1;
      return (random() % 2 == 0 ? odd : -odd) * (std::int64_t{1} << random() % 10);
    };
    const std::int64_t a = number(), b = number();
    const Exact difference = two_difference(static_cast<double>(a), static_cast<double>(b));
    ASSERT_EQ(difference.high, static_cast<double>(a - b));
    ASSERT_EQ(static_cast<std::int64_t>(difference.high) + static_cast<std::int64_t>(difference.low), a - b);
    inexact += difference.low != 0;
  }
  EXPECT_GT(inexact, 1000);
}

}  // namespace
}  // namespace smallbatch
