// What a run finds where it is to write, of itself or of others, and what becomes of that: decided here for the run and
// for --dry-run; and what a run that fails leaves for the next one.
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

/// May take a while: the input is hashed.
using AskIdentity = std::function<RunIdentity()>;

/// With --resume: what the results tell, where they are there already, of this very run, and every byte is what was
/// written. Else nothing, and throws Error(output) where the output may not be written.
std::optional<RunReport> find_complete(const RunOptions& options, const AskIdentity& identity);

/// The journal of the run that has left something and that this one goes on with. Nothing where it begins: says what
/// becomes of what is there. Throws Error(usage) where that one was another run.
std::unique_ptr<RunJournal> find_unfinished(const RunOptions& options, const LeftBehind& left, Journal::Access access,
                                            const AskIdentity& identity);

/// What is left of a failed run, and what is said of it: nothing, until a block of it is finished.
class Remains {
 public:
  Remains(const RunOptions& options, const std::string& command_line);
  /// The unfinished file and its journal.
  void are_in(std::vector<std::string> files) { files_ = std::move(files); }
  void are_none() const;
  void are_kept(ResultWriter& writer);
  void are_removed(ResultWriter& writer) const;
  void are_the_results() const;
  /// After a commit that failed: the results may have got their name all the same.
  void may_have_appeared() const;

 private:
  std::string results_, how_;
  bool is_json_, are_kept_ = false;
  std::vector<std::string> files_;
};

}  // namespace smallbatch
