// Short names for infinity and NaN in double precision. Private.
#pragma once

#include <limits>

namespace smallbatch {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace smallbatch
