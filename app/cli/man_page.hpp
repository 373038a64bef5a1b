// The man page smallbatch(1), made from the declarations that also make the help.
#pragma once

#include <string>

#include "app/cli/command_description.hpp"

namespace smallbatch {

/// Words about stdout, stderr and colours. The help has them too.
inline constexpr const char* words_about_output =
    "Summaries and help go to stdout, everything else to stderr. The variable NO_COLOR turns colours off.";

/// Returns the page in roff, with the macros of man(7).
std::string man_page(const CommandDescription& program);

}  // namespace smallbatch
