#include "io/hdf5/number_conversion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.hpp"

namespace smallbatch {
namespace {

/// Calls work(T{}) with the T of a type.
template <class Work>
auto with_type(ElementType type, Work&& work) {
  switch (type) {
    case ElementType::int8:
      return work(std::int8_t{});
    case ElementType::uint8:
      return work(std::uint8_t{});
    case ElementType::int16:
      return work(std::int16_t{});
    case ElementType::uint16:
      return work(std::uint16_t{});
    case ElementType::int32:
      return work(std::int32_t{});
    case ElementType::uint32:
      return work(std::uint32_t{});
    case ElementType::int64:
      return work(std::int64_t{});
    case ElementType::uint64:
      return work(std::uint64_t{});
    case ElementType::float32:
      return work(float{});
    case ElementType::float64:
      return work(double{});
    case ElementType::other:
      break;
  }
  throw Error(ErrorKind::internal, "numbers of an unknown type were asked for.");
}

template <class To, class From>
To converted(From value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (std::isnan(value)) return 0;
    constexpr To half = Limits::max() / 2 + 1;         // a power of two
    constexpr From end = 2 * static_cast<From>(half);  // one beyond the largest
    return value >= end ? Limits::max() : value < Limits::min() ? Limits::min() : static_cast<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    if (std::cmp_less(value, Limits::min())) return Limits::min();
    return std::cmp_greater(value, Limits::max()) ? Limits::max() : static_cast<To>(value);
  } else if constexpr (sizeof(To) < sizeof(From) && std::is_floating_point_v<From>) {
    if (std::abs(value) > Limits::max()) return value > 0 ? Limits::infinity() : -Limits::infinity();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To, bool is_swapped>
void convert(const unsigned char* from, unsigned char* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::array<unsigned char, sizeof(From)> bytes;
    std::memcpy(bytes.data(), from + i * sizeof(From), sizeof(From));
    if constexpr (is_swapped) std::ranges::reverse(bytes);
    if constexpr (!std::is_same_v<From, To>) {  // a number of the same type keeps its bits
      From value;
      std::memcpy(&value, bytes.data(), sizeof(From));
      const To result = converted<To>(value);
      std::memcpy(to + i * sizeof(To), &result, sizeof(To));
    } else {
      std::memcpy(to + i * sizeof(To), bytes.data(), sizeof(To));
    }
  }
}

}  // namespace

std::size_t bytes_of(ElementType type) {
  return with_type(type, [](auto number) { return sizeof(number); });
}

void convert_numbers(NumberType type, const void* from, ElementType wanted, void* to, std::size_t count) {
  with_type(type.type, [&]<class From>(From) {
    with_type(wanted, [&]<class To>(To) {
      const auto work = type.is_swapped ? convert<From, To, true> : convert<From, To, false>;
      work(static_cast<const unsigned char*>(from), static_cast<unsigned char*>(to), count);
    });
  });
}

}  // namespace smallbatch
