// Numbers as text that no locale changes.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace smallbatch {

/// Returns the shortest text that reads back as the same number.
template <class T>
std::string number_text(T value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// Returns the number with `digits` significant digits, or with `digits` decimals if `format` says so.
inline std::string number_text(double value, int digits, std::chars_format format = std::chars_format::general) {
  std::array<char, 400> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, format, digits).ptr};
}

}  // namespace smallbatch
