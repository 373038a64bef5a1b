#include "app/cli/quantities.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

namespace smallbatch {

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return formatted("%.3g GB", bytes / 1e9);
  if (bytes >= 1e6) return formatted("%.3g MB", bytes / 1e6);
  if (bytes >= 1e3) return formatted("%.3g kB", bytes / 1e3);
  return formatted("%.0f bytes", bytes);
}

std::string seconds_text(double seconds) {
  return seconds >= 100   ? formatted("%.0f s", seconds)
         : seconds >= 0.1 ? formatted("%.2f s", seconds)
                          : formatted("%.2g ms", seconds * 1e3);
}

std::string rate_text(double per_second, const std::string& unit) {
  if (per_second >= 1e12) return formatted("%.3g", per_second / 1e12) + " trillion " + unit + "/s";
  if (per_second >= 1e9) return formatted("%.3g", per_second / 1e9) + " billion " + unit + "/s";
  if (per_second >= 1e6) return formatted("%.3g", per_second / 1e6) + " million " + unit + "/s";
  if (per_second >= 1e3) return formatted("%.3g", per_second / 1e3) + " thousand " + unit + "/s";
  return formatted("%.3g", per_second) + " " + unit + "/s";
}

}  // namespace smallbatch
