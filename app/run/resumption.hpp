// Resuming a run: what a run or --dry-run does with files of an earlier run, and what a failed run leaves for the next
// one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.hpp"
#include "app/report/run_report.hpp"
#include "app/run/messages.hpp"
#include "app/run/run_journal.hpp"
#include "io/integrity/journal.hpp"
#include "io/integrity/output_file.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

/// Returns the identity of this run. It may take a while, because the input is hashed.
using AskIdentity = std::function<RunIdentity()>;

/// With --resume, returns the report of results that are already there, if they are of this very run and unchanged.
/// Otherwise returns nothing. Throws Error(output) if the output must not be written.
std::optional<RunReport> find_complete(const RunOptions& options, const AskIdentity& identity);

/// Returns the journal of the unfinished run that this run resumes. Otherwise returns nothing and logs what happens to
/// an unfinished file. Throws Error(usage) if the unfinished run was another run.
std::unique_ptr<RunJournal> find_unfinished(const RunOptions& options, const LeftBehind& left, Journal::Access access,
                                            const AskIdentity& identity);

/// Files that a failed run leaves, and the sentence about them. Nothing is left before the first block is finished.
class Remains {
 public:
  Remains(const RunOptions& options, const std::string& command_line);
  /// Sets the names of the unfinished file and its journal.
  void are_in(std::vector<std::string> files) { files_ = std::move(files); }
  /// From now on, a failed run leaves nothing.
  void are_none() const;
  /// From now on, a failed run leaves the unfinished file and its journal, and its message says how to resume.
  void are_kept(ResultWriter& writer);
  /// From now on, a failed run leaves nothing, although are_kept() was called.
  void are_removed(ResultWriter& writer) const;
  /// From now on, the results are complete, and messages say so.
  void are_the_results() const;
  /// Called after a failed commit. If the results have their name nevertheless, no resumption is offered.
  void may_have_appeared() const;

 private:
  std::string results_, how_;
  bool is_json_, are_kept_ = false;
  std::vector<std::string> files_;
};

}  // namespace smallbatch
