// Scripts that complete the words of a command line in a shell. They are made from the declarations that also make the
// help.
#pragma once

#include <string>

#include "app/cli/command_description.hpp"

namespace smallbatch {

enum class Shell { none, bash, zsh, fish };

/// Returns a script that the shell reads.
std::string completions(const CommandDescription& program, Shell shell);

}  // namespace smallbatch
