// The first record of a journal identifies the run. Each further record says that some blocks are finished. A second
// record about a block says that this block and all later ones were computed again.
#include "app/run/run_journal.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/version.hpp"
#include "app/report/provenance.hpp"
#include "core/error.hpp"
#include "core/number_text.hpp"
#include "core/usable_kernels.hpp"
#include "io/integrity/hashes.hpp"

namespace smallbatch {

namespace {

std::string input_words(const InputIdentity& input) {
  std::string words = std::to_string(input.bytes) + " bytes with the hash " + input.hash;
  // The hash of a large file covers only parts of the file, so its times are compared too.
  if (input.hashed_bytes < input.bytes || input.hash.empty())
    words += " of " + input.modified + ", last touched " + input.touched;
  // A later run on an untouched file does not have these words, so it cannot resume this run.
  if (!input.is_as_opened) words += ", touched since it was opened";
  return words;
}

std::string instruction_set_words(InstructionSet asked_for) {
  std::string words(instruction_set_name(asked_for));
  words += processor_has_avx512_vnni() ? " where there is avx512 with VNNI"
           : processor_has_avx512()    ? " where there is avx512"
           : processor_has_avx2()      ? " where there is avx2"
                                       : " where there is baseline";
  return words;
}

std::string device_words(const Plan& plan) {
  return plan.device.description + (plan.device.backends.front().kind == BackendKind::reference ? " (reference)" : "");
}

}  // namespace

RunIdentity run_identity(const RunOptions& options, const Plan& plan, const InputIdentity& input) {
  return {
      {"the layout of result files", "2: HDF5's"},  // where numbers lie in an unfinished file
      {"the problem file", input_words(input)},
      {"the program", std::string("smallbatch ") + version_text + " (" + commit_text + ", " + libraries_text() + ")"},
      {"--threads", std::to_string(plan.threads)},
      {"--device", device_words(plan)},
      {"--instruction-set", instruction_set_words(options.instruction_set)},
      {"--method", std::string(spd_method_name(options.spd.method))},
      {"--pivot-floor", number_text(options.spd.pivot_floor)},
      {"--precision", options.precision == ScalarType::float32 ? "float32" : "float64"},
      {"--singular", options.singular == Singular::infinite ? "inf" : "skip"},
      {"--memory", options.memory > 0 ? std::to_string(options.memory) : "not given"},
      {"--shard", options.share.is_everything() ? "not given" : share_text(options.share)},
      {"--verify", plan.verify_mode}};
}

std::string identity_digits(const RunIdentity& identity) {
  const std::string message = to_message(identity);
  return hash_digits(message.data(), message.size());
}

RunJournal::RunJournal(const std::string& path, Journal::Access access) : journal_(path, access), path_(path) {
  if (journal_.earlier_count() == 0) return;
  earlier_identity_ = run_identity_of(journal_.earlier(0));
  has_begun_ = true;
}

void RunJournal::take_earlier(const std::string& results, const RunIdentity& identity) {
  for (const auto& [name, value] : identity) {
    const auto was = std::ranges::find(earlier_identity_, name, &RunIdentity::value_type::first);
    const std::string before = was == earlier_identity_.end() ? "not known" : was->second;
    if (before == value) continue;
    throw Error(ErrorKind::usage, "cannot continue the unfinished run of " + results,
                name + " was " + before + ", and is now " + value,
                "Use the same options and files as before, or leave out --resume to begin again.");
  }
  for (std::size_t record = 1; record < journal_.earlier_count(); ++record) {
    const FinishedBlock block = finished(record);
    std::vector<Known>& of_set = earlier_[block.set];
    while (!of_set.empty() && of_set.back().last_block >= block.first_block) of_set.pop_back();
    of_set.push_back({block.last_block, record});
  }
}

std::vector<std::size_t> RunJournal::earlier(const std::string& set) const {
  std::vector<std::size_t> records;
  if (const auto found = earlier_.find(set); found != earlier_.end())
    for (const Known& known : found->second) records.push_back(known.record);
  return records;
}

template <class Read>
auto RunJournal::understood(std::size_t record, Read read) const {
  try {
    return read(journal_.earlier(record));
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::usage, "cannot continue the run that left " + path_,
                "this program does not understand this journal", "Leave out --resume to begin again.");
  }
}

FinishedBlock RunJournal::finished(std::size_t record) const { return understood(record, finished_block_of); }

void RunJournal::restore(SetOutcome& outcome, std::size_t record) const {
  understood(record, [&](const std::string& message) { smallbatch::restore(outcome, message); });
}

void RunJournal::note(ResultWriter& writer, FinishedBlock finished, const SetOutcome& outcome) {
  finished.written = writer.take_written();
  if (!has_begun_) journal_.append(to_message(identity_of_this_()));
  has_begun_ = true;
  latest_ = to_message(finished, outcome, std::move(latest_));
  journal_.append(latest_);
  if (at_first_block) std::exchange(at_first_block, nullptr)();
}

}  // namespace smallbatch
