// Conversion of titles to ASCII, which every reader of a file understands. The font of pictures has no other
// characters.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/visible_text.hpp"
#include "io/interchange/export_file.hpp"

namespace smallbatch {
namespace {

/// Letters without their accents, for U+00C0 to U+017F.
constexpr std::string_view latin =
    "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty"
    "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlL"
    "lLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";
/// Names of U+03B1 to U+03C9. Each capital is 32 code points before its small letter.
constexpr std::array<std::string_view, 25> greek{
    "alpha", "beta",    "gamma", "delta", "epsilon", "zeta",  "eta", "theta",   "iota", "kappa", "lambda", "mu",   "nu",
    "xi",    "omicron", "pi",    "rho",   "sigma",   "sigma", "tau", "upsilon", "phi",  "chi",   "psi",    "omega"};
constexpr std::array<std::pair<unsigned, std::string_view>, 19> others{{{0xa0, " "},
                                                                        {0xb0, "deg"},
                                                                        {0xb1, "+-"},
                                                                        {0xb2, "2"},
                                                                        {0xb3, "3"},
                                                                        {0xb5, "u"},
                                                                        {0xb7, "."},
                                                                        {0xb9, "1"},
                                                                        {0x2010, "-"},
                                                                        {0x2013, "-"},
                                                                        {0x2014, "-"},
                                                                        {0x2018, "'"},
                                                                        {0x2019, "'"},
                                                                        {0x201c, "\""},
                                                                        {0x201d, "\""},
                                                                        {0x2026, "..."},
                                                                        {0x2126, "Ohm"},
                                                                        {0x212b, "A"},
                                                                        {0x2212, "-"}}};

std::string in_ascii(unsigned code) {
  if (code >= 0xc0 && code < 0xc0 + latin.size()) return {latin[code - 0xc0]};
  if (code >= 0x300 && code < 0x370) return "";  // a mark on the letter before it
  if (code >= 0x2080 && code <= 0x2089) return {static_cast<char>('0' + (code - 0x2080))};
  const bool is_capital = code >= 0x391 && code < 0x3b1;
  if (const unsigned letter = code + (is_capital ? 32 : 0) - 0x3b1; letter < greek.size()) {
    std::string name(greek[letter]);
    if (is_capital) name[0] = static_cast<char>(name[0] - 'a' + 'A');
    return name;
  }
  for (const auto& [other, text] : others)
    if (code == other) return std::string(text);
  return "?";
}

}  // namespace

std::string plain_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 1) {
      line += first < 0x20 || first == 0x7f ? ' ' : text[0];
    } else if (length == 0) {
      line += '?';
    } else {
      unsigned code = first & (0xffU >> (length + 1));
      for (const char byte : text.substr(1, length - 1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
      line += in_ascii(code);
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return line;
}

}  // namespace smallbatch
