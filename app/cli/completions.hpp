// What completes the words of a command line in a shell, from the declarations that the help is made of.
#pragma once

#include <string>

#include "app/cli/command_description.hpp"

namespace smallbatch {

enum class Shell { none, bash, zsh, fish };

/// A script for the shell to read.
std::string completions(const CommandDescription& program, Shell shell);

}  // namespace smallbatch
