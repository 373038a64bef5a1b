// Words in the quoting of a shell.
#pragma once

#include <string>
#include <string_view>

namespace smallbatch {

/// Returns `word` on one line so that bash and zsh read it back: unchanged, in '...', or in $'...' if it has control
/// characters.
std::string shell_quoted(std::string_view word);

}  // namespace smallbatch
