// smallbatch(1), from the declarations that the help is made of.
#pragma once

#include <string>

#include "app/cli/command_description.hpp"

namespace smallbatch {

/// About stdout, stderr and colours: the help says the same.
inline constexpr const char* words_about_output =
    "Results and help go to stdout, everything else to stderr. NO_COLOR is respected.";

/// In roff, with the macros of man(7).
std::string man_page(const CommandDescription& program);

}  // namespace smallbatch
