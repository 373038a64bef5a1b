#include "app/cli/command_description.hpp"

#include <algorithm>

namespace smallbatch {

const OptionDescription* find_option(const CommandDescription& command, const std::string& name) {
  const auto found = std::ranges::find_if(command.options, [&](const OptionDescription& option) {
    return !option.is_positional && std::ranges::find(option.names, name) != option.names.end();
  });
  return found == command.options.end() ? nullptr : &*found;
}

const CommandDescription* find_command(const CommandDescription& command, const std::string& name) {
  const auto found = std::ranges::find(command.commands, name, &CommandDescription::name);
  return found == command.commands.end() ? nullptr : &*found;
}

}  // namespace smallbatch
