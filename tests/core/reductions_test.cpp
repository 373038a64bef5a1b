// Reductions on the host: exact sums, the tree of core/reduction_tree.hpp, and the error bound of each Accumulation.
#include "core/reductions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

namespace smallbatch {
namespace {

template <class T>
struct Reductions : public ::testing::Test {
  using Values = std::vector<T>;
  static constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  static double reduced(Reduction reduction, Accumulation accumulation, const Values& x, const Values& y = {},
                        unsigned threads = 1) {
    return reduce(reduction, accumulation, x.data(), y.data(), static_cast<std::int64_t>(x.size()), threads);
  }
  /// Returns normally distributed numbers. They repeat after a prime number of values, because drawing random numbers
  /// takes long.
  static Values random(std::size_t count, unsigned seed) {
    constexpr std::size_t period = 1'000'003;
    std::mt19937 engine(seed);
    std::normal_distribution<T> normal;
    Values values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = i < period ? normal(engine) : values[i - period];
    return values;
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Reductions, Types);

constexpr Reduction sums[] = {Reduction::sum, Reduction::dot, Reduction::norm2};
constexpr Accumulation accumulations[] = {Accumulation::fast, Accumulation::float64, Accumulation::compensated};
// Sizes around those of rows and leaves.
constexpr std::size_t sizes[] = {0, 1, 2, 3, 255, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097, 100003, 1'048'576};
// The largest array with leaves of 4096 values, and an array with longer leaves.
constexpr std::size_t large_sizes[] = {1 << 25, (1 << 25) + 1};

TYPED_TEST(Reductions, NothingHasItsValue) {
  for (const Accumulation accumulation : accumulations) {
    for (const Reduction reduction : sums) EXPECT_EQ(this->reduced(reduction, accumulation, {}), 0);
    EXPECT_EQ(this->reduced(Reduction::minimum, accumulation, {}), this->infinity);
    EXPECT_EQ(this->reduced(Reduction::maximum, accumulation, {}), -this->infinity);
  }
}

TYPED_TEST(Reductions, EveryValueCountsOnce) {
  // Sums of small whole numbers below 2^24 are exact in any order. A value that is left out or counted twice changes
  // the sum.
  for (const std::size_t size : sizes) {
    const std::size_t every = size / 100'000 + 1;
    typename TestFixture::Values x(size, 0), y(size, 0);
    double sum = 0, dot = 0, squares = 0;
    for (std::size_t i = size % every; i < size; i += every) {
      x[i] = static_cast<TypeParam>(i % 7 + 1);
      y[i] = static_cast<TypeParam>(i % 3) - 1;
      sum += x[i];
      dot += x[i] * y[i];
      squares += x[i] * x[i];
    }
    for (const Accumulation accumulation : accumulations)
      for (const unsigned threads : {1, 3}) {
        EXPECT_EQ(this->reduced(Reduction::sum, accumulation, x, {}, threads), sum) << size;
        EXPECT_EQ(this->reduced(Reduction::dot, accumulation, x, y, threads), dot) << size;
        EXPECT_EQ(this->reduced(Reduction::norm2, accumulation, x, {}, threads), std::sqrt(squares)) << size;
      }
  }
}

TYPED_TEST(Reductions, ExtremesAreFoundWhereverTheyAre) {
  for (const std::size_t size : {1UL, 2UL, 1023UL, 4097UL, 70'001UL})
    for (const std::size_t at : {0UL, size / 3, size - 1}) {
      typename TestFixture::Values x = this->random(size, 1);
      x[at] = -100;
      EXPECT_EQ(this->reduced(Reduction::minimum, Accumulation::fast, x), -100);
      x[at] = 100;
      EXPECT_EQ(this->reduced(Reduction::maximum, Accumulation::fast, x), 100);
      x[at] = -this->infinity;
      EXPECT_EQ(this->reduced(Reduction::minimum, Accumulation::fast, x), -this->infinity);
    }
}

TYPED_TEST(Reductions, ANanIsNeverLost) {
  for (const std::size_t size : {1UL, 2UL, 1023UL, 4097UL, 70'001UL})
    for (const std::size_t at : {0UL, size / 3, size - 1})
      for (const TypeParam sign : {TypeParam(1), TypeParam(-1)}) {
        typename TestFixture::Values x = this->random(size, 2), y = x;
        x[at] = std::copysign(this->nan, sign);
        for (const Accumulation accumulation : accumulations)
          for (const Reduction reduction :
               {Reduction::sum, Reduction::minimum, Reduction::maximum, Reduction::dot, Reduction::norm2})
            EXPECT_EQ(std::bit_cast<std::uint64_t>(this->reduced(reduction, accumulation, x, y)),
                      std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()));
      }
}

TYPED_TEST(Reductions, InfinitiesAddUpAsTheyDo) {
  for (const Accumulation accumulation : accumulations) {
    typename TestFixture::Values x = this->random(5000, 3);
    x[1234] = this->infinity;
    EXPECT_EQ(this->reduced(Reduction::sum, accumulation, x), this->infinity);
    EXPECT_EQ(this->reduced(Reduction::norm2, accumulation, x), this->infinity);
    EXPECT_EQ(this->reduced(Reduction::dot, accumulation, x, typename TestFixture::Values(5000, -1)), -this->infinity);
    x[4321] = -this->infinity;
    EXPECT_TRUE(std::isnan(this->reduced(Reduction::sum, accumulation, x)));
  }
}

TYPED_TEST(Reductions, WhatLeavesTheRangeIsInfinite) {
  const TypeParam largest = std::numeric_limits<TypeParam>::max();
  const typename TestFixture::Values two{largest, largest};
  const bool is_float = sizeof(TypeParam) == sizeof(float);
  for (const Accumulation accumulation : accumulations) {
    const bool fits = is_float && accumulation == Accumulation::float64;
    EXPECT_EQ(this->reduced(Reduction::sum, accumulation, two), fits ? 2.0 * largest : this->infinity);
    EXPECT_DOUBLE_EQ(this->reduced(Reduction::norm2, accumulation, two),
                     fits ? std::sqrt(2.0) * largest : this->infinity);
  }
}

/// Returns the sum of the terms by the tree that the head of core/reduction_tree.hpp describes: first down the columns,
/// then neighbouring columns. Shares no code with the product.
template <class T>
T by_the_words(std::vector<T> terms, std::size_t of_row) {
  std::vector<T> column(of_row, T(0));
  for (std::size_t i = 0; i < terms.size(); ++i) column[i % of_row] += terms[i];
  for (; column.size() > 1; column.resize(column.size() / 2))
    for (std::size_t c = 0; c < column.size() / 2; ++c) column[c] = column[2 * c] + column[2 * c + 1];
  return column[0];
}

TYPED_TEST(Reductions, TheTreeIsTheDescribedOne) {
  std::vector<std::size_t> all(std::begin(sizes), std::end(sizes));
  all.insert(all.end(), std::begin(large_sizes), std::end(large_sizes));
  for (const std::size_t size : all) {
    const typename TestFixture::Values x = this->random(size, 4);
    const std::size_t of_leaf = size <= (1 << 25) ? 4096 : 8192;
    typename TestFixture::Values leaf;
    for (std::size_t first = 0; first < size; first += of_leaf)
      leaf.push_back(by_the_words(
          typename TestFixture::Values(x.begin() + static_cast<std::ptrdiff_t>(first),
                                       x.begin() + static_cast<std::ptrdiff_t>(std::min(first + of_leaf, size))),
          4096 / sizeof(TypeParam)));
    const TypeParam expected = by_the_words(leaf, 256);
    for (const unsigned threads : {1, 2, 5})
      EXPECT_EQ(this->reduced(Reduction::sum, Accumulation::fast, x, {}, threads), expected) << size;
  }
}

TYPED_TEST(Reductions, ErrorsStayBelowTheirBounds) {
  const double u = std::numeric_limits<TypeParam>::epsilon() / 2.0, d = 120;
  for (const std::size_t size : {1000UL, 100'003UL, 2'000'001UL}) {
    const typename TestFixture::Values x = this->random(size, 5), y = this->random(size, 6);
    long double sum = 0, magnitude = 0, dot = 0, dot_magnitude = 0, squares = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const long double product = static_cast<long double>(x[i]) * y[i];
      sum += x[i];
      magnitude += std::abs(x[i]);
      dot += product;
      dot_magnitude += std::abs(product);
      squares += static_cast<long double>(x[i]) * x[i];
    }
    for (const Accumulation accumulation : accumulations) {
      const bool compensated = accumulation == Accumulation::compensated;
      const double unit = accumulation == Accumulation::float64 ? 0x1p-53 : u;
      const long double bound = compensated ? std::pow((2 * d + 2) * u, 2) : (d + 1) * unit;
      // the roundings of long double in a sequence of up to 2 million sums
      const long double own = 0x1p-64L * static_cast<long double>(size), last = compensated ? 0x1p-53L : 0;
      const auto near = [&](double got, long double expected, long double of_terms) {
        EXPECT_LE(std::abs(got - expected), (bound + own) * of_terms + last * std::abs(expected)) << size;
      };
      near(this->reduced(Reduction::sum, accumulation, x), sum, magnitude);
      near(this->reduced(Reduction::dot, accumulation, x, y), dot, dot_magnitude);
      near(this->reduced(Reduction::norm2, accumulation, x), std::sqrt(squares), (1 + 0x1p-50L) * std::sqrt(squares));
    }
  }
}

TYPED_TEST(Reductions, WhatIsSmallSurvivesWhatCancels) {
  // One column of a leaf has 2^40 (2^60 in double precision), two ones, and then the negative of the large number.
  const bool is_float = sizeof(TypeParam) == sizeof(float);
  const auto huge = static_cast<TypeParam>(is_float ? 0x1p40 : 0x1p60);
  typename TestFixture::Values x(4096, 0);
  x[0] = huge;
  x[1024] = 1;
  x[2048] = 1;
  x[3072] = -huge;
  EXPECT_EQ(this->reduced(Reduction::sum, Accumulation::fast, x), 0);
  EXPECT_EQ(this->reduced(Reduction::sum, Accumulation::compensated, x), 2);
  EXPECT_EQ(this->reduced(Reduction::sum, Accumulation::float64, x), is_float ? 2 : 0);
}

TYPED_TEST(Reductions, ProductsAreRoundedOnTheirOwn) {
  // (1 + e)^2 - (1 + 2 e) is e^2. A product that is rounded loses e^2. Only `compensated`, a wider type, or a fused
  // multiply-add keeps e^2.
  const TypeParam e = std::numeric_limits<TypeParam>::epsilon();
  const typename TestFixture::Values x{1 + e, 1}, y{1 + e, -(1 + 2 * e)};
  const double squared = static_cast<double>(e) * static_cast<double>(e);
  const bool is_float = sizeof(TypeParam) == sizeof(float);
  EXPECT_EQ(this->reduced(Reduction::dot, Accumulation::fast, x, y), 0);
  EXPECT_EQ(this->reduced(Reduction::dot, Accumulation::compensated, x, y), squared);
  EXPECT_EQ(this->reduced(Reduction::dot, Accumulation::float64, x, y), is_float ? squared : 0);
}

}  // namespace
}  // namespace smallbatch
