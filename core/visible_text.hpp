// Words of strangers (names in files, names of files) as a terminal, a log or a page may show them: nothing in them is
// obeyed, and no line of theirs looks like one of ours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace smallbatch {

/// The bytes of the character of UTF-8 that a text begins with; 0 where it begins with none.
std::size_t utf8_length(std::string_view text);

/// True of the characters that a terminal or a browser obeys instead of showing them: control characters of ASCII and
/// of Unicode, those that turn the direction of what follows, and those without width. `character` is one whole
/// character of UTF-8.
bool is_control(std::string_view character);

/// Any of ASCII's, which no name that becomes a line of a text file may hold.
bool has_control_bytes(std::string_view text);

/// On one line: control characters and bytes that are no UTF-8 as \x1b, a backslash stays as it is.
std::string visible_text(std::string_view text);
/// The same of several lines: line feeds stay.
std::string visible_lines(std::string_view text);
/// Of a JSON document, which means the same afterwards: \u202e.
std::string visible_json(std::string_view json);

}  // namespace smallbatch
#pragma GCC visibility pop
