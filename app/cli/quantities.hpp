// Quantities for people: three digits and a unit, "4.2 GB", "0.21 s", "1.5 million pairs/s".
#pragma once

#include <string>

namespace smallbatch {

/// Formats one number with a printf() format.
std::string formatted(const char* format, double value);

std::string bytes_text(double bytes);
std::string seconds_text(double seconds);
std::string rate_text(double per_second, const std::string& unit);

}  // namespace smallbatch
