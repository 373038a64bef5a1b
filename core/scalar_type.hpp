// The two floating-point types in which the library computes.
#pragma once

#pragma GCC visibility push(default)
namespace smallbatch {

/// float or double.
enum class ScalarType { float32, float64 };

/// The ScalarType of T.
template <class T>
inline constexpr ScalarType scalar_type_of = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;

}  // namespace smallbatch
#pragma GCC visibility pop
