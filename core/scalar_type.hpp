// The two types that numbers may have.
#pragma once

#pragma GCC visibility push(default)
namespace smallbatch {

enum class ScalarType { float32, float64 };

template <class T>
inline constexpr ScalarType scalar_type_of = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;

}  // namespace smallbatch
#pragma GCC visibility pop
