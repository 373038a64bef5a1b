#include <fcntl.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/error_json.hpp"
#include "app/cli/exit_codes.hpp"
#include "app/cli/interruption.hpp"
#include "app/cli/logging.hpp"
#include "app/cli/options.hpp"
#include "app/cli/output_check.hpp"
#include "app/cli/version.hpp"
#include "app/commands/commands.hpp"
#include "app/memory_reserve.hpp"
#include "app/report/summary.hpp"
#include "app/run/dry_run.hpp"
#include "app/run/pipeline.hpp"
#include "app/run/ranks.hpp"
#include "core/error.hpp"
#include "core/visible_text.hpp"
#include "io/hdf5/quiet.hpp"
#include "io/integrity/output_file.hpp"
#include "io/interchange/uvh5.hpp"

namespace smallbatch {

namespace {

ExitCode print(const std::string& text) {
  if (std::fputs(visible_lines(text).c_str(), stdout) == EOF || std::fflush(stdout) == EOF)
    throw Error(ErrorKind::output, "the summary could not be written to stdout", std::strerror(errno),
                "Redirect it elsewhere.");
  return ExitCode::verified;
}

/// An error that occurred after the output was written.
class OutputStands : public Error {
 public:
  OutputStands(const std::string& file, const Error& error)
      : Error(error.kind(), file + " is complete, but " + error.what()) {}
};

/// Prints the text about a written file. The file is complete, so the command succeeds even if the text cannot be
/// printed. With --json, the command fails instead, because the caller relies on the object on stdout.
ExitCode print_about(const std::string& file, bool json, const std::string& text) {
  set_last_message({json, words_on_whole(file), {}});
  try {
    return print(text);
  } catch (const Error& unheard) {
    if (json) throw OutputStands(file, unheard);
    spdlog::warn("{} is complete; {}", file, unheard.what());
  }
  return ExitCode::verified;
}
template <class Options>
ExitCode print_about(const Options& options, const std::string& text) {
  return print_about(options.output, options.json, text);
}

bool is_failure(const RunReport& report, FailOn fail_on) {
  if (fail_on == FailOn::errors) return !report.all_right();
  const auto disagrees = [](const SetOutcome& set) { return set.verification.disagreed > 0; };
  return fail_on == FailOn::disagreement && std::ranges::any_of(report.sets, disagrees);
}

ExitCode exit_code(const RunReport& report, FailOn fail_on) {
  return is_failure(report, fail_on) ? ExitCode::not_all_right : ExitCode::verified;
}

std::string said(const RunReport& report, bool json, Verbosity verbosity) {
  if (json) return report_json(report);
  return verbosity == Verbosity::quiet ? report_line(report) : report_text(report);
}

struct Execute {
  const std::string& command_line;
  Verbosity verbosity;
  ExitCode operator()(const PrintText& o) const {
    print(o.text);
    return o.is_refusal ? ExitCode::usage : ExitCode::verified;
  }
  ExitCode operator()(const RunOptions& o) const {
    if (o.dry_run) return print(dry_run(o));
    const RunReport report = run(o, command_line);
    if (!report.is_first_rank) return ExitCode::verified;  // another code would make the launcher end the first rank
    if (o.json || !report.was_complete) print_about(o.results, o.json, said(report, o.json, verbosity));
    return exit_code(report, o.fail_on);
  }
  ExitCode operator()(const MergeOptions& o) const {
    const RunReport merged = merge(o, command_line);
    print_about(o, merge_text(o, merged));
    return exit_code(merged, o.fail_on);
  }
  ExitCode operator()(const InfoOptions& o) const { return print(info(o)); }
  ExitCode operator()(const DevicesOptions& o) const { return print(devices(o)); }
  ExitCode operator()(const VerifyOptions& o) const {
    const RunReport report = verify(o);
    print(said(report, o.json, verbosity));
    return exit_code(report, o.fail_on);
  }
  ExitCode operator()(const GenerateSpdOptions& o) const { return print_about(o, generate(o, command_line)); }
  ExitCode operator()(const GenerateChargesOptions& o) const { return print_about(o, generate(o, command_line)); }
  ExitCode operator()(const GenerateSignalOptions& o) const { return print_about(o, generate(o, command_line)); }
  ExitCode operator()(const ImportOptions& o) const {
    if (o.signal.samples.inputs > 0) return print_about(o, import_signal(o, command_line));
    return print_about(o,
                       is_uvh5(o.inputs[0]) ? import_visibilities(o, command_line) : import_charges(o, command_line));
  }
  ExitCode operator()(const ExportOptions& o) const { return print_about(o, export_map(o)); }
  ExitCode operator()(const ReportOptions& o) const { return print_about(o, write_report(o)); }
};

/// Returns a sentence about the option that helps after this error. Errors from library rooms do not name options.
const char* option_for(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::no_device:
      return " Write --device cpu, or --device auto, which uses a GPU only if there is one.";
    case ErrorKind::output_exists:
      return " --overwrite replaces it.";
    default:
      return "";
  }
}

/// The words of the call as typed, for errors that occur before the options are known.
class Words {
 public:
  Words(int argc, const char* const* argv) : words_(argv + std::min(argc, 1), argv + argc) {}
  [[nodiscard]] bool have(const std::string& option) const { return std::ranges::find(words_, option) != words_.end(); }
  /// Returns the log file, or nothing if none is given or if another word may be the same file.
  [[nodiscard]] std::string log_file() const {
    const std::string path = value_of("--log-file");
    const auto names_it = [&](const std::string& word) {
      const std::string value = word.starts_with("--") ? word.substr(word.find('=') + 1) : word;
      return is_same_file(value, path) || (word.starts_with("-o") && is_same_file(word.substr(2), path));
    };
    return std::ranges::count_if(words_, names_it) > 1 ? std::string() : path;
  }

