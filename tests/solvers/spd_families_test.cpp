#include "solvers/spd_families.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "tests/larger_or_nan.hpp"
#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {
namespace {

Eigen::VectorXd eigenvalues(SpdBlock<double>& block, std::int64_t k) {
  const int n = block.shape.n;
  Eigen::MatrixXd a(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a(i, j) = element(block, k, i, j);
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a).eigenvalues();
}

TEST(SpdFamilies, NamesAreUniqueAndParseBack) {
  std::set<std::string_view> names;
  for (const SpdFamilyDescription& entry : spd_families()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(parse_spd_family(entry.name), entry.family);
    EXPECT_EQ(spd_family_name(entry.family), entry.name);
    EXPECT_FALSE(entry.description.empty());
  }
  EXPECT_EQ(names.size(), 19U);
  EXPECT_EQ(parse_spd_family("hilbert"), std::nullopt);
}

/// Returns the index of the row and of the column that are 0 in a family; -1 if there is none.
int zeroed(SpdFamily family, int n) {
  switch (family) {
    case SpdFamily::zero_first:
      return 0;
    case SpdFamily::zero_middle:
      return n / 2;
    case SpdFamily::zero_last:
      return n - 1;
    default:
      return -1;
  }
}

TEST(SpdFamilies, AreSymmetricAndPositiveDefiniteUnlessTheySayOtherwise) {
  for (const SpdFamilyDescription& entry : spd_families())
    for (const int n : {1, 2, 12, 33, 64, 128, 256}) {
      if (entry.family == SpdFamily::moler && n > 12) continue;  // its condition number is 4^n
      const std::int64_t count = n > 128 ? 1 : 8;
      SpdBlock<double> block = generated_block<double>(entry.family, {n, 2, Storage::dense}, count, 1e4);
      for (std::int64_t k = 0; k < count; ++k) {
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < i; ++j) ASSERT_EQ(element(block, k, i, j), element(block, k, j, i)) << entry.name;
        const int zero = zeroed(entry.family, n);
        const Eigen::VectorXd w = eigenvalues(block, k);
        if (zero < 0) {
          ASSERT_GT(w(0), 0) << entry.name << ", n = " << n;
          continue;
        }
        for (int j = 0; j < n; ++j) ASSERT_EQ(element(block, k, zero, j), 0) << entry.name << ", n = " << n;
        ASSERT_NEAR(w(0), 0, 1e-15) << entry.name << ", n = " << n;
        if (n > 1) {
          ASSERT_GT(w(1), 1e-5) << entry.name << ", n = " << n;
        }
      }
    }
}

TEST(SpdFamilies, ConditionAndSeedChangeTheMatricesThatSaySo) {
  for (const SpdFamilyDescription& entry : spd_families()) {
    const SpdShape shape{9, 0, Storage::packed_lower};
    const auto a = [&](double condition, std::uint64_t seed) {
      return generated_block<double>(entry.family, shape, 3, condition, seed).a;
    };
    EXPECT_EQ(a(50, 7) != a(500, 7), entry.takes_condition) << entry.name;
    EXPECT_EQ(a(50, 7) != a(50, 8), entry.is_random) << entry.name;
  }
}

TEST(SpdFamilies, AnySplitGivesTheSameNumbers) {
  for (const SpdFamilyDescription& entry : spd_families()) {
    const SpdShape shape{9, 3, Storage::packed_lower};
    const SpdBlock<float> whole = generated_block<float>(entry.family, shape, 600, 50, 7);
    for (const std::int64_t first : {0, 1, 299, 599}) {
      SpdBlock<float> part;
      part.resize(shape, std::min<std::int64_t>(17, 600 - first));
      generate_spd(entry.family, shape, 50, 7, first, part.count, part.a.data(), part.b.data());
      for (std::size_t e = 0; e < part.a.size(); ++e)
        ASSERT_EQ(part.a[e], whole.a[first * shape.matrix_size() + e]) << entry.name;
      for (std::size_t e = 0; e < part.b.size(); ++e)
        ASSERT_EQ(part.b[e], whole.b[first * shape.rhs_size() + e]) << entry.name;
    }
  }
}

TEST(SpdFamilies, SystemsAndSeedsDiffer) {
  const SpdShape shape{8, 1, Storage::dense};
  const SpdBlock<double> one = generated_block<double>(SpdFamily::random, shape, 3, 10, 1);
  const SpdBlock<double> other = generated_block<double>(SpdFamily::random, shape, 3, 10, 2);
  std::set<double> first_elements;
  for (std::int64_t k = 0; k < 3; ++k) {
    first_elements.insert(one.a[k * 64]);
    first_elements.insert(other.a[k * 64]);
  }
  EXPECT_EQ(first_elements.size(), 6U);
}

