// Numbers as text that no locale changes.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace smallbatch {

/// As short as it can be, and no other number's.
template <class T>
std::string number_text(T value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// With so many significant digits, or decimals of another format.
inline std::string number_text(double value, int digits, std::chars_format format = std::chars_format::general) {
  std::array<char, 400> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, format, digits).ptr};
}

}  // namespace smallbatch
