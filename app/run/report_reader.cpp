#include "app/run/report_reader.hpp"

#include <filesystem>
#include <system_error>

#include "app/cli/interruption.hpp"
#include "app/run/cut_into_blocks.hpp"

namespace smallbatch {

namespace {

template <class Set>
SetOutcome with_totals(const ResultReader& results, const Set& set, SetOutcome outcome) {
  results.check_verification(Set::kind, set.name, set.batch);
  outcome.shape = shape_words_of_results(set);
  outcome.verification = results.verification(Set::kind, set.name);
  const WorkOfSet work = results.work(Set::kind, set.name);
  outcome.compute_seconds = work.compute_seconds;
  outcome.work = work.amount;
  outcome.values_checked = static_cast<std::int64_t>(work.values_checked);
  return outcome;
}

/// Counts the numbers of a set's problems, and keeps the labels of the problems that the report names.
void count_problems(const ResultReader& results, const SolveSet& set, SetOutcome& outcome) {
  outcome.count_numbers(results, set);
}
void count_problems(const ResultReader& results, const ChargesOfSet& set, const std::string& group,
                    SetOutcome& outcome) {
  std::vector<double> energies(static_cast<std::size_t>(set.batch));
  if (set.batch > 0 && results.read_numbers(group + "/energy", 0, energies)) outcome.count_energies(energies);
  outcome.keep_labels(set.labels);
}
void count_problems(const ResultReader& results, const PotentialSet& set, SetOutcome& outcome) {
  outcome.count_statistics(results.statistics(set));
  count_problems(results, set, set_path(set), outcome);
}
void count_problems(const ResultReader& results, const PairEnergySet& set, SetOutcome& outcome) {
  count_problems(results, set, set_path(set), outcome);
}
void count_problems(const ResultReader& /*results*/, const CorrelationSet& /*set*/, SetOutcome& /*outcome*/) {}

template <class T>
void add_signs_of_failed(const ProblemReader& problems, const ResultReader& results, const SolveSet& set,
                         SetOutcome& outcome) {
  SpdBlock<T> block;
  for (const SystemRange& range : cut_into_blocks(set, cpu_block_bytes)) {
    stop_if_interrupted();
    read_block(problems, set, range, block);
    results.read(set, range.first, range.count, block);
    add_signs(block, set.batch, outcome.signs);
  }
}

void add_signs_of_set(const ProblemReader& problems, const ResultReader& results, const SolveSet& set,
                      SetOutcome& outcome) {
  if (outcome.failed_count() == 0) return;
  set.type == ScalarType::float32 ? add_signs_of_failed<float>(problems, results, set, outcome)
                                  : add_signs_of_failed<double>(problems, results, set, outcome);
}
void add_signs_of_set(const ProblemReader& problems, const ResultReader& /*results*/, const PotentialSet& set,
                      SetOutcome& outcome) {
  PotentialBlock<double> block;
  for (std::int64_t p = 0; set.targets == TargetKind::lattice && p < set.batch; ++p) {
    stop_if_interrupted();
    problems.read(set, p, 1, block);
    add_signs(block, outcome.signs);
  }
}
template <class Set>
void add_signs_of_set(const ProblemReader& /*problems*/, const ResultReader& /*results*/, const Set& /*set*/,
                      SetOutcome& /*outcome*/) {}

}  // namespace

SetOutcome read_outcome(const ResultReader& results, const SolveSet& set) {
  return with_totals(results, set, start_outcome(set));
}
SetOutcome read_outcome(const ResultReader& results, const PotentialSet& set) {
  SetOutcome outcome = with_totals(results, set, start_outcome(set, set.type));
  outcome.are_singular_left_out = results.provenance("singular") == "skip";
  return outcome;
}
SetOutcome read_outcome(const ResultReader& results, const PairEnergySet& set) {
  return with_totals(results, set, start_outcome(set, {}));
}
SetOutcome read_outcome(const ResultReader& results, const CorrelationSet& set) {
  return with_totals(results, set, start_outcome(set));
}

RunReport read_run(const ResultReader& results, const std::string& path) {
  RunReport report;
  report.problems = results.provenance("problems");
  report.results = path;
  report.pivot_floor = results.provenance_number("pivot_floor");
  report.verify_mode = results.provenance("verify");
  report.device = results.provenance("device");
  for (const auto& [kind, key, things] : computers_of_kinds) report.computers[kind] = results.provenance(key);
  const auto seconds = [&](const char* stage) { return results.provenance_number(std::string(stage) + "_seconds"); };
  report.seconds.start = seconds("start");
  report.seconds.set_up = seconds("set_up");
  report.seconds.read = seconds("read");
  report.seconds.compute = seconds("compute");
  report.seconds.kernels = seconds("kernel");
  report.seconds.verify = seconds("verify");
  report.seconds.write = seconds("write");
  report.seconds.total = seconds("total");
  if (report.seconds.set_up > 0)
    report.seconds.blocks = report.seconds.total - report.seconds.start - report.seconds.set_up;
  report.on_gpus = !results.provenance("gpu").empty();
  report.problem_bytes = results.provenance_number("input_bytes");
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  report.result_bytes = unknown ? 0 : static_cast<double>(bytes);
  return report;
}

RunReport read_report(const ResultReader& results, const std::string& path) {
  RunReport report = read_run(results, path);
  for_each_set(results.sets(), [&](const auto& set) {
    stop_if_interrupted();
    SetOutcome& outcome = report.sets.emplace_back(read_outcome(results, set));
    outcome.count_statuses(results, set_path(set), 0, set.batch);
    count_problems(results, set, outcome);
  });
  return report;
}

void add_facts_of_problems(const ProblemReader& problems, const ResultReader& results, RunReport& report) {
  for_each_set(problems.sets(), [&]<class Set>(const Set& set) {
    for (SetOutcome& outcome : report.sets) {
      if (outcome.kind != Set::kind || outcome.name != set.name) continue;
      outcome.shape = shape_words(set);
      add_signs_of_set(problems, results, set, outcome);
    }
  });
}

}  // namespace smallbatch