TEST(SpdFamilies, PackedIsTheLowerTriangleOfDense) {
  SpdBlock<double> dense = generated_block<double>(SpdFamily::random, {11, 2, Storage::dense}, 4);
  SpdBlock<double> packed = generated_block<double>(SpdFamily::random, {11, 2, Storage::packed_lower}, 4);
  for (std::int64_t k = 0; k < 4; ++k)
    for (int i = 0; i < 11; ++i)
      for (int j = 0; j <= i; ++j) ASSERT_EQ(dense.a[k * 121 + i * 11 + j], packed.a[k * 66 + i * (i + 1) / 2 + j]);
  EXPECT_EQ(dense.b, packed.b);
  const SpdBlock<double> lower = generated_block<double>(SpdFamily::random, {11, 2, Storage::dense_lower}, 4);
  EXPECT_EQ(lower.a, dense.a);
  EXPECT_EQ(lower.b, dense.b);
}

TEST(SpdFamilies, ScaledFamiliesAreRandomTimesAPowerOfTwo) {
  const auto check = []<class T>(T, int exponent) {
    const SpdShape shape{33, 2, Storage::packed_lower};
    const SpdBlock<T> plain = generated_block<T>(SpdFamily::random, shape, 3, 2);
    const SpdBlock<T> low = generated_block<T>(SpdFamily::near_underflow, shape, 3, 2);
    const SpdBlock<T> high = generated_block<T>(SpdFamily::near_overflow, shape, 3, 2);
    for (std::size_t e = 0; e < plain.a.size(); ++e) {
      ASSERT_EQ(low.a[e], std::ldexp(plain.a[e], -exponent));
      ASSERT_EQ(high.a[e], std::ldexp(plain.a[e], exponent));
    }
    for (std::size_t e = 0; e < plain.b.size(); ++e) {
      ASSERT_EQ(low.b[e], std::ldexp(plain.b[e], -exponent));
      ASSERT_EQ(high.b[e], std::ldexp(plain.b[e], exponent));
    }
  };
  // DLATB4: a quarter of the smallest normal number over eps, and its reciprocal.
  static_assert(0x1p-105 == 0.25 * std::numeric_limits<float>::min() / std::numeric_limits<float>::epsilon());
  static_assert(0x1p-972 == 0.25 * std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon());
  check(float{}, 105);
  check(double{}, 972);
}

TEST(SpdFamilies, EigenvaluesAreThoseOfTheMode) {
  constexpr int n = 10;
  constexpr double condition = 1e5;
  const auto expect_spectrum = [](SpdFamily family, auto expected) {
    SpdBlock<double> block = generated_block<double>(family, {n, 1, Storage::dense}, 5, condition);
    for (std::int64_t k = 0; k < 5; ++k) {
      const Eigen::VectorXd found = eigenvalues(block, k);
      for (int i = 0; i < n; ++i) ASSERT_NEAR(found(i), expected(i), 1e-13) << spd_family_name(family);
    }
  };
  expect_spectrum(SpdFamily::random, [](int i) { return std::pow(condition, -(n - 1.0 - i) / (n - 1)); });
  expect_spectrum(SpdFamily::random_one_small, [](int i) { return i == 0 ? 1 / condition : 1; });
  expect_spectrum(SpdFamily::random_one_large, [](int i) { return i == n - 1 ? 1 : 1 / condition; });
  expect_spectrum(SpdFamily::random_arithmetic,
                  [](int i) { return 1 / condition + i * (1 - 1 / condition) / (n - 1); });
  SpdBlock<double> block =
      generated_block<double>(SpdFamily::random_log_uniform, {n, 1, Storage::dense}, 200, condition);
  double mean_log = 0;
  for (std::int64_t k = 0; k < 200; ++k) {
    const Eigen::VectorXd found = eigenvalues(block, k);
    ASSERT_GE(found(0), 1 / condition * (1 - 1e-9));
    ASSERT_LE(found(n - 1), 1 + 1e-12);
    mean_log += found.array().log10().sum() / (200 * n);
  }
  EXPECT_NEAR(mean_log, -2.5, 5 * 5 / std::sqrt(12.0 * 200 * n));  // five standard deviations of the mean
}

TEST(SpdFamilies, EigenvectorsPointEverywhere) {
  // For Haar distributed Q, the square of each component of an eigenvector has mean 1/n.
  constexpr int n = 6, count = 2000;
  SpdBlock<double> block = generated_block<double>(SpdFamily::random_one_large, {n, 1, Storage::dense}, count, 1e9);
  for (int i = 0; i < n; ++i) {
    double mean = 0;  // A is the projection on one eigenvector, to 1e-9
    for (std::int64_t k = 0; k < count; ++k) mean += element(block, k, i, i) / count;
    EXPECT_NEAR(mean, 1.0 / n, 5 * std::sqrt(2.0 * (n - 1) / (n * n * (n + 2.0)) / count)) << "component " << i;
  }
}

