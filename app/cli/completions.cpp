#include "app/cli/completions.hpp"
#include "core/text_streams.hpp"

#include <vector>

namespace smallbatch {
namespace {

/// A command with the words that are typed before its options: "generate spd". The program itself has "".
struct Typed {
  std::string words;
  const CommandDescription* command;
};
void add_typed(const CommandDescription& command, const std::string& words, std::vector<Typed>& all) {
  all.push_back({words, &command});
  for (const CommandDescription& inner : command.commands)
    add_typed(inner, words + (words.empty() ? "" : " ") + inner.name, all);
}
std::vector<Typed> all_typed(const CommandDescription& program) {
  std::vector<Typed> all;
  add_typed(program, "", all);
  return all;
}

/// Returns the options of a command, and the options of the program, which every command takes.
std::vector<const OptionDescription*> options_of(const CommandDescription& program, const CommandDescription& command) {
  std::vector<const OptionDescription*> options;
  for (const OptionDescription& option : command.options) options.push_back(&option);
  for (const OptionDescription& option : program.options)
    if (&command != &program && !find_option(command, option.names.back())) options.push_back(&option);
  return options;
}

template <class Words, class Name>
std::string joined(const Words& words, const char* between, Name name) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : between) + name(word);
  return text;
}
std::string same(const std::string& word) { return word; }

/// Puts `text` in single quotes. `quote_within` replaces each single quote, so that it does not end the quoted text.
std::string quoted(const std::string& text, const char* quote_within) {
  std::string all;
  for (const char c : text) all += c == '\'' ? quote_within : std::string(1, c);
  return "'" + all + "'";
}

std::string bash(const CommandDescription& program) {
  TextWriter script;
  script << "# Completes " << program.name << " in bash: source it, or put it where bash-completion looks.\n"
         << "_" << program.name << "() {\n"
         << "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= k\n"
         << "  [[ $word == = ]] && word=\n"
         << "  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
         << "  for ((k = 1; k < COMP_CWORD; ++k)); do\n"
         << "    case \"$command${command:+ }${COMP_WORDS[k]}\" in\n";
  const std::vector<Typed> all = all_typed(program);
  for (const Typed& typed : all)
    if (!typed.words.empty()) script << "      '" << typed.words << "') command='" << typed.words << "' ;;\n";
  script << "    esac\n  done\n  local words= files= value=1\n  case \"$command:$before\" in\n";
  for (const Typed& typed : all)
    for (const OptionDescription* option : options_of(program, *typed.command)) {
      if (option->is_positional || option->value.empty()) continue;
      const auto after_words = [&](const std::string& name) { return "'" + typed.words + ":" + name + "'"; };
      script << "    " << joined(option->names, "|", after_words) << ") ";
      if (!option->words.empty()) script << "words='" << joined(option->words, " ", same) << "' ";
      if (option->value == "FILE") script << "files=1 ";
      script << ";;\n";
    }
  script << "    *) value= ;;\n  esac\n  if [[ ! $value ]]; then\n    case \"$command\" in\n";
  for (const auto& [words, command] : all) {
    bool takes_files = false;
    for (const OptionDescription& option : command->options)
      takes_files |= option.is_positional && option.value == "FILE";
    script << "      '" << words << "')\n        if [[ $word == -* ]]; then words='";
    const char* between = "";
    for (const OptionDescription* option : options_of(program, *command)) {
      if (option->is_positional) continue;
      script << between << joined(option->names, " ", same);
      between = " ";
    }
    script << "'; else words='" << joined(command->commands, " ", [](const auto& inner) { return inner.name; })
           << "' files=" << (takes_files ? "1" : "") << "; fi ;;\n";
  }
  script << "    esac\n  fi\n"
         << "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"; [[ $files ]] && compgen -f -- \"$word\")\n"
         << "  if [[ $files ]]; then compopt -o filenames 2>/dev/null; fi\n"
         << "}\n"
         << "complete -F _" << program.name << " " << program.name << "\n";
  return script.str();
}

