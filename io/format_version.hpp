// The version of problem and result files (io/FORMAT.md). Private to io/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/systems.hpp"

namespace smallbatch {

/// Version of files that are written, and the newest version that is read without a warning.
inline constexpr std::int32_t format_major = 1, format_minor = std::max(9, newest_spd_number);
/// "1.9" and "(1, 9)"
inline const std::string format_version = std::to_string(format_major) + "." + std::to_string(format_minor);
inline const std::string format_pair = "(" + std::to_string(format_major) + ", " + std::to_string(format_minor) + ")";

}  // namespace smallbatch
