// How far a run is, for the one that goes on with it (run --resume): which of its blocks are in the unfinished result
// file, with hashes of what was written, and what was known of their sets by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/options.hpp"
#include "app/judge/outcome.hpp"
#include "app/report/input_identity.hpp"
#include "app/run/messages.hpp"
#include "app/run/plan.hpp"
#include "io/integrity/journal.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

/// Of a run with these options and this plan, on this input.
RunIdentity run_identity(const RunOptions& options, const Plan& plan, const InputIdentity& input);
/// As /provenance of a result file says it, in 16 digits.
std::string identity_digits(const RunIdentity& identity);

class RunJournal {
 public:
  /// Of what is there already; where it is `appended` and there is none, the file is made.
  RunJournal(const std::string& path, Journal::Access access);
  /// Whether there is a run that got as far as its first block.
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  /// Throws Error(usage) where that one was another run, and says what differs; else what it has finished is known.
  void take_earlier(const std::string& results, const RunIdentity& identity);
  /// Once the result file is laid out: what is asked for when there is a first block, as it may take a while to know.
  void begin(std::function<RunIdentity()> identity) { identity_of_this_ = std::move(identity); }

  /// What is known of a set's blocks, in their order: each a record, which stays in the file until it is wanted.
  [[nodiscard]] std::vector<std::size_t> earlier(const std::string& set) const;
  /// What such a record says; throws Error(usage) where that makes no sense.
  [[nodiscard]] FinishedBlock finished(std::size_t record) const;
  /// `outcome`, as it is when its set begins, becomes what it was with that block.
  void restore(SetOutcome& outcome, std::size_t record) const;
  /// Blocks that were found as they were written.
  void count_taken_over(std::int64_t blocks) { taken_over_ += blocks; }
  [[nodiscard]] std::int64_t taken_over() const { return taken_over_; }

  /// Notes a block that `writer` has written, without its `written`, and that the set's outcome with it is `outcome`.
  void note(ResultWriter& writer, FinishedBlock finished, const SetOutcome& outcome);
  /// Called once the first block of this process is noted.
  std::function<void()> at_first_block;

 private:
  struct Known {
    std::int64_t last_block = 0;
    std::size_t record = 0;
  };
  /// Calls `read` with a record; throws Error(usage) where it makes nothing of it.
  template <class Read>
  auto understood(std::size_t record, Read read) const;

  Journal journal_;
  std::string path_;
  std::string latest_;  ///< record that was noted: its memory serves very many
  RunIdentity earlier_identity_;
  std::function<RunIdentity()> identity_of_this_;
  std::map<std::string, std::vector<Known>> earlier_;
  bool has_begun_ = false;
  std::int64_t taken_over_ = 0;
};

}  // namespace smallbatch
