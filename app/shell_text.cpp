#include "app/shell_text.hpp"

#include <algorithm>
#include <array>

namespace smallbatch {

namespace {

std::string escaped(char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'\\', 'x', digits[value >> 4], digits[value & 15]};
}

bool is_control_byte(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         std::string_view("_@%+=:,./-").find(byte) != std::string_view::npos;
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
  if (character.size() == 1) return is_control_byte(character[0]);
  if (character.size() == 2) return character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0;
  // U+200B to U+200F, U+2028 to U+202E, U+2066 to U+2069, U+FEFF
  if (character.size() != 3) return false;
  const std::string_view two = character.substr(0, 2);
  const auto third = static_cast<unsigned char>(character[2]);
  return (two == "\xe2\x80" && ((third >= 0x8b && third <= 0x8f) || (third >= 0xa8 && third <= 0xae))) ||
         (two == "\xe2\x81" && third >= 0xa6 && third <= 0xa9) || character == "\xef\xbb\xbf";
}

std::string shell_quoted(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  const bool has_controls = visible_text(word) != word;
  std::string text = has_controls ? "$'" : "'";
  for (std::size_t k = 0; k < word.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(word.substr(k)), 1);
    const std::string_view character = word.substr(k, length);
    k += length;
    if (!has_controls) {
      text += character == "'" ? std::string_view("'\\''") : character;
    } else if (character == "'" || character == "\\") {
      text += '\\';
      text += character;
    } else {
      text += visible_text(character);
    }
  }
  return text + "'";
}

std::string visible_text(std::string_view text) {
  std::string shown;
  for (std::size_t k = 0; k < text.size();) {
    const std::size_t length = utf8_length(text.substr(k));
    const std::string_view character = text.substr(k, std::max<std::size_t>(length, 1));
    k += character.size();
    if (length > 0 && !is_control(character)) {
      shown += character;
    } else {
      for (const char byte : character) shown += escaped(byte);
    }
  }
  return shown;
}

}  // namespace smallbatch
