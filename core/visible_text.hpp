// Makes text from strangers (names in files, names of files) safe to show on a terminal, in a log or on a page. Control
// characters in the text take no effect, and no line of it can pass for a line of this program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns the number of bytes of the UTF-8 character at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text);

/// Returns whether a terminal or a browser obeys this character instead of showing it. Examples are control characters
/// of ASCII and Unicode, characters that change the direction of text, and characters without width. The argument is
/// one whole character of UTF-8.
bool is_control(std::string_view character);

/// Returns whether `text` contains a control character of ASCII. A name that becomes a line of a text file must have
/// none.
bool has_control_bytes(std::string_view text);

/// Returns the text on one line. Control characters and bytes that are not UTF-8 become escapes like \x1b; a backslash
/// stays.
std::string visible_text(std::string_view text);
/// Returns the text like visible_text(), but keeps line feeds.
std::string visible_lines(std::string_view text);
/// Returns a JSON document with the same meaning, with control characters as escapes like \u202e.
std::string visible_json(std::string_view json);

}  // namespace smallbatch
#pragma GCC visibility pop
