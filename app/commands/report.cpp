// Makes a page about a result file with Python (python/smallbatch/report.py). The Python code does not detect
// all damage. So the structure of the file, its verdicts, and the identity of the problem file are checked here first.
#include <fcntl.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/cli/exit_codes.hpp"
#include "app/cli/interruption.hpp"
#include "app/cli/json_text.hpp"
#include "app/cli/output_check.hpp"
#include "app/commands/commands.hpp"
#include "app/report/input_identity.hpp"
#include "app/report/set_json.hpp"
#include "app/run/report_reader.hpp"
#include "core/error.hpp"
#include "core/visible_text.hpp"
#include "io/interchange/export_file.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

extern char** environ;

namespace smallbatch {

namespace {

[[noreturn]] void fail_without_python(const std::string& why) {
  throw Error(
      ErrorKind::usage, "no page can be made", why,
      "Pages are made by the Python package. Install it, in a clone of smallbatch, with pip install '.[report]'. Its "
      "python3 must be the first on the PATH.");
}

/// Returns the last line of Python's stderr.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// Returns the kind of error that has this exit code.
ErrorKind kind_of(int code) {
  for (const ErrorKind kind :
       {ErrorKind::usage, ErrorKind::bad_input, ErrorKind::missing_file, ErrorKind::out_of_memory, ErrorKind::output})
    if (static_cast<int>(exit_code_of(kind)) == code) return kind;
  return ErrorKind::internal;
}

/// Runs `python3 -m smallbatch.report words`. If Python fails, throws an Error with the last line of its stderr.
void run_python(std::vector<std::string> words) {
  words.insert(words.begin(), {"python3", "-m", "smallbatch.report"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorKind::out_of_memory, std::string("no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, "python3", &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string said;
  if (failure == 0) {
    char some[4096];
    for (ssize_t count; (count = ::read(ends[0], some, sizeof some)) > 0 || (count < 0 && errno == EINTR);)
      if (count > 0) said.append(some, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (failure != 0) fail_without_python(std::string("python3 cannot be run: ") + std::strerror(failure));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  stop_if_interrupted();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  constexpr std::string_view mark = "error: ";
  const std::string line = last_line(std::move(said));
  if (const std::size_t begin = line.find(mark); WIFEXITED(status) && begin != std::string::npos)
    throw Error(kind_of(WEXITSTATUS(status)), line.substr(begin + mark.size()));
  fail_without_python(line.empty() ? "python3 ended without a word" : "python3 says: " + visible_text(line));
}

}  // namespace

std::string write_report(const ReportOptions& options) {
  refuse_output_that_is_input(options.results, options.output);
  std::int64_t sets = 0, failed = 0, disagreed = 0;
  {
    const ResultReader results(options.results, 0, ResultReader::Bytes::compared);
    if (!options.problems.empty()) {
      refuse_output_that_is_input(options.problems, options.output);
      if (is_another_input(options.problems, results.provenance("input_hash")))
        throw Error(ErrorKind::bad_input, options.problems + " is not the problem file of " + options.results,
                    "its hash differs from that of the file that was run", "Name that file, or leave out --problems.");
      if (std::ranges::none_of(results.potential_sets(),
                               [](const auto& set) { return set.targets == TargetKind::lattice; }))
        spdlog::info("{} is not needed: charges are drawn on maps of V, and {} holds none.", options.problems,
                     options.results);
      const ProblemReader checked(options.problems);
    }
    for_each_set(results.sets(), [&]<class Set>(const Set& set) {
      stop_if_interrupted();
      SetOutcome outcome = read_outcome(results, set);
      if constexpr (std::is_same_v<Set, SolveSet>) outcome.count_numbers(results, set);
      outcome.count_statuses(results, set_path(set), 0, set.batch);
      failed += outcome.failed_count();
      disagreed += outcome.verification.disagreed;
      ++sets;
    });
  }
  { const ExportFile checked(options.output, options.overwrite); }
  std::vector<std::string> words{options.results, "-o", options.output};
  if (options.overwrite) words.emplace_back("--overwrite");
  for (const auto& [name, value] : {std::pair{"--problems=", options.problems}, {"--range=", options.range}})
    if (!value.empty()) words.push_back(name + value);
  for (const std::string& problem : options.shown) words.push_back("--problem=" + problem);
  run_python(std::move(words));
  if (options.json)
    return json_text(SetJson{{"command", "report"},
                             {"results", options.results},
                             {"output", options.output},
                             {"set_count", sets},
                             {"failed", failed},
                             {"disagreed", disagreed}});
  return visible_text(options.output) + ": " + std::to_string(sets) + (sets == 1 ? " set\n" : " sets\n");
}

}  // namespace smallbatch
