#include "app/run/resumption.hpp"

#include <spdlog/spdlog.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "app/cli/interruption.hpp"
#include "app/run/report_reader.hpp"
#include "app/verification/byte_verdict.hpp"
#include "core/error.hpp"
#include "io/format/byte_check.hpp"
#include "io/format/provenance_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

std::optional<RunReport> find_complete(const RunOptions& options, const AskIdentity& identity) {
  std::error_code unknown;
  if (!options.resume) return {};
  if (!options.overwrite && std::filesystem::exists(options.results, unknown)) {
    bool are_of_this_run = false;
    try {
      const auto origin = read_provenance(options.results);
      const auto found = origin.find("run_identity");
      const auto* const digits = found == origin.end() ? nullptr : std::get_if<std::string>(&found->second);
      are_of_this_run = digits && *digits == identity_digits(identity());
      if (are_of_this_run) {
        refuse_unless_as_written(options.results, check_bytes(options.results, options.threads, stop_if_interrupted));
        const ResultReader results(options.results);
        RunReport report = read_report(results, options.results);
        report.was_complete = true;
        spdlog::info("{} already has the complete results of this run: there is nothing to do", options.results);
        std::int64_t failed = 0, disagreed = 0;
        for (const SetOutcome& set : report.sets) {
          failed += set.failed_count();
          disagreed += set.verification.disagreed;
        }
        if (failed + disagreed > 0) spdlog::info("{} of its problems failed, {} disagree", failed, disagreed);
        return report;
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::out_of_memory) throw;
      if (are_of_this_run) spdlog::warn("{}", error.what());
    }
  }
  check_output(options.results, options.overwrite);
  return {};
}

std::unique_ptr<RunJournal> find_unfinished(const RunOptions& options, const LeftBehind& left, Journal::Access access,
                                            const AskIdentity& identity) {
  if (!left.is_there) return {};
  if (!options.resume) {
    spdlog::warn("{} of an unfinished run is removed (--resume would continue that run)", left.part);
    return {};
  }
  auto journal = std::make_unique<RunJournal>(left.journal, access);
  if (!journal->has_begun()) {
    spdlog::warn("{} has no journal of finished blocks: it is removed, and the run begins again", left.part);
    return {};
  }
  journal->take_earlier(options.results, identity());
  spdlog::info("continuing the run that left {}", left.part);
  return journal;
}

Remains::Remains(const RunOptions& options, const std::string& command_line)
    : results_(options.results),
      how_("Finished blocks are kept. This command continues the run: " + command_line +
           (options.resume ? "" : " --resume")),
      is_json_(options.json) {}

void Remains::are_none() const { set_last_message({is_json_, words_on_nothing_left, files_}); }

void Remains::are_kept(ResultWriter& writer) {
  if (are_kept_) return;
  are_kept_ = true;
  writer.keep_unfinished(true);
  offer_resumption(how_);
  set_last_message({is_json_, ". " + how_, {}});
}

void Remains::are_removed(ResultWriter& writer) const {
  writer.keep_unfinished(false);
  offer_resumption({});
  are_none();
}

void Remains::are_the_results() const {
  offer_resumption({});
  set_last_message({is_json_, words_on_whole(results_), {}});
}

void Remains::may_have_appeared() const {
  std::error_code unknown;
  if (files_.empty()) return;
  const auto found = std::filesystem::symlink_status(files_.front(), unknown);
  if (found.type() == std::filesystem::file_type::not_found) offer_resumption({});
}

}  // namespace smallbatch
