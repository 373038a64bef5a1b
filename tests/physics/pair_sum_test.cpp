// Sums over all pairs of two arrays on the host. Truths: sums by hand and in long double.
#include "physics/pair_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/physics/pair_functions.hpp"

namespace smallbatch::testing {
namespace {

TEST(PairSum, ByHand) {
  const double a[] = {1, 2, 3};
  const int b[] = {10, 20};
  const auto product = [](double x, int y) { return x * y; };
  EXPECT_EQ(pair_sum_on_host(a, 3, b, 2, product), 180);
  EXPECT_EQ(pair_sum_on_host(a, 0, b, 2, product), 0);
  EXPECT_EQ(pair_sum_on_host(a, 3, b, 0, product), 0);
}

TEST(PairSum, EveryPairCountsOnce) {
  for (const std::int64_t rows : {1, 511, 512, 513, 1500})
    for (const std::int64_t columns : {1, 15, 17, 1023, 1024, 1025, 3000}) {
      std::vector<std::int64_t> a(static_cast<std::size_t>(rows)), b(static_cast<std::size_t>(columns));
      std::iota(a.begin(), a.end(), 1);
      std::iota(b.begin(), b.end(), 1);
      // No order of additions rounds integers.
      const double sum = pair_sum_on_host(a.data(), rows, b.data(), columns, [](std::int64_t x, std::int64_t y) {
        return static_cast<double>(x * 3 + y);
      });
      const std::int64_t expected = 3 * columns * (rows * (rows + 1) / 2) + rows * (columns * (columns + 1) / 2);
      EXPECT_EQ(sum, static_cast<double>(expected)) << rows << " x " << columns;
    }
}

TEST(PairSum, LennardJonesIsTheDirectSum) {
  const std::vector<Atom> a = atoms(1, 700), b = atoms(2, 1300);
  long double sum = 0, magnitude = 0;
  for (const Atom& x : a)
    for (const Atom& y : b) {
      const long double dx = static_cast<long double>(x.x) - y.x, dy = static_cast<long double>(x.y) - y.y;
      const long double dz = static_cast<long double>(x.z) - y.z, s6 = std::pow(dx * dx + dy * dy + dz * dz, -3.0L);
      sum += 4 * (s6 * s6 - s6);
      magnitude += 4 * (s6 * s6 + s6);
    }
  const double found = pair_sum_on_host(a.data(), 700, b.data(), 1300, LennardJones{});
  EXPECT_NEAR(found, static_cast<double>(sum), 1e-5 * static_cast<double>(magnitude));
  for (const unsigned threads : {2U, 5U}) {
    const double again = pair_sum_on_host(a.data(), 700, b.data(), 1300, LennardJones{}, threads);
    EXPECT_EQ(std::memcmp(&again, &found, sizeof(found)), 0) << threads << " threads";
  }
}

}  // namespace
}  // namespace smallbatch::testing
