#include "app/cli/command_declaration.hpp"

#include <algorithm>

#include "app/cli/exit_codes.hpp"
#include "app/cli/option_texts.hpp"
#include "app/cli/unknown_words.hpp"
#include "core/instruction_sets.hpp"
#include "core/text_streams.hpp"

namespace smallbatch {

Command::Command(CLI::App& parent, const std::string& name, const std::string& help, const std::string& heading)
    : app_(parent.add_subcommand(name, help)) {
  if (!heading.empty()) app_->group(heading);
}

void Command::examples(const std::vector<std::string>& lines, const std::string& before) {
  std::string text = before + (before.empty() ? "" : "\n\n") + (lines.size() == 1 ? "Example:" : "Examples:");
  for (const std::string& line : lines) text += "\n  smallbatch " + line;
  app_->footer(text + "\n\n" + words_on_exit_codes);
}

AnyCommand Command::finish() {
  for (const CLI::Option* option : app_->get_options())
    if (std::ranges::count(option->results(), "") > 0 && std::ranges::count(lists_, option) == 0)
      refuse_empty_option(option->get_name());
  for (const auto& check : checks_) check();
  return options();
}

void Command::threads(unsigned& count) {
  number("--threads", count, {0U, 4096U},
         "CPU threads; 0: as OMP_NUM_THREADS or SLURM_CPUS_PER_TASK says, else one per core", "4");
  add_check([&count] {
    if (count == 0) count = threads_of_environment();
  });
}

void Command::instruction_set(InstructionSet& set) {
  choice("--instruction-set", set, choices_of(instruction_set_names(), parse_instruction_set),
         "Instruction set of the CPU kernels")
      ->envname("SMALLBATCH_INSTRUCTION_SET");
}

void Command::fail_on(FailOn& value) {
  choice("--fail-on", value,
         {{"errors", FailOn::errors}, {"disagreement", FailOn::disagreement}, {"none", FailOn::none}},
         "Exit with code 1 after failures or disagreements with the referee, only after disagreements, or never");
}

std::string_view Command::synonym_of(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> synonyms[] = {{"single", "float32"},
                                                                               {"double", "float64"},
                                                                               {"infinite", "inf"},
                                                                               {"infinity", "inf"},
                                                                               {"packed", "packed_lower"}};
  const auto* const found = std::ranges::find(synonyms, word, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(synonyms) ? std::string_view() : found->second;
}

CLI::Validator Command::is_one_of(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "{" : "|") + word;
  const auto check = [words](const std::string& found) {
    const bool is_known = std::ranges::count(words, found) > 0 || std::ranges::count(words, synonym_of(found)) > 0;
    return is_known ? std::string() : unknown_choice(found, words);
  };
  return {check, list + "}", "is_one_of"};
}

namespace {

OptionDescription describe_option(const CLI::Option& option) {
  OptionDescription text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  text.is_positional = text.names.empty();
  if (text.is_positional) text.names.push_back(option.get_name());
  text.help = option.get_description();
  text.heading = option.get_group();
  text.by_default = option.get_default_str();
  text.environment = option.get_envname();
  text.is_required = option.get_required();
  text.takes_several = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_type_size() == 0) return text;     // a flag
  const std::string type = option.get_type_name();  // "TEXT:{a|b}"
  const std::size_t colon = type.find(':');
  text.value = type.substr(0, colon);
  if (colon == std::string::npos) return text;
  text.limits = type.substr(colon + 1);
  if (!text.limits.starts_with('{')) return text;
  TextReader words(text.limits.substr(1, text.limits.size() - 2));
  for (std::string word; std::getline(words, word, '|');) text.words.push_back(word);
  return text;
}

}  // namespace

CommandDescription describe(const CLI::App& app) {
  CommandDescription text{app.get_name(), app.get_description(), app.get_group(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) text.options.push_back(describe_option(*option));
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; }))
    text.commands.push_back(describe(*inner));
  return text;
}

}  // namespace smallbatch
