// Converts numbers from their form in a file to their form in memory. The results are those of HDF5's conversions.
// Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace smallbatch {

enum class ElementType { int8, uint8, int32, int64, float32, float64, int16, uint16, uint32, uint64, other };

/// Type of the elements in an array of T. T is float, double, or an integer of 8, 16, 32 or 64 bits, signed or not.
template <class T>
inline constexpr ElementType element_type_of = std::is_floating_point_v<T>
                                                   ? (sizeof(T) == 4 ? ElementType::float32 : ElementType::float64)
                                               : sizeof(T) == 1
                                                   ? (std::is_signed_v<T> ? ElementType::int8 : ElementType::uint8)
                                               : sizeof(T) == 2
                                                   ? (std::is_signed_v<T> ? ElementType::int16 : ElementType::uint16)
                                               : sizeof(T) == 4
                                                   ? (std::is_signed_v<T> ? ElementType::int32 : ElementType::uint32)
                                                   : (std::is_signed_v<T> ? ElementType::int64 : ElementType::uint64);

/// Returns the bytes of a number. The type must not be `other`.
std::size_t bytes_of(ElementType type);

/// Type and byte order of numbers in a file.
struct NumberType {
  ElementType type = ElementType::other;
  bool is_swapped = false;  ///< the bytes are not in this machine's order

  bool operator==(const NumberType&) const = default;
};

/// Converts `count` numbers. An integer that does not fit becomes the nearest integer that fits. A float that becomes
/// an integer loses its fraction first, and NaN becomes 0. A number that becomes a float is rounded to the nearest. A
/// number beyond the largest float becomes infinite. `from` may be `to` if both types have equally many bytes.
/// Otherwise the two must not overlap.
void convert_numbers(NumberType type, const void* from, ElementType wanted, void* to, std::size_t count);

}  // namespace smallbatch
