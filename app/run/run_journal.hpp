// The journal of a run, for a later run with --resume. It lists the blocks that are in the unfinished result file,
// hashes of the written numbers, and the state of each set after these blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/options.hpp"
#include "app/report/input_identity.hpp"
#include "app/run/messages.hpp"
#include "app/run/plan.hpp"
#include "app/verification/outcome.hpp"
#include "io/integrity/journal.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

/// Returns the identity of a run with these options, this plan and this input.
RunIdentity run_identity(const RunOptions& options, const Plan& plan, const InputIdentity& input);
/// Returns the identity in 16 digits, as in /provenance of a result file.
std::string identity_digits(const RunIdentity& identity);

class RunJournal {
 public:
  /// Opens the journal. With Access::appended, a missing file is created.
  RunJournal(const std::string& path, Journal::Access access);
  /// Returns whether the earlier run finished at least one block.
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  /// Takes over the records of the earlier run. Throws Error(usage) if it was another run; the message names the
  /// difference.
  void take_earlier(const std::string& results, const RunIdentity& identity);
  /// Called once the result file is laid out. `identity` may take a while, so it is called only when the first block is
  /// finished.
  void begin(std::function<RunIdentity()> identity) { identity_of_this_ = std::move(identity); }

  /// Returns the numbers of the records about a set's blocks, in order. finished() and restore() read a record's
  /// content.
  [[nodiscard]] std::vector<std::size_t> earlier(const std::string& set) const;
  /// Returns the content of a record. Throws Error(usage) if the record cannot be read.
  [[nodiscard]] FinishedBlock finished(std::size_t record) const;
  /// Replaces the counts in `outcome` by those in a record. Name, shape, units and criterion stay.
  void restore(SetOutcome& outcome, std::size_t record) const;
  /// Counts blocks whose results were found unchanged.
  void count_taken_over(std::int64_t blocks) { taken_over_ += blocks; }
  [[nodiscard]] std::int64_t taken_over() const { return taken_over_; }

  /// Notes that `writer` has written blocks. This function fills in `finished.written`. `outcome` is that of the set
  /// after these blocks.
  void note(ResultWriter& writer, FinishedBlock finished, const SetOutcome& outcome);
  /// Called once the first block of this process is noted.
  std::function<void()> at_first_block;

 private:
  struct Known {
    std::int64_t last_block = 0;
    std::size_t record = 0;
  };
  /// Calls `read` with a record. Throws Error(usage) if the record cannot be read.
  template <class Read>
  auto understood(std::size_t record, Read read) const;

  Journal journal_;
  std::string path_;
  std::string latest_;  ///< the latest record; the next record reuses its memory
  RunIdentity earlier_identity_;
  std::function<RunIdentity()> identity_of_this_;
  std::map<std::string, std::vector<Known>> earlier_;
  bool has_begun_ = false;
  std::int64_t taken_over_ = 0;
};

}  // namespace smallbatch
