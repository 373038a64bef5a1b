#include "core/visible_text.hpp"

#include <algorithm>
#include <array>

namespace smallbatch {

namespace {

std::string escaped(char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'\\', 'x', digits[value >> 4], digits[value & 15]};
}

/// Returns the text, with escaped() in place of every character that must not be shown.
template <class IsShown, class Escaped>
std::string with_escapes(std::string_view text, IsShown&& is_shown, Escaped&& escaped) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t k = 0; k < text.size();) {
    const std::size_t plain = k;  // printable ASCII characters are appended in one piece
    while (k < text.size() && text[k] >= ' ' && text[k] <= '~') ++k;
    shown.append(text, plain, k - plain);
    if (k == text.size()) break;
    const std::size_t length = utf8_length(text.substr(k));
    const std::string_view character = text.substr(k, std::max<std::size_t>(length, 1));
    k += character.size();
    shown += length > 0 && is_shown(character) ? std::string(character) : escaped(character);
  }
  return shown;
}

std::string escaped_bytes(std::string_view character) {
  std::string text;
  for (const char byte : character) text += escaped(byte);
  return text;
}

unsigned code_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  unsigned code = first & (0xffU >> (character.size() + 1));
  for (const char byte : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  return code;
}

/// Returns a UTF-16 code unit as JSON escapes it.
std::string escaped_unit(unsigned unit) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'\\', 'u', digits[unit >> 12 & 15], digits[unit >> 8 & 15], digits[unit >> 4 & 15], digits[unit & 15]};
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t k) { return static_cast<unsigned>(static_cast<unsigned char>(text[k])); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 && first < 0xf5   ? 4
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xc2 && first < 0xe0 ? 2
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  unsigned code = first & (0xffU >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(k) & 0x3f);
  }
  constexpr std::array<unsigned, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code >= least[length] && code <= 0x10ffff && !is_surrogate ? length : 0;
}

bool is_control(std::string_view character) {
  struct Range {
    unsigned first, last;
  };
  // The last range holds tag characters, which are invisible.
  constexpr std::array<Range, 9> controls{{{0, 0x1f},
                                           {0x7f, 0x9f},
                                           {0xad, 0xad},
                                           {0x61c, 0x61c},
                                           {0x200b, 0x200f},
                                           {0x2028, 0x202e},
                                           {0x2060, 0x206f},
                                           {0xfeff, 0xfeff},
                                           {0xe0000, 0xe007f}}};
  const unsigned code = code_of(character);
  return std::ranges::any_of(controls, [&](const Range& range) { return range.first <= code && code <= range.last; });
}

bool has_control_bytes(std::string_view text) {
  return std::ranges::any_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; });
}

std::string visible_text(std::string_view text) {
  return with_escapes(
      text, [](std::string_view character) { return !is_control(character); }, escaped_bytes);
}

std::string visible_lines(std::string_view text) {
  return with_escapes(
      text, [](std::string_view character) { return character == "\n" || !is_control(character); }, escaped_bytes);
}

std::string visible_json(std::string_view json) {
  return with_escapes(
      json, [](std::string_view character) { return character == "\n" || !is_control(character); },
      [](std::string_view character) {
        const unsigned code = code_of(character);
        if (code < 0x10000) return escaped_unit(code);
        return escaped_unit(0xd800 + ((code - 0x10000) >> 10)) + escaped_unit(0xdc00 + ((code - 0x10000) & 0x3ff));
      });
}

}  // namespace smallbatch
