// Functions by which the commands of app/cli/options.cpp declare their options. Only files that use CLI11 include this
// header.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/cli/command_description.hpp"
#include "app/cli/file_endings.hpp"
#include "app/cli/option_texts.hpp"
#include "app/cli/options.hpp"
#include "core/number_text.hpp"

namespace smallbatch {

/// Pairs each word with the value that `parse` makes of it, for choice().
template <class Parse>
auto choices_of(const std::vector<std::string_view>& words, Parse parse) {
  std::vector<std::pair<std::string, std::decay_t<decltype(*parse(""))>>> choices;
  for (const std::string_view word : words) choices.emplace_back(word, *parse(word));
  return choices;
}

/// One command. Its constructor declares its options. One call per option gives the name, the variable for the value,
/// the help text and further checks. CLI11 keeps references to the variables, so a command must not move.
class Command {
 public:
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  [[nodiscard]] bool is_called() const { return app_->parsed(); }
  /// Runs the checks of add_check() and returns the user's options. Called once, after the whole command line has
  /// been read.
  AnyCommand finish();

 protected:
  Command(CLI::App& parent, const std::string& name, const std::string& help, const std::string& heading);
  [[nodiscard]] virtual AnyCommand options() const = 0;

  /// Options declared after this call are listed under this heading in the help.
  void heading(const std::string& heading) { heading_ = heading; }

  /// Declares an option. The help shows the present value of `value` as its default.
  template <class T>
  CLI::Option* option(const std::string& name, T& value, const std::string& help) {
    return without_default(name, value, help)->capture_default_str();
  }
  template <class T>
  CLI::Option* without_default(const std::string& name, T& value, const std::string& help) {
    return app_->add_option(name, value, help)->group(heading_);
  }
  /// Declares an option that takes a number. Error messages suggest `example`, or the default where `example` is empty.
  template <class T>
  CLI::Option* number(const std::string& name, T& value, const Limits<T>& limits, const std::string& help,
                      const std::string& example = {}) {
    return limited(option(name, value, help), limits, example.empty() ? number_text(value) : example);
  }
  template <class T>
  static CLI::Option* limited(CLI::Option* option, const Limits<T>& limits, const std::string& example) {
    const auto wrong = [limits, example](const std::string& text) { return wrong_number(text, limits, example); };
    return option->check(CLI::Validator(wrong, limits_text(limits), "number"));
  }
  /// Declares a required file, or a list of files.
  template <class T>
  void required(const std::string& name, T& value, const std::string& help) {
    without_default(name, value, help)->required()->type_name("FILE");
  }
  void optional_file(const std::string& name, std::string& path, const std::string& help) {
    without_default(name, path, help)->type_name("FILE");
  }
  void hdf5_input(const std::string& name, std::string& path, const std::string& help) {
    required(name, path, help);
    add_check([&path] { check_hdf5_input(path); });
  }
  /// Declares -o/--output for an HDF5 file, and --overwrite.
  void hdf5_output(std::string& path, bool& overwrite, const std::string& help) {
    required("-o,--output", path, help);
    overwrite_flag(overwrite);
    add_check([&path] { check_hdf5_output(path); });
  }
  void flag(const std::string& name, bool& value, const std::string& help) {
    app_->add_flag(name, value, help)->group(heading_);
  }
  void overwrite_flag(bool& value) { flag("--overwrite", value, "Replace the output if it exists"); }
  void json_flag(bool& value) {
    flag("--json", value, "Print the summary as JSON on stdout, or an error as {\"error\": ...}");
  }

  /// Declares an option that CLI11 stores as text. `use` parses the text after the whole command line has been read.
  template <class Use>
  CLI::Option* text(const std::string& name, const std::string& by_default, const std::string& help, const Use& use) {
    std::string& value = texts_.emplace_back(by_default);
    add_check([&value, use] { use(value); });
    return option(name, value, help);
  }
  /// Declares an option that takes one of several words, or a synonym of one of them. Each word stands for a value.
  template <class T>
  CLI::Option* choice(const std::string& name, T& value, const std::vector<std::pair<std::string, T>>& choices,
                      const std::string& help) {
    std::vector<std::string> words;
    std::string by_default;
    for (const auto& [word, meaning] : choices) {
      words.push_back(word);
      if (meaning == value) by_default = word;
    }
    const auto use = [&value, choices](const std::string& chosen) {
      for (const auto& [word, meaning] : choices)
        if (word == chosen || word == synonym_of(chosen)) value = meaning;
    };
    return text(name, by_default, help, use)->check(is_one_of(words));
  }

  /// Permits an empty value, for an option that takes a list. Every other option refuses an empty value.
  void may_be_empty(const CLI::Option* option) { lists_.push_back(option); }

  /// Adds a check that runs after the whole command line has been read. Checks run in the order in which they were
  /// added.
  void add_check(std::function<void()> check) { checks_.push_back(std::move(check)); }
  [[nodiscard]] bool is_given(const std::string& option) const { return app_->count(option) > 0; }

  /// Sets the end of the help: the text `before`, then example command lines.
  void examples(const std::vector<std::string>& lines, const std::string& before = {});

  void threads(unsigned& count);
  void instruction_set(InstructionSet& set);
  void fail_on(FailOn& value);

 private:
  CLI::App* app_;
  std::string heading_;
  std::deque<std::string> texts_;
  std::vector<const CLI::Option*> lists_;
  std::vector<std::function<void()>> checks_;

  /// Returns the file format's word for `word`, if `word` is a spelling of an earlier version or of the Python package.
  /// Otherwise returns an empty text.
  static std::string_view synonym_of(std::string_view word);
  /// Returns a check that a value is one of `words`, or a synonym of one of them. The help shows the words as {a|b}.
  static CLI::Validator is_one_of(const std::vector<std::string>& words);
};

/// Describes a command with its options and its subcommands.
CommandDescription describe(const CLI::App& app);

}  // namespace smallbatch