 private:
  /// Returns the value of "--option value" or "--option=value". Empty if there is none.
  [[nodiscard]] std::string value_of(const std::string& option) const {
    for (std::size_t k = 0; k < words_.size(); ++k) {
      if (words_[k] == option && k + 1 < words_.size()) return words_[k + 1];
      if (words_[k].starts_with(option + "=")) return words_[k].substr(option.size() + 1);
    }
    return {};
  }

  std::vector<std::string> words_;
};

/// Returns the files that a command may leave if a signal ends it. `run` names its own (app/run/resumption.hpp).
constexpr auto temporary_files = [](const auto& options) -> std::vector<std::string> {
  if constexpr (requires { options.output; }) {
    const NamesBeside names = names_beside(options.output);
    return {names.part, names.own_part};
  } else {
    return {};
  }
};

/// Says on stderr what went wrong, and on stdout too if the call asks for JSON.
ExitCode refuse(ErrorKind kind, std::string message, const Words& words) {
  drop_last_message();  // this message replaces the handler's
  const ExitCode code = exit_code_of(kind, interrupting_signal());
  const std::string how = how_to_resume();
  if (kind == ErrorKind::interrupted) message += how.empty() ? words_on_nothing_left : ".";
  if (!how.empty()) message += " " + how;
  spdlog::error("{}", message);
  if (words.have("--json")) {
    const std::string text = error_json(kind, message, static_cast<int>(code));
    std::fputs(text.c_str(), stdout);  // a failure here cannot be reported to anyone
    std::fflush(stdout);
  }
  return code;
}

/// Returns the file that a command writes. Empty if it writes none.
constexpr auto output_of = [](const auto& options) -> std::string {
  if constexpr (requires { options.output; }) return options.output;
  if constexpr (requires {
                  options.problems;
                  options.device;
                })
    return options.results;
  return {};
};

/// Returns device and inode of a file, or nothing if there is no such file.
std::optional<std::pair<::dev_t, ::ino_t>> file_of(const std::string& path) {
  struct stat found {};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) return std::nullopt;
  return std::pair(found.st_dev, found.st_ino);
}

/// Calls work(). If it fails after the output has appeared, the error says that the output is complete.
template <class Work>
ExitCode with_output(const std::string& output, Work&& work) {
  const auto before = file_of(output);
  const auto stands = [&] {
    const auto now = file_of(output);
    return now && now != before;
  };
  try {
    return work();
  } catch (const OutputStands&) {
    throw;
  } catch (const Error& error) {
    if (!stands()) throw;
    offer_resumption({});
    throw OutputStands(output, error);
  } catch (const std::bad_alloc&) {
    if (!stands()) throw;
    offer_resumption({});
    throw Error(ErrorKind::out_of_memory, output + " is complete",
                "but there was not enough memory for the rest of the command", "Run info to see what it holds.");
  }
}

