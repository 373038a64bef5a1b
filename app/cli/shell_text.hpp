// Words as a shell reads them.
#pragma once

#include <string>
#include <string_view>

namespace smallbatch {

/// The word as bash and zsh read it back, on one line: as it is, in '...', or, with control characters in it, in
/// $'...'.
std::string shell_quoted(std::string_view word);

}  // namespace smallbatch
