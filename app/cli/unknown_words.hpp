// What a call means that is not understood: the first word that nobody knows, and the nearest one that is known.
#pragma once

#include <string>
#include <vector>

#include "app/cli/command_description.hpp"

namespace smallbatch {

/// A call that was not understood: its words, the commands among them ("generate", "spd"), and those of its words that
/// nobody took.
struct RefusedCall {
  std::vector<std::string> words, commands, not_taken;
};

/// "unknown option --devcie. Did you mean --device? See smallbatch run --help."; where all words are known, `problem`
/// is what is wrong.
std::string sentence_about(const RefusedCall& call, const CommandDescription& program, const std::string& problem);

/// "ldtl is none of auto, gauss_jordan, ldlt. Did you mean ldlt?"
std::string unknown_choice(const std::string& found, const std::vector<std::string>& words);

}  // namespace smallbatch