ExitCode refuse_for_memory(const Words& words) {
  return refuse(ErrorKind::out_of_memory,
                "the memory does not suffice (allocation failed). Use a smaller --memory or a larger machine.", words);
}

/// Reports missing memory also where bad_alloc ends in std::terminate(): in destructors, which must not throw.
void tell_of_memory_missing_anywhere(const Words& words) {
  static const Words* call = &words;
  static const std::terminate_handler usual = std::get_terminate();
  std::set_terminate([] {
    try {
      if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      remove_unfinished();
      ::_exit(static_cast<int>(refuse_for_memory(*call)));
    } catch (...) {
      usual();
    }
    usual();
  });
}

/// Ensures stacks of at least 4 MiB. HDF5 and the kernels crash with less, and a crash of HDF5 looks like a damaged
/// file. The default for new threads is raised too: it is only 2 MiB if the stack has no limit.
void have_large_stacks() {
  constexpr std::size_t least_kib = 4096;  // more than needed: HDF5 does not document its need
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < least_kib * 1024) {
    throw Error(ErrorKind::out_of_memory, "the stack is too small",
                "ulimit -s says " + std::to_string(stack.rlim_cur / 1024) + " KiB, at least " +
                    std::to_string(least_kib) + " are needed",
                "Raise it: ulimit -s 8192.");
  }
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  if (::pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < least_kib * 1024 &&
      ::pthread_attr_setstacksize(&attributes, least_kib * 1024) == 0) {
    ::pthread_setattr_default_np(&attributes);
  }
  ::pthread_attr_destroy(&attributes);
}

ExitCode execute(int argc, const char* const* argv, const Words& words) {
  try {
    set_up_logging(Verbosity::normal,
                   words.log_file());  // before parsing, so that the log file also gets the refusal of a call
    have_large_stacks();
    const Invocation call = parse_options(argc, argv);
    const NewThrowsOnce throws_once;  // created only now: CLI11 allocates in places that must not throw
    set_up_logging(call.verbosity, call.log_file);
    if (!call.log_file.empty()) set_log_of_last_message(call.log_file);
    note_in_log_file(std::string("smallbatch ") + version_text + ": " + call.command_line);
    set_last_message({words.have("--json"), ". Run again.", std::visit(temporary_files, call.command)});
    catch_interruptions();
    // A reader of `info`, such as `head`, may close the pipe early. SIGPIPE then ends `info`, but no other command.
    if (!std::holds_alternative<InfoOptions>(call.command)) std::signal(SIGPIPE, SIG_IGN);
    return with_output(std::visit(output_of, call.command), [&] {
      return std::visit(Execute{call.command_line, call.verbosity}, call.command);
    });
  } catch (const Error& error) {
    return refuse(error.kind(), error.what() + std::string(option_for(error)), words);
  } catch (const FirstRankReports&) {
    return ExitCode::verified;
  } catch (const std::length_error&) {  // a container larger than any memory
    return refuse(
        ErrorKind::out_of_memory,
        "the memory does not suffice (a size beyond any memory). Use a smaller --memory or a smaller lattice.", words);
  } catch (const std::bad_alloc&) {
    return refuse_for_memory(words);
  } catch (const std::exception& error) {
    return refuse(ErrorKind::internal,
                  "an internal error occurred (" + std::string(error.what()) +
                      "). Please report it, with the command and the file.",
                  words);
  }
}

/// Opens standard descriptors that the caller has closed. Otherwise a file could get the number of stderr, and messages
/// would be written into it. Each is opened as /dev/null for reading, so writing to it fails.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
}

int run_command(int argc, const char* const* argv) {
  silence_hdf5();
  set_up_logging(Verbosity::normal);
  const Words words(argc, argv);
  tell_of_memory_missing_anywhere(words);
  const int code = static_cast<int>(execute(argc, argv, words));
  note_in_log_file("exit code " + std::to_string(code));
  return code;
}

}  // namespace

}  // namespace smallbatch

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit fails instead of killing the process
  smallbatch::keep_standard_descriptors();
  return smallbatch::run_command(argc, argv);
}
