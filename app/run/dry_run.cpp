#include "app/run/dry_run.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/json_text.hpp"
#include "app/cli/option_texts.hpp"
#include "app/cli/quantities.hpp"
#include "app/report/input_identity.hpp"
#include "app/report/set_json.hpp"
#include "app/run/decision.hpp"
#include "app/run/ranks.hpp"
#include "app/run/resumption.hpp"
#include "app/run/run_journal.hpp"
#include "app/verification/outcome.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/text_streams.hpp"
#include "core/visible_text.hpp"
#include "io/integrity/journal.hpp"
#include "io/integrity/output_file.hpp"
#include "io/problem_reader.hpp"

namespace smallbatch {

namespace {

using Json = nlohmann::ordered_json;

std::int64_t bytes_of_results(const PotentialSet& set, ScalarType precision) { return result_bytes(set, precision); }
template <class Set>
std::int64_t bytes_of_results(const Set& set, ScalarType /*precision*/) {
  return result_bytes(set);
}

}  // namespace

std::string dry_run(const RunOptions& options) {
  if (launched_processes() > 1 && options.share.is_everything())
    throw Error(ErrorKind::usage, "--dry-run is for a run of one process", "a launcher has started several",
                "Call it without the launcher. With --shard 1/N it plans what one of N ranks would do.");
  ProblemReader reader(options.problems, thread_count(options.threads));
  const InputGuard guard(options.problems, reader.descriptor());
  const auto input = [&] { return guard.identify(); };
  auto [plan, complete, start_seconds] = decide(options, reader, input);
  const bool goes_on = !complete && find_unfinished(options, left_behind(options.results), Journal::Access::read_only,
                                                    [&, &plan = plan] { return run_identity(options, plan, input()); });
  const Computers computers = make_computers(plan.device, options.spd, reader.sets());

  TextWriter text;
  Json sets = Json::array();
  std::int64_t result_bytes_of_all = 0, memory_bytes = 0, most_blocks = 0;
  for_each_set(reader.sets(), [&]<class Set>(const Set& set) {
    const BlocksOfSet blocks = measure_blocks(plan, set);
    const std::string computer = computers.description(Set::kind), verify = verify_mode_name(verify_mode_of(plan, set));
    const std::int64_t bytes = bytes_of_results(set, options.precision);
    result_bytes_of_all += bytes;
    const std::int64_t in_memory = std::min(blocks.count, plan.blocks_in_memory);
    most_blocks = std::max(most_blocks, in_memory);
    memory_bytes = std::max(memory_bytes, in_memory * blocks.largest_bytes);
    text << Set::kind << "/" << set.name << ": " << shape_words(set) << "\n  " << computer << "; "
         << (blocks.count == 1 ? "1 block" : std::to_string(blocks.count) + " blocks") << " of at most "
         << bytes_text(static_cast<double>(blocks.largest_bytes)) << "; verified: " << verify << "\n";
    Json& entry = sets.emplace_back(begin_set_json(Set::kind, set.name, shape_words(set), set.batch));
    entry.update({{"computer", computer},
                  {"blocks", blocks.count},
                  {"largest_block_bytes", blocks.largest_bytes},
                  {"verify", verify},
                  {"result_bytes", bytes}});
  });
  plan.blocks_in_memory = most_blocks;  // as many as these sets need
  const bool is_estimated = plan.device.backends.front().kind != BackendKind::reference;
  for (const std::string& words : plan_words(plan, options.device)) text << words << "\n";
  text << "memory of the blocks: at most " << bytes_text(static_cast<double>(memory_bytes)) << "\n";
  if (is_estimated)
    text << "time: about " << seconds_text(plan.seconds())
         << " (estimated to within a factor of about two, for a file in the disk cache)\n";
  text << "results: " << visible_text(options.results) << ", about "
       << bytes_text(static_cast<double>(result_bytes_of_all)) << "; nothing was computed or written (--dry-run)\n";
  if (!options.json) return text.str();
  return json_text(Json{{"command", "run"},
                        {"dry_run", true},
                        {"problems", options.problems},
                        {"results", options.results},
                        {"device", plan.device.description},
                        {"device_note", plan.device.note},
                        {"on_gpus", plan.on_gpus},
                        {"threads", plan.threads},
                        {"verify", plan.verify_mode},
                        {"is_complete", complete.has_value()},
                        {"goes_on", goes_on},
                        {"blocks_in_memory", plan.blocks_in_memory},
                        {"memory_bytes", memory_bytes},
                        {"result_bytes", result_bytes_of_all},
                        {"estimated_seconds", is_estimated ? Json(plan.seconds()) : Json(nullptr)},
                        {"sets", sets}});
}

}  // namespace smallbatch