std::string zsh(const CommandDescription& program) {
  // Brackets and colons have a meaning in the descriptions of _arguments, so they are escaped.
  const auto description = [](const std::string& text) {
    std::string escaped;
    for (const char c : text)
      escaped += (c == '[' || c == ']' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
    return escaped;
  };
  TextWriter script;
  script << "#compdef " << program.name << "\n"
         << "# Completes " << program.name << " in zsh: put it into a folder of $fpath, as _" << program.name << ".\n"
         << "_" << program.name << "() {\n"
         << "  local command= k\n"
         << "  for ((k = 2; k < CURRENT; ++k)); do\n"
         << "    case \"$command${command:+ }${words[k]}\" in\n";
  const std::vector<Typed> all = all_typed(program);
  for (const Typed& typed : all)
    if (!typed.words.empty()) script << "      '" << typed.words << "') command='" << typed.words << "' ;;\n";
  script << "    esac\n  done\n  case \"$command\" in\n";
  for (const auto& [words, command] : all) {
    script << "    '" << words << "')\n      _arguments";
    for (const OptionDescription* option : options_of(program, *command)) {
      std::string value;
      if (!option->value.empty()) value = ":" + option->value + ":";
      if (!option->words.empty()) value += "(" + joined(option->words, " ", same) + ")";
      if (option->value == "FILE") value += "_files";
      if (option->is_positional) continue;
      for (const std::string& name : option->names)
        script << " \\\n        " << quoted(name + "[" + description(option->help) + "]" + value, "'\\''");
    }
    // All words that are not options are completed from one list. Their positions would not help, because _arguments
    // counts the words of the command, such as "generate spd", as positional arguments.
    std::string others = "_files";
    if (!command->commands.empty())
      others = "(" + joined(command->commands, " ", [](const auto& inner) { return inner.name; }) + ")";
    script << " \\\n        " << quoted("*:word:" + others, "'\\''") << "\n      ;;\n";
  }
  script << "  esac\n}\n"
         << "if [[ $funcstack[1] == _" << program.name << " ]]; then _" << program.name << " \"$@\"; else compdef _"
         << program.name << " " << program.name << "; fi\n";
  return script.str();
}

std::string fish(const CommandDescription& program) {
  TextWriter script;
  script << "# Completes " << program.name << " in fish: put it into ~/.config/fish/completions.\n"
         << "complete -c " << program.name << " -f\n";
  const auto in_quotes = [](const std::string& text) { return quoted(text, "\\'"); };
  for (const auto& [words, command] : all_typed(program)) {
    std::string condition;
    TextReader names(words);
    for (std::string name; names >> name;)
      condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + name);
    if (condition.empty()) condition = "__fish_use_subcommand";
    for (const CommandDescription& inner : command->commands)
      script << "complete -c " << program.name << " -n " << in_quotes(condition) << " -a " << inner.name << " -d "
             << in_quotes(inner.help) << "\n";
    if (!command->commands.empty() && command != &program) continue;
    // Options of the program belong to all commands.
    const std::string when = command == &program ? "" : " -n " + in_quotes(condition);
    for (const OptionDescription& option : command->options) {
      script << "complete -c " << program.name << when;
      if (!option.is_positional)
        for (const std::string& name : option.names)
          script << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (option.value == "FILE") script << " -F" << (option.is_positional ? "" : " -r");
      if (option.value != "FILE" && !option.value.empty() && !option.is_positional) script << " -x";
      if (!option.words.empty()) script << " -a " << in_quotes(joined(option.words, " ", same));
      script << " -d " << in_quotes(option.help) << "\n";
    }
  }
  return script.str();
}

}  // namespace

std::string completions(const CommandDescription& program, Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash(program);
    case Shell::zsh:
      return zsh(program);
    case Shell::fish:
      return fish(program);
    case Shell::none:
      break;
  }
  return {};
}

}  // namespace smallbatch
