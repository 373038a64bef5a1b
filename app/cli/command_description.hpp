// The command line as data, read from the declarations that also make the help (app/cli/options.cpp). The man page, the
// completions and the messages about unknown words are made from this data.
#pragma once

#include <string>
#include <vector>

namespace smallbatch {

struct OptionDescription {
  std::vector<std::string> names;  ///< "-o", "--output"; a positional option has its name only
  std::string value;               ///< "FILE", "TEXT"; empty for a flag
  std::string limits;              ///< "UINT in [0 - 4096]"; empty if there are none
  std::vector<std::string> words;  ///< the permitted values; empty if any text is permitted
  std::string help, heading, by_default, environment;
  bool is_positional = false, is_required = false, takes_several = false;
};

struct CommandDescription {
  std::string name, help, heading, footer;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};

/// Returns the option of that name, or null.
const OptionDescription* find_option(const CommandDescription& command, const std::string& name);
const CommandDescription* find_command(const CommandDescription& command, const std::string& name);

}  // namespace smallbatch