TEST(SpdFamilies, ConditionNumbersAreAsDescribed) {
  const auto condition = [](SpdFamily family, int n, double asked) {
    SpdBlock<double> block = generated_block<double>(family, {n, 1, Storage::dense}, 1, asked);
    const Eigen::VectorXd w = eigenvalues(block, 0);
    return w(n - 1) / w(0);
  };
  EXPECT_LT(condition(SpdFamily::gaussian_kernel, 32, 1e5), 1.0001e5);
  EXPECT_GT(condition(SpdFamily::gaussian_kernel, 32, 1e5), 1e4);
  EXPECT_LT(condition(SpdFamily::shifted_hilbert, 20, 1e6), 1.0001e6);
  EXPECT_GT(condition(SpdFamily::shifted_hilbert, 20, 1e6), 2e5);
  EXPECT_LT(condition(SpdFamily::kac_murdock_szego, 32, 100), 100);
  EXPECT_GT(condition(SpdFamily::kac_murdock_szego, 32, 100), 80);
  EXPECT_LT(condition(SpdFamily::gram, 32, 1e9), 5);
  EXPECT_GT(condition(SpdFamily::graded, 16, 1e8), 1e7);
  EXPECT_GT(condition(SpdFamily::moler, 10, 1), 1e4);
}

TEST(SpdFamilies, NamedMatricesHaveTheirElements) {
  SpdBlock<double> lehmer = generated_block<double>(SpdFamily::lehmer, {3, 1, Storage::dense}, 1);
  EXPECT_EQ(lehmer.a, (AlignedVector<double>{1, 1.0 / 2, 1.0 / 3, 1.0 / 2, 1, 2.0 / 3, 1.0 / 3, 2.0 / 3, 1}));
  SpdBlock<double> min_ij = generated_block<double>(SpdFamily::min_ij, {3, 1, Storage::dense}, 1);
  EXPECT_EQ(min_ij.a, (AlignedVector<double>{1, 1, 1, 1, 2, 2, 1, 2, 3}));
  SpdBlock<double> moler = generated_block<double>(SpdFamily::moler, {3, 1, Storage::dense}, 1);
  EXPECT_EQ(moler.a, (AlignedVector<double>{1, -1, -1, -1, 2, 0, -1, 0, 3}));
  SpdBlock<double> diagonal = generated_block<double>(SpdFamily::diagonal, {3, 1, Storage::dense}, 1, 16);
  EXPECT_EQ(diagonal.a, (AlignedVector<double>{1, 0, 0, 0, 0.25, 0, 0, 0, 0.0625}));
}

TEST(SpdFamilies, RightHandSidesBelongToSolutionsInTheUnitCube) {
  SpdBlock<double> block = generated_block<double>(SpdFamily::random, {7, 2, Storage::dense}, 50, 10);
  double largest = 0;
  for (std::int64_t k = 0; k < 50; ++k) {
    Eigen::MatrixXd a(7, 7), b(7, 2);
    for (int i = 0; i < 7; ++i) {
      for (int j = 0; j < 7; ++j) a(i, j) = element(block, k, i, j);
      for (int c = 0; c < 2; ++c) b(i, c) = block.b[(k * 7 + i) * 2 + c];
    }
    const Eigen::MatrixXd x = a.inverse() * b;
    for (const double value : x.reshaped()) largest = larger_or_nan(largest, std::abs(value));
  }
  EXPECT_LT(largest, 1 + 1e-12);
  EXPECT_GT(largest, 0.95);
}

TEST(SpdFamilies, AConditionBelowOneIsRefused) {
  std::vector<float> a(4), b(2);
  for (const double condition : {0.5, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THROW(generate_spd(SpdFamily::random, {2, 1, Storage::dense}, condition, 1, 0, 1, a.data(), b.data()),
                 Error);
}

TEST(SpdFamilies, SizesDependOnTheSystemAlone) {
  std::vector<std::int32_t> all(1000), part(10);
  generate_sizes(0, 7, 3, 0, 1000, all.data());
  generate_sizes(0, 7, 3, 500, 10, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 500));
  std::vector<int> counts(8);
  for (const std::int32_t size : all) ++counts.at(static_cast<std::size_t>(size));
  for (const int count : counts) EXPECT_NEAR(count, 125, 50);  // more than four standard deviations
  generate_sizes(5, 5, 3, 0, 10, part.data());
  EXPECT_EQ(part, std::vector<std::int32_t>(10, 5));
}

}  // namespace
}  // namespace smallbatch::testing
