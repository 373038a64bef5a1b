// The two types that numbers may have.
#pragma once

#pragma GCC visibility push(default)
namespace smallbatch {

/// float and double.
enum class ScalarType { float32, float64 };

/// The one that T is.
template <class T>
inline constexpr ScalarType scalar_type_of = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;

}  // namespace smallbatch
#pragma GCC visibility pop
