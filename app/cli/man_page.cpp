#include "app/cli/man_page.hpp"

#include <array>
#include <utility>

#include "app/cli/exit_codes.hpp"
#include "app/cli/version.hpp"
#include "core/text_streams.hpp"

namespace smallbatch {
namespace {

/// Escapes every character that means something to roff.
std::string plain(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}
std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

/// Returns the words that stand for an option's value, such as "auto|ldlt" or "FILE ...". A line may break behind a
/// bar. A flag has no such words.
std::string value_of(const OptionDescription& option) {
  std::string text;
  for (const std::string& word : option.words) text += (text.empty() ? "" : "|\\:") + bold(word);
  if (text.empty() && !option.value.empty()) text = italic(option.is_positional ? option.names.front() : option.value);
  return text + (option.takes_several ? " ..." : "");
}

void write_option(std::ostream& page, const OptionDescription& option) {
  page << ".TP\n";
  if (!option.is_positional)
    for (std::size_t k = 0; k < option.names.size(); ++k) page << (k > 0 ? ", " : "") << bold(option.names[k]);
  const std::string value = value_of(option);
  page << (option.is_positional || value.empty() ? "" : " ") << value << "\n" << plain(option.help);
  std::string more;
  const auto add = [&](const std::string& words) { more += (more.empty() ? "" : "; ") + words; };
  if (option.is_required) add("required");
  if (!option.value.empty() && !option.by_default.empty()) add("default: " + option.by_default);
  if (option.words.empty() && !option.limits.empty()) add(option.limits);
  if (!option.environment.empty()) add("environment: " + option.environment);
  page << (more.empty() ? "" : " (" + plain(more) + ")") << "\n";
}

/// Writes the command with its required options.
void write_usage(std::ostream& page, const CommandDescription& command, const std::string& typed) {
  page << bold(typed);
  for (const OptionDescription& option : command.options) {
    if (option.is_positional) page << " " << (option.is_required ? value_of(option) : "[" + value_of(option) + "]");
    if (!option.is_positional && option.is_required)
      page << " " << bold(option.names.front()) << " " << value_of(option);
  }
  page << (command.commands.empty() ? " [options]" : " \\fIcommand\\fR ...") << "\n";
}

void write_options(std::ostream& page, const CommandDescription& command) {
  std::string heading;
  for (const OptionDescription& option : command.options) {
    if (option.names.back() == "--help") continue;  // every command has it
    if (option.heading != heading && !option.is_positional) page << ".PP\n" << italic(option.heading) << "\n";
    if (!option.is_positional) heading = option.heading;
    write_option(page, option);
  }
}

/// Writes the text without filling its lines.
void write_lines(std::ostream& page, const std::string& text) {
  if (!text.empty()) page << ".PP\n.nf\n" << plain(text) << (text.ends_with('\n') ? "" : "\n") << ".fi\n";
}

/// Writes a section about a command. `program` is the whole program, whose footer is not repeated.
void write_command(std::ostream& page, const CommandDescription& program, const CommandDescription& command,
                   const std::string& before) {
  const std::string typed = before + " " + command.name;
  if (!command.commands.empty()) {
    for (const CommandDescription& inner : command.commands) write_command(page, program, inner, typed);
    return;
  }
  page << ".SS " << plain(typed) << "\n";
  page << plain(command.help) << ".\n.PP\n";
  write_usage(page, command, typed);
  write_options(page, command);
  if (command.footer != program.footer) write_lines(page, command.footer);
}

void write_synopses(std::ostream& page, const CommandDescription& command, const std::string& typed) {
  for (const CommandDescription& inner : command.commands) write_synopses(page, inner, typed + " " + inner.name);
  if (!command.commands.empty()) return;
  write_usage(page, command, typed);
  page << ".br\n";
}

constexpr std::array<std::pair<const char*, const char*>, 4> environment{{
    {"SMALLBATCH_INSTRUCTION_SET", "Instruction set of the CPU kernels, if --instruction-set is not given."},
    {"OMP_NUM_THREADS", "CPU threads, if --threads is 0 or not given."},
    {"SLURM_CPUS_PER_TASK", "CPU threads, if OMP_NUM_THREADS does not give them."},
    {"NO_COLOR", "No colours on stderr, if it is not empty."},
}};

}  // namespace

std::string man_page(const CommandDescription& program) {
  const std::size_t first_steps = program.help.find("First steps:");
  const std::string about = program.help.substr(0, first_steps);
  const std::size_t colon = about.find(": ");
  TextWriter page;
  page << ".TH SMALLBATCH 1 \"\" \"smallbatch " << version_text << "\" \"User Commands\"\n"
       << ".ad l\n.nh\n"
       << ".SH NAME\n"
       << program.name << " \\- " << plain(about.substr(colon + 2, about.find(',') - colon - 2)) << "\n"
       << ".SH SYNOPSIS\n";
  write_synopses(page, program, program.name);
  page << ".SH DESCRIPTION\n" << plain(about.substr(0, about.find("\n\n"))) << "\n";
  page << ".SH COMMANDS\n";
  for (const CommandDescription& command : program.commands) write_command(page, program, command, program.name);
  page << ".SH OPTIONS\nAll commands have these options:\n";
  for (const OptionDescription& option : program.options) write_option(page, option);
  page << ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_code_meanings)
    page << ".TP\n" << bold(std::to_string(static_cast<int>(code))) << "\n" << plain(meaning) << "\n";
  page << ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : environment) page << ".TP\n" << bold(name) << "\n" << plain(meaning) << "\n";
  page << ".SH OUTPUT\n"
       << plain(words_about_output) << "\n.PP\n"
       << plain(
              "With --json, stdout always has one JSON object: the summary, or {\"error\": {\"kind\": ..., "
              "\"exit_code\": ..., \"message\": ...}}.")
       << "\n.SH EXAMPLES\n.nf\n"
       << (first_steps == std::string::npos ? "" : plain(program.help.substr(program.help.find('\n', first_steps) + 1)))
       << "\n.fi\n.SH SEE ALSO\n"
       << bold("h5ls") << "(1), " << bold("h5dump") << "(1), " << bold("mpiexec") << "(1)\n";
  return page.str();
}

}  // namespace smallbatch
