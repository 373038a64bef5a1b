// What a run says on stdout: a summary for people, or the same as JSON.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>

#include "app/pipeline.hpp"
#include "core/error.hpp"

namespace smallbatch {

std::string report_text(const RunReport& report);
std::string report_json(const RunReport& report);
/// {"error": {"kind": "missing_file", "exit_code": 4, "message": "..."}}
std::string error_json(ErrorKind kind, const std::string& message);

/// As short as it can be, and no other number's.
template <class T>
std::string number_text(T value) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), static_cast<std::size_t>(end - text.data())};
}

/// "4.2 GB", "1.5 million", "0.21 s": three digits and a unit.
std::string bytes_text(double bytes);
std::string seconds_text(double seconds);
std::string rate_text(double per_second, const std::string& unit);

}  // namespace smallbatch
