// Numbers with arbitrary bits are converted, and compared with conversions from long double. A long double holds every
// value of each type exactly.
#include "io/hdf5/number_conversion.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

template <class To>
To nearest(long double value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    return static_cast<To>(std::clamp<long double>(std::trunc(value), Limits::min(), Limits::max()));
  } else {
    if (value > Limits::max()) return Limits::infinity();
    if (value < Limits::lowest()) return -Limits::infinity();
    return static_cast<To>(value);
  }
}

template <class From, class To>
void check(bool is_swapped, std::span<const std::uint8_t> bytes) {
  const std::size_t count = bytes.size() / sizeof(From);
  std::vector<To> values(count);
  convert_numbers({element_type_of<From>, is_swapped}, bytes.data(), element_type_of<To>, values.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, sizeof(From)> number{};
    std::ranges::copy(bytes.subspan(i * sizeof(From), sizeof(From)), number.begin());
    if (is_swapped) std::ranges::reverse(number);
    const To expected = nearest<To>(std::bit_cast<From>(number));
    require(values[i] == expected || (values[i] != values[i] && expected != expected), "a number is another one");
  }
}

template <class From>
void check_to_all(bool is_swapped, std::span<const std::uint8_t> bytes) {
  check<From, std::int8_t>(is_swapped, bytes);
  check<From, std::uint8_t>(is_swapped, bytes);
  check<From, std::int32_t>(is_swapped, bytes);
  check<From, std::int64_t>(is_swapped, bytes);
  check<From, float>(is_swapped, bytes);
  check<From, double>(is_swapped, bytes);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  Input input(bytes, count);
  const bool is_swapped = input.take<std::uint8_t>() % 2 == 1;
  check_to_all<std::int8_t>(is_swapped, input.rest());
  check_to_all<std::uint8_t>(is_swapped, input.rest());
  check_to_all<std::int32_t>(is_swapped, input.rest());
  check_to_all<std::int64_t>(is_swapped, input.rest());
  check_to_all<float>(is_swapped, input.rest());
  check_to_all<double>(is_swapped, input.rest());
  return 0;
}
