// exp and erf over vectors, against the C library's functions in long double.
#include "physics/charges/cpu/interaction.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/physics/true_interaction.hpp"

namespace smallbatch::testing {
namespace {

/// Two doubles or four floats.
template <class T>
struct TestLanes {
  typedef T Vector __attribute__((vector_size(16)));
  static constexpr int width = 16 / sizeof(T);
  static Vector smaller(Vector a, Vector b) { return a < b ? a : b; }
  static Vector inverse_sqrt(Vector a) {
    for (int lane = 0; lane < width; ++lane) a[lane] = 1 / std::sqrt(a[lane]);
    return a;
  }
  static Vector multiply_add(Vector a, Vector b, Vector c) {
    for (int lane = 0; lane < width; ++lane) a[lane] = std::fma(a[lane], b[lane], c[lane]);
    return a;
  }
};

/// Relative error, in units of 2^-24 (float) or 2^-53 (double).
template <class T>
long double units(T got, long double expected) {
  return std::abs(got - expected) / std::abs(expected) * (sizeof(T) == 4 ? 0x1p24L : 0x1p53L);
}

template <class T>
void expect_true() {
  using Lanes = TestLanes<T>;
  using Vector = typename Lanes::Vector;
  const T largest = sizeof(T) == 4 ? 87 : 708;
  for (int k = 0; k < 200000; ++k) {
    const T x = largest * static_cast<T>(k) / 200000;
    const auto [value, slope] = screened_vectors<Lanes, T>(Vector{} + x);
    ASSERT_LE(units(value[0], std::exp(-static_cast<long double>(x))), 2) << x;
    ASSERT_LE(units(slope[1], (1 + static_cast<long double>(x)) * std::exp(-static_cast<long double>(x))), 4) << x;
  }
  for (const T x : {largest + 1, largest * largest, std::numeric_limits<T>::max()}) {
    const auto [value, slope] = screened_vectors<Lanes, T>(Vector{} + x);
    EXPECT_EQ(value[0], 0) << x;
    EXPECT_EQ(slope[0], 0) << x;
  }
  for (int k = 0; k < 200000; ++k) {
    const T t2 = std::pow(static_cast<T>(k) / 25000, T{2});  // t from 0 to 8
    const auto [value, slope] = gaussian_vectors<Lanes, T>(Vector{} + t2);
    const TrueAction action = true_action(std::sqrt(2 * static_cast<long double>(t2)), 0, 0, 1, false);
    ASSERT_LE(units(value[0], action.value), 5) << t2;
    ASSERT_LE(units(slope[1], action.slope), 8) << t2;
  }
  for (const T t2 : {T{100}, std::numeric_limits<T>::max(), std::numeric_limits<T>::infinity()}) {
    const auto [value, slope] = gaussian_vectors<Lanes, T>(Vector{} + t2);
    EXPECT_EQ(value[0], 1) << t2;
    EXPECT_EQ(slope[0], 1) << t2;
  }
}

TEST(VectorInteraction, FloatsAreRightToSomeUnits) { expect_true<float>(); }
TEST(VectorInteraction, DoublesAreRightToSomeUnits) { expect_true<double>(); }

}  // namespace
}  // namespace smallbatch::testing
