#include "app/cli/shell_text.hpp"

#include <algorithm>

#include "core/visible_text.hpp"

namespace smallbatch {

namespace {

bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         std::string_view("_@%+=:,./-").find(byte) != std::string_view::npos;
}

}  // namespace

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

}  // namespace smallbatch
