// The command line as data: what the man page, the completions and the sentences about unknown words are made of. It is
// read from the declarations that the help is made of (app/cli/options.cpp).
#pragma once

#include <string>
#include <vector>

namespace smallbatch {

struct OptionDescription {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional one its name alone
  std::string value;               ///< "FILE", "TEXT"; empty: a flag
  std::string limits;              ///< "UINT in [0 - 4096]"; empty: none
  std::vector<std::string> words;  ///< that the value may be; empty: others, too
  std::string help, heading, by_default, environment;
  bool is_positional = false, is_required = false, takes_several = false;
};

struct CommandDescription {
  std::string name, help, heading, footer;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};

/// The one of that name; null where there is none.
const OptionDescription* find_option(const CommandDescription& command, const std::string& name);
const CommandDescription* find_command(const CommandDescription& command, const std::string& name);

}  // namespace smallbatch
