// Words in the quoting of a shell.
#pragma once

#include <string>
#include <string_view>

namespace smallbatch {

/// Quotes `word` for bash and zsh, on one line. A plain word stays unchanged. Other words are put in '...', or in
/// $'...' if they have control characters.
std::string shell_quoted(std::string_view word);

}  // namespace smallbatch
