// Words as a shell reads them, and words of strangers as a terminal may show them.
#pragma once

#include <string>
#include <string_view>

namespace smallbatch {

/// The word as bash and zsh read it back, on one line: as it is, in '...', or, with control characters in it, in
/// $'...'.
std::string shell_quoted(std::string_view word);

/// Fit for a terminal: control characters and bytes that are no UTF-8 as \x1b, a backslash stays as it is.
std::string visible_text(std::string_view text);

/// The bytes of the character of UTF-8 that a text begins with; 0 where it begins with none.
std::size_t utf8_length(std::string_view text);

/// True of the characters that a terminal or a browser obeys instead of showing them: control characters of ASCII and
/// of Unicode, and those that turn the direction of what follows. `character` is one whole character of UTF-8.
bool is_control(std::string_view character);

}  // namespace smallbatch
