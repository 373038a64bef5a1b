// For every stored and every wanted type, numbers at the limits of both are converted as HDF5 converts them.
#include "io/hdf5/number_conversion.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using Bytes = std::vector<unsigned char>;

template <class T>
Bytes bytes_of_all(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Returns the limits of every number type, as far as T can hold them, and their neighbours.
template <class T>
std::vector<T> edges() {
  std::vector<T> all;
  if constexpr (std::is_integral_v<T>) {
    for (const int bit : {0, 7, 8, 15, 16, 23, 24, 25, 31, 32, 53, 54, 63}) {
      for (const std::int64_t step : {-1, 0, 1}) {
        const auto power = static_cast<std::int64_t>((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(step));
        for (const std::int64_t value : {power, static_cast<std::int64_t>(-static_cast<std::uint64_t>(power))}) {
          if (std::in_range<T>(value)) all.push_back(static_cast<T>(value));
        }
      }
    }
    all.insert(all.end(), {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()});
  } else {
    using Limits = std::numeric_limits<T>;
    for (const double value : {0.0,
                               0.5,
                               1.5,
                               127.0,
                               127.5,
                               128.0,
                               128.5,
                               254.5,
                               255.0,
                               255.5,
                               256.0,
                               32767.5,
                               32768.0,
                               65535.5,
                               65536.0,
                               2147483647.0,
                               2147483647.5,
                               2147483648.0,
                               2147483648.5,
                               4294967295.5,
                               4294967296.0,
                               9223372036854775807.0,
                               18446744073709551616.0,
                               16777217.0,
                               1e-40,
                               1.4e-45,
                               7e-46,
                               1e-310,
                               3.4028234663852886e38,
                               3.4028235677973366e38,
                               3.5e38,
                               1e300,
                               1.00000005960464477,
                               1.00000017881393433}) {
      for (const T number : {static_cast<T>(value), std::nextafter(static_cast<T>(value), T(0)),
                             std::nextafter(static_cast<T>(value), Limits::max())}) {
        all.insert(all.end(), {number, -number});
      }
    }
    for (const T number : {Limits::infinity(), Limits::max(), Limits::min(), Limits::denorm_min()}) {
      all.insert(all.end(), {number, -number});
    }
  }
  return all;
}

template <class From, class To>
void expect_as_hdf5(const std::vector<From>& values) {
  const std::size_t count = values.size();
  Bytes expected(count * std::max(sizeof(From), sizeof(To)));
  std::memcpy(expected.data(), values.data(), count * sizeof(From));
  ASSERT_GE(
      H5Tconvert(testing::hdf5_type<From>(), testing::hdf5_type<To>(), count, expected.data(), nullptr, H5P_DEFAULT),
      0);
  expected.resize(count * sizeof(To));
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // HDF5 leaves the float just above the largest integer to the processor. It must become the largest integer.
    const To largest = std::numeric_limits<To>::max();
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] == 2 * static_cast<From>(std::numeric_limits<To>::max() / 2 + 1)) {
        std::memcpy(&expected[i * sizeof(To)], &largest, sizeof(To));
      }
    }
  }
  const auto from = bytes_of_all(values);
  Bytes swapped;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = sizeof(From); k > 0; --k) swapped.push_back(from[i * sizeof(From) + k - 1]);
  }
  for (const bool is_swapped : {false, true}) {
    Bytes found(count * sizeof(To));
    convert_numbers({element_type_of<From>, is_swapped}, is_swapped ? swapped.data() : from.data(), element_type_of<To>,
                    found.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(std::equal(&found[i * sizeof(To)], &found[i * sizeof(To)] + sizeof(To), &expected[i * sizeof(To)]))
          << "number " << i << ", " << +values[i] << ", of " << sizeof(From) << " bytes as one of " << sizeof(To);
    }
  }
}

template <class From>
void expect_all_as_hdf5(const std::vector<From>& values) {
  expect_as_hdf5<From, std::int8_t>(values);
  expect_as_hdf5<From, std::uint8_t>(values);
  expect_as_hdf5<From, std::int16_t>(values);
  expect_as_hdf5<From, std::uint16_t>(values);
  expect_as_hdf5<From, std::int32_t>(values);
  expect_as_hdf5<From, std::uint32_t>(values);
  expect_as_hdf5<From, std::int64_t>(values);
  expect_as_hdf5<From, std::uint64_t>(values);
  expect_as_hdf5<From, float>(values);
  expect_as_hdf5<From, double>(values);
}

TEST(NumberConversion, edges_come_out_as_hdf5_converts_them) {
  expect_all_as_hdf5(edges<std::int8_t>());
  expect_all_as_hdf5(edges<std::uint8_t>());
  expect_all_as_hdf5(edges<std::int16_t>());
  expect_all_as_hdf5(edges<std::uint16_t>());
  expect_all_as_hdf5(edges<std::int32_t>());
  expect_all_as_hdf5(edges<std::uint32_t>());
  expect_all_as_hdf5(edges<std::int64_t>());
  expect_all_as_hdf5(edges<std::uint64_t>());
  expect_all_as_hdf5(edges<float>());
  expect_all_as_hdf5(edges<double>());
}

/// HDF5 lets the processor decide which integer a NaN becomes.
TEST(NumberConversion, not_a_number_stays_one_or_becomes_0) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_as_hdf5<double, double>({nan, -nan, std::numeric_limits<double>::signaling_NaN()});
  expect_as_hdf5<float, float>({std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN()});
  float narrowed = 0;
  convert_numbers({ElementType::float64}, &nan, ElementType::float32, &narrowed, 1);
  EXPECT_TRUE(std::isnan(narrowed));
  for (const ElementType type : {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16,
                                 ElementType::int32, ElementType::uint32, ElementType::int64, ElementType::uint64}) {
    std::int64_t integer = 0;
    convert_numbers({ElementType::float64}, &nan, type, &integer, 1);
    EXPECT_EQ(integer, 0);
  }
}

TEST(NumberConversion, bytes_are_swapped_in_place) {
  std::array<std::uint64_t, 3> numbers{0x0123456789ABCDEF, 0, 0xFF00000000000001};
  for (const ElementType type : {ElementType::int64, ElementType::float64}) {
    convert_numbers({type, true}, numbers.data(), type, numbers.data(), numbers.size());
    const std::uint64_t first = type == ElementType::int64 ? 0xEFCDAB8967452301 : 0x0123456789ABCDEF;
    EXPECT_EQ(numbers[0], first);
  }
}

}  // namespace
}  // namespace smallbatch
