#include "app/run/decision.hpp"

#include <spdlog/spdlog.h>

#include <string>

#include "app/cli/output_check.hpp"
#include "app/report/stage_seconds.hpp"
#include "app/run/estimates.hpp"
#include "app/run/resumption.hpp"
#include "app/run/run_journal.hpp"
#include "core/error.hpp"
#include "io/integrity/output_file.hpp"

namespace smallbatch {

Decision decide(const RunOptions& options, ProblemReader& reader, const std::function<InputIdentity()>& input,
                const Share& ranks, const Share& neighbours) {
  for (const std::string& warning : reader.warnings()) spdlog::warn("{}", warning);
  for (const std::string& note : reader.notes()) spdlog::info("{}", note);
  const bool are_many = ranks.count > 1;
  if (are_many && !options.share.is_everything())
    throw Error(ErrorKind::usage, "--shard cannot be given", "a launcher has started this process together with others",
                "Leave it out: each rank takes a share.");
  refuse_output_that_is_input(options.problems, options.results);
  if (are_many && options.resume)
    throw Error(ErrorKind::usage, "--resume is for a run of one process", "a launcher has started several",
                "Leave it out, or run shares (--shard), which can be resumed, and merge them.");
  if (ranks.index == 0 && !options.resume) check_output(options.results, options.overwrite);
  const int parts = are_many ? ranks.count : options.share.count;
  const Estimate job = estimate(reader, options.precision, options.verify, options.instruction_set).part(parts);
  if (!are_many) reader.take(options.share);
  Decision decision;
  timed(decision.start_seconds, [&] { decision.plan = make_plan(options, job, parts, neighbours); });
  decision.complete = find_complete(options, [&] { return run_identity(options, decision.plan, input()); });
  return decision;
}

}  // namespace smallbatch
