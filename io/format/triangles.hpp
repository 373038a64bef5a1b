// Converts between the upper triangles in files and the lower triangles that all other code reads (core/systems.hpp).
#pragma once

#include <cstdint>

#include "core/systems.hpp"

namespace smallbatch {

/// The triangle that matrices hold before the exchange.
enum class TrianglesFrom { upper, lower };

/// Exchanges the triangles of `count` matrices in place. Dense matrices become their transposes. Packed triangles stay
/// packed by rows.
template <class T>
void exchange_triangles(const SpdShape& shape, TrianglesFrom from, std::int64_t count, T* a);

}  // namespace smallbatch
