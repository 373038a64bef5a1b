#include "app/cli/unknown_words.hpp"

#include <algorithm>
#include <optional>

#include "core/nearest_name.hpp"

namespace smallbatch {
namespace {

std::string without_dashes(const std::string& word) {
  const std::size_t first = word.find_first_not_of('-');
  return first == std::string::npos ? "" : word.substr(first);
}

/// Returns the known word that `word` probably means: misspelt, abbreviated, or with its letters in another order.
std::optional<std::string> nearest_word(const std::string& word, const std::vector<std::string>& known) {
  const std::string bare = without_dashes(word);
  if (bare.empty()) return std::nullopt;
  std::vector<std::string> bare_known;
  for (const std::string& candidate : known) bare_known.push_back(without_dashes(candidate));
  const auto named = [&](const std::string& meant) {
    return known[static_cast<std::size_t>(std::ranges::find(bare_known, meant) - bare_known.begin())];
  };
  if (const auto meant = nearest_name(bare, bare_known)) return named(*meant);
  for (const std::string& candidate : bare_known) {
    const bool is_begun = bare.size() > 1 && candidate.starts_with(bare);
    if (is_begun || (bare.size() > 1 && std::ranges::is_permutation(bare, candidate))) return named(candidate);
  }
  return std::nullopt;
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Returns "unknown option --devcie. Did you mean --device?".
std::string unknown(const std::string& thing, const std::string& word, const std::vector<std::string>& known) {
  const auto meant = nearest_word(word, known);
  return "unknown " + thing + " " + word + (meant ? ". Did you mean " + *meant + "?" : ".");
}

void add_names(const CommandDescription& command, std::vector<std::string>& names) {
  for (const OptionDescription& option : command.options)
    if (!option.is_positional) names.insert(names.end(), option.names.begin(), option.names.end());
}

/// Returns the commands that have the option, each as it is typed: `before`, then the names from `command` down.
std::vector<std::string> commands_with(const std::string& option, const CommandDescription& command,
                                       const std::string& before) {
  std::vector<std::string> found;
  for (const CommandDescription& inner : command.commands) {
    const std::string typed = before + inner.name;
    if (find_option(inner, option)) found.push_back(typed);
    const auto more = commands_with(option, inner, typed + " ");
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

}  // namespace

std::string sentence_about(const RefusedCall& call, const CommandDescription& program, const std::string& problem) {
  const CommandDescription* called = &program;
  std::string path;  // "generate spd"
  std::vector<std::string> options;
  add_names(program, options);
  for (const std::string& name : call.commands) {
    const CommandDescription* inner = find_command(*called, name);
    if (!inner) break;
    called = inner;
    path += (path.empty() ? "" : " ") + name;
    add_names(*called, options);
  }
  const std::string see = " See " + program.name + " " + (path.empty() ? "" : path + " ") + "--help.";

  const auto looks_like_option = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  // Returns the first word that no command or option took. Without `any`, `is_option` tells whether to look only at
  // options or only at other words. Below, options are reported first, because CLI11 also reports the values that
  // follow an unknown option.
  const auto first_not_taken = [&](bool any, bool is_option) -> std::optional<std::string> {
    for (const std::string& word : call.words)
      if ((any || looks_like_option(word) == is_option) &&
          std::ranges::find(call.not_taken, word) != call.not_taken.end())
        return word;
    return std::nullopt;
  };
  const bool wants_command = !called->commands.empty();
  if (const auto word = first_not_taken(wants_command, true); word && looks_like_option(*word)) {
    const std::string name = word->substr(0, word->find('='));
    const std::vector<std::string> others = commands_with(name, program, "");
    if (find_option(*called, name)) return name + " must come after " + path + "." + see;
    if (others.empty()) return unknown("option", name, options) + see;
    if (const auto inner = commands_with(name, *called, ""); wants_command && !path.empty() && !inner.empty())
      return path + " needs " + (inner.size() == 1 ? "" : "one of ") + list(inner) + " before " + name + "." + see;
    return (path.empty() ? name + " must come after a command" : path + " has no option " + name) + " (" +
           list(others) + (others.size() == 1 ? " has it)." : " have it).") + see;
  }
  if (const auto word = first_not_taken(wants_command, false)) {
    if (!wants_command) return "'" + *word + "' is one word too many for " + path + "." + see;
    std::vector<std::string> commands;
    for (const CommandDescription& command : called->commands) commands.push_back(command.name);
    std::string sentence = unknown("command", *word, commands);
    if (!nearest_word(*word, commands)) sentence += " The commands are " + list(commands) + ".";
    return sentence + see;
  }
  return problem + (problem.ends_with('?') || problem.ends_with('.') ? "" : ".") + see;
}

std::string unknown_choice(const std::string& found, const std::vector<std::string>& words) {
  const auto meant = nearest_word(found, words);
  return found + " is not one of " + list(words) + (meant ? ". Did you mean " + *meant + "?" : "");
}

}  // namespace smallbatch
