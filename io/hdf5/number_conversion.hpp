// Numbers as a file stores them, made numbers as memory has them, with the results of HDF5's conversions. Private to
// io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace smallbatch {

enum class ElementType { int8, uint8, int32, int64, float32, float64, int16, uint16, uint32, uint64, other };

/// The elements of an array of T: float, double, or an integer of 8, 16, 32 or 64 bits, signed or not.
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

/// Not of `other`.
std::size_t bytes_of(ElementType type);

/// Numbers of a file.
struct NumberType {
  ElementType type = ElementType::other;
  bool is_swapped = false;  ///< their bytes lie in the order that this machine does not have

  bool operator==(const NumberType&) const = default;
};

/// An integer that does not fit becomes the nearest that does; so does a float after its fraction is cut off, and NaN
/// becomes 0. A float is rounded to the nearest; what is larger than the type's largest becomes infinite. `from` may be
/// `to` where both numbers have as many bytes; else they may not overlap.
void convert_numbers(NumberType type, const void* from, ElementType wanted, void* to, std::size_t count);

}  // namespace smallbatch
