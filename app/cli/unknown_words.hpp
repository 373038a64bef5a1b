// Messages about a command line that was not understood. They name the first unknown word and the nearest known one.
#pragma once

#include <string>
#include <vector>

#include "app/cli/command_description.hpp"

namespace smallbatch {

/// A call that was not understood: its words, the commands among them ("generate", "spd"), and the words that no option
/// took.
struct RefusedCall {
  std::vector<std::string> words, commands, not_taken;
};

/// Returns the error message: "unknown option --devcie. Did you mean --device? See smallbatch run --help.". If all
/// words are known, the message is `problem`, then a reference to the help.
std::string sentence_about(const RefusedCall& call, const CommandDescription& program, const std::string& problem);

/// Returns "ldtl is not one of auto, gauss_jordan, ldlt. Did you mean ldlt?".
std::string unknown_choice(const std::string& found, const std::vector<std::string>& words);

}  // namespace smallbatch
